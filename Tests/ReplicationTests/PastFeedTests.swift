import FeedCore
import Testing

@testable import Replication

@Suite struct PastFeedTests {
    private static let name = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")

    private func message(_ epoch: UInt64, _ term: UInt64, _ first: UInt64, events: Int = 1, claim: Claim? = nil) -> LogMessage {
        let body =
            "{\"id\":\"1.1\",\"type\":\"markPrice\",\"kind\":\"full\",\"state\":\"live\",\"source\":\"websocket\",\"receivedAt\":7,\"content\":{}}"
        let event = FeedRecord(.value, of: "btcusdt@markPrice", Array(body.utf8)[...])
        let records = claim.map { [$0.record] } ?? Array(repeating: event, count: events)
        return LogMessage(epoch: epoch, term: term, first: first, sentAt: 9, records: records)
    }

    @Test func aPastThatIsReadFromTheMiddleBeginsWithItsFirstMessage() {
        var past = PastFeed { _ in 100 }
        past.take(message(5, 3, 100, events: 2))
        past.take(message(5, 3, 102, events: 2))
        #expect(past.events.map(\.id.sequence) == [100, 101, 102, 103])
        #expect(past.floor == 99)
        #expect(past.epochs.contains(EventID(epoch: 5, sequence: 99)) && !past.epochs.contains(EventID(epoch: 5, sequence: 98)))
        #expect(!past.epochs.contains(EventID(epoch: 5, sequence: 104)), "what nobody has recorded may have been told")
    }

    @Test func anEpochThatFollowsKeepsWhatCameBefore() {
        var past = PastFeed { _ in 100 }
        past.take(message(5, 3, 100, events: 2))
        past.take(message(6, 4, 5_000, claim: Claim(previous: 5, end: 101)))
        past.take(message(6, 4, 5_000))
        let told = past.events.filter { !$0.isLocal }.map(\.id)
        #expect(told == [(5, 100), (5, 101), (6, 5_000)].map { EventID(epoch: $0.0, sequence: $0.1) })
        #expect(past.epochs.contains(EventID(epoch: 5, sequence: 101)) && !past.epochs.contains(EventID(epoch: 5, sequence: 102)))
        #expect(past.floor == 99)
    }

    @Test(arguments: [true, false]) func nothingBeforeAHoleCounts(_ isClaimed: Bool) {
        var past = PastFeed { _ in 100 }
        past.take(message(5, 3, 100, events: 2))
        if isClaimed { past.take(message(5, 4, 200, claim: Claim(previous: 0, end: 0))) }
        past.take(message(5, isClaimed ? 4 : 3, 200), isBroken: !isClaimed)
        #expect(past.events.map(\.id.sequence) == [200])
        #expect(past.floor == 199)
        #expect(!past.epochs.contains(EventID(epoch: 5, sequence: 101)))
    }

    @Test func ofOneStreamOnlyIsReadWhatOthersHaveBetween() throws {
        var past = PastFeed(of: [Self.name], until: 100) { _ in 100 }
        let own = message(5, 3, 100).records
        let other = FeedRecord(.status, of: "ethusdt@markPrice", Array("{}".utf8)[...])
        past.take(LogMessage(epoch: 5, term: 3, first: 100, sentAt: 9, records: [own[0], other, .nothing(3)]))
        past.take(LogMessage(epoch: 5, term: 3, first: 105, sentAt: 10, records: own + [other]))
        #expect(past.head == EventID(epoch: 5, sequence: 106))
        #expect(past.events.map(\.id.sequence) == [100, 105])
        #expect(!past.isComplete)
    }

    @Test func aStreamThatHadNoContentYetIsReadOn() {
        var past = PastFeed(of: [Self.name], until: 100) { _ in 100 }
        let empty = Checkpoint(state: .connecting, isLost: false, isConnected: false, content: nil).record(of: Self.name)
        past.take(LogMessage(epoch: 5, term: 3, first: 100, sentAt: 9, records: [empty]))
        past.take(message(5, 3, 100))
        #expect(past.events.map(\.id.sequence) == [100])
    }

    @Test func whatWasReceivedLaterIsPassedOverAndNothingCountsBehindIt() {
        var past = PastFeed(of: [Self.name], until: 8) { _ in 100 }
        past.take(message(5, 3, 100))
        #expect(past.head?.sequence == 100 && !past.isComplete)
        past.take(
            LogMessage(epoch: 5, term: 3, first: 101, sentAt: 9, records: [FeedRecord(.status, of: Self.name.description, Array("{}".utf8)[...])]))
        #expect(past.head?.sequence == 100 && past.isComplete)
        past.take(message(5, 3, 102))
        #expect(past.head?.sequence == 100)
    }

    @Test func streamsAreInheritedAsTheyWereLeft() throws {
        var past = PastFeed { _ in 100 }
        past.take(message(5, 3, 100, events: 2))
        let lost = FeedRecord(.disconnected, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        past.take(LogMessage(epoch: 5, term: 3, first: 102, sentAt: 10, records: [lost]))
        let stream = try #require(past.inherited().first)
        #expect(stream.name == Self.name && stream.isLost)
        #expect(past.lastAt == 10)
    }
}
