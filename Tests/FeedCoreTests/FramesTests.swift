import Testing

@testable import FeedCore

/// Messages for readers of the venue's sockets.
@Suite struct FramesTests {
    /// A core with one live stream and a connection, and the messages that it passed on.
    private struct Setup {
        var core: CoreHarness
        let name: FuturesServiceStreamName

        init(_ name: FuturesServiceStreamName, hasSnapshotSource: Bool = true, backfillLimit: Int? = nil) {
            self.name = name
            core = CoreHarness(hasSnapshotSource: hasSnapshotSource, backfillLimit: backfillLimit)
            core.step(.observe(ObserverID(1), [name], forceFetch: false))
            core.step(.passOn(name, true))
            core.pass(.seconds(1))
            core.step(.opened(core.connection))
            core.pass(.seconds(1))
            for case .subscribe(let id, _, let request) in core.effects { core.step(.received(id, .acknowledged(request: request))) }
        }

        mutating func receive(_ rows: FeedRows, _ text: String) { core.receive(name, rows, text) }

        var state: FeedState? { core.core.status(of: name, now: core.now)?.state }

        var passed: [String?] {
            core.effects.compactMap { effect -> String?? in
                if case .passOn(let message) = effect { .some(message.text.map { String(decoding: $0, as: UTF8.self) }) } else { nil }
            }
        }

