import Testing

@testable import FeedCore

/// What is live is complete, and no proof outlives evidence against it (`FeedCore+Evidence`).
@Suite struct EvidenceTests {
    /// What a venue may answer in place of complete data, as a dialect reads it.
    static let refusals: [FeedError] =
        [302, 400, 404, 408, 409, 451].map { FeedError(.venueRejected, "HTTP \($0)", venueCode: -1007) }
        + [403, 500, 502, 503].map { FeedError(.unreachable, "HTTP \($0)", retryAfterMs: 0) }
        + [418, 429].map { FeedError(.rateLimited, "HTTP \($0)", retryAfterMs: 0) }
        + [FeedError(.malformed, "HTML"), FeedError(.malformed, "an empty body"), FeedError(.timedOut, "no answer")]

    static let depth = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
    /// One stream of each merge rule that REST completes.
    static let kinds: [FuturesServiceStreamName] = [.bars, .trades, depth]

    /// The newest message of a stream; each call's number follows the one before.
    static func message(_ name: FuturesServiceStreamName, _ number: Int) -> FeedRows {
        switch name.mergeRule {
        case .byKey: .bar(number, openTime: 60_000 * 9)
        case .append: .trade(number)
        case .book: .update(number)
        case .replace: .ticker(number)
        }
    }

    static func complete(_ name: FuturesServiceStreamName, upTo number: Int) -> FeedRows {
        switch name.mergeRule {
        case .byKey: .kline((5...9).flatMap { FeedRows.bar(number, openTime: 60_000 * Int64($0)).klines })
        case .append: .aggregateTrade((max(1, number - 4)...number).flatMap { FeedRows.trade($0).trades })
        case .book: .snapshot(number)
        case .replace: .ticker(number)
        }
    }

    /// Answers what is asked within so many seconds, once each, while messages go on every second.
    private static func pass(
        _ seconds: Int, _ name: FuturesServiceStreamName, _ harness: inout CoreHarness, number: inout Int,
        _ answer: (Int, FetchRequest) -> Result<FetchedContent, FeedError>
    ) -> Int {
        var (asked, states) = (0, 0)
        for _ in 0..<seconds {
            for case .fetch(_, let request) in harness.effects {
                if request.part != .newest { asked += 1 }
                harness.forgetEffects()
                harness.step(.fetched(name, attempt: request.attempt, answer(number, request)))
            }
            number += 1
            harness.receive(name, message(name, number))
            if harness.core.status(of: name, now: harness.now)?.state == .live { states += 1 }
            harness.pass(.seconds(1))
        }
        return states == 0 ? asked : -states
    }

    @Test(arguments: refusals, kinds)
    func noRefusalOfTheFirstSnapshotMakesAStreamLive(_ refusal: FeedError, _ name: FuturesServiceStreamName) {
        var harness = CoreHarness(limit: 1000)
        harness.goLive([name])
        var number = 10
        let asked = Self.pass(120, name, &harness, number: &number) { _, _ in .failure(refusal) }
        #expect(asked >= 3, "it was asked for \(asked) times and not called live in between")
        #expect(asked <= 120, "at most once a second, whatever Retry-After says")
        let live = Self.pass(60, name, &harness, number: &number) { number, _ in
            .success(FetchedContent(rows: Self.complete(name, upTo: number), eventTime: nil))
        }
        #expect(live < 0, "it is live within a minute")
        #expect(harness.core.status(of: name, now: harness.now)?.isWhole == true)
    }

    @Test(arguments: refusals, kinds)
    func noRefusalAfterAnOutageEndsIt(_ refusal: FeedError, _ name: FuturesServiceStreamName) {
        var harness = CoreHarness(backfillLimit: 100, limit: 1000)
        harness.goLive([name])
        var number = 10
        _ = Self.pass(10, name, &harness, number: &number) { number, _ in
            .success(FetchedContent(rows: Self.complete(name, upTo: number), eventTime: nil))
        }
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        harness.reconnect()
        number += 30
        harness.pass(.seconds(1))
        harness.acknowledge()
        let asked = Self.pass(60, name, &harness, number: &number) { _, _ in .failure(refusal) }
        #expect(asked > 0, "it was called live \(-asked) times while incomplete")
        let live = Self.pass(60, name, &harness, number: &number) { number, request in
            if case .from(let id) = request.part {
                return .success(FetchedContent(rows: .aggregateTrade((Int(id)...number).flatMap { FeedRows.trade($0).trades }), eventTime: nil))
            }
            return .success(FetchedContent(rows: Self.complete(name, upTo: number), eventTime: nil))
        }
        #expect(live < 0, "it is live within a minute")
    }

