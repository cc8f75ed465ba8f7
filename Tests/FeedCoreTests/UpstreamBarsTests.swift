import Testing

@testable import FeedCore

/// Bars and trades of an upstream with an answer over REST. Its messages have no numbers.
struct UpstreamBarsTests {
    private static func bars(_ bars: (minute: Int64, trades: UInt64)...) -> FeedRows {
        .upstreamBar(
            bars.map { minute, trades in
                let (start, end) = (minute * 60_000, minute * 60_000 + 59_999)
                return UpstreamBar(checked: #"{"t":\#(start),"n":\#(trades)}"#, openTime: start, closeTime: end, tradeCount: trades)
            })
    }

    private static func counts(_ harness: CoreHarness) -> [[UInt64]] {
        guard case .upstreamBar(let rows)? = harness.core.content(of: candles)?.rows else { return [] }
        return rows.map { [UInt64($0.openTime / 60_000), $0.tradeCount] }
    }

    private static func state(_ harness: CoreHarness, _ name: FuturesServiceStreamName = candles) -> FeedState? {
        harness.core.status(of: name, now: harness.now)?.state
    }

    private static func recoveries(_ harness: CoreHarness) -> [FeedRecovery] {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }
    }

    private static let candles = FuturesServiceStreamName("hyperliquid:BTC@candle_1m") ?? .bars
    private static let trades = FuturesServiceStreamName("hyperliquid:BTC@trades") ?? .trades

    private static func live() -> CoreHarness {
        var harness = CoreHarness(fetchWeight: 29, limit: 5)
        harness.goLive([candles])
        harness.receive(candles, bars((12, 2)))
        harness.answerFetches { _ in .success(FetchedContent(rows: bars((10, 7), (11, 9), (12, 3)), eventTime: nil)) }
        harness.forgetEffects()
        return harness
    }

