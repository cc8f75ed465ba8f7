/// As in the gateway, but for what needs sockets.
public struct UpstreamRoute: Sendable {
    package static func webSocket(url: String, headers: [(String, String)], subprotocols: [String]) -> Self { Self() }
}
