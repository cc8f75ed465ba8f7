import Testing

@testable import FeedCore

/// Bars of seconds, made of aggregate trades.
struct TradeBarsTests {
    private static let name = FuturesServiceStreamName.bar(symbol: "BTCUSDT", length: .seconds5)

    private func trade(
        _ id: UInt64, _ price: String = "10", _ quantity: String = "1", at time: Int64, trades: UInt64 = 1, isBuyerMaker: Bool = false
    ) -> AggregateTrade {
        AggregateTrade(
            id: id, price: DecimalString(checked: price), quantity: DecimalString(checked: quantity), firstTradeID: id &* 10,
            lastTradeID: id &* 10 &+ trades &- 1, time: time, isBuyerMaker: isBuyerMaker)
    }

    private func live(_ trades: [AggregateTrade], limit: Int = 100) -> CoreHarness {
        var harness = CoreHarness(backfillLimit: 100, limit: limit)
        harness.goLive([Self.name])
        harness.answerFetches { _ in .success(FetchedContent(rows: .aggregateTrade(trades), eventTime: nil)) }
        return harness
    }

    private func bars(_ harness: CoreHarness) -> [TradeBar] {
        guard case .bar(let bars)? = harness.core.content(of: Self.name)?.rows else { return [] }
        return bars
    }

    private func attempt(_ harness: CoreHarness) -> UInt64 { harness.attempts.last?.attempt ?? 0 }

    @Test func aBarHasWhatItsTradesSay() throws {
        var harness = live([trade(1, at: 4_999)])
        harness.receive(
            Self.name,
            .aggregateTrade([
                trade(2, "100.5", "0.10", at: 5_000, trades: 3), trade(3, "101.25", "2", at: 6_000, isBuyerMaker: true),
                trade(4, "99", "0.001", at: 9_999),
            ]))
        harness.receive(Self.name, .aggregateTrade([trade(5, at: 10_000)]))
        let told = try #require(bars(harness).dropLast().last)
        let bar = told.kline
        let figures = [bar.open, bar.high, bar.low, bar.close, bar.volume, bar.quoteVolume, bar.takerBuyVolume, bar.takerBuyQuoteVolume].map(\.text)
        #expect(figures == ["100.5", "101.25", "99", "99", "2.101", "212.649", "0.101", "10.149"])
        #expect((bar.openTime, bar.closeTime) == (5_000, 9_999))
        #expect((bar.tradeCount, told.firstAggregateID, told.lastAggregateID) == (5, 2, 4))
        #expect(bar.isClosed && told.isComplete)
        #expect(bars(harness).last?.kline.isClosed == false)
    }

    @Test func theFirstBarIsIncompleteForItsBeginningMayBeMissing() {
        let harness = live([trade(8, at: 1_000), trade(9, at: 5_000), trade(10, at: 10_000)])
        #expect(bars(harness).map(\.isComplete) == [false, true, true])
    }

    @Test func anUpdateTellsTheBarThatClosesAndTheOneThatOpens() {
        var harness = live([trade(1, at: 0)])
        harness.forgetEffects()
        harness.receive(Self.name, .aggregateTrade([trade(2, at: 5_000)]))
        guard case .updated(let content)? = harness.events.last?.kind, case .bar(let bars) = content.rows else {
            Issue.record("no update of bars: \(harness.kinds)")
            return
        }
        #expect(content.kind == .delta)
        #expect(bars.map(\.kline.openTime) == [0, 5_000])
        #expect(bars.map(\.kline.isClosed) == [true, false])
    }

    @Test func whatAnOutageMissedIsFilledInAndNoBarIsIncomplete() {
        var harness = live([trade(1, at: 0), trade(2, at: 5_000)])
        harness.reconnect()
        harness.acknowledge()
        harness.receive(Self.name, .aggregateTrade([trade(6, at: 16_000)]))
        harness.step(
            .fetched(
                Self.name, attempt: attempt(harness),
                .success(FetchedContent(rows: .aggregateTrade([trade(3, at: 6_000), trade(4, at: 10_000), trade(5, at: 15_000)]), eventTime: nil))))
        #expect(bars(harness).map(\.kline.openTime) == [0, 5_000, 10_000, 15_000])
        #expect(bars(harness).map(\.isComplete) == [false, true, true, true])
        #expect(bars(harness).map(\.lastAggregateID) == [1, 3, 4, 6])
        #expect(harness.kinds.contains("recover success"))
    }