        mutating func answerFetches(_ rows: FeedRows) {
            for (name, attempt) in core.attempts { core.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: rows, eventTime: nil)))) }
        }
    }

    private static let btc = "BTCUSDT"

    private static func ticker(_ id: UInt64) -> FeedRows {
        let one = DecimalString(checked: "1")
        return .bookTicker([
            BookTicker(symbol: btc, bidPrice: one, bidQuantity: one, askPrice: one, askQuantity: one, updateID: id, time: Int64(id))
        ])
    }

    private static func trade(_ id: UInt64) -> FeedRows {
        let one = DecimalString(checked: "1")
        return .aggregateTrade([
            AggregateTrade(id: id, price: one, quantity: one, firstTradeID: id, lastTradeID: id, time: Int64(id), isBuyerMaker: false)
        ])
    }

    /// Bars of a minute, by their minutes.
    private static func bars(_ minutes: Int64..., areClosed: Bool = false) -> FeedRows {
        let one = DecimalString(checked: "1")
        return .kline(
            minutes.map { minute in
                Kline(
                    openTime: minute * 60_000, closeTime: minute * 60_000 + 59_999, open: one, high: one, low: one, close: one, volume: one,
                    quoteVolume: one, tradeCount: 1, takerBuyVolume: one, takerBuyQuoteVolume: one, isClosed: areClosed)
            })
    }

    private static func depth(_ first: UInt64, _ last: UInt64, after previous: UInt64?) -> FeedRows {
        let level = { PriceLevel(price: DecimalString(checked: $0), quantity: DecimalString(checked: "1")) }
        return .depth([
            DepthLevels(
                symbol: btc, bids: [level("1")], asks: [level("2")], firstUpdateID: previous == nil ? nil : first, lastUpdateID: last,
                previousUpdateID: previous, time: Int64(last))
        ])
    }

    @Test func messagesOfALiveStreamArePassedOnEvenIfTheyChangeNothing() {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.receive(Self.ticker(1), "one")
        setup.receive(Self.ticker(1), "the same")
        setup.receive(Self.ticker(2), "two")
        #expect(setup.passed == ["one", "the same", "two"])
    }

    @Test func nothingIsPassedOnWithoutAReader() {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.core.step(.passOn(setup.name, false))
        setup.receive(Self.ticker(1), "one")
        #expect(setup.passed == [nil], "only that the messages end")
    }

    @Test func theContentIsPublishedBeforeItsMessageIsPassedOn() {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.core.forgetEffects()
        setup.receive(Self.ticker(1), "one")
        let order = setup.core.effects.compactMap { effect -> String? in
            switch effect {
            case .publish(let event): CoreHarness.kind(event)
            case .passOn: "message"
            default: nil
            }
        }
        #expect(order.last == "message" && order.count > 1, "\(order)")
    }

    @Test func aBookBeginsWithTheMessageThatCompletedIt() {
        var setup = Setup(.depth(symbol: Self.btc))
        setup.receive(Self.depth(5, 6, after: 4), "5 to 6")
        setup.receive(Self.depth(7, 8, after: 6), "7 to 8")
        #expect(setup.passed.isEmpty, "the book is not complete")
        setup.answerFetches(Self.depth(0, 5, after: nil))
        #expect(setup.passed == ["7 to 8"])
        #expect(setup.core.core.newestMessage(of: setup.name) == Array("7 to 8".utf8))
        setup.receive(Self.depth(9, 9, after: 8), "9")
        #expect(setup.passed == ["7 to 8", "9"])
    }

    @Test func aBookThatLostAMessageSendsNothingUntilItIsRebuiltAndReportsTheLoss() {
        var setup = Setup(.depth(symbol: Self.btc))
        setup.receive(Self.depth(5, 6, after: 4), "6")
        setup.answerFetches(Self.depth(0, 5, after: nil))
        setup.core.forgetEffects()
        setup.receive(Self.depth(9, 9, after: 8), "9")
        #expect(setup.passed.isEmpty && setup.core.core.newestMessage(of: setup.name) == nil)
        setup.core.pass(.seconds(5))
        setup.answerFetches(Self.depth(0, 9, after: nil))
        #expect(setup.passed == [nil, "9"])
    }

    /// A strict client takes a repeated message for a gap.
    @Test func aSnapshotForALiveBookSendsNoMessageTwice() {
        var setup = Setup(.depth(symbol: Self.btc))
        setup.receive(Self.depth(5, 6, after: 4), "6")
        setup.answerFetches(Self.depth(0, 5, after: nil))
        setup.receive(Self.depth(7, 7, after: 6), "7")
        setup.core.forgetEffects()
        setup.core.step(.refetch(setup.name))
        setup.answerFetches(Self.depth(0, 7, after: nil))
        #expect(setup.passed.isEmpty)
        setup.receive(Self.depth(8, 8, after: 7), "8")
        #expect(setup.passed == ["8"])
    }

    /// Update numbers are those of all symbols, so REST may have a number that this book's messages have not reached.
    @Test func theMessageThatReachesTheLevelsOfALaterSnapshotIsPassedOn() {
        var setup = Setup(.depth(symbol: Self.btc))
        setup.receive(.depth([bookEvent(4, 5, 6)]), "6")
        setup.answerFetches(.depth([bookSnapshot(5)]))
        setup.core.forgetEffects()
        setup.core.step(.refetch(setup.name))
        setup.answerFetches(.depth([bookSnapshot(10, bids: [(99, 5)])]))
        setup.receive(.depth([bookEvent(6, 7, 8, bids: [(99, 5)])]), "8")
        #expect(setup.passed == ["8"])
        setup.receive(.depth([bookEvent(8, 11, 11)]), "11")
        #expect(setup.passed == ["8", "11"])
    }

    @Test func missingTradesAreReportedInsteadOfPapered() {
        var setup = Setup(.aggregateTrade(symbol: Self.btc), backfillLimit: 100)
        setup.answerFetches(Self.trade(1))
        setup.receive(Self.trade(2), "2")
        setup.core.forgetEffects()
        setup.receive(Self.trade(5), "5")
        #expect(setup.passed.isEmpty, "3 and 4 are being fetched")
        guard case .aggregateTrade(let three) = Self.trade(3), case .aggregateTrade(let four) = Self.trade(4) else { return }
        setup.answerFetches(.aggregateTrade(three + four))
        #expect(setup.passed == [nil, "5"])
    }

    /// Their own messages will be repetitions, which are not passed on.
    @Test func tradesThatRESTHasFirstAreReportedAsMissing() {
        var setup = Setup(.aggregateTrade(symbol: Self.btc), backfillLimit: 100)
        setup.answerFetches(Self.trade(1))
        setup.receive(Self.trade(2), "2")
        setup.core.forgetEffects()
        setup.core.step(.refetch(setup.name))
        guard case .aggregateTrade(let two) = Self.trade(2), case .aggregateTrade(let three) = Self.trade(3) else { return }
        setup.answerFetches(.aggregateTrade(two + three))
        #expect(setup.passed == [nil])
        setup.receive(Self.trade(3), "3")
        setup.receive(Self.trade(4), "4")
        #expect(setup.passed == [nil, "4"])
    }

    @Test func theLateCopiesOfAnotherLineAreNotPassedOn() {
        var configuration = FeedCore.Configuration()
        configuration.lines = [0: 2]
        var harness = CoreHarness(configuration: configuration)
        let name = FuturesServiceStreamName.markPrice(symbol: Self.btc)
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.passOn(name, true))
        for _ in 0..<2 {
            for connection in harness.core.connections where connection.phase == .connecting { harness.step(.opened(connection.id)) }
            harness.pass(.seconds(3))
        }
        harness.acknowledge()
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1, time: 1)]), eventTime: nil)) }
        let lines = harness.core.connections.map(\.id)
        for (line, time) in [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (0, 4)] {
            harness.receive(name, .markPrice([.price(time, time: Int64(time))]), "\(time)", from: lines[line], eventTime: Int64(time))
        }
        let passed = harness.effects.compactMap { effect in if case .passOn(let message) = effect { message.text } else { nil } }
        #expect(passed.map { String(decoding: $0, as: UTF8.self) } == ["2", "3", "4"])
    }

    @Test(arguments: [(56, true), (20, false)]) func aBarWhoseFinalMessageAnOutageHidIsReported(_ seconds: Int, _ isHidden: Bool) {
        var setup = Setup(.kline(symbol: Self.btc, interval: .minute1))
        let bar = Self.bars(0)
        setup.answerFetches(bar)
        setup.core.pass(.seconds(seconds))
        setup.receive(bar, "a bar")
        setup.core.reconnect()
        setup.core.acknowledge()
        setup.answerFetches(bar)
        #expect(setup.passed.contains(nil) == isHidden, "\(setup.passed)")
    }

    /// The content has no gap when the next message arrives: it has trades from REST and a message that was not passed on.
    @Test func tradesThatOnlyTheContentHasAreReportedAsMissing() {
        var setup = Setup(.trade(symbol: Self.btc))
        let one = DecimalString(checked: "1")
        let trades = { (ids: ClosedRange<UInt64>) in
            FeedRows.trade(ids.map { Trade(id: $0, price: one, quantity: one, type: nil, time: Int64($0), isBuyerMaker: false) })
        }
        setup.answerFetches(trades(1...1))
        setup.receive(trades(2...2), "2")
        setup.core.forgetEffects()
        setup.receive(trades(5...5), "5")
        setup.core.pass(.seconds(2))
        setup.answerFetches(trades(1...5))
        #expect(setup.state == .live)
        setup.receive(trades(6...6), "6")
        #expect(setup.passed == [nil, "6"])
    }

    @Test func anOlderMessageIsNotPassedOn() {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.receive(Self.ticker(5), "five")
        setup.receive(Self.ticker(3), "three")
        setup.receive(Self.ticker(6), "six")
        #expect(setup.passed == ["five", "six"])
    }

    @Test func aNodeOfTheVenueThatLagsBehindEndsNoOutage() {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.answerFetches(Self.ticker(4))
        setup.receive(Self.ticker(5), "five")
        setup.core.reconnect()
        setup.core.acknowledge()
        setup.receive(Self.ticker(3), "three")
        setup.receive(Self.ticker(4), "four")
        #expect(setup.state != .live)
        setup.receive(Self.ticker(6), "six")
        #expect(setup.state == .live)
        #expect(setup.passed == ["six"], "five was passed on before the outage")
    }

    /// In a quiet market, no message replaces the old value.
    @Test(arguments: [true, false]) func aSocketIsClosedIfOnlyRESTHasTheNewValue(_ arrives: Bool) {
        var setup = Setup(.bookTicker(symbol: Self.btc))
        setup.answerFetches(Self.ticker(4))
        setup.receive(Self.ticker(5), "five")
        setup.core.reconnect()
        setup.core.acknowledge()
        let two = DecimalString(checked: "2")
        setup.answerFetches(
            .bookTicker([BookTicker(symbol: Self.btc, bidPrice: two, bidQuantity: two, askPrice: two, askQuantity: two, updateID: nil, time: 9)]))
        #expect(setup.state == .live)
        if arrives { setup.receive(Self.ticker(10), "ten") }
        setup.core.pass(.seconds(4))
        #expect(setup.passed == [arrives ? "ten" : nil], "five was passed on before the outage")
    }

    @Test func aBarWhoseFinalMessageNeverCameIsReported() {
        var setup = Setup(.kline(symbol: Self.btc, interval: .minute1))
        setup.answerFetches(Self.bars(0))
        setup.receive(Self.bars(0, areClosed: true), "the end of 0")
        setup.receive(Self.bars(1), "1")
        setup.receive(Self.bars(2), "2")
        setup.core.pass(.seconds(2))
        setup.answerFetches(Self.bars(0, 1, 2))
        setup.receive(Self.bars(2, areClosed: true), "the end of 2")
        #expect(setup.passed == ["the end of 0", "1", nil, "the end of 2"])
    }

    /// Event readers receive one `recover` per outage, the one about the failure. Sockets must still be closed.
    @Test func aLossIsReportedAfterAnOutageThatCouldNotBeEndedForLong() {
        var setup = Setup(.kline(symbol: Self.btc, interval: .minute1))
        let bar = Self.bars(0)
        setup.answerFetches(bar)
        setup.receive(bar, "a bar")
        setup.core.reconnect()
        setup.core.acknowledge()
        for _ in 0..<30 where setup.state != .failed {
            setup.core.answerFetches { _ in .failure(FeedError(.unreachable, "no answer", isTransient: true)) }
            setup.core.pass(.seconds(5))
        }
        #expect(setup.state == .failed)
        setup.core.pass(.seconds(60))
        setup.answerFetches(bar)
        #expect(setup.state == .live && setup.passed == [nil])
    }

    @Test func aTradeThatIsRepeatedToAStaleStreamIsNotPublishedAgain() {
        var setup = Setup(.aggregateTrade(symbol: Self.btc), backfillLimit: 100)
        setup.answerFetches(Self.trade(1))
        setup.receive(Self.trade(2), "2")
        for _ in 0..<900 where setup.state == .live { setup.core.pass(.seconds(1)) }
        #expect(setup.state == .stale)
        setup.core.forgetEffects()
        for _ in 0..<5 { setup.receive(Self.trade(2), "2 again") }
        let updates = setup.core.effects.filter { if case .publish(let event) = $0, case .updated = event.kind { true } else { false } }
        #expect(updates.isEmpty)
    }

    /// In a cluster a node's demand may be forgotten while it still has readers, and its readers read on when the demand returns.
    @Test(arguments: [true, false]) func theEndOfPassingOnIsALossForOtherNodes(_ isRemoved: Bool) {
        var setup = Setup(.liquidation(symbol: Self.btc), hasSnapshotSource: false)
        setup.core.step(isRemoved ? .unobserve(ObserverID(1), nil) : .passOn(setup.name, false))
        setup.core.pass(.seconds(120))
        #expect(setup.passed.contains(nil))
    }

    @Test func aTradeIsPassedOnOnce() {
        var setup = Setup(.aggregateTrade(symbol: Self.btc), backfillLimit: 100)
        setup.answerFetches(Self.trade(1))
        setup.receive(Self.trade(2), "2")
        setup.receive(Self.trade(2), "2 again")
        #expect(setup.passed == ["2"])
    }
}

extension CoreHarness {
    mutating func receive(
        _ name: FuturesServiceStreamName, _ rows: FeedRows, _ text: String, from line: ConnectionID? = nil, eventTime: Int64? = nil
    ) {
        var effects: [FeedEffect] = []
        Array(text.utf8).withUnsafeBufferPointer { text in
            core.step(
                .received(line ?? connection, .rows(name, rows, eventTime: eventTime)),
                now: Moment(instant: now, wallClock: now.nanoseconds / 1_000_000),
                text: MessageText(text), &effects)
        }
        keep(effects)
    }
}
