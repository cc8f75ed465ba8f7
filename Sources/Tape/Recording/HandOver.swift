/// What waits between the feed's thread and the tape's, bounded, so that the feed never waits for a disk. What does not fit is a gap.
package struct HandOver {
    /// What the tape's thread takes at once: records, then a gap if there was no room for what followed them.
    package struct Batch {
        var records: [TapedRecord] = []
        /// From the last record that fit up to now.
        var gap: TapeGap?

        package init(records: [TapedRecord] = []) { self.records = records }
    }

    private let limit: Int
    private var batch = Batch()
    /// Bytes of the records, about, and of those that the tape's thread has taken and not written yet.
    private(set) var waitingBytes = 0
    var takenBytes = 0
    private var lastAt: Int64 = 0
    /// Records that did not fit since the start.
    private(set) var dropped: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Once one record did not fit, none does until the batch is taken: so a batch has one gap at most, and it is at the end.
    mutating func offer(_ taped: TapedRecord) {
        guard batch.gap == nil, waitingBytes + takenBytes + taped.size <= limit else {
            dropped &+= 1
            var gap = batch.gap ?? TapeGap(from: lastAt == 0 ? taped.at : lastAt, to: taped.at, reason: .late, events: 0)
            gap.to = taped.at
            gap.events = (gap.events ?? 0) &+ 1
            batch.gap = gap
            return
        }
        lastAt = taped.at
        waitingBytes += taped.size
        batch.records.append(taped)
    }

    mutating func take() -> Batch {
        defer { (batch, takenBytes, waitingBytes) = (Batch(), waitingBytes, 0) }
        return batch
    }
}
