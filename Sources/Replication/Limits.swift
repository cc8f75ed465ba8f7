// The numbers of the replicated log that you may want to change, by the type that uses each.

extension CatchingUp {
    /// How long the node waits for the leader's answer, and then for a new record.
    static let patience = Duration.seconds(2)
    /// How long it waits before it asks a leader again that could not answer.
    static let pause = Duration.milliseconds(250)
}

extension EpochTable {
    /// The maximum number of epochs that are remembered.
    static let mostEpochs = 64
}

extension FeedMirror {
    /// A cluster that elects a leader is silent this long, and then no other node is better, ms.
    static let longSilence: Int64 = 5_000
    /// How far behind the log a node must be to report it, ms.
    static let longLag: Int64 = 2_000
}

extension LogWriter {
    /// The maximum number of messages of one request to the log, minus one.
    static let mostFetches: UInt64 = 255
}

extension MirroredContent {
    /// The maximum number of changes that wait until the content is read.
    static let mostUnread = 64
}

extension MirroredStream {
    /// The core keeps no more either.
    static let mostIncidents = 100
    /// A shorter delay is usual, ms. Every node then reports the ingest's own duration.
    static let noticeable: Int64 = 100
}

extension PastFeed {
    /// How much later than its receipt an event may be written, ms, on a heavily overloaded machine.
    package static let longestDelay: Int64 = 10_000
}

extension VerifiedRecord {
    /// The maximum number of streams in one record.
    static let most = 2_000
}

extension WriterClock {
    /// The time in which the smallest offset counts, and once more, ms.
    static let period: Int64 = 30_000
}
