public import FeedCore

/// How to connect to an upstream.
public struct UpstreamRoute: Sendable {
    package enum Way {
        case webSocket(url: String, headers: [(String, String)], subprotocols: [String])
        case login(RESTRequest, then: @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>)
        case posted(request: @Sendable (_ body: String) -> RESTRequest)
        case polled
        case markets
    }

    package let way: Way

    /// A WebSocket (RFC 6455), `ws://` or `wss://`, with headers and subprotocols for the upgrade.
    public static func webSocket(url: String, headers: [(String, String)] = [], subprotocols: [String] = []) -> Self {
        Self(way: .webSocket(url: url, headers: headers, subprotocols: subprotocols))
    }

    /// A login request before each connection. From its answer, `then` creates the route, or the error that says whether an early retry can help.
    public static func login(_ request: RESTRequest, then: @escaping @Sendable (RESTAnswer) -> Result<UpstreamRoute, FeedError>) -> Self {
        Self(way: .login(request, then: then))
    }

    /// A request whose response does not end. The session's subscription is posted, so the connection carries one stream.
    static func posted(request: @escaping @Sendable (_ body: String) -> RESTRequest) -> Self {
        Self(way: .posted(request: request))
    }

    /// No connection: its streams are polled over REST.
    static let polled = Self(way: .polled)

    /// No connection: its stream is made from streams of all upstreams.
    static let markets = Self(way: .markets)
}
