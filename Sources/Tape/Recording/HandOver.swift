/// The bounded queue between the feed's thread and the tape's thread, so that the feed never waits for a disk. Records that do not fit become a gap.
package struct HandOver {
    /// The records that the tape's thread takes at a time, then a gap if there was no room for further records.
    package struct Batch {
        var records: [TapedRecord] = []
        /// From the last record that fit up to now.
        var gap: TapeGap?

        package init(records: [TapedRecord] = [], gap: TapeGap? = nil) { (self.records, self.gap) = (records, gap) }

        /// The gap that is left if none of the records is written; nil if there are none.
        func lost(to error: TapeError?) -> TapeGap? {
            guard let from = records.first?.at ?? gap?.from else { return nil }
            let lost = TapeGap(
                from: from, to: records.last?.at ?? from, reason: error?.reason ?? .failed, events: UInt64(records.count),
                detail: error?.message ?? "")
            return gap.map { lost.extended(by: $0) } ?? lost
        }
    }

    private let limit: Int
    private var batch = Batch()
    /// The approximate size of the queued records, including records that the tape's thread has taken but not written yet.
    private(set) var waitingBytes = 0
    var takenBytes = 0
    private var lastAt: Int64 = 0
    /// The number of records that did not fit since the start.
    private(set) var dropped: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Queues a record. After one record did not fit, none is accepted until the batch is taken. A batch therefore has at most one gap, at its end.
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