    @Test func aRefusalIsFinalOnlyIfTheListingLacksTheSymbol() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT"]))))
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "Invalid symbol.", venueCode: -1121)) }
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .connecting, "the listing has it")
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["ETHUSDT"]))))
        harness.forgetEffects()
        harness.pass(.seconds(60))
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "Invalid symbol.", venueCode: -1121)) }
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["ETHUSDT"]))))
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .ended)
    }

    @Test(arguments: [
        FuturesServiceStreamName.btc, .ticker, .bars, .trades, depth, .liquidation(symbol: "BTCUSDT"), .bookTickers,
    ])
    func anUnreadableMessageEndsTheProof(_ name: FuturesServiceStreamName) {
        var harness = CoreHarness(limit: 1000)
        harness.goLive([name])
        var number = 10
        for _ in 0..<8 {
            for case .fetch(_, let request) in harness.effects {
                harness.forgetEffects()
                harness.step(
                    .fetched(
                        name, attempt: request.attempt,
                        .success(FetchedContent(rows: name == .bookTickers ? .ticker(number) : Self.rows(name, number), eventTime: nil))))
            }
            number += 1
            harness.receive(name, name.mergeRule == .replace || name == .bookTickers ? Self.rows(name, number) : Self.update(name, number))
            harness.pass(.seconds(1))
        }
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        let since = harness.now
        for _ in 0..<1_000 {
            harness.step(.received(harness.connection, .malformed(name, "garbled")))
            harness.pass(.milliseconds(10))
        }
        #expect(harness.core.status(of: name, now: harness.now)?.state != .live)
        #expect(harness.core.status(of: name, now: harness.now)?.unverifiedMs ?? 0 >= harness.now.milliseconds(since: since))
    }

    private static func rows(_ name: FuturesServiceStreamName, _ number: Int) -> FeedRows {
        switch name.channel {
        case .markPrice: .markPrice([.price(number, time: Int64(number))])
        case .liquidation: .liquidation([.of(number)])
        case .bookTicker: .ticker(number)
        default: complete(name, upTo: number)
        }
    }

    private static func update(_ name: FuturesServiceStreamName, _ number: Int) -> FeedRows {
        name.channel == .liquidation ? rows(name, number) : message(name, number)
    }

    @Test func aMessageThatNamesNoStreamEndsTheProofOfAll() {
        var harness = CoreHarness()
        harness.goLive([.btc, .trades])
        harness.receive(.btc, .markPrice([.price(1, time: 1)]))
        harness.step(.received(harness.connection, .malformed(nil, "not JSON")))
        harness.pass(.milliseconds(500))
        harness.step(.heard(harness.connection))
        #expect(harness.core.status(of: .btc, now: harness.now)?.unverifiedMs == 500)
        harness.pass(.seconds(6))
        #expect(harness.core.status(of: .btc, now: harness.now)?.state == .stale)
    }

    @Test func aStreamIsJudgedWhileItsNewSubscriptionWaitsForItsTurn() {
        let names = (0..<20).map { FuturesServiceStreamName.bookTicker(symbol: "S\($0)USDT") }
        var configuration = FeedCore.Configuration()
        configuration.namesPerMessage = 1
        var harness = CoreHarness(configuration: configuration)
        harness.goLive(names)
        func tell(_ number: Int) {
            let price = DecimalString(number)
            for name in names {
                let row = BookTicker(
                    symbol: name.symbol ?? "", bidPrice: price, bidQuantity: price, askPrice: price, askQuantity: price, time: Int64(number))
                harness.receive(name, .bookTicker([row]))
            }
        }
        func pass(_ tenths: Int) {
            for _ in 0..<tenths {
                harness.step(.heard(harness.connection))
                harness.pass(.milliseconds(100))
            }
        }
        func live() -> [FuturesServiceStreamName] { names.filter { harness.core.status(of: $0, now: harness.now)?.state == .live } }
        pass(60)
        harness.acknowledge()
        for number in 1...20 {
            tell(number)
            pass(10)
        }
        // All fall silent at once. The venue takes few control messages a second, so most new subscriptions wait for their turn.
        while !live().isEmpty { pass(1) }
        tell(99)
        #expect(live().count == names.count, "messages of the old subscriptions count")
        harness.step(.received(harness.connection, .malformed(nil, "garbled")))
        pass(15)
        #expect(live().isEmpty)
    }

    @Test func polledTimesDoNotTeachTheVenueClock() {
        let interest = FuturesServiceStreamName.fundingRate(symbol: "BTCUSDT")
        let liquidations = FuturesServiceStreamName.liquidations
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 7, seed: 1) { name in
            name == interest
                ? StreamTraits(endpoint: 1, hasSnapshotSource: true, rhythm: .periodic(.seconds(60)), limit: 1, isPolled: true)
                : StreamTraits(endpoint: 0, hasSnapshotSource: false, rhythm: .sporadic, limit: 10)
        }
        var now = Moment(instant: Instant(nanoseconds: 1_000_000_000), wallClock: 0)
        _ = core.step(.observe(.one, [interest, liquidations], forceFetch: false), now: now)
        for second in Int64(2)...4 {
            for connection in core.connections where connection.phase == .connecting { _ = core.step(.opened(connection.id), now: now) }
            now = Moment(instant: Instant(nanoseconds: second * 1_000_000_000), wallClock: 0)
            _ = core.step(.deadline, now: now)
        }
        let (polled, live) = (core.connections.first { $0.endpoint == 1 }?.id, core.connections.first { $0.endpoint == 0 }?.id)
        let time: Int64 = 1_700_000_000_000
        for place in 0..<400 {
            let row = FeedRows.json([JSONRow(checked: "{\"n\":\(place)}")])
            _ = core.step(.received(polled ?? ConnectionID(0), .rows(interest, row, eventTime: time - 28_800_000)), now: now)
        }
        let effects = core.step(.received(live ?? ConnectionID(0), .rows(liquidations, .liquidation([.of(1)]), eventTime: time)), now: now)
        #expect(!effects.contains { if case .publish(let event) = $0, case .failed = event.kind { true } else { false } })
        #expect(core.content(of: liquidations)?.rows.count == 1, "the first live message is no minute ahead of a poll")
    }

    @Test func anEqualAnswerToAPollIsEvidence() throws {
        let interest = FuturesServiceStreamName.fundingRate(symbol: "BTCUSDT")
        var core = FeedCore(configuration: FeedCore.Configuration(), epoch: 7, seed: 1) { _ in
            StreamTraits(endpoint: 1, hasSnapshotSource: true, rhythm: .periodic(.seconds(60)), limit: 1, isPolled: true)
        }
        func at(_ second: Int64) -> Moment { Moment(instant: Instant(nanoseconds: second * 1_000_000_000), wallClock: second * 1000) }
        _ = core.step(.observe(.one, [interest], forceFetch: false), now: at(1))
        let id = core.connections[0].id
        _ = core.step(.opened(id), now: at(1))
        for second in Int64(2)...600 {
            if second % 60 == 2 {
                _ = core.step(.received(id, .rows(interest, .json([JSONRow(checked: "{}")]), eventTime: 5)), now: at(second))
            }
            _ = core.step(.heard(id), now: at(second))
            _ = core.step(.deadline, now: at(second))
            #expect(core.status(of: interest, now: at(second).instant)?.state == .live)
        }
        #expect(try #require(core.status(of: interest, now: at(600).instant)?.unverifiedMs) < 60_000)
    }

    @Test func aRowThatCannotBeReadIsLeftOutAndTheListGoesOn() {
        var harness = CoreHarness()
        let list = FuturesServiceStreamName.markPrices
        harness.goLive([list])
        let (btc, eth) = (MarkPrice.price(1, time: 1), MarkPrice.price(1, symbol: "ETHUSDT", time: 1))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([btc, eth]), eventTime: nil)) }
        harness.receive(list, .markPrice([.price(2, time: 2), .price(2, symbol: "ETHUSDT", time: 2)]))
        var leftOut = LeftOutRows()
        leftOut.add("ETHUSDT", "a decimal is missing")
        harness.step(.received(harness.connection, .leftOut(list, leftOut)))
        harness.receive(list, .markPrice([.price(3, time: 3)]))
        #expect(harness.core.status(of: list, now: harness.now)?.state == .live)
        #expect(harness.core.content(of: list)?.rows == .markPrice([.price(3, time: 3)]), "the row that may be old is not shown as current")
        #expect(harness.core.status(of: list, now: harness.now)?.isWhole == false, "the venue's list has another row")
        harness.receive(list, .markPrice([.price(4, time: 4), .price(4, symbol: "ETHUSDT", time: 4)]))
        #expect(harness.core.status(of: list, now: harness.now)?.isWhole == true)
        #expect(harness.kinds.contains("fail malformed"))
    }

    @Test func aSettledSymbolLeavesTheTickersAndKeepsItsMarkPrice() {
        func quote(_ symbol: String) -> BookTicker {
            let price = DecimalString(1)
            return BookTicker(symbol: symbol, bidPrice: price, bidQuantity: price, askPrice: price, askQuantity: price, updateID: 1, time: 1)
        }
        let prices = [MarkPrice.price(1, time: 1), MarkPrice.price(1, symbol: "ETHUSDT", time: 1)]
        let all: [(list: FuturesServiceStreamName, rows: FeedRows, left: FeedRows)] = [
            (.markPrices, .markPrice(prices), .markPrice(prices)),
            (FuturesServiceStreamName("!bookTicker")!, .bookTicker([quote("BTCUSDT"), quote("ETHUSDT")]), .bookTicker([quote("BTCUSDT")])),
        ]
        for (list, rows, left) in all {
            var harness = CoreHarness()
            harness.goLive([list])
            harness.answerFetches { _ in .success(FetchedContent(rows: rows, eventTime: nil)) }
            harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT"], settled: ["ETHUSDT"]))))
            #expect(harness.core.content(of: list)?.rows == left, "\(list)")
            // The venue lists it no longer.
            for _ in 1...3 { harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT"])))) }
            if case .markPrice = rows { #expect(harness.core.content(of: list)?.rows == .markPrice([.price(1, time: 1)])) }
        }
    }

    @Test func aSocketThatClosesAtOnceIsOpenedSixTimesInAMinuteAtMost() {
        let opens = Self.opens(in: .seconds(60)) { harness, opens in
            harness.receive(.btc, .markPrice([.price(opens, time: Int64(opens))]))
            harness.pass(.milliseconds(50))
        }
        #expect(opens.allSatisfy { $0 <= 6 }, "by seed: \(opens)")
    }

    /// How often a core of each of twenty seeds opens a socket that closes after this life.
    private static func opens(in duration: Duration, _ life: (inout CoreHarness, _ opens: Int) -> Void) -> [Int] {
        (UInt64(1)...20).map { seed in
            var harness = CoreHarness(seed: seed)
            harness.step(.observe(.one, [.btc], forceFetch: false))
            var opens = 0
            let end = harness.now + duration
            while harness.now < end {
                let id = harness.connection
                if harness.core.connections.first?.phase == .connecting {
                    opens += 1
                    harness.step(.opened(id))
                    life(&harness, opens)
                    harness.step(.closed(id, reason: "it closed"))
                }
                harness.pass(.milliseconds(100))
            }
            return opens
        }
    }

    /// It lives long enough to be no short life, but an open socket alone proves nothing.
    @Test func aSocketThatGivesNothingIsOpenedMoreAndMoreSeldom() {
        let opens = Self.opens(in: .seconds(120)) { harness, _ in harness.pass(.milliseconds(600)) }
        #expect(opens.allSatisfy { $0 <= 20 }, "by seed: \(opens)")
    }

    @Test func aRetryAfterOfZeroHasALowerBound() {
        var gate = RESTGate(FeedCore.Settings(FeedCore.Configuration()), hosts: 1)
        var now = Instant(nanoseconds: 1_000_000_000)
        var pauses: [Duration] = []
        for _ in 0..<10 {
            gate.answered(FeedError(.rateLimited, "429", retryAfterMs: 0), last: 0, now)
            let pause = gate.pause(now) ?? .zero
            pauses.append(pause)
            now = now + pause
        }
        #expect(pauses.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)] && pauses.last == .seconds(60))
        gate.answered(nil, last: 0, now)
        gate.answered(FeedError(.rateLimited, "429", retryAfterMs: 0), last: 0, now)
        #expect(gate.pause(now) == .seconds(1))
    }
}

extension FeedRows {
    fileprivate var klines: [Kline] { if case .kline(let rows) = self { rows } else { [] } }
    fileprivate var trades: [AggregateTrade] { if case .aggregateTrade(let rows) = self { rows } else { [] } }

    fileprivate static func trade(_ id: Int) -> FeedRows {
        .aggregateTrade([
            AggregateTrade(
                id: UInt64(id), price: DecimalString(1), quantity: DecimalString(1), firstTradeID: UInt64(id), lastTradeID: UInt64(id),
                time: Int64(id), isBuyerMaker: false)
        ])
    }

    fileprivate static func level(_ price: Int) -> PriceLevel { PriceLevel(price: DecimalString(price), quantity: DecimalString(1)) }

    fileprivate static func update(_ id: Int) -> FeedRows {
        .depth([
            DepthLevels(
                symbol: "BTCUSDT", bids: [level(90)], asks: [level(110)], firstUpdateID: UInt64(id), lastUpdateID: UInt64(id),
                previousUpdateID: UInt64(id - 1), time: Int64(id))
        ])
    }

    fileprivate static func snapshot(_ id: Int) -> FeedRows {
        .depth([
            DepthLevels(symbol: "BTCUSDT", bids: [level(90), level(89)], asks: [level(110), level(111)], lastUpdateID: UInt64(id), time: Int64(id))
        ])
    }
}

extension Liquidation {
    fileprivate static func of(_ number: Int) -> Liquidation {
        Liquidation(
            symbol: "BTCUSDT", side: "SELL", orderType: "LIMIT", timeInForce: "IOC", quantity: DecimalString(number), price: DecimalString(1),
            averagePrice: DecimalString(1), status: "FILLED", lastFilledQuantity: DecimalString(1), filledQuantity: DecimalString(number),
            time: Int64(number))
    }
}
