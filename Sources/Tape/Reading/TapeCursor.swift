package import FeedCore
import Replication

/// A position on a tape that moves forward block by block. It also reads blocks that are written in the meantime.
package struct TapeCursor {
    private enum Finding {
        case block(IndexEntry)
        case damage(TapeDamage)

        var offset: UInt64 {
            switch self {
            case .block(let block): block.offset
            case .damage(let damage): damage.bytes.lowerBound
            }
        }
    }

    private let reader: TapeReader
    private let from: Int64
    private let to: Int64
    private let isFollowing: Bool
    private let decompressor = FrameDecompressor()
    private var segment: TapeReader.Segment?
    /// The end of the examined part of the segment, and the blocks found there that were not read yet.
    private var end: UInt64 = 0
    private var findings: ArraySlice<Finding> = []
    private var expected: TapePosition?
    /// The position of the last item; nil before the first one, and after damage.
    private(set) var place: TapePlace?

    /// Creates a cursor before the data received between two times, in blocks: a part of the data may be outside.
    ///
    /// - Parameters:
    ///   - from: Ms since 1970 UTC; nil for the beginning.
    ///   - to: Ms since 1970 UTC; nil for the end.
    ///   - isFollowing: Whether the tape is read while it is written. An incomplete block at its end is then not damage.
    package init(_ reader: TapeReader, from: Int64? = nil, to: Int64? = nil, isFollowing: Bool = false) {
        (self.reader, self.from, self.to, self.isFollowing) = (reader, from ?? .min, to ?? .max, isFollowing)
    }

    /// Creates a cursor before a block that follows the tape.
    ///
    /// - Parameter place: Nil for the beginning.
    init(_ reader: TapeReader, at place: TapePlace?) throws(TapeError) {
        self.init(reader, isFollowing: true)
        guard let place, let segment = try reader.segments().first(where: { $0.number == place.segment }) else { return }
        try load(segment, from: place.offset, mayGrow: try reader.segments().last == segment)
    }

    /// Creates a cursor before the block that contains the data after an event; nil if the tape has no such block.
    ///
    /// - Parameters:
    ///   - from: Earlier data is skipped, in blocks, ms since 1970 UTC; nil for none.
    ///   - to: Later data is skipped.
    ///   - isFollowing: Whether the tape is read while it is written.
    package init?(
        _ reader: TapeReader, following id: EventID, from: Int64? = nil, to: Int64? = nil, isFollowing: Bool = true
    ) throws(TapeError) {
        guard id.sequence < LogMessage.largestNumber else { return nil }
        var start: (segment: TapeReader.Segment, offset: UInt64)?
        for segment in try reader.segments().reversed() where start == nil {
            guard let first = try reader.whole(of: segment)?.firsts[id.epoch], first <= id.sequence + 1 else { continue }
            for block in try reader.blocks(of: segment).blocks where block.header.epoch == id.epoch && block.header.first <= id.sequence + 1 {
                start = (segment, block.offset)
            }
        }
        guard let start else { return nil }
        self.init(reader, from: from, to: to, isFollowing: isFollowing)
        try load(start.segment, from: start.offset, mayGrow: true)
    }

    /// The next block's messages, or damage; nil if there is nothing more for now.
    package mutating func next() throws(TapeError) -> TapeItem? {
        while true {
            while let finding = findings.popFirst() {
                switch finding {
                case .damage(let damage):
                    place = nil
                    return .damage(damage)
                case .block(let block):
                    guard block.header.lastAt >= from, block.header.firstAt <= to, let segment else { continue }
                    place = TapePlace(segment: segment.number, offset: block.offset)
                    return read(block, in: segment)
                }
            }
            guard try advance() else { return nil }
        }
    }

    private mutating func read(_ block: IndexEntry, in segment: TapeReader.Segment) -> TapeItem {
        do throws(TapeDamage) {
            let messages = try reader.messages(of: block, in: segment, decompressor)
            let header = block.header
            let follows = expected.map { $0.epoch == header.epoch && $0.next == header.first } ?? true
            expected = TapePosition(epoch: header.epoch, term: header.term, next: header.next)
            return .messages(messages, isBroken: !follows && messages.first?.claim == nil)
        } catch { return .damage(error) }
    }

    /// Searches for more: in the segment, then in the next one. False if there is nothing.
    private mutating func advance() throws(TapeError) -> Bool {
        let segments = try reader.segments()
        if let grown = segments.first(where: { $0.number == segment?.number }), UInt64(grown.bytes) > end {
            try load(grown, from: end, mayGrow: isFollowing && grown.number == segments.last?.number)
            if !findings.isEmpty { return true }
        }
        for (place, next) in segments.enumerated() where next.number > segment?.number ?? 0 {
            if try isOutside(next, before: segments[(place + 1)...].first) { continue }
            try load(next, from: 0, mayGrow: isFollowing && next.number == segments.last?.number)
            return true
        }
        return false
    }

    /// Whether a segment has none of the requested data. Damage at its end may contain some, unless the next segment starts early enough.
    private func isOutside(_ segment: TapeReader.Segment, before next: TapeReader.Segment?) throws(TapeError) -> Bool {
        guard from > .min || to < .max, let extent = try reader.whole(of: segment) else { return false }
        if extent.firstAt > to { return true }
        guard extent.lastAt < from, let next, let follower = try reader.whole(of: next) else { return false }
        return follower.firstAt <= from
    }

    private mutating func load(_ segment: TapeReader.Segment, from start: UInt64, mayGrow: Bool) throws(TapeError) {
        var (blocks, damages) = try reader.blocks(of: segment)
        if mayGrow, let last = damages.last, last.bytes.upperBound == UInt64(segment.bytes) { damages.removeLast() }
        let found = blocks.map(Finding.block) + damages.map(Finding.damage)
        findings = found.filter { $0.offset >= start }.sorted { $0.offset < $1.offset }[...]
        (self.segment, end) = (segment, max(start, blocks.last?.end ?? 0, damages.last?.bytes.upperBound ?? 0))
    }
}
