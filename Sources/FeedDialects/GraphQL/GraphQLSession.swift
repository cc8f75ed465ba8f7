import FeedCore

/// One connection to a GraphQL server: its state, and which operation belongs to which stream. It has no IO: bytes in, frames and events out.
///
/// Operation ids are unique in the process, so late messages of an ended operation are recognized.
struct GraphQLSession {
    enum Event {
        /// A frame to send.
        case send(String)
        /// The server has accepted the connection: subscriptions may be sent.
        case ready
        /// Content of a stream: its JSON text.
        case content(String, UnsafeBufferPointer<UInt8>)
        /// The server reported an error beside content; the subscription continues.
        case trouble(String, FeedError)
        /// A result of the stream has no content that can be used. Newer content exists.
        case unusable(String, String)
        /// The server refused or ended a stream's subscription.
        case failed(String, FeedError)
        /// The server ended a stream's subscription in order.
        case complete(String)
        /// The server refuses this client.
        case refused(FeedError)
        case malformed(String)
    }

    private let upstream: GraphQLUpstream
    /// Nil over HTTP, where the connection is one operation.
    private let version: GraphQLProtocol?
    private var names: [String: String] = [:]
    private var operations: [String: String] = [:]
    private(set) var isReady: Bool

    /// - Parameter version: The negotiated protocol; nil over HTTP.
    init(_ upstream: GraphQLUpstream, version: GraphQLProtocol?) {
        self.upstream = upstream
        self.version = version
        isReady = version == nil
    }

    /// The first frame of a WebSocket.
    var greeting: String {
        let payload = upstream.connectingPayload.map { #","payload":\#($0)"# } ?? ""
        return #"{"type":"connection_init"\#(payload)}"#
    }

    /// A ping that the server answers; nil if the protocol has none.
    var ping: String? { version == .transport ? #"{"type":"ping"}"# : nil }

    /// The frame, or the body of the request, that subscribes to a stream; nil if there is no such stream.
    mutating func subscribe(_ name: String, operation id: String) -> String? {
        guard let (stream, key) = upstream.stream(name), let payload = stream.subscription.payload(key: key) else { return nil }
        if let earlier = operations[name] { names[earlier] = nil }
        names[id] = name
        operations[name] = id
        return version.map { #"{"id":"\#(id)","type":"\#($0.start)","payload":\#(payload)}"# } ?? payload
    }

    /// The frame that ends a stream's subscription; nil if nothing must be sent.
    mutating func unsubscribe(_ name: String) -> String? {
        guard let id = operations.removeValue(forKey: name) else { return nil }
        names[id] = nil
        return version.map { #"{"id":"\#(id)","type":"\#($0.stop)"}"# }
    }

    /// Parses one message.
    mutating func receive(_ bytes: UnsafeBufferPointer<UInt8>, _ emit: (Event) -> Void) {
        let message: GraphQLMessage
        do {
            message = try GraphQLMessage(bytes) { id in name(id).flatMap { upstream.stream($0)?.stream.subscription.path } ?? [] }
        } catch {
            return emit(.malformed("The server sent a message that is not a JSON object: \(error.reason)."))
        }
        switch message.kind {
        case .alive, .unknown: break
        case .ping: emit(.send(#"{"type":"pong"}"#))
        case .acknowledged:
            isReady = true
            emit(.ready)
        case .refused:
            let words = message.errors ?? "no reason given"
            if isReady {
                emit(.malformed("The server did not understand a message: \(words)."))
            } else {
                emit(.refused(FeedError(.venueRejected, "The server refused the connection: \(words). Check connectingPayload.")))
            }
        case .result, .failed, .complete: settle(message, emit)
        }
    }

    private func name(_ id: String?) -> String? { version == nil ? names.values.first : id.flatMap { names[$0] } }

    /// Handles a message of one operation. Late messages of an ended operation are dropped.
    private mutating func settle(_ message: GraphQLMessage, _ emit: (Event) -> Void) {
        guard let name = name(message.id) else { return }
        let words = message.errors ?? "no reason given"
        switch message.kind {
        case .result:
            if let value = message.value {
                emit(.content(name, value))
                if message.errors != nil { emit(.trouble(name, FeedError(.venueRejected, "The server reports an error: \(words)."))) }
            } else if message.errors != nil {
                emit(.unusable(name, "The server reports an error instead of data: \(words)."))
            } else {
                emit(.unusable(name, "The server's data has nothing at the stream's path: correct the configuration."))
            }
        case .complete:
            forget(name)
            emit(.complete(name))
        default:
            forget(name)
            emit(.failed(name, FeedError(.subscriptionRejected, "The server refused the subscription: \(words).")))
        }
    }

    private mutating func forget(_ name: String) {
        if let id = operations.removeValue(forKey: name) { names[id] = nil }
    }
}
