import Testing

@testable import FeedCore

@Suite struct WeightBudgetTests {
    static func moment(_ milliseconds: Int64) -> Moment { Moment(instant: Instant(nanoseconds: milliseconds * 1_000_000), wallClock: milliseconds) }

    @Test func aMinutesWeightIsSpentUpToTheReserveAndThenTheNextMinuteIsAwaited() {
        var budget = WeightBudget(limit: 100, reserve: 0.1)
        for _ in 0..<9 { #expect(budget.take(10, leaving: 0, now: Self.moment(61_000)) == nil) }
        #expect(budget.take(1, leaving: 0, now: Self.moment(61_000)) == .milliseconds(59_000))
        #expect(budget.take(1, leaving: 0, now: Self.moment(119_999)) == .milliseconds(1))
        #expect(budget.take(10, leaving: 0, now: Self.moment(120_000)) == nil)
    }

    @Test func whatOthersBehindTheAddressUsedCountsToo() {
        var budget = WeightBudget(limit: 100, reserve: 0.1)
        #expect(budget.take(10, leaving: 0, now: Self.moment(0)) == nil)
        budget.observe(used: 85, now: Self.moment(1))
        budget.observe(used: 20, now: Self.moment(2))
        #expect(budget.take(10, leaving: 0, now: Self.moment(3)) != nil)
        #expect(budget.take(5, leaving: 0, now: Self.moment(3)) == nil)
    }

    @Test func twoHundredBooksAreRebuiltWithinTheBudgetOfEachMinute() {
        var harness = CoreHarness(fetchWeight: 20)
        let names = (0..<200).map { FuturesServiceStreamName.depth(symbol: "S\($0)") }
        harness.goLive(names)
        harness.pass(.seconds(1))
        harness.acknowledge()
        var spent: [Int64: Int] = [:]
        func count() { for _ in harness.attempts { spent[harness.now.nanoseconds / 60_000_000_000, default: 0] += 20 } }
        for name in names {
            harness.receive(
                name,
                .depth([DepthLevels(symbol: name.symbol ?? "", bids: [], asks: [], firstUpdateID: 1, lastUpdateID: 5, previousUpdateID: 0, time: 1)]))
        }
        var built: Set<FuturesServiceStreamName> = []
        for _ in 0..<40 {
            count()
            built.formUnion(harness.attempts.map(\.name))
            harness.answerFetches { name in
                .success(
                    FetchedContent(
                        rows: .depth([DepthLevels(symbol: name.symbol ?? "", bids: [], asks: [], lastUpdateID: 3, time: 1)]), eventTime: 1))
            }
            harness.forgetEffects()
            harness.pass(.seconds(5))
        }
        #expect(built.count == 200)
        #expect(spent.values.allSatisfy { $0 <= 2160 }, "\(spent)")
    }

    @Test func aRefetchBeyondTheBudgetIsToldHowLongToWait() {
        var harness = CoreHarness(fetchWeight: 20)
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: 1)) }
        harness.step(.usedWeight(upstream: 0, 2150))
        harness.forgetEffects()
        harness.step(.refetch(.btc))
        #expect(harness.attempts.isEmpty)
        guard case .failed(let error, fetch: true)? = harness.events.first?.kind else {
            Issue.record("nobody was told")
            return
        }
        #expect(error.code == .rateLimited)
        #expect((1...60_000).contains(error.retryAfterMs ?? 0))
    }
}
