import Testing

@testable import FeedCore

/// What is left of several lines when the last one is lost.
@Suite struct LineLossTests {
    /// Two lines that are open, with their subscriptions.
    private static func harness(_ name: FuturesServiceStreamName, backfillLimit: Int? = nil) -> CoreHarness {
        var configuration = FeedCore.Configuration()
        configuration.lines = [0: 2]
        var harness = CoreHarness(backfillLimit: backfillLimit, configuration: configuration)
        harness.step(.observe(.one, [name], forceFetch: false))
        openAll(&harness)
        return harness
    }

    private static func openAll(_ harness: inout CoreHarness) {
        for _ in 0..<2 {
            for connection in harness.core.connections where connection.phase == .connecting { harness.step(.opened(connection.id)) }
            harness.pass(.seconds(3))
        }
        harness.acknowledge()
        harness.forgetEffects()
    }

    @Test func whatWaitedForAnotherLineIsNotToldAfterTheLoss() {
        var harness = Self.harness(.trades, backfillLimit: 100)
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil)) }
        let lines = harness.core.connections.map(\.id)
        for id in lines { harness.step(.received(id, .rows(.trades, AggregateTrade.trades(1...5), eventTime: nil))) }
        harness.step(.received(lines[0], .rows(.trades, AggregateTrade.trades(8...8), eventTime: nil)))
        harness.forgetEffects()
        for id in lines { harness.step(.closed(id, reason: "gone")) }
        #expect(harness.kinds.contains("disconnect"))
        harness.forgetEffects()
        harness.pass(.milliseconds(700))
        #expect(!harness.kinds.contains { $0.hasPrefix("update") || $0.hasPrefix("recover") }, "\(harness.kinds)")
        #expect(harness.attempts.isEmpty)
    }
}
