/// The counts of the program's log lines since the start.
public struct LogCounts: Sendable {
    /// Lines written, or queued.
    public var written: UInt64
    /// Lines dropped because the reader of the program log did not keep up.
    public var full: UInt64
    /// Lines dropped because the same fact was logged too often.
    public var repeated: UInt64

    /// Creates counts; zero by default.
    public init(written: UInt64 = 0, full: UInt64 = 0, repeated: UInt64 = 0) {
        self.written = written
        self.full = full
        self.repeated = repeated
    }
}
