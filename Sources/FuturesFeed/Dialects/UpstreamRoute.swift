package import FeedCore

/// How a connection to an upstream is made.
package enum UpstreamRoute: Sendable {
    case webSocket(url: String, headers: [(String, String)], subprotocols: [String])
    /// Somebody is to be asked first, each time anew: `then` makes the route of the answer, or says why there is none, and whether trying soon can help.
    indirect case login(RESTRequest, then: @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>)
    /// A request whose answer does not end: what a session says in order to subscribe is posted, so the connection carries one stream.
    case posted(request: @Sendable (_ body: String) -> RESTRequest, framing: HTTPStream.Framing)
}
