import NIOConcurrencyHelpers

/// The extent of a segment's intact blocks.
struct SegmentExtent: Sendable, Equatable {
    /// When the oldest and the newest record were received, ms since 1970 UTC.
    let firstAt: Int64
    let lastAt: Int64
    /// When the newest record of its last block was received. It is earlier than `lastAt` if the clock was set back.
    let endAt: Int64
    /// The lowest number of each epoch.
    let firsts: [UInt64: UInt64]

    /// Nil if there are no blocks.
    init?(_ blocks: [IndexEntry]) {
        guard let first = blocks.first, let last = blocks.last else { return nil }
        var (firstAt, lastAt, firsts) = (first.header.firstAt, first.header.lastAt, [UInt64: UInt64]())
        for block in blocks {
            (firstAt, lastAt) = (min(firstAt, block.header.firstAt), max(lastAt, block.header.lastAt))
            firsts[block.header.epoch] = min(firsts[block.header.epoch] ?? .max, block.header.first)
        }
        (self.firstAt, self.lastAt, endAt, self.firsts) = (firstAt, lastAt, last.header.lastAt, firsts)
    }
}

/// A segment's extent and ends, so that its files need not be read again.
struct SegmentSummary: Sendable {
    /// Nil if it has no intact block.
    let extent: SegmentExtent?
    /// Nil if it is empty, without damage.
    let ends: SegmentEnds?
}

/// The known summaries of segments, by their sizes, so that a search need not read every index.
final class SegmentSummaries: Sendable {
    private let known = NIOLockedValueBox<[String: (segment: TapeReader.Segment, summary: SegmentSummary)]>([:])

    func summary(of segment: TapeReader.Segment, _ find: () throws(TapeError) -> SegmentSummary) throws(TapeError) -> SegmentSummary {
        if let found = known.withLockedValue({ $0[segment.name] }), found.segment == segment { return found.summary }
        let summary = try find()
        known.withLockedValue { known in
            if known.count >= Self.most { known = [:] }
            known[segment.name] = (segment, summary)
        }
        return summary
    }
}
