public import FeedCore

/// One connection in a dialect's words, and what has to be remembered of it. Used on the engine's thread alone; it opens nothing itself.
public protocol DialectSession: AnyObject {
    /// Whether subscriptions may be sent. If not, the gateway waits for `ready`, ten seconds at most.
    var isReady: Bool { get }

    /// The first frames to send.
    func greeting() -> [String]

    /// The frames that subscribe to streams.
    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// The frames that end subscriptions.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// Whether frames are sent as binary messages, with the same bytes.
    var sendsBinary: Bool { get }

    /// How often `ping` is sent, whatever else is sent; nil if it is sent only when the core asks for a sign of life.
    var heartbeat: Duration? { get }

    /// The frame that asks for a sign of life; nil for a ping of RFC 6455.
    func ping() -> String?

    /// Reads one message. Bad data becomes `.malformed`; nothing traps.
    func receive(_ message: Span<UInt8>, _ emit: (SessionEvent) -> Void)

    /// Reads one binary message, like `receive`.
    func receiveBinary(_ message: Span<UInt8>, _ emit: (SessionEvent) -> Void)

    /// Why reconnecting soon is useless after the server closed the connection with this code, or refused it with this status; nil if it is not.
    func refusal(closeCode: UInt16?, status: Int?) -> FeedError?
}

/// What a session reads from a message.
public enum SessionEvent {
    /// An event of a stream, or of its subscription.
    case event(UpstreamEvent)
    /// A frame to send.
    case send(String)
    /// The server has accepted the connection: subscriptions may be sent.
    case ready
    /// The server refuses this client. The connection is closed, and opened again after a minute.
    case refused(FeedError)
}

extension DialectSession {
    /// True.
    public var isReady: Bool { true }
    /// No frames.
    public func greeting() -> [String] { [] }
    /// False.
    public var sendsBinary: Bool { false }
    /// Nil.
    public var heartbeat: Duration? { nil }
    /// Nil.
    public func ping() -> String? { nil }
    /// Reports bad data.
    public func receiveBinary(_ message: Span<UInt8>, _ emit: (SessionEvent) -> Void) {
        emit(.event(.malformed(nil, "The venue sent a binary message; this dialect has none.")))
    }
    /// Nil.
    public func refusal(closeCode: UInt16?, status: Int?) -> FeedError? { nil }
}
