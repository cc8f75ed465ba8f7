import FeedCore
import ReplicatedLog
import Testing

@testable import Replication

/// A log that is read again.
@Suite struct RereadingTests {
    private static let streams = 2000

    private static func record(_ number: Int) -> LogRecord {
        let body =
            "{\"id\":\"1.1\",\"type\":\"markPrice\",\"kind\":\"full\",\"state\":\"live\",\"source\":\"websocket\",\"receivedAt\":7,\"content\":{}}"
        let event = FeedRecord(.value, of: "s\(number % streams)usdt@markPrice", Array(body.utf8)[...])
        let message = LogMessage(epoch: 5, term: 3, first: UInt64(number + 1), sentAt: 9, records: [event])
        return LogRecord(sequence: UInt64(number + 1), body: message.bytes)
    }

    @Test func aRecordThatIsReadAgainTakesAsLongAsOneThatIsReadFirst() {
        var mirror = FeedMirror { _ in 1 }
        let (now, records) = (Moment(instant: Instant(nanoseconds: 0), wallClock: 9), (0..<6000).map(Self.record))
        let extent = LogExtent(first: 1, last: UInt64(records.count))
        func read(_ mirror: inout FeedMirror, _ count: Int) -> Duration {
            _ = mirror.step(.reading(extent), now: now)
            return ContinuousClock().measure { for record in records.prefix(count) { _ = mirror.step(.record(record), now: now) } }
        }
        _ = mirror.start(now: now)
        let first = read(&mirror, records.count)
        #expect(mirror.isFollowing && mirror.streams.count == Self.streams)
        _ = mirror.step(.regressed(LogExtent(first: 1, last: 1)), now: now)
        // But the last, with which it is back.
        let again = read(&mirror, records.count - 1)
        #expect(!mirror.isFollowing)
        #expect(again < first * 4 + .milliseconds(200), "\(again) where the first reading took \(first)")
    }
}
