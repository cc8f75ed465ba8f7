import Testing

@testable import FeedCore

/// Bars that are closed by their trades, one step at a time.
struct EarlyBarsTests {
    private static let name = FuturesServiceStreamName.earlyKline(symbol: "BTCUSDT", interval: .minute1)

    /// A trade with one fill; its id is that of the fill.
    private func trade(_ id: UInt64, _ price: String = "10.0", _ quantity: String = "1.00", at time: Int64, fills: UInt64 = 1) -> AggregateTrade {
        AggregateTrade(
            id: id, price: DecimalString(checked: price), quantity: DecimalString(checked: quantity), firstTradeID: id,
            lastTradeID: id &+ fills &- 1, time: time, isBuyerMaker: false)
    }

    /// A message of the venue about the bar of `minute` with trades `ids`, each of 1.00 for 10.0.
    private func message(_ minute: Int64, _ ids: ClosedRange<UInt64>, isClosed: Bool = false, volume: String? = nil) -> EarlyBar {
        let count = UInt64(ids.count)
        func decimal(_ text: String) -> DecimalString { DecimalString(checked: text) }
        let kline = Kline(
            openTime: minute * 60_000, closeTime: minute * 60_000 + 59_999, open: decimal("10.0"), high: decimal("10.0"), low: decimal("10.0"),
            close: decimal("10.0"), volume: decimal(volume ?? "\(count).00"), quoteVolume: decimal("\(count * 10).000"), tradeCount: count,
            takerBuyVolume: decimal(volume ?? "\(count).00"), takerBuyQuoteVolume: decimal("\(count * 10).000"), isClosed: isClosed)
        return EarlyBar(kline: kline, firstTradeID: ids.lowerBound, lastTradeID: ids.upperBound, closing: isClosed ? .confirmed : .open)
    }

    /// A live stream with the open bar of minute 100 and trades 1 to 5.
    private func live() -> CoreHarness {
        var harness = CoreHarness(limit: 100)
        harness.goLive([Self.name])
        harness.answerFetches { _ in .success(FetchedContent(rows: .kline([message(100, 1...5).kline]), eventTime: 6_005_000)) }
        receive(message(100, 1...5), at: 6_005_000, &harness)
        harness.forgetEffects()
        return harness
    }

    private func receive(_ message: EarlyBar, at time: Int64, _ harness: inout CoreHarness) {
        harness.step(.received(harness.connection, .rows(Self.name, .earlyBar([message]), eventTime: time)))
    }

    private func receive(_ trades: [AggregateTrade], _ harness: inout CoreHarness) {
        harness.step(.received(harness.connection, .rows(Self.name, .aggregateTrade(trades), eventTime: trades.last?.time)))
    }

    private func bars(_ harness: CoreHarness) -> [EarlyBar] {
        guard case .earlyBar(let bars)? = harness.core.content(of: Self.name)?.rows else { return [] }
        return bars
    }

    private func closings(_ harness: CoreHarness) -> [EarlyBar.Closing] { bars(harness).map(\.closing) }

