import Testing

@testable import FeedCore

/// `downMs` is never shorter than the time in which a reader received nothing.
@Suite struct ReceiptTests {
    private static func downMs(_ harness: CoreHarness) -> Int64? {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery.downMs } else { nil } }.last
    }

    @Test func missingTradesAreDownSinceTheMessageBeforeThem() {
        var harness = CoreHarness(backfillLimit: 1000)
        harness.goLiveWithTrades()
        harness.pass(.milliseconds(2_400))
        harness.forgetEffects()
        harness.receive(.trades, AggregateTrade.trades(9...9))
        harness.pass(.milliseconds(40))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...9), eventTime: nil)) }
        #expect(Self.downMs(harness).map { $0 >= 2_400 } == true, "\(Self.downMs(harness) ?? -1) ms: \(harness.kinds)")
    }

    @Test func aBookThatMissesAnUpdateIsDownSinceTheUpdateBeforeIt() {
        let name = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
        var harness = CoreHarness(limit: 1000)
        harness.goLive([name])
        harness.receive(name, .depth([bookEvent(0, 1, 1)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(1)]), eventTime: nil)) }
        harness.receive(name, .depth([bookEvent(1, 2, 2)]))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        harness.pass(.milliseconds(1_600))
        harness.forgetEffects()
        harness.receive(name, .depth([bookEvent(3, 4, 4)]))
        harness.pass(.milliseconds(300))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(4)]), eventTime: nil)) }
        harness.receive(name, .depth([bookEvent(4, 5, 5)]))
        #expect(Self.downMs(harness).map { $0 >= 1_600 } == true, "\(Self.downMs(harness) ?? -1) ms: \(harness.kinds)")
    }
}
