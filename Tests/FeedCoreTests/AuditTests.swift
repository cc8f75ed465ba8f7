import Testing

@testable import FeedCore

/// Books are compared with REST from time to time.
struct AuditTests {
    private static let book = FuturesServiceStreamName.depth(symbol: "BTCUSDT")

    private func levels(_ bids: [(Int, Int)], _ asks: [(Int, Int)], from first: UInt64? = nil, to last: UInt64, after previous: UInt64? = nil)
        -> DepthLevels
    {
        let level: ((Int, Int)) -> PriceLevel = { PriceLevel(price: DecimalString($0.0), quantity: DecimalString($0.1)) }
        return DepthLevels(
            symbol: "BTCUSDT", bids: bids.map(level), asks: asks.map(level), firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous,
            time: 1)
    }

    /// A book at update 11: bids 99 and 98, asks 101 and 102.
    private func standing(configuration: FeedCore.Configuration = FeedCore.Configuration()) -> CoreHarness {
        var harness = CoreHarness(fetchWeight: 20, configuration: configuration)
        harness.goLive([Self.book])
        harness.receive(Self.book, .depth([levels([(98, 2)], [], from: 10, to: 11, after: 9)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([levels([(99, 1)], [(101, 1), (102, 2)], to: 10)]), eventTime: nil)) }
        harness.forgetEffects()
        return harness
    }

    private func answer(_ harness: inout CoreHarness, _ snapshot: DepthLevels) {
        let attempt = harness.attempts.last?.attempt ?? 0
        harness.step(.fetched(Self.book, attempt: attempt, .success(FetchedContent(rows: .depth([snapshot]), eventTime: nil))))
    }

    private func divergences(_ harness: CoreHarness) -> [StreamIncident] { harness.core.incidents(of: Self.book).filter { $0.kind == .divergence } }

    @Test func aBookThatEqualsRESTIsLeftAlone() {
        var harness = standing()
        harness.pass(.seconds(61))
        #expect(harness.attempts.count == 1)
        harness.forgetEffectsButFetches()
        answer(&harness, levels([(99, 1), (98, 2)], [(101, 1), (102, 2)], to: 11))
        #expect(harness.core.counters.bookAudits == 1)
        #expect(harness.core.counters.bookDivergences == 0)
        #expect(harness.events.isEmpty, "readers see nothing of it")
    }

    @Test func aBookThatDiffersIsAnIncidentAndBuiltAnew() {
        var harness = standing()
        harness.pass(.seconds(61))
        answer(&harness, levels([(99, 1), (98, 3)], [(101, 1), (102, 2)], to: 11))
        #expect(harness.core.counters.bookDivergences == 1)
        #expect(divergences(harness).first?.detail.contains("bid 98 × 2 is 98 × 3 there") == true)
        #expect(harness.core.status(of: Self.book, now: harness.now)?.state == .recovering)
        harness.receive(Self.book, .depth([levels([], [(102, 5)], from: 12, to: 12, after: 11)]))
        harness.pass(.seconds(1))
        answer(&harness, levels([(99, 1), (98, 3)], [(101, 1), (102, 5)], to: 12))
        #expect(harness.kinds.contains("recover success"))
    }

    @Test func booksAreComparedAtOneUpdateWhileTheMarketMoves() {
        var harness = standing()
        harness.pass(.seconds(61))
        harness.receive(Self.book, .depth([levels([(99, 0)], [], from: 12, to: 14, after: 11)]))
        answer(&harness, levels([(98, 2)], [(101, 1), (102, 7)], to: 17))
        #expect(harness.core.counters.bookAudits == 0, "the book is not there yet")
        harness.receive(Self.book, .depth([levels([], [(102, 7)], from: 15, to: 18, after: 14)]))
        #expect(harness.core.counters.bookAudits == 1)
        #expect(harness.core.counters.bookDivergences == 0)
    }

    @Test func anAnswerFromThePastIsNoEvidence() {
        var harness = standing()
        harness.pass(.seconds(61))
        harness.receive(Self.book, .depth([levels([(99, 0)], [], from: 12, to: 14, after: 11)]))
        answer(&harness, levels([(99, 9)], [], to: 8))
        #expect(harness.core.counters.bookAudits == 0)
        #expect(harness.core.counters.bookDivergences == 0)
        #expect(harness.core.status(of: Self.book, now: harness.now)?.state == .live)
    }

    @Test func aComparisonThatFailsTroublesNobody() {
        var harness = standing()
        harness.pass(.seconds(61))
        let attempt = harness.attempts.last?.attempt ?? 0
        harness.forgetEffects()
        harness.step(.fetched(Self.book, attempt: attempt, .failure(FeedError(.unreachable, "no route"))))
        #expect(harness.events.isEmpty)
        harness.pass(.seconds(61))
        #expect(harness.attempts.count == 1, "it is tried again a minute later")
    }

    @Test func comparisonsLeaveHalfOfTheWeightToOthers() {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 60
        var harness = standing(configuration: configuration)
        harness.step(.usedWeight(upstream: 0, 0))
        harness.pass(.seconds(50))
        harness.step(.usedWeight(upstream: 0, 20))
        harness.forgetEffects()
        for _ in 0..<2 {
            harness.pass(.seconds(10))
            harness.step(.usedWeight(upstream: 0, 20))
        }
        #expect(harness.attempts.isEmpty, "20 and 20 would be more than half of 60")
    }
}

extension CoreHarness {
    /// Forgets what was published.
    fileprivate mutating func forgetEffectsButFetches() {
        let fetches = effects.filter { if case .fetch = $0 { true } else { false } }
        forgetEffects()
        keep(fetches)
    }
}
