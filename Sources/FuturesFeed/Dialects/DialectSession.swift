public import FeedCore

/// One connection in a dialect's words: what was said on it, where that matters. Used on the engine's thread alone, and opens nothing itself.
public protocol DialectSession: AnyObject {
    /// Whether subscriptions may be sent. Where not, `ready` is awaited, for ten seconds.
    var isReady: Bool { get }

    /// What is sent first.
    func greeting() -> [String]

    /// What subscribes to streams.
    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// What ends subscriptions.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String]

    /// Whether what is sent is sent as binary messages, of the same bytes.
    var sendsBinary: Bool { get }

    /// How often `ping` is sent whether or not anything else is; nil where it is sent when the core asks for a sign of life.
    var heartbeat: Duration? { get }

    /// What asks for a sign of life; nil for a ping of RFC 6455.
    func ping() -> String?

    /// Reads one message. Bad data becomes `.malformed`; nothing traps.
    func receive(_ message: UnsafeBufferPointer<UInt8>, _ emit: (SessionEvent) -> Void)

    /// As `receive`, of a binary message.
    func receiveBinary(_ message: UnsafeBufferPointer<UInt8>, _ emit: (SessionEvent) -> Void)

    /// Why it is of no use to come back soon after the server closed the connection with this code, or refused it with this status; nil where it may.
    func refusal(closeCode: UInt16?, status: Int?) -> FeedError?
}

/// What a session makes of a message.
public enum SessionEvent {
    /// Something of a stream, or of its subscription.
    case event(UpstreamEvent)
    /// To be sent.
    case send(String)
    /// The server has accepted the connection: subscriptions may be sent.
    case ready
    /// The server does not take this client; the connection is closed, and tried again after a minute.
    case refused(FeedError)
}

extension DialectSession {
    /// At once.
    public var isReady: Bool { true }
    /// Nothing.
    public func greeting() -> [String] { [] }
    /// As text.
    public var sendsBinary: Bool { false }
    /// None of its own.
    public var heartbeat: Duration? { nil }
    /// A ping of RFC 6455.
    public func ping() -> String? { nil }
    /// Bad data.
    public func receiveBinary(_ message: UnsafeBufferPointer<UInt8>, _ emit: (SessionEvent) -> Void) {
        emit(.event(.malformed(nil, "The venue sent a binary message; this dialect has none.")))
    }
    /// It may.
    public func refusal(closeCode: UInt16?, status: Int?) -> FeedError? { nil }
}

/// A session that remembers nothing but how names are written.
final class PlainSession<Language: PlainDialect>: DialectSession {
    private let dialect: Language
    private let names = StreamNames()

    init(_ dialect: Language) { self.dialect = dialect }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] { [dialect.subscribe(names, request: request)] }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] { [dialect.unsubscribe(names, request: request)] }

    func receive(_ message: UnsafeBufferPointer<UInt8>, _ emit: (SessionEvent) -> Void) {
        dialect.decode(message, names: names) { emit(.event($0)) }
    }
}
