import Testing

@testable import FeedCore

/// Orders of events that are rare, and were wrong once: the simulator found each.
@Suite struct RareOrderTests {
    private static let refused = FeedError(.subscriptionRejected, "no")

    /// Trades that were live up to an id, at a time; `limit` rows are kept.
    private func live(through last: UInt64, time: Int64 = 1) -> CoreHarness {
        var harness = CoreHarness()
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.trades(1...last, time: time), eventTime: nil)) }
        harness.forgetEffects()
        return harness
    }

    private static func trades(_ ids: ClosedRange<UInt64>, time: Int64) -> FeedRows {
        .aggregateTrade(
            ids.map { id in
                AggregateTrade(
                    id: id, price: DecimalString(1), quantity: DecimalString(1), firstTradeID: id, lastTradeID: id, time: time, isBuyerMaker: false)
            })
    }

    private func recoveries(_ harness: CoreHarness) -> [FeedRecovery] {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }
    }

    @Test func tradesThatAreCountedAnewAreALossAndNotRepetitions() {
        var harness = live(through: 10)
        harness.receive(.trades, Self.trades(3...3, time: 1))
        #expect(harness.events.isEmpty, "a repetition")
        harness.receive(.trades, Self.trades(2...2, time: 5))
        #expect(harness.kinds.first == "status recovering")
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.trades(1...2, time: 5), eventTime: nil)) }
        #expect(harness.core.content(of: .trades)?.rows == Self.trades(1...2, time: 5))
        #expect(harness.core.content(of: .trades)?.state == .live)
    }

    @Test func completeDataThatEndsBeforeWhatTheSocketBroughtIsAskedForAgain() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        harness.receive(.trades, AggregateTrade.trades(20...20))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(10...15), eventTime: nil)) }
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(20...20), "no value has a hole")
        harness.forgetEffects()
        harness.pass(.seconds(2))
        #expect(harness.attempts.count == 1)
    }

    @Test func completeDataThatIsAheadOfTheSocketIsAnAnnouncedHole() {
        var harness = live(through: 10)
        harness.step(.refetch(.trades))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(21...25), eventTime: nil)) }
        #expect(recoveries(harness).map(\.missed) == [10])
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(21...25))
    }

    @Test func whatIsMissedIsCountedOnceRESTAnswersAgain() {
        var harness = live(through: 10)
        harness.receive(.trades, AggregateTrade.trades(13...13))
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "400")) }
        harness.receive(.trades, AggregateTrade.trades(14...14))
        #expect(recoveries(harness).isEmpty, "two trades are missing")
        harness.forgetEffects()
        harness.pass(.seconds(2))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(12...14), eventTime: nil)) }
        #expect(recoveries(harness).map(\.missed) == [1])
    }

    @Test func aRefusedStreamThatARotationBringsBackIsMadeWhole() {
        var (harness, _, new) = RotationTests.rotating()
        harness.step(.closed(new, reason: "refused"))
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        let request = harness.effects.compactMap { if case .subscribe(_, _, let request) = $0 { request } else { nil } }.last
        harness.step(.received(harness.connection, .rejected(request: request, Self.refused)))
        harness.answerFetches { _ in .failure(FeedError(.unreachable, "503")) }
        harness.step(.received(harness.connection, .goingAway))
        harness.pass(.seconds(1))
        let fresh = harness.connects.last ?? new
        harness.step(.opened(fresh))
        harness.forgetEffects()
        harness.step(.received(fresh, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        #expect(harness.attempts.map(\.name) == [.trades])
    }

    @Test func anEarlierDeadlineIsWokenForAfterALaterOneWasPlanned() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.pass(.seconds(16))
        #expect(harness.kinds.last == "status stale", "the next look is in 30 s")
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        harness.forgetEffects()
        harness.pass(.seconds(16))
        #expect(harness.kinds == ["status stale"])
    }

    @Test func anAnswerOfRESTDoesNotMakeASilentStreamLive() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: nil)) }
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        harness.pass(.seconds(16))
        harness.acknowledge()
        harness.step(.refetch(.btc))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(3, time: 3)]), eventTime: nil)) }
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(3, time: 3)]))
        #expect(harness.core.content(of: .btc)?.state == .stale)
    }

    @Test func silenceAfterAReconnectIsNoticedThoughNothingCameYet() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.reconnect()
        harness.acknowledge()
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "400")) }
        harness.pass(.seconds(20))
        #expect(harness.effects.contains { if case .unsubscribe = $0 { true } else { false } }, "it is subscribed to anew")
    }

    @Test func aLiquidationThatBothSocketsOfARotationBringIsToldOnce() {
        let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
        func liquidation(_ time: Int64) -> FeedRows {
            .liquidation([
                Liquidation(
                    symbol: "BTCUSDT", side: "BUY", orderType: "LIMIT", timeInForce: "IOC", quantity: DecimalString(1), price: DecimalString(1),
                    averagePrice: DecimalString(1), status: "FILLED", lastFilledQuantity: DecimalString(1), filledQuantity: DecimalString(1),
                    time: time)
            ])
        }
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([name])
        let old = harness.connection
        harness.pass(.seconds(1))
        harness.step(.received(old, .goingAway))
        let new = harness.connects.last ?? old
        harness.step(.opened(new))
        harness.forgetEffects()
        harness.step(.received(old, .rows(name, liquidation(1), eventTime: nil)))
        harness.step(.received(new, .rows(name, liquidation(2), eventTime: nil)))
        harness.step(.received(old, .rows(name, liquidation(2), eventTime: nil)))
        harness.step(.received(new, .rows(name, liquidation(2), eventTime: nil)))
        #expect(harness.kinds == ["update full", "update delta"])
    }

    @Test func whatStillArrivesForASettledSymbolIsNotTold() {
        var harness = CoreHarness()
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT", "ETHUSDT"]))))
        harness.goLive([.btc, .markPrice(symbol: "ETHUSDT")])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["ETHUSDT"], settled: ["BTCUSDT"]))))
        harness.forgetEffects()
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(harness.events.isEmpty)
    }

    @Test func aQuietStreamIsLiveOnceItsValueIsThereWhicheverCameFirst() {
        let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        var harness = CoreHarness()
        harness.goLive([name])
        let ticker = BookTicker(
            symbol: "BTCUSDT", bidPrice: DecimalString(1), bidQuantity: DecimalString(1), askPrice: DecimalString(2), askQuantity: DecimalString(1),
            updateID: nil, time: 1)
        harness.answerFetches { _ in .success(FetchedContent(rows: .bookTicker([ticker]), eventTime: nil)) }
        #expect(harness.core.content(of: name)?.state == .live)
    }
}
