import Replication

extension TapeReader {
    /// The gaps of the recording, and those between segments that its list of gaps lacks, oldest first.
    package func gaps() throws(TapeError) -> [TapeGap] {
        // The list is read after the segments, because the recorder adds a gap right after the block that ends it.
        let found = try gapsBetweenSegments()
        let listed = try listedGaps()
        let unlisted = Self.unlisted(found, listed)
        return unlisted.isEmpty ? listed : (listed + unlisted).sorted { $0.from < $1.from }
    }

    /// The gaps between segments that the list of gaps lacks, because a segment or the list was lost. Gaps beside damage are not included.
    package func unlistedGaps() throws(TapeError) -> [TapeGap] {
        let found = try gapsBetweenSegments()
        return found.isEmpty ? [] : Self.unlisted(found, try listedGaps())
    }

    private static func unlisted(_ found: [TapeGap], _ listed: [TapeGap]) -> [TapeGap] {
        found.filter { gap in !listed.contains { $0.from <= gap.from && $0.to >= gap.to } }
    }

    private func gapsBetweenSegments() throws(TapeError) -> [TapeGap] {
        var (found, last): ([TapeGap], SegmentEnd?) = ([], nil)
        for segment in try segments() {
            guard let ends = try summary(of: segment).ends else { continue }
            if let last, let start = ends.start, let gap = last.gap(before: start) { found.append(gap) }
            last = ends.end
        }
        return found
    }

    /// The first and the last message of a segment; nil if it is empty.
    func ends(of segment: Segment, _ blocks: [IndexEntry], _ damages: [TapeDamage]) -> SegmentEnds? {
        guard let first = blocks.first, let last = blocks.last else { return damages.isEmpty ? nil : SegmentEnds(start: nil, end: nil) }
        let decompressor = FrameDecompressor()
        let hasStart = !damages.contains { $0.bytes.lowerBound < first.offset }
        let message = hasStart ? try? messages(of: first, in: segment, decompressor).first : nil
        let isWhole = !damages.contains { $0.bytes.upperBound > last.end }
        let lastMessages = isWhole ? try? messages(of: last, in: segment, decompressor) : nil
        return SegmentEnds(
            start: message.map { SegmentStart(header: first.header, claim: $0.claim) },
            end: lastMessages.map { SegmentEnd(header: last.header, isOrderly: $0.last?.records.last?.kind == .resigned) })
    }
}

/// The two ends of a segment; nil where it is damaged.
struct SegmentEnds: Sendable {
    let start: SegmentStart?
    let end: SegmentEnd?
}

/// The start of a segment that is not damaged.
struct SegmentStart: Sendable {
    let header: BlockHeader
    /// The claim of its first message.
    let claim: Claim?
}

/// The end of a segment that is not damaged.
struct SegmentEnd: Sendable {
    let header: BlockHeader
    /// Whether the writer has announced its end.
    let isOrderly: Bool

    /// The gap before the first message of the next segment; nil if nothing is missing.
    func gap(before start: SegmentStart) -> TapeGap? {
        let next = start.header
        var (reason, events) = (TapeGap.Reason.damaged, UInt64?.none)
        if let claim = start.claim {
            let isSuccessor = claim.previous == header.epoch && claim.end &+ 1 == header.next
            // Within an epoch, the recorder begins again after events that the feed itself had lost.
            if claim.previous == 0, next.epoch == header.epoch { return nil }
            if isSuccessor || claim.previous == 0 { reason = isOrderly ? .stopped : .killed }
        } else if next.epoch == header.epoch {
            if next.first == header.next { return nil }
            if next.first > header.next { events = next.first - header.next }
        }
        return TapeGap(
            from: min(header.lastAt, next.firstAt), to: next.firstAt, reason: reason, events: events, detail: "not in \(TapeReader.gapLog)")
    }
}
