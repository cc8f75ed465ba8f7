import Testing

@testable import FeedCore

/// A hole in a stream of which every message counts is filled from REST, in order, before anything newer is handed out.
struct BackfillTests {
    private func live(through last: UInt64, configuration: FeedCore.Configuration = FeedCore.Configuration()) -> CoreHarness {
        var harness = CoreHarness(backfillLimit: 100, configuration: configuration)
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...last), eventTime: nil)) }
        harness.forgetEffects()
        return harness
    }

    /// Loses the connection and brings it back, up to the request for what was missed.
    private func reconnect(_ harness: inout CoreHarness) {
        harness.reconnect()
        harness.acknowledge()
    }

    private func request(_ harness: CoreHarness) -> FetchRequest? {
        harness.effects.compactMap { if case .fetch(_, let request) = $0 { request } else { nil } }.last
    }

    private func answer(_ harness: inout CoreHarness, _ rows: FeedRows) {
        harness.step(.fetched(.trades, attempt: request(harness)?.attempt ?? 0, .success(FetchedContent(rows: rows, eventTime: nil))))
    }

    /// The ids handed out, event by event.
    private func deliveredIDs(_ harness: CoreHarness) -> [ClosedRange<UInt64>] {
        harness.events.compactMap { event in
            switch event.kind {
            case .fetched(let content), .updated(let content): content.rows.ids
            default: nil
            }
        }
    }

    private func recoveries(_ harness: CoreHarness) -> [FeedRecovery] {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }
    }

    @Test func whatWasMissedIsFetchedAndComesBeforeWhatIsNew() {
        var harness = live(through: 10)
        reconnect(&harness)
        #expect(request(harness)?.part == .from(11))
        harness.receive(.trades, AggregateTrade.trades(14...14))
        #expect(deliveredIDs(harness).isEmpty, "held back")
        answer(&harness, AggregateTrade.trades(11...13))
        #expect(deliveredIDs(harness) == [11...13, 14...14])
        #expect(recoveries(harness).map(\.method) == [.backfill])
        #expect(recoveries(harness).map(\.missed) == [0])
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .live)
    }

    @Test func aHoleWithinWhatWasFetchedIsCounted() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(16...16))
        answer(&harness, .aggregateTrade([.trade(11), .trade(12), .trade(15)]))
        #expect(recoveries(harness).map(\.missed) == [2])
    }

    @Test func whereNothingWasMissedTheRecoveryIsContinuous() {
        var harness = live(through: 10)
        reconnect(&harness)
        answer(&harness, .aggregateTrade([]))
        #expect(recoveries(harness).map(\.method) == [.continuous])
        harness.receive(.trades, AggregateTrade.trades(11...11))
        #expect(deliveredIDs(harness).last == 11...11)
    }

    @Test func aGapOnALivingSocketIsFilledToo() {
        var harness = live(through: 10)
        harness.receive(.trades, AggregateTrade.trades(15...15))
        #expect(request(harness)?.part == .from(11))
        answer(&harness, AggregateTrade.trades(11...16))
        harness.receive(.trades, AggregateTrade.trades(16...16))
        harness.receive(.trades, AggregateTrade.trades(17...17))
        #expect(deliveredIDs(harness) == [11...16, 17...17], "nothing twice, nothing left out")
        #expect(recoveries(harness).map(\.method) == [.backfill])
    }

    @Test func aLargeHoleIsFetchedPageByPage() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(250...250))
        for page: ClosedRange<UInt64> in [11...110, 111...210, 211...260] {
            #expect(request(harness)?.part == .from(page.lowerBound))
            answer(&harness, AggregateTrade.trades(page))
        }
        #expect(deliveredIDs(harness) == [11...110, 111...210, 211...260])
        #expect(recoveries(harness).count == 1)
    }

    @Test func whereRESTIsBehindTheSocketItIsAskedAgain() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(14...14))
        answer(&harness, AggregateTrade.trades(11...12))
        #expect(recoveries(harness).isEmpty)
        harness.pass(.seconds(2))
        #expect(request(harness)?.part == .from(13))
        answer(&harness, AggregateTrade.trades(13...14))
        #expect(deliveredIDs(harness) == [11...12, 13...14])
        #expect(recoveries(harness).map(\.method) == [.backfill])
    }

    @Test func aHoleThatCannotBeFilledIsCounted() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(30...30))
        harness.step(.fetched(.trades, attempt: request(harness)?.attempt ?? 0, .failure(FeedError(.venueRejected, "too old"))))
        #expect(request(harness)?.part == .complete, "complete data is asked for instead")
        answer(&harness, AggregateTrade.trades(21...30))
        #expect(recoveries(harness).map(\.method) == [.snapshot])
        #expect(recoveries(harness).map(\.missed) == [15], "also what came before the last five")
        #expect(deliveredIDs(harness) == [30...30, 26...30], "complete data holds the last five")
    }

    @Test func whatIsHeldBackIsBounded() {
        var configuration = FeedCore.Configuration()
        configuration.backfillHold = 3
        var harness = live(through: 10, configuration: configuration)
        reconnect(&harness)
        for id in UInt64(20)...24 { harness.receive(.trades, AggregateTrade.trades(id...id)) }
        #expect(deliveredIDs(harness).first?.lowerBound == 20, "the stream begins anew")
        #expect(harness.core.content(of: .trades)?.rows.ids == 20...24)
    }

    @Test func aSecondOutageDuringABackfillKeepsTheFirstHole() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(14...14))
        harness.pass(.seconds(5))
        reconnect(&harness)
        #expect(request(harness)?.part == .from(11))
        harness.receive(.trades, AggregateTrade.trades(21...21))
        answer(&harness, AggregateTrade.trades(11...20))
        #expect(deliveredIDs(harness) == [11...20, 21...21])
        #expect(recoveries(harness).map(\.method) == [.backfill])
    }

    @Test func idsThatWentBackBeginTheStreamAnew() {
        var harness = live(through: 10)
        reconnect(&harness)
        harness.receive(.trades, AggregateTrade.trades(3...3))
        answer(&harness, .aggregateTrade([]))
        #expect(deliveredIDs(harness) == [3...3])
        #expect(request(harness)?.part == .complete)
    }

    @Test func aRefetchDuringTheOutageDoesNotHideTheHole() {
        var harness = live(through: 10)
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.forgetEffects()
        harness.step(.refetch(.trades))
        answer(&harness, AggregateTrade.trades(31...40))
        harness.pass(.seconds(2))
        harness.forgetEffects()
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        #expect(request(harness)?.part == .complete, "what is cached has a hole before it")
        answer(&harness, AggregateTrade.trades(36...45))
        #expect(recoveries(harness).map(\.method) == [.snapshot])
    }
}
