package import FeedCore
package import Replication

extension TapeReader {
    /// Reads the end of the tape as the state of the recorded feed, so that another feed can continue it. Missing or damaged data makes everything
    /// before it useless.
    ///
    /// - Parameters:
    ///   - milliseconds: How much of the tape to read.
    ///   - past: Must be empty.
    /// - Returns: Where the tape ends; nil if there is nothing to continue from.
    package func read(last milliseconds: Int64, into past: inout PastFeed) throws(TapeError) -> TapePosition? {
        guard let end = end() else { return nil }
        var reading = PastReading(try TapeCursor(self, at: try place(milliseconds, before: nil)), past)
        _ = try reading.step { false }
        past = reading.past
        guard let current = past.epochs.current, current.id == end.position.epoch, past.epochs.head + 1 == end.position.next else { return nil }
        return end.position
    }
}

/// The reading of a past state from the tape, block by block, so that the reader can pause for other work.
package struct PastReading {
    package var past: PastFeed
    private var cursor: TapeCursor
    /// The block in which the time is reached; nil if all data on the tape is earlier.
    private let target: TapePlace?
    /// The cursor before that block; nil until it is reached.
    private(set) var arrival: TapeCursor?
    private var isBroken = false
    private var isOver = false
    /// Whether nothing was recorded at the requested time. Readers may have had newer content than the last known one.
    private let isInGap: Bool
    /// The newest time of the data received at the requested time or later.
    private var newest: Int64 = 0

    /// Reads everything from a cursor on.
    fileprivate init(_ cursor: TapeCursor, _ past: PastFeed) { (self.cursor, self.past, target, isInGap) = (cursor, past, nil, false) }

    /// Reads the state at a time.
    ///
    /// - Parameters:
    ///   - streams: The only streams to read.
    ///   - time: Ms since 1970 UTC.
    ///   - reach: The maximum time between two recorded contents of a stream, ms.
    ///   - limit: How many rows or levels of a stream are kept.
    package init(
        _ reader: TapeReader, of streams: [FuturesServiceStreamName], at time: Int64, reach: Int64,
        limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) throws(TapeError) {
        past = PastFeed(of: streams, until: time, limit: limit)
        target = try reader.place(reaching: time)
        cursor = try TapeCursor(reader, at: try reader.place(reach, before: target))
        isInGap = try reader.gaps().contains { $0.from < time && time < $0.to }
    }

    /// A stream's content at the requested time, in its state then; nil if there is none. In a gap, live content is `recovering`.
    package mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        guard let content = past.content(of: name) else { return nil }
        guard isInGap, content.state == .live else { return content }
        return FuturesServiceFeedContent(
            streamName: name, id: content.id, kind: content.kind, state: .recovering, source: content.source, eventTime: content.eventTime,
            receivedAt: content.receivedAt, rows: content.rows)
    }

    /// Continues reading.
    ///
    /// - Parameter isLate: Whether the caller's time is up.
    /// - Returns: Whether everything was read.
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
                // The clock was set back: the following data is later, whatever its time.
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
