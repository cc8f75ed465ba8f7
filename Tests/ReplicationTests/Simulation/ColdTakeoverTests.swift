import FeedCore
import Rings
import Testing

@testable import Replication

/// A takeover by an ingest that knows nothing of the streams, which seeds hardly meet.
@Suite struct ColdTakeoverTests {
    private static let value = FeedRecord(
        .value, of: "btcusdt@markPrice",
        Array(#"{"id":"1.1","type":"markPrice","kind":"full","state":"live","source":"websocket","receivedAt":7,"content":{}}"#.utf8)[...])

    private func told(_ records: [FeedRecord]) -> [FeedRecord.Kind] {
        var past = PastFeed { _ in 100 }
        past.take(LogMessage(epoch: 5, term: 3, first: 100, sentAt: 9, records: [Self.value]))
        past.take(LogMessage(epoch: 6, term: 4, first: 5_000, sentAt: 10, records: [Claim(previous: 5, end: 100).record]))
        past.take(LogMessage(epoch: 6, term: 4, first: 5_000, sentAt: 11, records: records))
        return past.events.map(\.kind)
    }

    @Test func aValueOfAWriterThatKnowsNothingOfTheStreamEndsAnOutage() {
        #expect(told([Self.value]) == [.value, .disconnected, .recovered, .value])
    }

    @Test func aWriterThatTellsTheOutageItselfIsTakenAtItsWord() {
        let lost = FeedRecord(.disconnected, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        let back = FeedRecord(.recovered, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        #expect(told([lost, back, Self.value]) == [.value, .disconnected, .recovered, .value])
    }
}
