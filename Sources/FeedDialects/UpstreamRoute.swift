public import FeedCore

/// How a connection to an upstream is made.
public struct UpstreamRoute: Sendable {
    package enum Way {
        case webSocket(url: String, headers: [(String, String)], subprotocols: [String])
        case login(RESTRequest, then: @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>)
        case posted(request: @Sendable (_ body: String) -> RESTRequest)
        case polled
    }

    package let way: Way

    /// A WebSocket (RFC 6455), `ws://` or `wss://`, with headers and subprotocols of the upgrade.
    public static func webSocket(url: String, headers: [(String, String)] = [], subprotocols: [String] = []) -> Self {
        Self(way: .webSocket(url: url, headers: headers, subprotocols: subprotocols))
    }

    /// A request comes first, anew for each connection. From its answer `then` makes the route, or the error that says whether trying soon can help.
    public static func login(_ request: RESTRequest, then: @escaping @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>) -> Self {
        Self(way: .login(request, then: then))
    }

    /// A request whose answer does not end. The session's subscription is posted, so the connection carries one stream.
    static func posted(request: @escaping @Sendable (_ body: String) -> RESTRequest) -> Self {
        Self(way: .posted(request: request))
    }

    /// No connection: its streams are asked for over REST again and again.
    static let polled = Self(way: .polled)
}
