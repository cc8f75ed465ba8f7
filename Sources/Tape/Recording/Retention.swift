/// Decides which segments a tape keeps. Both limits apply: nothing is older than `keep` by more than one segment, and all files together have at most
/// `bytes`.
struct Retention {
    /// How long events are kept, ms.
    let keep: Int64
    let bytes: Int

    /// The maximum size of one segment, and the longest time in it, ms, so that only a small part of the tape is dropped at a time.
    var segmentBytes: Int { min(64 << 20, bytes / 16) }
    var segmentTime: Int64 { min(max(keep / 24, 60_000), 3_600_000) }

    struct Segment: Sendable, Equatable {
        let name: String
        /// Including its index.
        var bytes: Int
        /// When its newest record was received, ms since 1970 UTC; nil if it has none.
        var lastAt: Int64?
    }

    /// How many of the oldest segments must be removed before `more` bytes are written.
    ///
    /// - Parameter segments: Oldest first, without the one being written.
    func surplus(_ segments: [Segment], besides others: Int, more: Int, now: Int64) -> Int {
        var total = segments.reduce(others + more) { $0 + $1.bytes }
        var count = 0
        // A segment is not newer than later ones, even if the clock was wrong when it was written. An empty one says nothing about the others.
        var lastAts = segments.map { $0.lastAt ?? .max }
        for place in lastAts.indices.dropLast().reversed() { lastAts[place] = min(lastAts[place], lastAts[place + 1]) }
        for (segment, lastAt) in zip(segments, lastAts) {
            guard total > bytes || lastAt < now - keep else { break }
            total -= segment.bytes
            count += 1
        }
        return count
    }
}
