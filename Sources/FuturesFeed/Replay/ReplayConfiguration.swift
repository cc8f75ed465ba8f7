/// The recording that a gateway serves instead of a venue.
public struct ReplayConfiguration: Sendable, Equatable {
    /// How time passes.
    public enum Pace: Sendable, Equatable {
        /// Seconds of the past per second, at most `fastest`; 0 for as fast as the readers accept.
        case speed(Double)
        /// Requests of a client.
        case steps
    }

    /// The tape's directory. It is only read.
    public var directory: String
    /// The first moment, ms since 1970 UTC; nil for the beginning of the tape.
    public var from: Int64?
    /// The last moment, likewise; nil for the end of the tape.
    public var to: Int64?
    /// The pace.
    public var pace: Pace
    /// With a speed: time begins to pass this long after the last stream got its first reader, so that clients can subscribe to all of theirs.
    public var settle: Duration

    /// Creates a configuration; see the properties.
    public init(directory: String, from: Int64? = nil, to: Int64? = nil, pace: Pace = .speed(1), settle: Duration = .seconds(1)) {
        (self.directory, self.from, self.to, self.pace, self.settle) = (directory, from, to, pace, settle)
    }
}
