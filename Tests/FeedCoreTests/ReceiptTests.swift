import Testing

@testable import FeedCore

/// `downMs` is never shorter than the time in which a reader received nothing.
@Suite struct ReceiptTests {
    private static func downMs(_ harness: CoreHarness) -> Int64? {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery.downMs } else { nil } }.last
    }

    @Test func missingTradesAreDownSinceTheMessageBeforeThem() {
        var harness = CoreHarness(backfillLimit: 1000)
        harness.goLive([.trades])
        harness.receive(.trades, .trade(1))
        harness.answerFetches { _ in .success(FetchedContent(rows: .trade(1), eventTime: nil)) }
        harness.pass(.milliseconds(2_400))
        harness.forgetEffects()
        harness.receive(.trades, .trade(9))
        harness.pass(.milliseconds(40))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...9), eventTime: nil)) }
        #expect(Self.downMs(harness).map { $0 >= 2_400 } == true, "\(Self.downMs(harness) ?? -1) ms: \(harness.kinds)")
    }

    @Test func aBookThatMissesAnUpdateIsDownSinceTheUpdateBeforeIt() {
        let name = EvidenceTests.depth
        var harness = CoreHarness(limit: 1000)
        harness.goLive([name])
        harness.receive(name, .update(1))
        harness.answerFetches { _ in .success(FetchedContent(rows: .snapshot(1), eventTime: nil)) }
        harness.receive(name, .update(2))
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        harness.pass(.milliseconds(1_600))
        harness.forgetEffects()
        harness.receive(name, .update(4))
        harness.pass(.milliseconds(300))
        harness.answerFetches { _ in .success(FetchedContent(rows: .snapshot(4), eventTime: nil)) }
        harness.receive(name, .update(5))
        #expect(Self.downMs(harness).map { $0 >= 1_600 } == true, "\(Self.downMs(harness) ?? -1) ms: \(harness.kinds)")
    }
}
