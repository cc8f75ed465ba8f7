import Testing

@testable import DemoExchange

private let opening: Int64 = 1_763_679_600_000

@Suite struct MarketTests {
    /// What a market says in so many steps, without times.
    private func sayings(seed: UInt64, opening: Int64, steps: Int) -> [String] {
        var market = Market(seed: seed, symbolCount: 20, now: opening)
        var sayings: [String] = []
        for step in 1...steps {
            market.step(now: opening + Int64(step) * Market.stepLength)
            for symbol in market.symbols {
                if symbol.bookChanged { sayings.append("\(symbol.listing.symbol) \(symbol.bid) \(symbol.ask) \(symbol.bookUpdateID)") }
                sayings += symbol.newTrades.map { "\(symbol.listing.symbol) \($0.price) \($0.quantity) \($0.id) \($0.firstTradeID)" }
            }
        }
        return sayings + market.symbols.map { "\($0.mark) \($0.fundingRate)" } + market.assets.map { "\($0.index)" }
    }

    @Test func theSameSeedGivesTheSamePricesAtAnyTime() {
        let first = sayings(seed: 7, opening: opening, steps: 200)
        #expect(first.count > 500)
        #expect(first == sayings(seed: 7, opening: opening + 12_345_678, steps: 200))
        #expect(first != sayings(seed: 8, opening: opening, steps: 200))
    }

    @Test func tradeAndAggregateIdsStepByOneFromTheHistoryOn() throws {
        var market = Market(seed: 3, symbolCount: 20, now: opening)
        for step in 1...600 { market.step(now: opening + Int64(step) * Market.stepLength) }
        let trades = market.symbols[0].trades
        #expect(trades.count > 1_050)
        for (before, after) in zip(trades, trades.dropFirst()) {
            #expect(after.id == before.id + 1)
            #expect(after.firstTradeID == before.lastTradeID + 1)
            #expect(after.time >= before.time)
        }
        let bars = market.symbols[0].bars.bars(.minute1)
        #expect(bars.count > 1_560)
        for (before, after) in zip(bars, bars.dropFirst()) {
            #expect(after.openTime == before.end)
            #expect(after.firstTradeID == before.lastTradeID + 1)
            #expect(after.lastTradeID - after.firstTradeID + 1 == after.trades)
        }
    }

    private static let moved: Market = {
        var market = Market(seed: 5, symbolCount: 20, now: opening)
        for step in 1...4_000 { market.step(now: opening + Int64(step) * Market.stepLength) }
        return market
    }()

    @Test(arguments: Interval.allCases) func barsOfEveryIntervalAreMadeOfTheSameTrades(interval: Interval) throws {
        let market = Self.moved
        let series = market.symbols[1].bars
        let bars = series.bars(interval)
        let last = try #require(bars.last)
        #expect(last == series.current(interval))
        #expect(last.openTime <= market.now && market.now < last.end)
        for bar in bars {
            #expect(bar.openTime == interval.open(at: bar.openTime))
            #expect(bar.low <= min(bar.open, bar.close) && max(bar.open, bar.close) <= bar.high)
            #expect(bar.takerVolume <= bar.volume)
        }
        for (before, after) in zip(bars, bars.dropFirst()) { #expect(before.end == after.openTime) }
        let minutes = series.bars(.minute1).filter { $0.openTime >= last.openTime }
        if interval.length <= Interval.hour {
            #expect(minutes.map(\.volume).reduce(0, +) == last.volume)
            #expect(minutes.map(\.trades).reduce(0, +) == last.trades)
            #expect(minutes.map(\.high).max() == last.high)
        }
    }

    @Test func barsOpenOnCalendarBoundaries() {
        let friday: Int64 = 1_763_724_896_789  // 2025-11-21 11:34:56.789
        #expect(Interval.minute5.open(at: friday) == 1_763_724_600_000)
        #expect(Interval.hour4.open(at: friday) == 1_763_712_000_000)
        #expect(Interval.week1.open(at: friday) == 1_763_337_600_000)  // Monday 2025-11-17
        #expect(Interval.month1.open(at: friday) == 1_761_955_200_000)  // 2025-11-01
        #expect(Interval.month1.end(of: 1_761_955_200_000) == 1_764_547_200_000)  // 2025-12-01
        #expect(Interval.month1.end(of: 1_706_745_600_000) == 1_709_251_200_000)  // February 2024
        #expect(Interval.month1.open(at: 0) == 0)
    }

    @Test func theDayTickerCoversTheLastDayOfTrades() {
        var market = Market(seed: 2, symbolCount: 20, now: opening)
        for step in 1...2_400 { market.step(now: opening + Int64(step) * Market.stepLength) }
        let series = market.symbols[2].bars
        let window = series.bars(.minute1).filter { $0.openTime > series.current(.minute1).openTime - Interval.day }
        #expect(window.count == 1_440)
        #expect(series.day.openTime == window.first?.openTime)
        #expect(series.day.volume == window.map(\.volume).reduce(0, +))
        #expect(series.day.high == window.map(\.high).max())
        #expect(series.day.lastTradeID - series.day.firstTradeID + 1 == series.day.trades)
    }

    @Test func daysOfRunningDoNotGrowTheBarsAndLoseNoTrade() {
        var series = Market(seed: 2, symbolCount: 20, now: opening).symbols[0].bars
        let before = series.bars(.day1).map(\.trades).reduce(0, +)
        series.roll(to: opening + 3 * Interval.day)
        #expect(series.bars(.minute1).count < 3_200)
        #expect(series.bars(.day1).map(\.trades).reduce(0, +) == before)
    }

    @Test func decimalsAreWrittenFromIntegers() {
        #expect(decimal(5, 8) == "0.00000005")
        #expect(decimal(-123, 2) == "-1.23")
        #expect(decimal(-5, 1) == "-0.5")
        #expect(decimal(1_083_452, 1) == "108345.2")
        #expect(decimal(42, 0) == "42")
        #expect(decimal(.min, 3) == "-9223372036854775.808")
    }

    @Test func aBarThatClosesIsPublishedOnceAsClosedAndThenTheNextOne() throws {
        var market = Market(seed: 9, symbolCount: 20, now: opening + 30_000)
        var publisher = StreamPublisher(.kline(symbol: 0, .minute1), in: market)
        var frames: [VenueJSON] = []
        for step in 1...1_800 {
            market.step(now: opening + 30_000 + Int64(step) * Market.stepLength)
            frames += try publisher.payloads(market).map(VenueJSON.init)
        }
        let closed = frames.indices.filter { frames[$0]["k"]?["x"]?.bool == true }
        #expect(closed.count == 2)
        for index in closed {
            let (bar, next) = (frames[index]["k"], frames[index + 1]["k"])
            let row = market.symbols[0].bars.bars(.minute1).first { $0.openTime == bar?["t"]?.integer }
            #expect(row?.trades == bar?["n"]?.integer)
            #expect(row.map { market.symbols[0].price($0.close) } == bar?["c"]?.string)
            #expect(next?["t"]?.integer == (bar?["T"]?.integer ?? 0) + 1)
            #expect(next?["f"]?.integer == (bar?["L"]?.integer ?? 0) + 1)
        }
    }
}
