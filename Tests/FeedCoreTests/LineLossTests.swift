import Testing

@testable import FeedCore

/// What is left of several lines when one is lost, or the last one.
@Suite struct LineLossTests {
    /// Two lines that are open, with their subscriptions.
    ///
    /// - Parameter rows: what complete data are; nil if they have not come yet.
    private static func harness(_ name: FuturesServiceStreamName, rows: FeedRows? = nil, backfillLimit: Int? = nil) -> CoreHarness {
        var configuration = FeedCore.Configuration()
        configuration.lines = [0: 2]
        var harness = CoreHarness(backfillLimit: backfillLimit, configuration: configuration)
        harness.step(.observe(.one, [name], forceFetch: false))
        openAll(&harness)
        if let rows { harness.answerFetches { _ in .success(FetchedContent(rows: rows, eventTime: nil)) } }
        harness.forgetEffects()
        return harness
    }

    private static func ticker(_ id: UInt64, time: Int64 = 1) -> FeedRows {
        let number = DecimalString(Int(time))
        return .bookTicker([
            BookTicker(symbol: "BTCUSDT", bidPrice: number, bidQuantity: number, askPrice: number, askQuantity: number, updateID: id, time: time)
        ])
    }

    private static func openAll(_ harness: inout CoreHarness) {
        for _ in 0..<2 {
            for connection in harness.core.connections where connection.phase == .connecting { harness.step(.opened(connection.id)) }
            harness.pass(.seconds(3))
        }
        harness.acknowledge()
    }

    @Test func aLineToAVenueThatCountsAnewIsBelieved() {
        var harness = Self.harness(.ticker)
        let lines = harness.core.connections.map(\.id)
        harness.step(.received(lines[0], .rows(.ticker, Self.ticker(1000, time: 1), eventTime: nil)))
        harness.step(.received(lines[1], .rows(.ticker, Self.ticker(1000, time: 1), eventTime: nil)))
        harness.step(.closed(lines[0], reason: "gone"))
        harness.step(.received(lines[1], .rows(.ticker, Self.ticker(5, time: 2), eventTime: nil)))
        #expect(harness.core.content(of: .ticker)?.rows == Self.ticker(5, time: 2), "no outage was told, and the price is the new one")
        harness.step(.received(lines[1], .rows(.ticker, Self.ticker(4, time: 1), eventTime: nil)))
        #expect(harness.core.content(of: .ticker)?.rows == Self.ticker(5, time: 2))
    }

    @Test func ofSeveralValuesOfOneMillisecondEachIsToldOnceAndInOrder() {
        var harness = Self.harness(.btc, rows: .markPrice([.price(1, time: 1)]))
        let lines = harness.core.connections.map(\.id)
        var told: [FeedRows?] = []
        for line in lines {
            for price in 2...4 {
                harness.step(.received(line, .rows(.btc, .markPrice([.price(price, time: 100)]), eventTime: 100)))
                told.append(harness.core.content(of: .btc)?.rows)
            }
        }
        #expect(told == [2, 3, 4, 4, 4, 4].map { .markPrice([.price($0, time: 100)]) }, "the second line's copies do not bring older values back")
        #expect(harness.kinds.filter { $0.hasPrefix("update") }.count == 3)
    }

    @Test func theLossOfALineIsToldIfTheOtherMayLackWhatWasLostWithIt() {
        var harness = Self.harness(.ticker)
        harness.step(.received(harness.core.connections[0].id, .rows(.ticker, Self.ticker(1), eventTime: nil)))
        harness.forgetEffects()
        let late = harness.core.connections[0].id
        harness.step(.closed(late, reason: "gone"))
        #expect(harness.kinds.prefix(3) == ["disconnect", "status recovering", "connect"], "a second message may have been on its way")
        #expect(harness.attempts.map(\.name) == [.ticker])
        harness.answerFetches { _ in .success(FetchedContent(rows: Self.ticker(2, time: 2), eventTime: nil)) }
        #expect(harness.kinds.suffix(3) == ["recover success", "status live", "fetch"])
    }

    @Test func theLossOfALineIsNotToldOnceBothHaveBroughtAMessage() {
        var harness = Self.harness(.ticker)
        for line in harness.core.connections { harness.step(.received(line.id, .rows(.ticker, Self.ticker(1), eventTime: nil))) }
        harness.forgetEffects()
        harness.step(.closed(harness.core.connections[0].id, reason: "gone"))
        #expect(harness.kinds.isEmpty)
    }

