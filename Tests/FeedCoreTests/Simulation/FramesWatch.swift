@testable import FeedCore

/// Checks the messages that the core passes on to sockets: if one is missing, the core must report a loss.
struct FramesWatch {
    /// The rows of all messages. The text of a message is its index.
    private var messages: [FeedRows] = []
    /// The newest message of each stream; nil after a loss, and before the first.
    private var newest: [FuturesServiceStreamName: FeedRows] = [:]

    /// The text of the venue's message; nil for other inputs.
    mutating func text(of input: FeedInput) -> [UInt8]? {
        guard case .received(_, .rows(_, let rows, _)) = input else { return nil }
        messages.append(rows)
        return Array("\(messages.count - 1)".utf8)
    }

    /// Begins with a stream that no socket has read.
    mutating func forget(_ name: FuturesServiceStreamName) { newest[name] = nil }

    mutating func look(_ effects: [FeedEffect], _ verdict: Verdict) {
        for case .passOn(let message) in effects {
            guard let text = message.text else {
                newest[message.stream] = nil
                continue
            }
            guard let place = Int(String(decoding: text, as: UTF8.self)), messages.indices.contains(place) else {
                verdict.expect(false, .framesAreWhole, "\(message.stream) passes on what the venue did not send")
                continue
            }
            let rows = messages[place]
            if let before = newest[message.stream], let problem = Self.problem(before, rows) {
                verdict.expect(false, .framesAreWhole, "\(message.stream): \(problem)")
            }
            newest[message.stream] = rows
        }
    }

    /// The gap between two consecutive messages, in words; nil if there is none.
    private static func problem(_ before: FeedRows, _ after: FeedRows) -> String? {
        switch (before, after) {
        case (.depth(let old), .depth(let new)):
            guard let last = old.last?.lastUpdateID, let previous = new.first?.previousUpdateID else { return nil }
            return previous > last ? "an update that follows \(previous) comes after \(last)" : nil
        case (.kline(let old), .kline(let new)):
            guard let last = old.last, let next = new.first, !last.isClosed, next.openTime > last.openTime else { return nil }
            return "the bar of \(last.openTime) has no end"
        default:
            guard let last = before.ids?.upperBound, let first = after.ids?.lowerBound else { return nil }
            return first > last + 1 ? "\(first) comes after \(last)" : nil
        }
    }
}
