package import FeedCore
package import Replication

extension TapeReader {
    /// What the end of the tape tells of the feed that was recorded, so that another one can go on with it. What is missing or damaged makes everything
    /// before it worthless.
    ///
    /// - Parameters:
    ///   - milliseconds: how much of the tape is read.
    ///   - past: nothing yet.
    /// - Returns: where the tape ends; nil if there is nothing to go on with.
    package func read(last milliseconds: Int64, into past: inout PastFeed) throws(TapeError) -> TapePosition? {
        guard let end = end() else { return nil }
        var reading = PastReading(try TapeCursor(self, at: try place(milliseconds, before: nil)), past)
        _ = try reading.step { false }
        past = reading.past
        guard let current = past.epochs.current, current.id == end.position.epoch, past.epochs.head + 1 == end.position.next else { return nil }
        return end.position
    }
}

/// A past on its way from the tape, block by block, so that whoever reads it can stop for others.
package struct PastReading {
    package var past: PastFeed
    private var cursor: TapeCursor
    /// The block in which the time is reached; nil if all that the tape has is of before.
    private let target: TapePlace?
    /// The cursor before that block, once it was reached.
    private(set) var arrival: TapeCursor?
    private var isBroken = false
    private var isOver = false
    /// The newest time of what was received at the time or later.
    private var newest: Int64 = 0

    /// A clock that goes back by no more than this, ms, was not set.
    private static let jitter: Int64 = 1000

    /// Reads all that a cursor comes by.
    fileprivate init(_ cursor: TapeCursor, _ past: PastFeed) { (self.cursor, self.past, target) = (cursor, past, nil) }

    /// Reads what was at a time.
    ///
    /// - Parameters:
    ///   - streams: the only ones that are wanted.
    ///   - time: ms since 1970 UTC.
    ///   - reach: how far before an instant every stream's content is on the tape, ms.
    ///   - limit: how many rows or levels of a stream are kept.
    package init(
        _ reader: TapeReader, of streams: [FuturesServiceStreamName], at time: Int64, reach: Int64,
        limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) throws(TapeError) {
        past = PastFeed(of: streams, until: time, limit: limit)
        target = try reader.place(reaching: time)
        cursor = try TapeCursor(reader, at: try reader.place(reach, before: target))
    }

    /// Reads some more.
    ///
    /// - Parameter isLate: whether the caller has no more time.
    /// - Returns: whether everything was read.
    package mutating func step(_ isLate: () -> Bool) throws(TapeError) -> Bool {
        while !isOver {
            let before = cursor
            guard let item = try cursor.next() else {
                arrival = arrival ?? before
                isOver = true
                break
            }
            let isBefore = arrival == nil && (cursor.place.map { place in target.map { place < $0 } ?? true } ?? true)
            if !isBefore, arrival == nil { arrival = before }
            take(item, isBefore)
            if isLate() { return isOver }
        }
        return true
    }

    private mutating func take(_ item: TapeItem, _ isBefore: Bool) {
        guard case .messages(let messages, let isApart) = item else { return isBroken = true }
        for (place, message) in messages.enumerated() where !isOver {
            if !isBefore {
                // The clock was set back: what follows is of later, whatever its time.
                if message.sentAt < newest - Self.jitter { isOver = true }
                newest = max(newest, message.sentAt)
            }
            guard !isOver else { return }
            past.take(message, isBroken: place == 0 && (isBroken || isApart), isBefore: isBefore)
            isOver = past.isComplete
        }
        isBroken = false
    }
}
