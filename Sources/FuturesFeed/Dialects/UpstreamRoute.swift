/// How a connection to an upstream is made.
package enum UpstreamRoute: Sendable {
    case webSocket(url: String, headers: [(String, String)], subprotocols: [String])
    /// A request whose answer does not end: what a session says in order to subscribe is posted, so the connection carries one stream.
    case posted(request: @Sendable (_ body: String) -> RESTRequest, framing: HTTPStream.Framing)
}
