/// What became of the program's log lines, since the start.
public struct LogCounts: Sendable {
    /// Lines written, or waiting to be.
    public var written: UInt64
    /// Lines left out because whoever reads the log did not keep up.
    public var full: UInt64
    /// Lines left out because the same fact was told too often.
    public var repeated: UInt64

    /// The counts; zero where nothing is known.
    public init(written: UInt64 = 0, full: UInt64 = 0, repeated: UInt64 = 0) {
        self.written = written
        self.full = full
        self.repeated = repeated
    }
}
