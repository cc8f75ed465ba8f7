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
    private let names: [String: FuturesServiceStreamName]
    private let set: StreamSet
    private let format: EventFormat
    private let to: Int64
    private let isWhole: Bool
    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private var cursor: TapeCursor
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
    /// Whether the event that the reader has is behind those on the tape: it is on its way there, or it was lost.
    package private(set) var isAhead = false

    /// - Parameters:
    ///   - to: what was received later is left out, ms since 1970 UTC.
    ///   - isWhole: whether the reader was promised everything. The replay then stops before a hole instead of telling it.
    ///   - limit: how many rows or levels of a stream are kept.
    ///   - reach: how far before an instant every stream's content is on the tape, ms.
    /// - Throws: `TapeError` if the tape cannot be read.
    /// - Returns: nil if the event that the reader has is not on the tape.
    package init?(
        _ reader: TapeReader, of names: [FuturesServiceStreamName], _ start: Start, to: Int64?, isWhole: Bool = false, format: EventFormat,
        reach: Int64,
        limit: @escaping @Sendable (FuturesServiceStreamName) -> Int
    ) throws(TapeError) {
        (self.reader, self.to, self.isWhole, self.format, self.limit) = (reader, to ?? .max, isWhole, format, limit)
        self.names = Dictionary(names.map { ($0.description, $0) }) { first, _ in first }
        let set = StreamSet(names)
        self.set = set
        switch start {
        case .after(let id):
            guard let cursor = try TapeCursor(reader, following: id) else { return nil }
            self.cursor = cursor
            guard case .messages(let block, _) = try self.cursor.next() else { return nil }
            messages = block.drop { $0.first + $0.eventCount <= id.sequence + 1 }
            (last, known, isPlaced) = (id, Set(self.names.keys), true)
            lastAt = (block.dropLast(messages.count).last ?? block.first)?.sentAt ?? .min
            isAhead = block.last.map { $0.first + $0.eventCount <= id.sequence } ?? false
        case .at(let from):
            var past = PastFeed(of: names, until: from, limit: limit)
            try reader.read(from: from - reach, to: from + PastFeed.longestDelay, into: &past)
            cursor = TapeCursor(reader, from: from - PastFeed.longestDelay, isFollowing: true)
            (last, lastAt) = (past.head, from)
            var contents: [(name: String, members: [UInt8])] = []
            for name in names {
                if let content = past.content(of: name) { contents.append((name.description, ContentEncoder.event(content))) }
            }
            known = Set(contents.map(\.name))
            values = contents.indices.flatMap { place in
                let point = place == contents.count - 1 ? last.map { ResumePoint($0, of: set) } : nil
                return format.body("update", of: contents[place].name, contents[place].members) + format.end(point)
            }
        }
    }

    /// How many streams' values the reader begins with.
    package var valuesAtStart: Int { values == nil ? 0 : known.count }

    /// When what comes next was received, ms since 1970 UTC; nil if that is not known before it is read.
    package var firstAt: Int64? { messages.first?.sentAt }

    /// The next piece.
    ///
    /// - Parameters:
    ///   - due: what was received later is not given out yet, ms since 1970 UTC.
    ///   - most: the piece has so many bytes, but for the last event.
    package mutating func next(until due: Int64, atMost most: Int) throws(TapeError) -> (bytes: [UInt8], next: Next) {
        var bytes = values ?? []
        values = nil
        while bytes.count < most {
            guard let message = messages.first else {
                switch try cursor.next() {
                case nil: return (bytes, .nothing)
                case .damage(let damage):
                    if !isWhole { bytes += damage.event(format) }
                    isDamaged = true
                case .messages(let more, _): messages = more[...]
                }
                continue
            }
            if message.sentAt > to { return (bytes, .end) }
            if message.sentAt > due { return (bytes, .later(message.sentAt)) }
            let joint = joint(before: message)
            if isWhole, joint == .hole || ends(in: message) { return (bytes, .hole) }
            messages.removeFirst()
            try take(message, joint, &bytes)
        }
        return (bytes, .piece)
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