    @Test func aSnapshotBringsTheBarsBeforeTheCurrentOne() {
        #expect(Self.candles.mergeRule == .byKey && Self.candles.isArray)
        var harness = CoreHarness(fetchWeight: 29, limit: 5)
        harness.goLive([Self.candles])
        harness.receive(Self.candles, Self.bars((12, 2)))
        #expect(Self.state(harness) == .connecting, "the bars before it are missing")
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars((10, 7), (11, 9), (12, 1)), eventTime: nil)) }
        #expect(Self.state(harness) == .live)
        #expect(Self.counts(harness) == [[10, 7], [11, 9], [12, 2]], "a bar with fewer trades is older")
    }

    @Test func aMessageChangesItsBarAndNoOther() {
        var harness = Self.live()
        harness.receive(Self.candles, Self.bars((12, 2)))
        #expect(harness.events.isEmpty, "it is older than the bar from REST")
        harness.receive(Self.candles, Self.bars((12, 4)))
        harness.receive(Self.candles, Self.bars((13, 1)))
        #expect(harness.kinds == ["update delta", "update delta"])
        #expect(Self.counts(harness) == [[10, 7], [11, 9], [12, 4], [13, 1]])
        for minute in 14...17 { harness.receive(Self.candles, Self.bars((Int64(minute), 1))) }
        #expect(Self.counts(harness).map(\.first) == [13, 14, 15, 16, 17])
    }

    @Test func barsThatClosedInAnOutageAreFetched() {
        var harness = Self.live()
        harness.reconnect(after: .seconds(120))
        harness.acknowledge()
        harness.receive(Self.candles, Self.bars((14, 1)))
        #expect(Self.state(harness) == .recovering && Self.recoveries(harness).isEmpty, "the bar 13 is missing")
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars((11, 9), (12, 8), (13, 5), (14, 1)), eventTime: nil)) }
        #expect(Self.state(harness) == .live && Self.recoveries(harness).map(\.method) == [.snapshot])
        #expect(Self.counts(harness) == [[11, 9], [12, 8], [13, 5], [14, 1]])
    }

    /// No message says that a bar is final, so only an answer with a later bar shows it.
    @Test func anAnswerWithoutTheNewestBarMayLackTradesOfTheOneBefore() {
        var harness = Self.live()
        harness.reconnect(after: .seconds(20))
        harness.acknowledge()
        harness.receive(Self.candles, Self.bars((13, 1)))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars((11, 9), (12, 6)), eventTime: nil)) }
        #expect(Self.state(harness) == .recovering && Self.recoveries(harness).isEmpty)
        harness.forgetEffects()
        harness.pass(.seconds(10))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars((11, 9), (12, 8), (13, 1)), eventTime: nil)) }
        #expect(Self.state(harness) == .live && Self.counts(harness) == [[11, 9], [12, 8], [13, 1]])
    }

    @Test func barsAreFetchedForAReader() {
        var harness = Self.live()
        harness.receive(Self.candles, Self.bars((13, 1)))
        harness.forgetEffects()
        harness.step(.refetch(Self.candles))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.bars((11, 9), (12, 4)), eventTime: nil)) }
        #expect(harness.kinds == ["fetch"] && Self.state(harness) == .live, "the last message about bar 12 arrived on this subscription")
        #expect(Self.counts(harness).last == [13, 1])
    }

    @Test func aFailedAnswerLeavesTheBarsAndIsRetried() {
        var harness = Self.live()
        harness.reconnect()
        harness.acknowledge()
        harness.answerFetches { _ in .failure(FeedError(.malformed, "no bars")) }
        #expect(Self.state(harness) == .recovering && Self.counts(harness).count == 3)
        harness.forgetEffects()
        harness.pass(.seconds(20))
        #expect(!harness.attempts.isEmpty)
    }

    // MARK: Trades

    private static func trades(_ numbers: ClosedRange<UInt64>) -> FeedRows {
        .upstreamTrade(numbers.map { UpstreamTrade(checked: "{\"number\":\($0)}", id: $0 &* 0x9E37_79B9_7F4A_7C15, time: Int64($0)) })
    }

    private static func numbers(_ harness: CoreHarness) -> [Int64] {
        guard case .upstreamTrade(let rows)? = harness.core.content(of: trades)?.rows else { return [] }
        return rows.map(\.time)
    }

    private static func liveTrades() -> CoreHarness {
        var harness = CoreHarness(fetchWeight: 21, limit: 500, repeatsNewest: true)
        harness.goLive([trades])
        harness.receive(trades, trades(1...30))
        harness.pass(.seconds(5))
        return harness
    }

    /// REST has fewer trades than the repetition at the start of each subscription.
    @Test func theRepetitionCompletesTheTradesWithoutARequest() {
        var harness = Self.liveTrades()
        #expect(Self.state(harness, Self.trades) == .live && harness.attempts.isEmpty)
        harness.reconnect()
        harness.acknowledge()
        harness.pass(.seconds(5))
        #expect(Self.state(harness, Self.trades) == .recovering && harness.attempts.isEmpty)
        harness.receive(Self.trades, Self.trades(11...40))
        #expect(Self.recoveries(harness).map(\.method) == [.continuous] && Self.state(harness, Self.trades) == .live)
    }

    @Test func tradesFromRESTAreAddedInTheOrderOfTheirTimes() {
        var harness = Self.liveTrades()
        harness.forgetEffects()
        harness.step(.refetch(Self.trades))
        harness.receive(Self.trades, Self.trades(36...37))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.trades(28...35), eventTime: 35)) }
        #expect(harness.kinds.last == "fetch" && Self.recoveries(harness).isEmpty && Self.state(harness, Self.trades) == .live)
        #expect(Self.numbers(harness) == Array(1...37))
        harness.forgetEffects()
        harness.receive(Self.trades, Self.trades(31...38))
        #expect(harness.events.compactMap(\.content?.rows) == [Self.trades(38...38)], "no trade is delivered twice")
    }

    /// Ten trades cannot show whether messages are missing.
    @Test(arguments: [21...30, 51...60]) func anAnswerEndsNoOutageOfTrades(_ answer: ClosedRange<UInt64>) {
        var harness = Self.liveTrades()
        harness.reconnect()
        harness.acknowledge()
        harness.step(.refetch(Self.trades))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.trades(answer), eventTime: nil)) }
        #expect(Self.state(harness, Self.trades) == .recovering && Self.recoveries(harness).isEmpty)
        harness.receive(Self.trades, Self.trades(answer.upperBound - 29...answer.upperBound))
        let isJoined = answer.lowerBound <= 30
        #expect(Self.recoveries(harness).map(\.method) == [isJoined ? .continuous : .snapshot])
        #expect(Self.numbers(harness) == (isJoined ? Array(1...30) : Array(31...60)))
    }

    @Test func tradesFromBeforeTheSubscriptionAreNotLive() {
        var harness = CoreHarness(fetchWeight: 21, limit: 500, repeatsNewest: true)
        harness.step(.observe(.one, [Self.trades], forceFetch: true))
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.trades(1...10), eventTime: nil)) }
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        #expect(Self.state(harness, Self.trades) == .connecting && Self.numbers(harness) == Array(1...10))
        harness.receive(Self.trades, Self.trades(61...90))
        #expect(Self.state(harness, Self.trades) == .live && Self.numbers(harness) == Array(61...90), "trades before them may be missing")
    }
}