    @Test func aHoleThatCannotBeFilledMarksTheBarsAtItsEnds() {
        var harness = live([trade(1, at: 0), trade(2, at: 5_000)])
        harness.reconnect()
        harness.acknowledge()
        harness.receive(Self.name, .aggregateTrade([trade(60, at: 31_000)]))
        harness.step(.fetched(Self.name, attempt: attempt(harness), .failure(FeedError(.venueRejected, "too old"))))
        harness.receive(Self.name, .aggregateTrade([trade(61, at: 35_000)]))
        #expect(bars(harness).map(\.kline.openTime) == [0, 5_000, 30_000, 35_000])
        #expect(bars(harness).map(\.isComplete) == [false, false, false, true])
        let missed = harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery.missed } else { nil } }
        #expect(missed.allSatisfy { $0 == 57 }, "\(missed)")
    }

    @Test func completeDataPutsEarlierTradesBeforeTheFirstThatCame() {
        var harness = CoreHarness(backfillLimit: 100, limit: 100)
        harness.goLive([Self.name])
        harness.receive(Self.name, .aggregateTrade([trade(10, "3", at: 11_000)]))
        harness.receive(Self.name, .aggregateTrade([trade(11, "4", at: 15_000)]))
        harness.step(
            .fetched(
                Self.name, attempt: attempt(harness),
                .success(
                    FetchedContent(
                        rows: .aggregateTrade([trade(8, "1", at: 9_000), trade(9, "2", at: 10_000), trade(10, "3", at: 11_000)]), eventTime: nil))))
        #expect(bars(harness).map(\.kline.openTime) == [5_000, 10_000, 15_000])
        #expect(bars(harness).map(\.isComplete) == [false, true, true])
        #expect(bars(harness).map(\.kline.volume.text) == ["1", "2", "1"])
        #expect(bars(harness).map(\.kline.open.text) == ["1", "2", "4"])
    }

    @Test func completeDataThatFillsAHoleTakesItsMarksAway() {
        var harness = live([trade(1, at: 0), trade(2, at: 5_000), trade(3, at: 10_000)])
        harness.reconnect()
        harness.acknowledge()
        harness.receive(Self.name, .aggregateTrade([trade(9, at: 12_000)]))
        harness.step(.fetched(Self.name, attempt: attempt(harness), .failure(FeedError(.venueRejected, "too old"))))
        #expect(bars(harness).map(\.isComplete) == [false, false, false])
        let missed = (2...9).map { trade(UInt64($0), at: $0 == 2 ? 5_000 : 10_000) }
        harness.step(.fetched(Self.name, attempt: attempt(harness), .success(FetchedContent(rows: .aggregateTrade(missed), eventTime: nil))))
        #expect(bars(harness).map(\.isComplete) == [false, true, true])
        #expect(bars(harness).map(\.kline.volume.text) == ["1", "1", "7"])
    }

    @Test func aTradeThatIsLateAmendsTheBarOfItsTime() {
        var harness = live([trade(1, at: 0), trade(2, at: 5_000)])
        harness.receive(Self.name, .aggregateTrade([trade(3, "7", at: 4_999)]))
        #expect(bars(harness).map(\.kline.volume.text) == ["2", "1"])
        #expect(bars(harness).map(\.kline.close.text) == ["7", "10"])
        #expect(bars(harness).map(\.kline.isClosed) == [true, false])
    }

    @Test func figuresTooLongToAddMarkTheBar() {
        let long = String(repeating: "9", count: 32)
        var harness = live([trade(1, at: 0), trade(2, long, "1", at: 5_000), trade(3, long, "1", at: 5_001), trade(4, at: 10_000)])
        #expect(bars(harness).map(\.isComplete) == [false, false, true])
        harness.receive(Self.name, .aggregateTrade([trade(5, long, "2", at: 10_001)]))
        #expect(bars(harness).last?.isComplete == false)
    }

    @Test func numbersThatWentBackTrapNowhere() {
        var harness = live([trade(1_000_000, at: 0)])
        harness.reconnect()
        harness.acknowledge()
        harness.receive(Self.name, .aggregateTrade([trade(10, at: 6_000)]))
        // Complete data begin before the trade that came, with a time of the bar from before the outage.
        for case .fetch(let name, let request) in harness.effects {
            harness.step(.fetched(name, attempt: request.attempt, .failure(FeedError(.venueRejected, "there is no such id"))))
        }
        for case .fetch(let name, let request) in harness.effects where request.part == .complete {
            let rows = FeedRows.aggregateTrade([trade(5, at: 1_000), trade(10, at: 6_000)])
            harness.step(.fetched(name, attempt: request.attempt, .success(FetchedContent(rows: rows, eventTime: nil))))
        }
        #expect(bars(harness).map(\.kline.openTime).contains(5_000))
    }

    @Test func timesAtTheEndsOfTheirRangeTrapNowhere() {
        var harness = live([trade(1, at: .min), trade(2, at: -1)])
        harness.receive(Self.name, .aggregateTrade([trade(3, at: .max)]))
        #expect(bars(harness).dropFirst().first?.kline.openTime == -5_000)
        harness.receive(Self.name, .aggregateTrade([trade(.max, at: 0)]))
        harness.receive(Self.name, .aggregateTrade([trade(0, at: 0)]))
    }

    /// A day of trades and fifty outages, some longer than REST remembers: of what readers were told, every complete bar that is closed is the
    /// one that all trades of its time make, and only bars at the ends of holes are incomplete.
    @Test(arguments: BarLength.allCases) func aDayWithOutagesGivesTrueBarsOrMarkedOnes(length: BarLength) {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var day = TradingDay(seed: seed, length: length.milliseconds)
        day.run(.bar(symbol: "BTCUSDT", length: length))
        let wrong = day.wrong
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.prefix(3))")
        #expect(day.outages == 50)
        #expect(day.holes > 0 && day.holes < 50, "seed \(seed): \(day.holes) holes")
        #expect(day.incomplete <= 1 + 2 * day.holes, "seed \(seed): \(day.incomplete) incomplete bars for \(day.holes) holes")
        #expect(day.missing <= day.barsInHoles, "seed \(seed): \(day.missing) bars are missing, \(day.barsInHoles) lie in holes")
    }
}

