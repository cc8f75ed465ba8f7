/// As in the gateway, but for what needs sockets.
package enum UpstreamRoute: Sendable {
    case webSocket(url: String, headers: [(String, String)], subprotocols: [String])
}
