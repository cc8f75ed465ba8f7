/// A block's place on a tape. Places are in the order in which blocks were written, whatever the clock said.
struct TapePlace: Sendable, Comparable {
    let segment: UInt64
    let offset: UInt64

    static func < (one: Self, other: Self) -> Bool { (one.segment, one.offset) < (other.segment, other.offset) }
}

/// Finds places by times. A clock may be set back, so the tape can come by a time more than once, and a later block can tell an earlier time.
extension TapeReader {
    /// Learns what each segment holds, so that searches read few files. Call it again if it returns false.
    ///
    /// - Parameter isLate: whether the caller has no more time.
    /// - Returns: whether every segment is known.
    package func survey(_ isLate: () -> Bool) throws(TapeError) -> Bool {
        for segment in try segments() {
            if isLate() { return false }
            _ = try whole(of: segment)
        }
        return true
    }

    /// The first block in which the clock of the tape reaches a time: the block holds it, or the block before is older. Nil if no block does.
    func place(reaching time: Int64) throws(TapeError) -> TapePlace? {
        var before: Int64?
        for segment in try segments() {
            guard let extent = try whole(of: segment) else { continue }
            defer { before = extent.endAt }
            let isApproached = before.map { $0 < time } ?? false
            guard extent.lastAt >= time, extent.firstAt <= time || isApproached else { continue }
            for block in try blocks(of: segment).blocks {
                let header = block.header
                if header.lastAt >= time, header.firstAt <= time || before.map({ $0 < time }) ?? false {
                    return TapePlace(segment: segment.number, offset: block.offset)
                }
                before = header.lastAt
            }
        }
        return nil
    }

    /// The block from which on the tape has everything of so many ms before a place. Where the clock was set back, no time has passed.
    ///
    /// - Parameter place: nil for the end of the tape.
    /// - Returns: nil if the tape is empty, or if nothing is before the place.
    func place(_ milliseconds: Int64, before place: TapePlace?) throws(TapeError) -> TapePlace? {
        var (left, later, start): (Int64, Int64?, TapePlace?) = (milliseconds, nil, place)
        for segment in try segments().reversed() where segment.number <= place?.segment ?? .max {
            for block in try blocks(of: segment).blocks.reversed() {
                let here = TapePlace(segment: segment.number, offset: block.offset)
                if let place, here > place { continue }
                if let later { left -= max(0, later - block.header.lastAt) }
                guard left >= 0 else { return start }
                (later, start) = (block.header.lastAt, here)
            }
        }
        return start
    }

    /// Whether something that was received until a time is behind a place.
    func returns(to time: Int64, behind place: TapePlace) throws(TapeError) -> Bool {
        for segment in try segments() where segment.number >= place.segment {
            guard let extent = try whole(of: segment), extent.firstAt <= time else { continue }
            guard segment.number == place.segment else { return true }
            if try blocks(of: segment).blocks.contains(where: { $0.offset > place.offset && $0.header.firstAt <= time }) { return true }
        }
        return false
    }
}