/// A market of one symbol on a connection that fails, and a reader who keeps the last state of each bar.
private struct TradingDay {
    private var random: SplitMix64
    private let length: Int64
    private var market: [AggregateTrade] = []
    private var bars: [Int64: TradeBar] = [:]
    private(set) var outages = 0
    private(set) var holes = 0
    private(set) var barsInHoles = 0
    private var harness = CoreHarness(backfillLimit: 1000, limit: 500)
    private var sent = 0
    private var requests: [FetchRequest] = []

    init(seed: UInt64, length: Int64) {
        random = SplitMix64(seed: seed)
        self.length = length
        var (time, id): (Int64, UInt64) = (1_000_000, 1)
        while time < 87_400_000 {
            time += Int64.random(in: 0...9_000, using: &random)
            market.append(
                AggregateTrade(
                    id: id, price: DecimalString(checked: "\(Int.random(in: 90...110, using: &random)).\(Int.random(in: 0...99, using: &random))"),
                    quantity: DecimalString(checked: "0.\(Int.random(in: 1...999, using: &random))"), firstTradeID: id, lastTradeID: id,
                    time: time, isBuyerMaker: Bool.random(using: &random)))
            id += 1
        }
    }

    mutating func run(_ name: FuturesServiceStreamName) {
        harness.goLive([name])
        let starts = (0..<50).map { 100 + $0 * (market.count - 400) / 50 }
        answer(name, upTo: 50, isOld: false)
        sent = 50
        for start in starts {
            deliver(name, upTo: start)
            harness.step(.closed(harness.connection, reason: "gone"))
            // In every fifth REST has forgotten what was missed.
            let isOld = outages % 5 == 4
            let reach = start + Int.random(in: 1...(isOld ? 60 : 250), using: &random)
            harness.pass(.seconds(3))
            harness.step(.opened(harness.connection))
            outages += 1
            sent = reach
            harness.acknowledge()
            // Some come over the socket before REST answers.
            deliver(name, upTo: reach + Int.random(in: 0...20, using: &random))
            answer(name, upTo: sent, isOld: isOld)
            if isOld, reach > start {
                holes += 1
                barsInHoles += Set(market[start..<reach].map(openTime)).count
            }
        }
        deliver(name, upTo: market.count)
    }