    private func answerInquiry(_ rows: [Kline], _ harness: inout CoreHarness) {
        for (name, attempt) in harness.inquiries {
            harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: .kline(rows), eventTime: nil))))
        }
    }

    @Test func theFirstTradeOfTheNextBarClosesABarAndTheVenueConfirmsIt() throws {
        var harness = live()
        receive([trade(6, at: 6_059_000), trade(7, at: 6_060_010)], &harness)
        #expect(closings(harness) == [.provisional, .open])
        let early = try #require(bars(harness).first)
        #expect(early.kline == message(100, 1...6, isClosed: true).kline)
        #expect((early.firstTradeID, early.lastTradeID) == (1, 6))
        let next = try #require(bars(harness).last)
        #expect((next.kline.openTime, next.kline.closeTime, next.kline.tradeCount) == (6_060_000, 6_119_999, 1))
        #expect(next.kline == message(101, 7...7).kline)
        receive(message(100, 1...6, isClosed: true), at: 6_062_000, &harness)
        #expect(closings(harness) == [.confirmed, .open])
        #expect(bars(harness).first?.kline == early.kline)
        let counts = harness.core.counters.earlyBars
        #expect((counts.byTrade, counts.confirmed, counts.corrected, counts.byVenue) == (1, 1, 0, 0))
    }

    @Test func anOtherClosingMessageCorrectsTheBar() {
        var harness = live()
        receive([trade(6, at: 6_060_010)], &harness)
        receive(message(100, 1...5, isClosed: true, volume: "5.50"), at: 6_062_000, &harness)
        #expect(closings(harness) == [.corrected, .open])
        #expect(bars(harness).first?.kline.volume.text == "5.50")
        #expect(harness.core.counters.earlyBars.corrected == 1)
    }

    @Test func aMissingTradeLeavesTheBarToTheVenue() {
        var harness = live()
        receive([trade(7, at: 6_060_010)], &harness)
        #expect(closings(harness) == [.open])
        receive(message(100, 1...6, isClosed: true), at: 6_062_000, &harness)
        #expect(closings(harness) == [.confirmed, .open], "trade 7 follows the venue's closing message")
        #expect(harness.core.counters.earlyBars.byVenue == 1)
    }

    @Test func aMessageThatNamesTheMissingTradeMakesTheBarWholeAgain() {
        var harness = live()
        receive([trade(8, at: 6_050_000)], &harness)
        #expect(bars(harness).last?.kline.tradeCount == 5)
        receive(message(100, 1...7), at: 6_050_100, &harness)
        #expect(bars(harness).last?.kline == message(100, 1...8).kline)
        receive([trade(9, at: 6_060_000)], &harness)
        #expect(closings(harness) == [.provisional, .open])
        #expect(bars(harness).first?.lastTradeID == 8)
    }

    @Test func aTradeIsNotCountedTwiceIfAMessageEndsWithinIt() {
        var harness = live()
        receive([trade(6, at: 6_050_000, fills: 4)], &harness)
        receive(message(100, 1...7), at: 6_050_100, &harness)
        receive([trade(10, at: 6_060_000)], &harness)
        #expect(closings(harness) == [.provisional, .open])
        #expect(bars(harness).first?.lastTradeID == 9)
        #expect(bars(harness).first?.kline.tradeCount == 9)
    }

    @Test func aMessageThatIsOlderThanTheTradesChangesNothing() {
        var harness = live()
        receive([trade(6, at: 6_050_000)], &harness)
        harness.forgetEffects()
        receive(message(100, 1...5), at: 6_050_100, &harness)
        #expect(harness.events.isEmpty)
        receive([trade(6, at: 6_050_000)], &harness)
        #expect(harness.events.isEmpty, "a copy")
        #expect(bars(harness).last?.kline.tradeCount == 6)
    }

    @Test func aClosedBarStaysClosedIfTheVenueStillSendsItOpen() {
        var harness = live()
        receive([trade(6, at: 6_060_000)], &harness)
        receive(message(100, 1...5), at: 6_060_100, &harness)
        #expect(closings(harness) == [.provisional, .open])
        receive(message(100, 1...9), at: 6_060_200, &harness)
        #expect(closings(harness) == [.corrected, .open])
        #expect(bars(harness).first?.kline.tradeCount == 9)
        receive(message(100, 1...10, isClosed: true), at: 6_062_000, &harness)
        #expect(closings(harness) == [.corrected, .open], "it was closed with other values before")
        #expect(bars(harness).first?.kline.tradeCount == 10)
    }

    @Test func theVenuesClockAndRESTCloseABarWithoutTradesAfterIt() {
        var harness = live()
        harness.pass(.seconds(50))
        answerInquiry([message(100, 1...5).kline], &harness)
        harness.forgetEffects()
        harness.pass(.milliseconds(5_050))
        #expect(harness.inquiries.isEmpty && closings(harness) == [.open], "the bar ended 50 ms ago")
        harness.pass(.milliseconds(100))
        #expect(harness.inquiries.count == 1)
        answerInquiry([message(100, 1...5).kline], &harness)
        #expect(closings(harness) == [.provisional])
        #expect(harness.core.counters.earlyBars.byClock == 1)
        receive([trade(6, at: 6_070_000)], &harness)
        #expect(closings(harness) == [.provisional, .open])
        receive(message(100, 1...5, isClosed: true), at: 6_071_000, &harness)
        #expect(closings(harness) == [.confirmed, .open])
    }

    @Test func aTradeThatArrivesAfterItsBarWasClosedCorrectsTheBar() {
        var harness = live()
        harness.pass(.seconds(50))
        answerInquiry([message(100, 1...5).kline], &harness)
        harness.forgetEffects()
        harness.pass(.milliseconds(5_200))
        answerInquiry([message(100, 1...5).kline], &harness)
        #expect(closings(harness) == [.provisional])
        receive([trade(6, at: 6_059_990)], &harness)
        #expect(closings(harness) == [.corrected] && bars(harness).last?.kline == message(100, 1...6, isClosed: true).kline)
        receive([trade(7, at: 6_060_300)], &harness)
        receive(message(100, 1...6, isClosed: true), at: 6_062_000, &harness)
        #expect(closings(harness) == [.corrected, .open])
        #expect(harness.core.counters.earlyBars.corrected == 1)
    }

    @Test func aTradeThatRESTKnowsAndTheStreamLacksKeepsTheBarOpen() {
        var harness = live()
        harness.pass(.milliseconds(55_200))
        answerInquiry([message(100, 1...6).kline], &harness)
        #expect(closings(harness) == [.open])
        receive([trade(6, at: 6_059_990), trade(7, at: 6_060_300)], &harness)
        #expect(closings(harness) == [.provisional, .open])
        #expect(bars(harness).first?.kline == message(100, 1...6, isClosed: true).kline)
    }

    @Test func anAnswerThatIsBehindIsAskedForAgain() {
        var harness = live()
        receive([trade(6, at: 6_059_990)], &harness)
        harness.pass(.milliseconds(55_200))
        answerInquiry([message(100, 1...5).kline], &harness)
        #expect(closings(harness) == [.open])
        harness.forgetEffects()
        harness.pass(.seconds(1))
        #expect(!harness.inquiries.isEmpty)
        answerInquiry([message(100, 1...6).kline], &harness)
        #expect(closings(harness) == [.provisional])
    }

    @Test func inAnOutageNoTradeChangesWhatReadersHave() {
        var harness = live()
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.forgetEffects()
        harness.pass(.seconds(3))
        harness.forgetEffects()
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        receive([trade(6, at: 6_060_010)], &harness)
        #expect(!harness.kinds.contains { $0.hasPrefix("update") } && closings(harness) == [.open])
        harness.answerFetches { _ in
            .success(FetchedContent(rows: .kline([message(100, 1...6, isClosed: true).kline, message(101, 7...8).kline]), eventTime: nil))
        }
        #expect(closings(harness) == [.confirmed, .open])
        receive([trade(9, at: 6_063_000)], &harness)
        #expect(bars(harness).last?.kline.tradeCount == 2, "REST names no trade")
        receive(message(101, 7...8), at: 6_063_010, &harness)
        #expect(bars(harness).last?.kline.tradeCount == 3)
        receive([trade(10, at: 6_120_000)], &harness)
        #expect(closings(harness) == [.confirmed, .provisional, .open])
    }

    @Test func aBarWhoseClosingMessageIsMissingIsConfirmedByREST() {
        var harness = live()
        receive([trade(6, at: 6_060_010)], &harness)
        harness.forgetEffects()
        receive(message(101, 6...7), at: 6_063_000, &harness)
        #expect(!harness.attempts.isEmpty)
        harness.answerFetches { _ in
            .success(FetchedContent(rows: .kline([message(100, 1...5, isClosed: true).kline, message(101, 6...7).kline]), eventTime: nil))
        }
        #expect(closings(harness) == [.confirmed, .open])
        #expect(!harness.kinds.contains("disconnect"))
    }

    @Test func theFirstTradeIDOfALaterBarClosesTheOneBefore() {
        var harness = live()
        receive(message(101, 6...7), at: 6_063_000, &harness)
        #expect(closings(harness) == [.provisional, .open])
    }

    /// What sockets are sent: the number of trades of each bar, and `closed` if it says so.
    private func passed(_ harness: CoreHarness) -> [String] {
        harness.effects.compactMap { effect in
            switch effect {
            case .passOn(let message): message.text.map { String(decoding: $0, as: UTF8.self) } ?? "lost"
            case .passOnBar(_, let bar, let time): "\(bar.kline.tradeCount) closed at \(time)"
            default: nil
            }
        }
    }

    private func receive(_ message: EarlyBar, at time: Int64, text: String, _ harness: inout CoreHarness) {
        let now = Moment(instant: harness.now, wallClock: harness.now.nanoseconds / 1_000_000)
        var effects: [FeedEffect] = []
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            let input = FeedInput.received(harness.connection, .rows(Self.name, .earlyBar([message]), eventTime: time))
            harness.core.step(input, now: now, text: MessageText(bytes), &effects)
        }
        harness.keep(effects)
    }

    @Test func socketsGetOneClosingMessageForEachBarUnlessTheVenueCorrectsIt() {
        var harness = live()
        harness.step(.passOn(Self.name, true))
        harness.forgetEffects()
        receive(message(100, 1...6), at: 6_058_000, text: "6", &harness)
        receive([trade(7, at: 6_059_000), trade(8, at: 6_060_010)], &harness)
        #expect(passed(harness) == ["6", "7 closed at 6060010"])
        harness.forgetEffects()
        receive(message(100, 1...7), at: 6_060_100, text: "open again", &harness)
        receive(message(100, 1...7, isClosed: true), at: 6_062_000, text: "repeated", &harness)
        receive(message(101, 8...9), at: 6_062_100, text: "next", &harness)
        #expect(passed(harness) == ["next"])
        harness.forgetEffects()
        receive([trade(10, at: 6_120_000)], &harness)
        receive(message(101, 8...9, isClosed: true, volume: "2.50"), at: 6_122_000, text: "corrected", &harness)
        #expect(passed(harness) == ["2 closed at 6120000", "corrected"])
    }

    @Test func aMonthIsClosedByItsTradesToo() {
        let name = FuturesServiceStreamName.earlyKline(symbol: "BTCUSDT", interval: .month1)
        var bars = EarlyBars(length: name.interval?.milliseconds)
        _ = bars.merge(.earlyBar([message(100, 1...5)]), rule: .byKey, limit: 10)
        guard case .earlyBar(let rows)? = bars.merge(.aggregateTrade([trade(6, at: 6_060_000)]), rule: .byKey, limit: 10) else {
            Issue.record("no rows")
            return
        }
        #expect(rows.map(\.closing) == [.provisional], "the next one begins with the venue's message, because months differ in length")
    }

    @Test func aBarThatNeverEndsAsksForNothing() {
        var harness = live()
        var bar = message(100, 1...6)
        var kline = bar.kline
        kline.closeTime = .max
        bar = EarlyBar(kline: kline, firstTradeID: 1, lastTradeID: 6, closing: .open)
        receive(bar, at: 6_006_000, &harness)
        harness.forgetEffects()
        let deadline = harness.core.nextDeadline
        #expect(deadline.map { $0 > harness.now + .milliseconds(50) } ?? true, "\(String(describing: deadline)), now \(harness.now)")
    }

    @Test func absurdNumbersTrapNowhere() {
        var bars = EarlyBars(length: 60_000)
        var random = SplitMix64(seed: 7)
        let ends: [Int64] = [.min, .min + 1, -1, 0, 59_999, 60_000, .max - 1, .max]
        let ids: [UInt64] = [0, 1, 2, .max - 1, .max]
        for _ in 0..<20_000 {
            let (first, last) = (ids.randomElement(using: &random) ?? 0, ids.randomElement(using: &random) ?? 0)
            let time = ends.randomElement(using: &random) ?? 0
            if Bool.random(using: &random) {
                let trade = AggregateTrade(
                    id: first, price: DecimalString(checked: "9"), quantity: DecimalString(checked: "9"), firstTradeID: first, lastTradeID: last,
                    time: time, isBuyerMaker: true)
                _ = bars.merge(.aggregateTrade([trade]), rule: .byKey, limit: 5)
            } else {
                var kline = message(1, 1...2).kline
                (kline.openTime, kline.closeTime) = (time, ends.randomElement(using: &random) ?? 0)
                let bar = EarlyBar(
                    kline: kline, firstTradeID: first, lastTradeID: last, closing: EarlyBar.Closing.allCases.randomElement(using: &random) ?? .open)
                _ = bars.merge(.earlyBar([bar]), rule: .byKey, limit: 5)
                _ = bars.hasHole(before: .earlyBar([bar]))
            }
        }
        #expect(bars.latest(5).count <= 5)
    }
}
