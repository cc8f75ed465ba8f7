import Testing

@testable import FeedCore

/// A feed goes on with what another one left, at once where it has kept the streams itself meanwhile.
struct TakeoverTests {
    private static let book = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
    private static let liquidations = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")

    private static func levels(_ last: UInt64, previous: UInt64? = nil, time: Int64 = 0) -> DepthLevels {
        DepthLevels(
            symbol: "BTCUSDT", bids: [PriceLevel(price: DecimalString(99), quantity: DecimalString(Int(last)))],
            asks: [PriceLevel(price: DecimalString(101), quantity: DecimalString(1))], firstUpdateID: previous.map { $0 + 1 }, lastUpdateID: last,
            previousUpdateID: previous, time: time == 0 ? Int64(last) : time)
    }

    /// A feed that nobody was told anything of, with a book at update 10, trades up to 20 and a ticker of 5.
    private static func shadow() -> CoreHarness {
        var harness = CoreHarness(backfillLimit: 100, limit: 20)
        harness.goLive([book, .trades])
        harness.receive(book, .depth([levels(9, previous: 8)]))
        harness.receive(.trades, AggregateTrade.trades(11...15))
        harness.answerFetches {
            .success(FetchedContent(rows: $0 == book ? .depth([levels(9)]) : AggregateTrade.trades(1...15), eventTime: nil))
        }
        harness.receive(book, .depth([levels(10, previous: 9)]))
        harness.receive(.trades, AggregateTrade.trades(16...20))
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.pass(.seconds(1))
        for case .connect(let id, 1, _, _) in harness.effects { harness.step(.opened(id)) }
        harness.acknowledge()
        harness.tick(5)
        harness.pass(.seconds(1))
        harness.forgetEffects()
        return harness
    }

    private static func left(_ name: FuturesServiceStreamName, _ rows: FeedRows?, isLost: Bool = false) -> InheritedStream {
        let content = rows.map {
            FuturesServiceFeedContent(
                streamName: name, id: EventID(epoch: 3, sequence: 900), kind: .full, state: .live, source: .websocket, eventTime: nil, receivedAt: 1,
                rows: $0)
        }
        return InheritedStream(name: name, content: content, isLost: isLost)
    }

