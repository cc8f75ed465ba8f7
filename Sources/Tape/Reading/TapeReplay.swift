package import EventLogs
package import FeedCore
import Replication

/// The past of some streams for one reader: their values as they were at an instant, then the very events that readers were told since, in order.
///
/// A change is told only to who has what it changes. After a hole, which is told, a stream goes on with its next full value.
package struct TapeReplay {
    /// From where.
    package enum Start: Sendable, Equatable {
        /// From an instant, ms since 1970 UTC.
        case at(Int64)
        /// Behind an event that the reader has.
        case after(EventID)
    }

    /// Up to where.
    package enum End: Sendable, Equatable {
        /// What was received until an instant, ms since 1970 UTC.
        case at(Int64)
        /// An event, which is included.
        case after(EventID)
    }

    /// What comes behind a piece.
    package enum Next: Sendable, Equatable {
        /// The next piece.
        case piece
        /// Something that was received at that time, ms since 1970 UTC, which is later than was asked for.
        case later(Int64)
        /// Nothing for now.
        case nothing
        /// Nothing of what was asked for.
        case end
        /// Something is missing, and the reader was promised everything.
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
    /// What was at the instant where the reader begins, until it was read.
    private var past: PastReading?
    private var messages: ArraySlice<LogMessage> = []
    /// The values that the reader begins with; nil once they were given out.
    private var values: [UInt8]?
    /// The streams of which the reader has the content.
    private var known: Set<String> = []
    /// The last event of any stream before what comes next; nil if nothing is known.
    package private(set) var last: EventID?
    /// The streams that nobody read any more, and since when, ms since 1970 UTC.
    private var unread: [String: Int64] = [:]
    /// When the last message was written, ms since 1970 UTC.
    private var lastAt: Int64
    /// Whether the place was found where the reader begins.
    private var isPlaced = false
    private var isDamaged = false
    /// Whether the end has come; and, per block, whether the clock was set back behind it to before the end.
    private var isOver = false
    private var isEndRepeated: Bool?
    /// Whether the end's event was met, or an event of its epoch.
    private var isInLastEpoch = false
    /// The events where the reader begins and ends, if they are behind those on the tape: they are on their way there, or they were lost.
    package private(set) var ahead: [EventID] = []

    /// - Parameters:
    ///   - end: what follows is left out; nil if nothing is.
    ///   - isWhole: whether the reader was promised everything. The replay then stops before a hole instead of telling it.
    ///   - limit: how many rows or levels of a stream are kept.
    ///   - reach: how far before an instant every stream's content is on the tape, ms.
    /// - Throws: `TapeError` if the tape cannot be read.
    /// - Returns: nil if the event that the reader has is not on the tape.
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

    /// Finds out what the reader begins with, which takes a while if it is an instant. `next` does the rest of it.
    ///
    /// - Parameter isLate: whether the caller has no more time.
    /// - Returns: whether it is known.
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
            if let content = reading.past.content(of: name) { contents.append((name.description, ContentEncoder.event(content))) }
        }
        known = Set(contents.map(\.name))
        values = contents.indices.flatMap { place in
            let point = place == contents.count - 1 ? last.map { ResumePoint($0, of: set) } : nil
            return format.body("update", of: contents[place].name, contents[place].members) + format.end(point)
        }
        return true
    }

    /// How many streams' values the reader begins with, once it is prepared.
    package var valuesAtStart: Int { values == nil ? 0 : known.count }

    /// When what comes next was received, ms since 1970 UTC; nil if that is not known before it is read.
    package var firstAt: Int64? { messages.first?.sentAt }

    /// The next piece.
    ///
    /// - Parameters:
    ///   - due: what was received later is not given out yet, ms since 1970 UTC.
    ///   - most: the piece has so many bytes, but for the last event.
    ///   - isLate: whether the caller has no more time. The piece is what was found by then.
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

    /// Whether nothing of what was asked for is in a message or behind it.
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

    /// Whether a record is behind the end, in a message that is not.
    private mutating func isBeyondEnd(_ record: FeedRecord, _ id: EventID) throws(TapeError) -> Bool {
        switch end {
        case nil: return false
        case .at(let time):
            // A message tells when its first record was received.
            guard record.kind.carriesData, let at = ContentHead(record.body)?.receivedAt, at > time else { return false }
            return !(try returns(to: time))
        case .after(let last): return id.epoch == last.epoch && id.sequence > last.sequence
        }
    }

    /// Whether the clock was set back behind this place, so that what was received until the end follows still.
    private mutating func returns(to time: Int64) throws(TapeError) -> Bool {
        if messages.contains(where: { $0.sentAt <= time }) { return true }
        if let isEndRepeated { return isEndRepeated }
        let isRepeated = if let place = cursor.place { try reader.returns(to: time, behind: place) } else { false }
        isEndRepeated = isRepeated
        return isRepeated
    }

    /// How a message joins what was given out before it.
    private enum Joint {
        /// It goes on.
        case none
        /// The feed began anew, and says that nothing is missing.
        case restart
        case hole
        /// Nothing was given out before it.
        case beginning
    }

    private func joint(before message: LogMessage) -> Joint {
        guard let last else { return .beginning }
        let before = EventID(epoch: message.epoch, sequence: message.first - 1)
        // A claim in the middle says that something is missing of which the numbers tell nothing.
        let isClaimed = isPlaced && message.claim != nil && last == before
        if last.epoch == message.epoch, last.sequence >= before.sequence, !isClaimed { return .none }
        return message.claim.map { EventID(epoch: $0.previous, sequence: $0.end) == last } == true ? .restart : .hole
    }

    private mutating func take(_ message: LogMessage, _ joint: Joint, _ bytes: inout [UInt8]) throws(TapeError) {
        // The first blocks reach back to before the place where the reader begins.
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

    /// Whether a stream of the reader's is dropped in a message: what comes of it later joins nothing.
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

    /// Tells what is missing before a message.
    private mutating func tellGaps(before message: LogMessage, isHole: Bool, _ bytes: inout [UInt8]) throws(TapeError) {
        let gaps = try reader.gaps().filter { $0.to > lastAt && $0.from < message.sentAt }
        for gap in gaps { bytes += gap.event(format) }
        if isHole, gaps.isEmpty, !isDamaged {
            bytes += TapeGap(from: lastAt, to: message.sentAt, reason: .damaged, events: nil).event(format)
        }
        isDamaged = false
    }
}