    @Test func theLossOfAQuietLineIsNotToldIfItWasHeardLongEnoughBesideTheOther() {
        var harness = Self.harness(.ticker)
        let lines = harness.core.connections.map(\.id)
        harness.step(.received(lines[0], .rows(.ticker, Self.ticker(1), eventTime: nil)))
        harness.pass(.milliseconds(600))
        harness.step(.heard(lines[0]))
        harness.forgetEffects()
        harness.step(.closed(lines[0], reason: "gone"))
        #expect(harness.kinds.isEmpty)
    }

    @Test func aLineIsNotReplacedWhileTheOtherMayLackWhatIsOnItsWay() {
        var harness = Self.harness(.ticker)
        let lines = harness.core.connections.map(\.id)
        harness.step(.received(lines[0], .rows(.ticker, Self.ticker(1), eventTime: nil)))
        harness.step(.received(lines[0], .goingAway))
        #expect(harness.core.counters.linesReplaced == 0)
        harness.step(.received(lines[1], .rows(.ticker, Self.ticker(1), eventTime: nil)))
        harness.step(.received(lines[0], .goingAway))
        #expect(harness.core.counters.linesReplaced == 1)
    }

    @Test func aLineThatMayLackMessagesIsNoEvidenceOfThem() {
        var harness = Self.harness(.ticker)
        let lines = harness.core.connections.map(\.id)
        harness.step(.received(lines[0], .rows(.ticker, Self.ticker(1), eventTime: nil)))
        harness.answersPings = false
        harness.pass(.milliseconds(900))
        harness.step(.heard(lines[1]))
        let content = harness.core.content(of: .ticker, now: harness.now)
        #expect(content?.unverifiedMs == 900)
    }

    @Test func whatWaitedForAnotherLineIsEvidenceOfWhenItCame() {
        var harness = Self.harness(.trades, rows: AggregateTrade.trades(1...5))
        let lines = harness.core.connections.map(\.id)
        for line in lines { harness.step(.received(line, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil))) }
        harness.answersPings = false
        harness.step(.received(lines[0], .rows(.trades, AggregateTrade.trades(8...8), eventTime: nil)))
        #expect(harness.core.content(of: .trades)?.rows.ids?.upperBound == 6, "the other line may bring what is between")
        harness.pass(.milliseconds(600))
        let content = harness.core.content(of: .trades, now: harness.now)
        #expect(content?.state != .live && content?.unverifiedMs == 600)
    }

    @Test func barsAreFetchedWhenANewLineBringsThemAndTheOldOneTurnsOutNotTo() {
        var harness = Self.harness(.bars, rows: .bar(1))
        harness.pass(.seconds(3))
        harness.step(.closed(harness.core.connections[0].id, reason: "gone"))
        harness.forgetEffects()
        harness.pass(.seconds(3))
        let new = harness.core.connections[0].id
        harness.step(.opened(new))
        harness.acknowledge()
        harness.forgetEffects()
        harness.step(.received(new, .rows(.bars, .bar(8), eventTime: 8)))
        harness.pass(.milliseconds(1_100))
        harness.step(.received(new, .rows(.bars, .bar(9), eventTime: 9)))
        #expect(harness.attempts.map(\.name) == [.bars], "the bars before may lack their last trades")
        #expect(harness.core.connections[0].membersByIndex.count == 1)
    }

    @Test(arguments: [false, true]) func whatTheVenueRepeatsToANewLineDoesNotMakeItLate(wasAwaited: Bool) {
        var harness = Self.harness(.ticker)
        let lines = harness.core.connections.map(\.id)
        let first = { (harness: inout CoreHarness) in _ = harness.step(.received(lines[0], .rows(.ticker, Self.ticker(1), eventTime: nil))) }
        if wasAwaited { first(&harness) }
        harness.step(.closed(lines[1], reason: "gone"))
        if !wasAwaited { first(&harness) }
        harness.pass(.seconds(3))
        harness.forgetEffects()
        harness.step(.opened(harness.core.connections[1].id))
        harness.acknowledge()
        harness.step(.received(harness.core.connections[1].id, .rows(.ticker, Self.ticker(1), eventTime: nil)))
        #expect(harness.core.connections[1].health.lateness == .zero)
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