    private func recoveries(_ harness: CoreHarness) -> [FeedRecovery] {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }
    }

    private func contents(_ harness: CoreHarness) -> [FuturesServiceFeedContent] {
        harness.events.compactMap { event in
            switch event.kind {
            case .fetched(let content), .updated(let content): content
            default: nil
            }
        }
    }

    private static let outage = ["disconnect", "status recovering", "connect"]

    @Test func aBookThatStandsGoesOnWithoutARequest() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(8)]))])
        #expect(harness.kinds == Self.outage + ["recover success", "status live", "fetch"])
        #expect(recoveries(harness).map(\.method) == [.snapshot])
        #expect(contents(harness).map(\.rows) == [.depth([Self.levels(10).whole])])
        #expect(harness.attempts.isEmpty)
        harness.forgetEffects()
        harness.receive(Self.book, .depth([Self.levels(11, previous: 10)]))
        #expect(harness.kinds == ["update delta"])
    }

    @Test func anInheritedContentIsAsOldAsItsClockSays() throws {
        var harness = CoreHarness(hasSnapshotSource: false)
        let content = FuturesServiceFeedContent(
            streamName: .ticker, id: EventID(epoch: 6, sequence: 9), kind: .full, state: .live, source: .websocket, eventTime: nil,
            receivedAt: harness.now.nanoseconds / 1_000_000 - 18_000, rows: .ticker(1))
        harness.inherit([InheritedStream(name: .ticker, content: content, isLost: false)])
        #expect(harness.core.status(of: .ticker, now: harness.now)?.ageMs == 18_000)
        harness.pass(.seconds(2))
        #expect(harness.core.status(of: .ticker, now: harness.now)?.ageMs == 20_000)
    }

    @Test func everyEventIsOfTheNewEpochAndNumberedBehindTheLog() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(8)])), Self.left(.trades, AggregateTrade.trades(1...12))])
        harness.receive(Self.book, .depth([Self.levels(11, previous: 10)]))
        #expect(harness.events.map(\.id) == (1...UInt64(harness.events.count)).map { EventID(epoch: 8, sequence: 1000 + $0) })
        #expect(contents(harness).map(\.id.epoch).allSatisfy { $0 == 8 })
    }

    @Test func tradesThatFollowAreToldAsTheMissingOnesAlone() {
        var harness = Self.shadow()
        harness.inherit([Self.left(.trades, AggregateTrade.trades(1...12))])
        #expect(harness.kinds == Self.outage + ["update delta", "recover success", "status live"])
        #expect(contents(harness).map(\.rows) == [AggregateTrade.trades(13...20)])
        #expect(recoveries(harness).map(\.method) == [.backfill])
        #expect(recoveries(harness).map(\.missed) == [0])
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(1...20))
        harness.forgetEffects()
        harness.receive(.trades, AggregateTrade.trades(21...21))
        #expect(contents(harness).map(\.rows) == [AggregateTrade.trades(21...21)])
    }

    @Test func tradesThatTheOtherFeedHadLongerAreNotToldTwice() {
        var harness = Self.shadow()
        harness.inherit([Self.left(.trades, AggregateTrade.trades(5...22))])
        #expect(recoveries(harness).map(\.method) == [.continuous])
        #expect(contents(harness).map(\.rows) == [AggregateTrade.trades(5...22)])
        harness.forgetEffects()
        harness.receive(.trades, AggregateTrade.trades(21...23))
        #expect(contents(harness).map(\.rows) == [AggregateTrade.trades(23...23)])
    }

    @Test func aHoleBetweenTheTradesOfBothIsToldWithItsLength() {
        var harness = CoreHarness(backfillLimit: 100, limit: 5)
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(16...20), eventTime: nil)) }
        harness.forgetEffects()
        harness.inherit([Self.left(.trades, AggregateTrade.trades(8...12))])
        #expect(harness.kinds == Self.outage + ["recover success", "status live", "fetch"])
        #expect(recoveries(harness).map(\.missed) == [3])
        #expect(recoveries(harness).map(\.method) == [.snapshot])
        #expect(contents(harness).map(\.rows) == [AggregateTrade.trades(16...20)])
    }

    @Test func aValueThatIsOlderThanWhatReadersHaveIsNotShown() {
        var harness = Self.shadow()
        let newer = Self.left(.ticker, .ticker(6))
        #expect(harness.core.isBehind([newer]))
        harness.inherit([newer])
        #expect(harness.kinds == Self.outage)
        harness.pass(.seconds(1))
        harness.tick(7)
        #expect(contents(harness).map(\.rows) == [.ticker(7)])
        #expect(recoveries(harness).count == 1)
    }

    @Test func aBookBehindTheLogIsBuiltAnew() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(12)]))])
        #expect(harness.kinds == Self.outage)
        harness.pass(.seconds(1))
        harness.acknowledge()
        harness.receive(Self.book, .depth([Self.levels(13, previous: 12)]))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([Self.levels(12)]), eventTime: nil)) }
        #expect(contents(harness).map(\.rows) == [.depth([Self.levels(13).whole])])
        #expect(recoveries(harness).count == 1)
    }

    @Test func aBookThatIsNotWholeRecoversAsAfterAnyOutage() {
        var harness = Self.shadow()
        harness.receive(Self.book, .depth([Self.levels(15, previous: 13)]))
        harness.forgetEffects()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(12)]))])
        #expect(harness.kinds == Self.outage)
        harness.pass(.seconds(1))
        harness.acknowledge()
        harness.receive(Self.book, .depth([Self.levels(16, previous: 15)]))
        #expect(!harness.attempts.isEmpty)
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([Self.levels(15)]), eventTime: nil)) }
        #expect(contents(harness).map(\.rows) == [.depth([Self.levels(16).whole])])
        #expect(recoveries(harness).count == 1)
    }

    @Test func anOutageThatReadersKnowIsNotToldTwice() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(8)]), isLost: true)])
        #expect(harness.kinds == ["status recovering", "connect", "recover success", "status live", "fetch"])
    }

    @Test func aStreamWithoutAValueOfItsOwnKeepsWhatWasLeft() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([Self.liquidations])
        harness.forgetEffects()
        harness.inherit([Self.left(Self.liquidations, .liquidation([]))])
        #expect(harness.kinds == Self.outage)
        harness.pass(.seconds(1))
        harness.acknowledge()
        #expect(recoveries(harness).count == 1)
    }

    @Test func aStreamThatTheShadowLacksIsSubscribedTo() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(8)])), Self.left(.btc, .markPrice([.price(1)]))])
        #expect(harness.events.filter { $0.stream == .btc }.map { CoreHarness.kind($0) } == Self.outage)
        harness.pass(.seconds(1))
        let asked = harness.effects.contains { if case .subscribe(_, let names, _) = $0 { names.contains(.btc) } else { false } }
        #expect(asked)
    }

    @Test func aStreamThatTheLogDoesNotKnowIsLetGoInSilence() {
        var harness = Self.shadow()
        harness.inherit([Self.left(Self.book, .depth([Self.levels(8)]))])
        #expect(harness.core.streamNames == [Self.book])
        #expect(Set(harness.events.map(\.stream)) == [Self.book])
        let dropped = harness.effects.contains { if case .unsubscribe(_, let names, _) = $0 { names == [.trades] } else { false } }
        #expect(dropped)
    }

    @Test func aConnectionThatIsLostMakesItsStreamsUnfit() {
        var harness = Self.shadow()
        #expect(harness.core.wholeStreams == 3)
        harness.step(.closed(harness.connection, reason: "gone"))
        #expect(harness.core.wholeStreams == 1)
        harness.forgetEffects()
        harness.inherit([Self.left(.trades, AggregateTrade.trades(1...12))])
        #expect(harness.kinds == ["disconnect", "status recovering"])
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        #expect(harness.attempts.last?.name == .trades)
    }
}

extension DepthLevels {
    /// As the book that ends with it is handed out.
    fileprivate var whole: DepthLevels { DepthLevels(symbol: symbol, bids: bids, asks: asks, lastUpdateID: lastUpdateID, time: time) }
}

extension CoreHarness {
    fileprivate mutating func inherit(_ inherited: [InheritedStream]) {
        let heardAt = Instant(nanoseconds: now.nanoseconds - 1_000_000_000)
        let moment = Moment(instant: now, wallClock: now.nanoseconds / 1_000_000)
        keep(core.inherit(inherited, because: "gone", epoch: 8, behind: 1000, for: .one, heardAt: heardAt, now: moment))
    }

    fileprivate mutating func tick(_ price: Int) {
        guard let id = core.connections.first(where: { $0.endpoint == 1 })?.id else { return }
        step(.received(id, .rows(.ticker, .ticker(price), eventTime: nil)))
    }
}
