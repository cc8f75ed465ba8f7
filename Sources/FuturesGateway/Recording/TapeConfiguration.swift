public import GatewayAccess

/// The streams to record on disk, and how much to keep.
public struct TapeConfiguration: Sendable {
    /// The directory, which is created if necessary. No other process may write there.
    public var directory: String
    /// The streams that are recorded while they have readers or are pinned.
    public var streams: [StreamPattern]
    /// How long events are kept, at least a minute.
    public var keep: Duration
    /// The maximum size of all files together in bytes, at least 16 MiB. If necessary, the oldest events are dropped before `keep` has passed.
    public var bytes: Int
    /// Whether the venue's messages and its list of symbols are recorded with the events, so that the tape can be replayed as a venue.
    public var recordsMessages = false
    /// The maximum size of the venue's recorded raw messages in bytes; zero to record none.
    public var frameBytes = 0

    /// Creates a configuration for these streams.
    public init(directory: String, streams: [StreamPattern], keep: Duration = .seconds(86_400), bytes: Int = 20 << 30) {
        self.directory = directory
        self.streams = streams
        self.keep = max(keep, .seconds(60))
        self.bytes = max(bytes, 16 << 20)
    }
}
