import FeedCore

/// A GraphQL server and its streams.
package struct GraphQLUpstream: Sendable, CustomStringConvertible {
    /// The transport of subscriptions. Queries are always posted over HTTP.
    enum Transport: String, Sendable, CaseIterable {
        case webSocket = "websocket"
        /// Multipart subscriptions over HTTP, in Apollo's format.
        case multipart
        /// Server-sent events, GraphQL over SSE in its mode of distinct connections.
        case events = "sse"
    }

    struct Stream: Sendable, Equatable {
        var subscription: GraphQLOperation
        /// Requests the same content once; nil if there is no query for it.
        var snapshot: GraphQLOperation?
    }

    /// `ws://` or `wss://`; nil if subscriptions use HTTP.
    var webSocketURL: String?
    /// `http://` or `https://`; nil if there are no queries and subscriptions use the WebSocket.
    var httpURL: String?
    var transport = Transport.webSocket
    /// The subprotocols to offer, first choice first.
    var subprotocols = GraphQLProtocol.allCases
    /// The `payload` of `connection_init`, a JSON object such as `{"Authorization":"Bearer …"}`; nil for none.
    var connectingPayload: String?
    /// Headers of every request and upgrade.
    var headers: [(String, String)] = []
    var streams: [String: Stream] = [:]

    /// Without secrets, because it may be logged.
    package var description: String { "a GraphQL server at \(webSocketURL ?? httpURL ?? "no address")" }

    /// The stream with a name: `price`, or `AAPL@price` if it has a key.
    func stream(_ name: String) -> (stream: Stream, key: String?)? {
        let at = name.lastIndex(of: "@")
        let kind = at.map { String(name[name.index(after: $0)...]) } ?? name
        let key = at.map { String(name[..<$0]) }
        guard let stream = streams[kind], stream.subscription.payload(key: key) != nil else { return nil }
        return (stream, key)
    }
}

/// The two protocols over a WebSocket, by the subprotocol's name. Note: the package named graphql-ws uses `graphql-transport-ws`.
enum GraphQLProtocol: String, Sendable, CaseIterable {
    case transport = "graphql-transport-ws"
    case legacy = "graphql-ws"

    var start: String { self == .transport ? "subscribe" : "start" }
    var stop: String { self == .transport ? "complete" : "stop" }

    /// Why an early retry cannot help after the server closed with this code; nil if it may.
    ///
    /// A close before the connection was accepted is a refusal, whatever code the server chooses. Later, the same code may mean an expired token, and
    /// the next attempt decides. The other codes are faults of this client or of the server's configuration (PROTOCOL.md of graphql-ws).
    static func refusal(closeCode code: UInt16?, wasAccepted: Bool) -> FeedError? {
        let words: String
        switch (code, wasAccepted) {
        case (1000, false): words = "closed instead of accepting: check the credentials of connectingPayload"
        case (4401, false), (4403, false): words = "refused the credentials of connectingPayload: correct them"
        case (4400, _): words = "did not understand a message: check that the address is that of a GraphQL server"
        case (4406, _): words = "speaks none of the offered subprotocols: correct subprotocols"
        case (4409, _), (4429, _): words = "mistook a message for a duplicate: report this"
        default: return nil
        }
        return FeedError(.venueRejected, "The server \(words) (\(code ?? 1005)).", venueCode: code.map { Int($0) })
    }
}
