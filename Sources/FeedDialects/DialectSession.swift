public import FeedCore

/// The state of one connection in a dialect. Used only on the engine's thread; it opens no connection itself.
public protocol DialectSession: AnyObject {
    /// Whether subscriptions may be sent. If not, the gateway waits for `ready`, at most ten seconds.
    var isReady: Bool { get }

    /// The first frames to send.
    func greeting() -> [String]

    /// The frames that subscribe to streams.
    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// The frames that end subscriptions.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// Whether frames are sent as binary messages with the same bytes.
    var sendsBinary: Bool { get }

    /// How often `ping` is sent in any case; nil to send it only when the core asks for a sign of life.
    var heartbeat: Duration? { get }

    /// The frame that asks for a sign of life; nil to use a ping of RFC 6455.
    func ping() -> String?

    /// Parses one message. Invalid data results in `.malformed`; no input traps.
    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void)

    /// Parses one binary message, like `receive`.
    func receiveBinary(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void)

    /// Why an early reconnect is useless after the server closed the connection with this code, or refused it with this status; nil if it is not.
    func refusal(closeCode: UInt16?, status: Int?) -> FeedError?
}

/// The events that a session reads from a message.
public enum SessionEvent {
    /// An event of a stream, or of its subscription.
    case event(UpstreamEvent)
    /// A frame to send.
    case send(String)
    /// The server has accepted the connection: subscriptions may be sent.
    case ready
    /// The server refuses this client. The connection is closed, and reopened after a minute.
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
    /// Reports invalid data.
    public func receiveBinary(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        emit(.event(.malformed(nil, "The venue sent a binary message; this dialect uses only text.")))
    }
    /// Nil.
    public func refusal(closeCode: UInt16?, status: Int?) -> FeedError? { nil }
}
