/// An error of a stream: a code from a closed set for decisions, and a message that says what to do.
public struct FeedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The closed set of codes.
    public enum Code: String, Sendable {
        /// The venue has no stream with this name, or does not list its symbol.
        case unknownStream
        /// The venue has settled the symbol. No more data arrives.
        case settled
        /// The venue has no REST source for the stream.
        case noSnapshotSource
        /// The venue's weight budget is used up, or the venue asked to wait.
        case rateLimited
        /// The venue answered with its own error.
        case venueRejected
        /// The venue refused the subscription.
        case subscriptionRejected
        /// The venue could not be reached.
        case unreachable
        /// No answer arrived in time.
        case timedOut
        /// The venue sent unreadable data.
        case malformed
    }

    /// The code of the error.
    public let code: Code
    /// What happened and what to do, for a person.
    public let message: String
    /// The venue's own error code, such as `-1121`.
    public let venueCode: Int?
    /// How long the venue asked to wait, ms.
    public let retryAfterMs: Int64?
    /// Whether a later attempt can succeed.
    public let isTransient: Bool

    /// Creates an error. If `isTransient` is omitted, it follows from the code.
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
