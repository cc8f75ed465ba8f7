package import FeedCore

/// The log of one stream in one format, and who reads it.
package struct EventLog: ~Copyable {
    package let name: FuturesServiceStreamName
    /// The stream alone.
    package let streams: StreamSet
    package var ring: StreamLog
    /// The slots of the readers, and the compression groups the stream is in.
    package var readers: [Int] = []
    package var groups: [Int] = []
    package var isDirty = false

    package init(name: FuturesServiceStreamName, ring: consuming StreamLog) {
        self.name = name
        streams = StreamSet(name)
        self.ring = ring
    }
}
