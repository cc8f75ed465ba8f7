public import GatewayAccess

/// What is recorded on disk, and how much of it is kept.
public struct TapeConfiguration: Sendable {
    /// The directory; it is made if there is none. No other process may write there.
    public var directory: String
    /// Which streams are recorded while somebody reads them, or while they are pinned.
    public var streams: [StreamPattern]
    /// How long events are kept, at least a minute.
    public var keep: Duration
    /// The most bytes of all files together, at least 16 MiB. The oldest events are dropped before they have been kept for long enough if need be.
    public var bytes: Int
    /// The most bytes of the venue's messages that are recorded as they come; zero if they are not.
    public var frameBytes = 0

    /// A tape of these streams.
    public init(directory: String, streams: [StreamPattern], keep: Duration = .seconds(86_400), bytes: Int = 20 << 30) {
        self.directory = directory
        self.streams = streams
        self.keep = max(keep, .seconds(60))
        self.bytes = max(bytes, 16 << 20)
    }
}
