/// A block's position on a tape. Positions are ordered as blocks were written, not by the clock.
struct TapePlace: Sendable, Comparable {
    let segment: UInt64
    let offset: UInt64

    static func < (one: Self, other: Self) -> Bool { (one.segment, one.offset) < (other.segment, other.offset) }
}

/// Finds positions by time. A clock may be set back, so a time can occur on the tape more than once, and a later block can have an earlier time.
extension TapeReader {
    /// Reads the extent of each segment, so that searches read few files. Call it again if it returns false.
    ///
    /// - Parameter isLate: Whether the caller's time is up.
    /// - Returns: Whether every segment is known.
    package func survey(_ isLate: () -> Bool) throws(TapeError) -> Bool {
        for segment in try segments() {
            if isLate() { return false }
            _ = try whole(of: segment)
        }
        return true
    }

    /// The first block in which the tape's clock reaches a time: the block contains it, or the block before is older. Nil if there is none.
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

    /// The block from which on the tape has everything of the given milliseconds before a position. A clock that was set back counts as no time.
    ///
    /// - Parameter place: Nil for the end of the tape.
    /// - Returns: Nil if the tape is empty, or if nothing precedes the position.
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

    /// Whether data received up to a time follows a position.
    func returns(to time: Int64, behind place: TapePlace) throws(TapeError) -> Bool {
        for segment in try segments() where segment.number >= place.segment {
            guard let extent = try whole(of: segment), extent.firstAt <= time else { continue }
            guard segment.number == place.segment else { return true }
            if try blocks(of: segment).blocks.contains(where: { $0.offset > place.offset && $0.header.firstAt <= time }) { return true }
        }
        return false
    }
}
