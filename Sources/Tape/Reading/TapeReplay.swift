package import FeedCore
import Replication
package import Rings

/// The past of some streams for one reader: their content at a moment, then exactly the events that readers got since, in order.
///
/// An update is sent only to readers that have the content it changes. After a gap, which is reported, a stream continues with its next snapshot.
package struct TapeReplay {
    /// The start of a replay.
    package enum Start: Sendable, Equatable {
        /// At a moment, ms since 1970 UTC.
        case at(Int64)
        /// After an event that the reader has.
        case after(EventID)
    }

    /// The end of a replay.
    package enum End: Sendable, Equatable {
        /// Data received up to a moment, ms since 1970 UTC.
        case at(Int64)
        /// An event, which is included.
        case after(EventID)
    }

    /// The step after a piece.
    package enum Next: Sendable, Equatable {
        /// The next piece.
        case piece
        /// Data received at that time, ms since 1970 UTC, which is later than requested.
        case later(Int64)
        /// Nothing for now.
        case nothing
        /// Nothing: the requested end was reached.
        case end
        /// A gap, although the reader was promised everything.
        case hole
    }

    private let reader: TapeReader
    private let order: [FuturesServiceStreamName]
    private let names: [String: FuturesServiceStreamName]
    private let set: StreamSet
    private let format: EventFormat
    private let end: End?
    private let isWhole: Bool
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private var cursor: TapeCursor
    /// The reading of the state at the start; nil when it is done.
    private var past: PastReading?
    private var messages: ArraySlice<LogMessage> = []
    /// The snapshots with which the reader starts; nil after they were sent.
    private var values: [UInt8]?
    /// The streams whose content the reader has.
    private var known: Set<String> = []
    /// The last event of any stream before the next data; nil if unknown.
    package private(set) var last: EventID?
    /// The streams without readers, and since when, ms since 1970 UTC.
    private var unread: [String: Int64] = [:]
    /// When the last message was written, ms since 1970 UTC.
    private var lastAt: Int64
    /// Whether the start was found.
    private var isPlaced = false
    private var isDamaged = false
    /// Whether the end was reached. And, for the current block, whether the clock was later set back to before the end.
    private var isOver = false
    private var isEndRepeated: Bool?
    /// Whether the end's event, or an event of its epoch, was found.
    private var isInLastEpoch = false
    /// The events of the start and the end that are not on the tape yet: they will arrive, or they were lost.
    package private(set) var ahead: [EventID] = []

    /// - Parameters:
    ///   - end: Later data is skipped; nil for no end.
    ///   - isWhole: Whether the reader was promised everything. The replay then stops before a gap instead of reporting it.
    ///   - limit: How many rows or levels of a stream are kept.
    ///   - reach: The maximum time between two recorded contents of a stream, ms.
    /// - Throws: `TapeError` if the tape cannot be read.
    /// - Returns: Nil if the reader's event is not on the tape.
    package init?(
        _ reader: TapeReader, of names: [FuturesServiceStreamName], _ start: Start, to end: End?, isWhole: Bool = false, format: EventFormat,
        reach: Int64,
        limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) throws(TapeError) {
        (self.reader, self.end, self.isWhole, self.format, self.limit) = (reader, end, isWhole, format, limit)
        order = names
        self.names = Dictionary(names.map { ($0.description, $0) }) { first, _ in first }
        let set = StreamSet(names)
        self.set = set
        switch start {
        case .after(let id):
            guard var cursor = try TapeCursor(reader, following: id), case .messages(let block, _) = try cursor.next() else { return nil }
            self.cursor = cursor
            messages = block.drop { $0.first + $0.eventCount <= id.sequence + 1 }
            (last, known, isPlaced) = (id, Set(self.names.keys), true)
            lastAt = (block.dropLast(messages.count).last ?? block.first)?.sentAt ?? 0
            if block.last.map({ $0.first + $0.eventCount <= id.sequence }) ?? false { ahead.append(id) }
        case .at(let from):
            past = try PastReading(reader, of: names, at: from, reach: reach, limit: limit)
            (cursor, lastAt) = (TapeCursor(reader), from)
        }
        guard case .after(let id) = end else { return }
        guard var cursor = try TapeCursor(reader, following: id), case .messages(let block, _) = try cursor.next() else { return nil }
        if block.last.map({ $0.first + $0.eventCount <= id.sequence }) ?? false { ahead.append(id) }
    }

    /// Reads the content at the start, which takes a while if it is a moment. `next` completes it if necessary.
    ///
    /// - Parameter isLate: Whether the caller's time is up.
    /// - Returns: Whether it is complete.
    package mutating func prepare(_ isLate: () -> Bool) throws(TapeError) -> Bool {
        guard var reading = past else { return true }
        guard try reading.step(isLate) else {
            past = reading
            return false
        }
        past = nil
        if let arrival = reading.arrival { cursor = arrival }
        last = reading.past.head
        var contents: [(name: String, members: [UInt8])] = []
        for name in order {
            if let content = reading.content(of: name) { contents.append((name.description, ContentEncoder.event(content))) }
        }
        known = Set(contents.map(\.name))
        values = contents.indices.flatMap { place in
            let point = place == contents.count - 1 ? last.map { ResumePoint($0, of: set) } : nil
            return format.body("update", of: contents[place].name, contents[place].members) + format.end(point)
        }
        return true
    }

    /// How many streams' snapshots the reader starts with, after preparation.
    package var valuesAtStart: Int { values == nil ? 0 : known.count }

    /// When the next data was received, ms since 1970 UTC; nil if unknown before it is read.
    package var firstAt: Int64? { messages.first?.sentAt }

    /// The next piece.
    ///
    /// - Parameters:
    ///   - due: Data received later is not returned yet, ms since 1970 UTC.
    ///   - most: The maximum size of the piece in bytes, except for the last event.
    ///   - isLate: Whether the caller's time is up. The piece then contains the events found so far.
    package mutating func next(
        until due: Int64, atMost most: Int, _ isLate: () -> Bool = { false }
    ) throws(TapeError) -> (bytes: [UInt8], next: Next) {
        guard try prepare(isLate) else { return ([], .piece) }
        var bytes = values ?? []
        values = nil
        while bytes.count < most {
            guard let message = messages.first else {
                if isLate() { return (bytes, .piece) }
                isEndRepeated = nil
                switch try cursor.next() {
                case nil: return (bytes, .nothing)
                case .damage(let damage):
                    if !isWhole { bytes += damage.event(format) }
                    isDamaged = true
                case .messages(let more, _): messages = more[...]
                }
                continue
            }
            if isOver { return (bytes, .end) }
            if try isBeyondEnd(message) { return (bytes, .end) }
            if message.sentAt > due { return (bytes, .later(message.sentAt)) }
            let joint = joint(before: message)
            if isWhole, joint == .hole || ends(in: message) { return (bytes, .hole) }
            messages.removeFirst()
            try take(message, joint, &bytes)
        }
        return (bytes, isOver ? .end : .piece)
    }

    /// Whether neither a message nor anything after it belongs to the requested data.
    private mutating func isBeyondEnd(_ message: LogMessage) throws(TapeError) -> Bool {
        switch end {
        case nil: return false
        case .at(let time):
            guard message.sentAt > time else { return false }
            return try !returns(to: time)
        case .after(let id):
            if message.epoch == id.epoch { isInLastEpoch = true }
            return isInLastEpoch && (message.epoch != id.epoch || message.first > id.sequence)
        }
    }

    /// Whether a record is after the end, in a message that is not.
    private mutating func isBeyondEnd(_ record: FeedRecord, _ id: EventID) throws(TapeError) -> Bool {
        switch end {
        case nil: return false
        case .at(let time):
            // A message has the time of its first record.
            guard record.kind.carriesData, let at = ContentHead(record.body)?.receivedAt, at > time else { return false }
            return !(try returns(to: time))
        case .after(let last): return id.epoch == last.epoch && id.sequence > last.sequence
        }
    }

    /// Whether the clock was set back after this position, so that data from before the end still follows.
    private mutating func returns(to time: Int64) throws(TapeError) -> Bool {
        if messages.contains(where: { $0.sentAt <= time }) { return true }
        if let isEndRepeated { return isEndRepeated }
        let isRepeated = if let place = cursor.place { try reader.returns(to: time, behind: place) } else { false }
        isEndRepeated = isRepeated
        return isRepeated
    }

    /// How a message connects to the previous data.
    private enum Joint {
        /// It continues.
        case none
        /// The feed restarted and reports that nothing is missing.
        case restart
        case hole
        /// There is no previous data.
        case beginning
    }

    private func joint(before message: LogMessage) -> Joint {
        guard let last else { return .beginning }
        let before = EventID(epoch: message.epoch, sequence: message.first - 1)
        // A claim in the middle means that something is missing that the numbers do not reveal.
        let isClaimed = isPlaced && message.claim != nil && last == before
        if last.epoch == message.epoch, last.sequence >= before.sequence, !isClaimed { return .none }
        return message.claim.map { EventID(epoch: $0.previous, sequence: $0.end) == last } == true ? .restart : .hole
    }

    private mutating func take(_ message: LogMessage, _ joint: Joint, _ bytes: inout [UInt8]) throws(TapeError) {
        // The first blocks start before the requested start.
        guard isPlaced || last?.epoch == message.epoch || message.sentAt >= lastAt else { return }
        defer { (isPlaced, lastAt) = (true, message.sentAt) }
        if joint != .none {
            try tellGaps(before: message, isHole: joint == .hole, &bytes)
            if joint != .restart { known = [] }
            last = EventID(epoch: message.epoch, sequence: message.first - 1)
        }
        var number = message.first
        for record in message.records {
            let id = EventID(epoch: message.epoch, sequence: number)
            let isNew = (last?.sequence ?? 0) < number || !record.kind.isNumbered
            if isNew, names[record.subject] != nil, try isBeyondEnd(record, id) {
                isOver = true
                return
            }
            number += record.numbers
            if isNew { append(record, id, message, &bytes) }
        }
        last = EventID(epoch: message.epoch, sequence: max(last?.sequence ?? 0, number - 1))
    }

    /// Whether a stream of the reader ends in a message: its later data connects to nothing.
    private func ends(in message: LogMessage) -> Bool {
        var number = message.first
        for record in message.records {
            if record.kind == .ended, names[record.subject] != nil, last.map({ $0.epoch != message.epoch || $0.sequence < number }) ?? true {
                return true
            }
            number += record.numbers
        }
        return false
    }

    private mutating func append(_ record: FeedRecord, _ id: EventID, _ message: LogMessage, _ bytes: inout [UInt8]) {
        guard let name = names[record.subject] else { return }
        if record.kind != .ended, let since = unread.removeValue(forKey: record.subject) {
            bytes += TapeGap(from: since, to: message.sentAt, reason: .unread, events: nil, detail: record.subject).event(format)
        }
        switch record.kind {
        case .ended:
            known.remove(record.subject)
            unread[record.subject] = message.sentAt
        case .checkpoint where !known.contains(record.subject):
            var past = PastFeed(limit: limit)
            past.take(LogMessage(epoch: id.epoch, term: message.term, first: id.sequence, sentAt: message.sentAt, records: [record]))
            guard let content = past.content(of: name) else { return }
            known.insert(record.subject)
            bytes += format.body("update", of: record.subject, ContentEncoder.event(content)) + format.end(nil)
        default:
            guard let event = record.kind.eventName else { return }
            if record.kind.isFull { known.insert(record.subject) }
            guard !record.kind.carriesData || known.contains(record.subject) else { return }
            bytes += format.body(event, of: record.subject, Array(record.body))
            bytes += format.end(record.kind.carriesData ? ResumePoint(id, of: set) : nil)
        }
    }

    /// Reports the gaps before a message.
    private mutating func tellGaps(before message: LogMessage, isHole: Bool, _ bytes: inout [UInt8]) throws(TapeError) {
        let gaps = try reader.gaps().filter { $0.to > lastAt && $0.from < message.sentAt }
        for gap in gaps { bytes += gap.event(format) }
        if isHole, gaps.isEmpty, !isDamaged {
            bytes += TapeGap(from: lastAt, to: message.sentAt, reason: .damaged, events: nil).event(format)
        }
        isDamaged = false
    }
}
