package import FeedCore
import FeedDialects
import Replication
import Rings

/// Writes a tape's content as lines of JSON: each event as readers got it, preceded by `event` and `at`, and the gaps in their places.
package struct TapeLines {
    private let stream: String?
    private let from: Int64
    private let to: Int64
    private let after: EventID?
    private var gaps: ArraySlice<TapeGap>
    /// The number of lines with events so far.
    package private(set) var events = 0
    /// The streams without readers, and since when, ms since 1970 UTC.
    private var unread: [String: Int64] = [:]

    /// - Parameters:
    ///   - stream: Nil for all.
    ///   - from: Ms since 1970 UTC.
    ///   - to: Ms since 1970 UTC.
    ///   - after: Events of its epoch up to it are skipped, and gaps before it.
    ///   - gaps: Oldest first.
    package init(stream: String? = nil, from: Int64? = nil, to: Int64? = nil, after: EventID? = nil, gaps: [TapeGap]) {
        (self.stream, self.from, self.to, self.after) = (stream, from ?? 0, to ?? UTCTime.latest, after)
        self.gaps = gaps.filter { $0.to >= from ?? 0 && $0.from <= to ?? UTCTime.latest }[...]
    }

    package mutating func lines(of item: TapeItem) -> [UInt8] {
        var lines: [UInt8] = []
        switch item {
        case .damage(let damage): lines += damage.event(.lines)
        case .messages(let messages, _):
            for message in messages {
                // An earlier response already included the gaps before its last event.
                let isKnown = after.map { message.epoch == $0.epoch && message.first + message.eventCount <= $0.sequence + 1 } ?? false
                while let gap = gaps.first, gap.from < message.sentAt {
                    if !isKnown { lines += gap.event(.lines) }
                    gaps.removeFirst()
                }
                guard from <= message.sentAt &+ 1000, message.sentAt <= to else { continue }
                append(message, to: &lines)
            }
        }
        return lines
    }

    /// The gaps after all events.
    package mutating func rest() -> [UInt8] {
        defer { gaps = [] }
        return gaps.flatMap { $0.event(.lines) }
    }

    private mutating func append(_ message: LogMessage, to lines: inout [UInt8]) {
        var number = message.first
        for record in message.records {
            defer { number += record.numbers }
            guard stream.map({ $0 == record.subject }) ?? true else { continue }
            if let after, message.epoch == after.epoch, number <= after.sequence { continue }
            if record.kind == .ended { unread[record.subject] = message.sentAt }
            guard let name = record.kind.eventName else { continue }
            // A message has the time of its first record; an update also has its own time.
            if record.kind.carriesData, message.sentAt > to - BlockText.slot, let at = ContentHead(record.body)?.receivedAt, at > to { continue }
            if let since = unread.removeValue(forKey: record.subject) {
                lines += TapeGap(from: since, to: message.sentAt, reason: .unread, events: nil, detail: record.subject).event(.lines)
            }
            events += 1
            let start = EventEncoder.object { json in
                json.member("event", "\(name)")
                json.member("at", message.sentAt)
                // An update contains its id.
                if !record.kind.carriesData { json.member("id", EventID(epoch: message.epoch, sequence: number)) }
            }
            lines += start.dropLast()
            let members = record.body.dropFirst()
            if members.first != UInt8(ascii: "}") { lines.append(UInt8(ascii: ",")) }
            lines += members
            lines.append(UInt8(ascii: "\n"))
        }
    }
}
