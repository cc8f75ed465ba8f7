import Replication

extension TapeReader {
    /// The gaps of the recording, and the gaps between segments that the recording does not list, oldest first.
    package func allGaps() throws(TapeError) -> [TapeGap] {
        let (listed, unlisted) = (try gaps(), try unlistedGaps())
        return unlisted.isEmpty ? listed : (listed + unlisted).sorted { $0.from < $1.from }
    }

    /// The gaps between segments that the recording does not list, because a segment or the list of gaps was lost. Gaps beside damage are not
    /// included.
    package func unlistedGaps() throws(TapeError) -> [TapeGap] {
        let decompressor = FrameDecompressor()
        var (found, last): ([TapeGap], SegmentEnd?) = ([], nil)
        for segment in try segments() {
            let (blocks, damages) = try blocks(of: segment)
            guard let first = blocks.first, let end = blocks.last else {
                if !damages.isEmpty { last = nil }
                continue
            }
            let start = damages.contains { $0.bytes.lowerBound < first.offset } ? nil : try? messages(of: first, in: segment, decompressor).first
            if let last, let start, let gap = last.gap(before: start, first.header) { found.append(gap) }
            let isWhole = !damages.contains { $0.bytes.upperBound > end.end }
            let lastMessages = isWhole ? try? messages(of: end, in: segment, decompressor) : nil
            last = lastMessages.map { SegmentEnd(header: end.header, isOrderly: $0.last?.records.last?.kind == .resigned) }
        }
        guard !found.isEmpty else { return [] }
        // The list is read after the segments, because the recorder adds a gap right after the block that ends it.
        let listed = try gaps()
        return found.filter { gap in !listed.contains { $0.from <= gap.from && $0.to >= gap.to } }
    }
}

/// The end of a segment that is not damaged.
private struct SegmentEnd {
    let header: BlockHeader
    /// Whether the writer has announced its end.
    let isOrderly: Bool

    /// The gap before the first message of the next segment; nil if nothing is missing.
    func gap(before message: LogMessage, _ next: BlockHeader) -> TapeGap? {
        var (reason, events) = (TapeGap.Reason.damaged, UInt64?.none)
        if let claim = message.claim {
            let isSuccessor = claim.previous == header.epoch && claim.end &+ 1 == header.next
            // Within an epoch, the recorder begins again after events that the feed itself had lost.
            if isSuccessor ? isOrderly : claim.previous == 0 && next.epoch == header.epoch { return nil }
            if isSuccessor || claim.previous == 0 { reason = isOrderly ? .stopped : .killed }
        } else if next.epoch == header.epoch {
            if next.first == header.next { return nil }
            if next.first > header.next { events = next.first - header.next }
        }
        return TapeGap(
            from: min(header.lastAt, next.firstAt), to: next.firstAt, reason: reason, events: events, detail: "not in \(TapeReader.gapLog)")
    }
}
