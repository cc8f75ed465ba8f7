import FuturesFeed

/// The log of one stream in one format, and who reads it.
struct EventLog: ~Copyable {
    let name: FuturesServiceStreamName
    /// The stream alone.
    let streams: StreamSet
    var ring: StreamLog
    /// The slots of the readers, and the compression groups the stream is in.
    var readers: [Int] = []
    var groups: [Int] = []
    var isDirty = false

    init(name: FuturesServiceStreamName, ring: consuming StreamLog) {
        self.name = name
        streams = StreamSet(name)
        self.ring = ring
    }
}
