import Testing

@testable import FeedCore

@Suite struct ContentTests {
    @Test func anUpdateKeepsTheFieldsOnlyRestTells() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1, time: 1, interestRate: 4)]), eventTime: 1)) }
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(2, time: 2, interestRate: 4)]))
    }

    @Test func aCopyOfTheCoreGoesItsOwnWay() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1, time: 1)]))
        let earlier = harness
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(earlier.core.content(of: .btc)?.rows == .markPrice([.price(1, time: 1)]))
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(2, time: 2)]))
    }

    @Test func rowsThatComeInAnotherOrderFindTheirPlaces() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.markPrices])
        harness.receive(.markPrices, .markPrice([.price(1, symbol: "A"), .price(2, symbol: "B"), .price(3, symbol: "C")]))
        harness.receive(.markPrices, .markPrice([.price(6, symbol: "C"), .price(4, symbol: "A"), .price(5, symbol: "B")]))
        #expect(
            harness.core.content(of: .markPrices)?.rows
                == .markPrice([.price(4, symbol: "A"), .price(5, symbol: "B"), .price(6, symbol: "C")]))
    }

    @Test func aRestAnswerOlderThanTheStreamDoesNotTakeItBack() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(5, time: 50)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(4, time: 40)]), eventTime: 40)) }
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(5, time: 50)]))
    }

    @Test func framesWithDisjointRowsMergeBySymbolAndOnlyChangesAreHandedOut() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.markPrices])
        harness.receive(.markPrices, .markPrice([.price(1, symbol: "A"), .price(2, symbol: "B")]))
        harness.receive(.markPrices, .markPrice([.price(3, symbol: "C")]))
        #expect(harness.kinds == ["connect", "update full", "update delta"])
        guard case .updated(let delta)? = harness.events.last?.kind else { return }
        #expect(delta.rows == .markPrice([.price(3, symbol: "C")]))
        #expect(harness.core.content(of: .markPrices)?.rows.count == 3)
    }

    @Test func tradesKeepTheLastOnesAndRepeatsAreDropped() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.trades])
        for id in 1...20 as ClosedRange<UInt64> { harness.receive(.trades, AggregateTrade.trades(id...id)) }
        let events = harness.events.count
        harness.receive(.trades, AggregateTrade.trades(20...20))
        #expect(harness.events.count == events)
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(16...20))
    }

    @Test func anotherStreamsDataUnderAStreamsNameFailsThatStreamAlone() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.btc, .trades])
        harness.receive(.btc, AggregateTrade.trades(1...1))
        harness.receive(.trades, AggregateTrade.trades(1...1))
        #expect(harness.kinds == ["connect", "connect", "fail malformed", "update full"])
    }

    @Test func aStreamThatComesByTheClockGoesStaleAndComesBack() {
        var harness = CoreHarness()
        harness.goLive([.btc, .trades])
        harness.receive(.btc, .markPrice([.price(1, time: 1)]))
        harness.receive(.trades, AggregateTrade.trades(1...1))
        harness.forgetEffects()
        harness.pass(.milliseconds(14_999))
        #expect(harness.kinds.isEmpty)
        harness.pass(.milliseconds(102))
        #expect(harness.kinds == ["status stale"], "a quiet tape is not stale")
        #expect(harness.core.content(of: .btc)?.state == .stale)
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(harness.kinds == ["status stale", "recover success", "status live", "update full"])
    }

    @Test func idsRiseWithEveryEventOfAnyStream() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.btc, .trades])
        for id in 1...50 as ClosedRange<UInt64> {
            harness.receive(.trades, AggregateTrade.trades(id...id))
            harness.receive(.btc, .markPrice([.price(Int(id), time: Int64(id))]))
        }
        let sequences = harness.events.map(\.id.sequence)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func refetchesAtOneTimeShareOneRequest() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
        harness.forgetEffects()
        for _ in 0..<100 { harness.step(.refetch(.btc)) }
        #expect(harness.attempts.count == 1)
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
        #expect(harness.kinds == ["fetch"])
    }

    @Test func refetchesOneAfterTheOtherAreOneRequestASecond() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
        harness.forgetEffects()
        for _ in 0..<50 {
            harness.step(.refetch(.btc))
            harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
            harness.pass(.milliseconds(100))
            harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
        }
        #expect((5...6).contains(harness.attempts.count), "\(harness.attempts.count) requests in 5 s")
        #expect(harness.kinds.count { $0 == "fetch" } == harness.attempts.count)
    }

    @Test func aVenueThatAsksToWaitIsLeftAlone() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .failure(FeedError(.rateLimited, "slow down", retryAfterMs: 30_000)) }
        harness.forgetEffects()
        harness.step(.refetch(.btc))
        #expect(harness.attempts.isEmpty)
        #expect(harness.kinds == ["fail rateLimited"])
        harness.pass(.milliseconds(29_000))
        #expect(harness.attempts.isEmpty)
        harness.step(.heard(harness.connection))
        harness.pass(.seconds(31))
        #expect(!harness.attempts.isEmpty, "afterwards the missing data is asked for")
    }

    /// A live stream, and trades whose subscription the venue has refused.
    private static func refusedTrades() throws -> CoreHarness {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.btc])
        harness.forgetEffects()
        harness.step(.observe(.one, [.trades], forceFetch: false))
        harness.pass(.seconds(1))
        let subscription = harness.effects.lazy.compactMap { if case .subscribe(let id, _, let request) = $0 { (id, request) } else { nil } }.last
        let (id, request) = try #require(subscription)
        harness.step(.received(id, .rejected(request: request, FeedError(.subscriptionRejected, "no"))))
        return harness
    }

    @Test func aRefusedSubscriptionFailsItsStreamsAndNoOther() throws {
        let harness = try Self.refusedTrades()
        #expect(harness.kinds == ["connect", "fail subscriptionRejected", "status failed"])
        #expect(harness.core.status(of: .btc, now: harness.now)?.state != .failed)
    }

    @Test func aRefusedSubscriptionIsAskedForAgainAfterAMinute() throws {
        var harness = try Self.refusedTrades()
        harness.forgetEffects()
        var asks: [FuturesServiceStreamName] {
            harness.effects.flatMap { if case .subscribe(_, let names, _) = $0 { names } else { [FuturesServiceStreamName]() } }
        }
        harness.pass(.seconds(59))
        #expect(!asks.contains(.trades))
        harness.pass(.seconds(2))
        #expect(asks.filter { $0 == .trades }.count == 1)
    }
}