    private func openTime(_ trade: AggregateTrade) -> Int64 { trade.time / length * length }

    private mutating func deliver(_ name: FuturesServiceStreamName, upTo end: Int) {
        while sent < min(end, market.count) {
            let count = min(Int.random(in: 1...4, using: &random), end - sent)
            harness.receive(name, .aggregateTrade(Array(market[sent..<sent + count])))
            sent += count
            harness.pass(.milliseconds(100))
        }
        read()
    }

    /// Answers what is asked until nothing more is.
    private mutating func answer(_ name: FuturesServiceStreamName, upTo end: Int, isOld: Bool) {
        read()
        while let request = requests.popLast() {
            requests = []
            var rows = ArraySlice(market[..<min(end, market.count)])
            switch request.part {
            case .from where isOld:
                harness.step(.fetched(name, attempt: request.attempt, .failure(FeedError(.venueRejected, "too old"))))
                read()
                continue
            case .from(let id): rows = rows.filter { $0.id >= id }.prefix(1000)
            case .complete: rows = rows.suffix(isOld ? 3 : 500)
            case .newest: rows = rows.suffix(1)
            }
            harness.step(.fetched(name, attempt: request.attempt, .success(FetchedContent(rows: .aggregateTrade(Array(rows)), eventTime: nil))))
            read()
        }
    }

    /// Takes in what readers were told, and what is asked for.
    private mutating func read() {
        requests += harness.effects.compactMap { if case .fetch(_, let request) = $0 { request } else { nil } }
        for event in harness.events {
            guard case .bar(let rows) = event.content?.rows else { continue }
            for bar in rows { bars[bar.kline.openTime] = bar }
        }
        harness.forgetEffects()
    }

    /// What all trades make, told otherwise than the core does it.
    private var truth: [Int64: [AggregateTrade]] { Dictionary(grouping: market, by: openTime) }

    var wrong: [String] {
        let truth = truth
        return bars.values.sorted { $0.kline.openTime < $1.kline.openTime }.compactMap { bar in
            let kline = bar.kline
            guard bar.isComplete, kline.isClosed else { return nil }
            let trades = truth[kline.openTime] ?? []
            let prices = trades.map { Double($0.price.text) ?? 0 }
            let isTrue =
                Double(kline.open.text) == prices.first && Double(kline.close.text) == prices.last && Double(kline.high.text) == prices.max()
                && Double(kline.low.text) == prices.min() && kline.tradeCount == UInt64(trades.count)
                && bar.firstAggregateID == trades.first?.id && bar.lastAggregateID == trades.last?.id
                && isNear(kline.volume, trades.map { Double($0.quantity.text) ?? 0 }.reduce(0, +))
                && isNear(kline.quoteVolume, trades.map { (Double($0.quantity.text) ?? 0) * (Double($0.price.text) ?? 0) }.reduce(0, +))
                && isNear(kline.takerBuyVolume, trades.filter { !$0.isBuyerMaker }.map { Double($0.quantity.text) ?? 0 }.reduce(0, +))
            return isTrue ? nil : "\(bar) of \(trades.count) trades"
        }
    }

    private func isNear(_ figure: DecimalString, _ number: Double) -> Bool { abs((Double(figure.text) ?? .nan) - number) < 1e-6 * max(1, number) }

    var incomplete: Int { bars.values.count { !$0.isComplete } }

    var missing: Int { truth.keys.count { bars[$0] == nil } }
}
