/// What went wrong with a stream: a closed code to decide by, and a message that says what to do.
public struct FeedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The closed set of reasons.
    public enum Code: String, Sendable {
        /// The name fits no stream of the venue, or its symbol is not listed.
        case unknownStream
        /// The venue has settled the symbol; nothing more comes.
        case settled
        /// The venue has no REST source for the stream.
        case noSnapshotSource
        /// The venue's budget is used up or it asked to wait.
        case rateLimited
        /// The venue answered with an error of its own.
        case venueRejected
        /// The venue refused the subscription.
        case subscriptionRejected
        /// The venue could not be reached.
        case unreachable
        /// No answer in time.
        case timedOut
        /// The venue sent what cannot be read.
        case malformed
    }

    /// Which reason it is.
    public let code: Code
    /// What happened and what to do, for a person.
    public let message: String
    /// The venue's own error code, as in `-1121`.
    public let venueCode: Int?
    /// How long the venue asked to wait, ms.
    public let retryAfterMs: Int64?
    /// Whether trying again later can help.
    public let isTransient: Bool

    /// Makes an error; `isTransient` follows from the code where left out.
    public init(_ code: Code, _ message: String, venueCode: Int? = nil, retryAfterMs: Int64? = nil, isTransient: Bool? = nil) {
        self.code = code
        self.message = message
        self.venueCode = venueCode
        self.retryAfterMs = retryAfterMs
        self.isTransient =
            isTransient
            ?? {
                switch code {
                case .rateLimited, .unreachable, .timedOut, .malformed: true
                case .unknownStream, .settled, .noSnapshotSource, .venueRejected, .subscriptionRejected: false
                }
            }()
    }

    /// The code and the message.
    public var description: String { "\(code.rawValue): \(message)" }
}
