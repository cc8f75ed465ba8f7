import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// Bars that a request asks for, from the stream's and from older ones that were fetched.
@Suite struct VenueBarsTests {
    private static let length: Int64 = 60_000
    private static let venue = VenueRESTTests.venue

    private static func bar(_ number: Int64, of length: Int64 = 60_000, trades: UInt64? = nil, isClosed: Bool = true) -> Kline {
        Kline(
            openTime: number * length, closeTime: (number + 1) * length - 1, open: "1", high: "2", low: "0.5", close: "1.5", volume: "10",
            quoteVolume: "15", tradeCount: trades ?? UInt64(number), takerBuyVolume: "4", takerBuyQuoteVolume: "6", isClosed: isClosed)
    }

    private static func json(_ bar: Kline) -> String {
        #"[\#(bar.openTime),"1","2","0.5","1.5","10",\#(bar.closeTime),"15",\#(bar.tradeCount),"4","6","0"]"#
    }

    /// The venue's own answer.
    private static func truth(_ bars: [Kline], start: Int64?, end: Int64?, limit: Int) -> String {
        let within = bars.filter { $0.openTime >= start ?? .min && $0.openTime <= end ?? .max }
        let chosen = start == nil ? Array(within.suffix(limit)) : Array(within.prefix(limit))
        return "[" + chosen.map(json).joined(separator: ",") + "]"
    }

    private static func ask(
        _ bars: [Kline], _ query: [(String, String)], interval: String = "1m", now: Int64, fetched: Int64? = nil, believesSilence: Bool = false,
        _ kept: (VenueRelay) -> [UInt8]?
    ) -> VenueRendering? {
        let items = [("symbol", "BTCUSDT"), ("interval", interval)] + query
        guard case .stream(let reading)? = VenueRESTTests.answer("/fapi/v1/klines", items, now: now) else { return nil }
        let content = FuturesServiceFeedContent(
            streamName: reading.name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .websocket, eventTime: nil,
            receivedAt: 0, rows: .kline(bars))
        return venue.render(
            reading, content, listing: nil, VenueTimes(now: now, fetched: fetched, believesSilence: believesSilence),
            kept: kept)
    }

    /// A kept block, as the venue would have answered.
    private static func block(_ relay: VenueRelay, of bars: [Kline]) -> [UInt8] {
        func value(_ name: String) -> Int64? {
            relay.target.split(separator: "&").first { $0.hasPrefix(name + "=") }.flatMap { Int64($0.dropFirst(name.count + 1)) }
        }
        return Array(truth(bars, start: value("startTime"), end: value("endTime"), limit: Int(value("limit") ?? 0)).utf8)
    }

    @Test func everyRangeIsWhatTheVenueWouldAnswer() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        func below(_ bound: Int64) -> Int64 { Int64(random.next() % UInt64(bound)) }
        for _ in 0..<400 {
            let newest = 30_000_000 + below(2_000)
            let count = below(5) == 0 ? below(600) + 1 : 4_000
            let bars = (newest - count + 1...newest).map { Self.bar($0, isClosed: $0 < newest) }
            let now = newest * Self.length + below(Self.length)
            let start = below(2) == 0 ? nil : (newest - below(3_500)) * Self.length + (below(2) == 0 ? 0 : below(Self.length))
            let end = below(2) == 0 ? nil : (newest - below(3_000)) * Self.length + below(Self.length)
            let limit = Int(below(1_500)) + 1
            // The venue refuses such a range.
            if let start, let end, start > end { continue }
            var query = [("limit", "\(limit)")]
            if let start { query.append(("startTime", "\(start)")) }
            if let end { query.append(("endTime", "\(end)")) }
            var weight = 0
            var rendering = Self.ask(Array(bars.suffix(500)), query, now: now) { _ in nil }
            if case .needs(let relays)? = rendering {
                weight = relays.reduce(0) { $0 + $1.weight }
                rendering = Self.ask(Array(bars.suffix(500)), query, now: now) { relays.contains($0) ? Self.block($0, of: bars) : nil }
            }
            // Only the venue knows whether there is a bar before the first one.
            let reach = start ?? (min((end ?? .max) / Self.length, newest) - Int64(limit) + 1) * Self.length
            if case .lacks? = rendering, reach <= (newest - count) * Self.length { continue }
            guard case .body(let body, _)? = rendering else {
                Issue.record("seed \(seed): \(query) of \(count) bars comes to \(String(describing: rendering))")
                return
            }
            #expect(String(decoding: body, as: UTF8.self) == Self.truth(bars, start: start, end: end, limit: limit), "seed \(seed): \(query)")
            #expect(weight <= 8, "at most four blocks")
        }
    }

    @Test func barsWithAHoleAreNotGivenOut() {
        let bars = (1_000...1_600).map { Self.bar($0, isClosed: $0 < 1_600) }
        func rendering(_ kept: [Kline], _ limit: Int, _ block: String? = nil) -> VenueRendering? {
            Self.ask(kept, [("limit", "\(limit)")], now: 1_600 * Self.length + 5) { _ in block.map { Array($0.utf8) } }
        }
        func lacks(_ rendering: VenueRendering?) -> Bool { if case .lacks? = rendering { true } else { false } }
        #expect(!lacks(rendering(Array(bars.suffix(500)), 20)))
        #expect(lacks(rendering(Array(bars.suffix(500)).filter { $0.openTime != 1_590 * Self.length }, 20)), "a minute is missing")
        #expect(lacks(rendering(Array(bars.suffix(500)), 600, "[]")), "the venue's older block came empty")
        #expect(lacks(rendering([bars[600]], 499)), "the venue's snapshot came empty")
        #expect(!lacks(rendering([bars[600]], 1)))
    }

    @Test func monthsBeforeTheFirstOneOfTheStreamAreLeftToTheVenue() {
        let month: Int64 = 30 * 86_400_000
        let bars = (600...603).map { Self.bar($0, of: month, isClosed: $0 < 603) }
        for (end, isComplete) in [(600, false), (601, true)] as [(Int64, Bool)] {
            let query = [("limit", "2"), ("endTime", "\(end * month)")]
            let rendering = Self.ask(bars, query, interval: "1M", now: 603 * month + 5) { _ in nil }
            if case .body(let body, _)? = rendering {
                #expect(isComplete && String(decoding: body, as: UTF8.self) == Self.truth(bars, start: nil, end: end * month, limit: 2))
            } else {
                #expect(!isComplete)
            }
        }
    }

    /// The venue's clock comes from its data, which may be a minute ahead.
    @Test func theLastBarOfASnapshotIsOpenUntilTheClockCannotBeWrong() throws {
        let name = FuturesServiceStreamName.kline(symbol: "BTCUSDT", interval: .minute1)
        let answer = RESTAnswer(status: 200, retryAfter: nil, body: Array("[\(Self.json(Self.bar(1))),\(Self.json(Self.bar(2)))]".utf8))
        let end = 3 * Self.length - 1
        for (now, isClosed) in [(.min, false), (end + 1, false), (end + 55_000, false), (end + 60_001, true), (.max, true)] {
            let content = try FuturesDialect(venue: .aster).decodeSnapshot(of: name, answer, now: now).get()
            guard case .kline(let rows) = content.rows else { throw FeedError(.malformed, "no bars") }
            #expect(rows.map(\.isClosed) == [true, isClosed], "at \(now), its end is \(end)")
        }
    }

    /// Its last bar may have closed a moment ago. Kept for a day, it would be wrong once the stream has forgotten that bar.
    @Test func aBlockIsKeptForADayOnceItsLastBarIsFinal() throws {
        let first: Int64 = 499 * 4
        for (kept, lifetime) in [(499, 10_000), (500, 86_400_000)] as [(Int64, Int64)] {
            let newest = first + kept
            let bars = (first + 1...newest).map { Self.bar($0, isClosed: $0 < newest) }
            let rendering = Self.ask(bars, [("limit", "\(kept + 1)")], now: newest * Self.length + 5) { _ in nil }
            guard case .needs(let relays)? = rendering else { throw FeedError(.malformed, "no block is asked for") }
            #expect(relays.map(\.keep) == [.milliseconds(lifetime)])
        }
    }

    @Test func earlierBarsOfASecondVenueAreFetchedFromIt() throws {
        let second = VenueREST(dialect: FuturesDialect(venue: .binance), upstream: 1)
        let query = [("symbol", "BTCUSDT"), ("interval", "1m"), ("limit", "501")].map { (name: $0.0, value: $0.1) }
        let now = 1_601 * Self.length
        let answer = try #require(second.answer(["fapi", "v1", "klines"], query, now: now) { _ in true }?.answer)
        guard case .stream(let reading) = answer else { throw FeedError(.unknownStream, "no stream") }
        let content = FuturesServiceFeedContent(
            streamName: reading.name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .websocket, eventTime: nil,
            receivedAt: 0, rows: .kline((1_101...1_600).map { Self.bar($0) }))
        let times = VenueTimes(now: now, fetched: nil, believesSilence: false)
        guard case .needs(let relays) = second.render(reading, content, listing: nil, times, kept: { _ in nil }) else {
            throw FeedError(.malformed, "no block is requested")
        }
        #expect(relays.map(\.upstream) == [1])
    }

    @Test func oneMoreBarThanIsKeptCostsOneFetchForAll() {
        let bars = (1_000...1_600).map { Self.bar($0, isClosed: $0 < 1_600) }
        var targets: Set<String> = []
        for limit in 501...600 {
            guard
                case .needs(let relays)? = Self.ask(
                    Array(bars.suffix(500)), [("limit", "\(limit)")], now: 1_600 * Self.length + 5, { _ in nil })
            else {
                Issue.record("\(limit) bars are there")
                return
            }
            for relay in relays { targets.insert(relay.target) }
        }
        #expect(targets.count == 1, "\(targets)")
    }

    @Test func aBarThatHasEndedIsNotTheNewest() {
        let bars = (1_000...1_600).map { Self.bar($0) }
        let end = 1_601 * Self.length
        guard case .isBehind? = Self.ask(bars, [("limit", "5")], now: end + 100, fetched: end + 50, { _ in nil }) else {
            Issue.record("the next bar is about to come")
            return
        }
        guard case .body(_, let until)? = Self.ask(bars, [("limit", "5")], now: end + 3_000, fetched: end + 2_000, { _ in nil }) else {
            Issue.record("the venue was asked after the bar's end, and has no newer one")
            return
        }
        #expect(until == nil)
        guard case .body? = Self.ask(bars, [("limit", "5"), ("endTime", "\(end - 1)")], now: end + 100, fetched: end, { _ in nil }) else {
            Issue.record("no newer bar is asked for")
            return
        }
    }

    @Test func aSilenceThatIsBelievedMakesABarTheNewestForTheLengthOfOne() {
        let bars = (1_000...1_600).map { Self.bar($0) }
        let end = 1_601 * Self.length
        for (after, isNewest) in [(Int64(100), true), (Self.length - 1, true), (Self.length, false)] {
            let rendering = Self.ask(bars, [("limit", "5")], now: end + after, believesSilence: true) { _ in nil }
            if case .body(_, nil)? = rendering { #expect(isNewest) } else { #expect(!isNewest, "\(after) ms after its end") }
        }
    }

    @Test func noSilenceMakesUpForTheLastMessageOfABarInWhichWasTraded() {
        let bars = (1_000..<1_600).map { Self.bar($0) }
        let now = 1_601 * Self.length + 3_000
        guard case .isBehind? = Self.ask(bars + [Self.bar(1_600, isClosed: false)], [("limit", "5")], now: now, believesSilence: true, { _ in nil })
        else {
            Issue.record("its last trades may be missing")
            return
        }
        let quiet = Self.bar(1_600, trades: 0, isClosed: false)
        guard case .body? = Self.ask(bars + [quiet], [("limit", "5")], now: now, believesSilence: true, { _ in nil }) else {
            Issue.record("nothing was traded, and so nothing closes it")
            return
        }
    }

    @Test func theOpenBarIsGivenOutUntilItEnds() {
        let bars = (1_000...1_600).map { Self.bar($0, isClosed: $0 < 1_600) }
        guard case .body(_, let until)? = Self.ask(bars, [("limit", "5")], now: 1_600 * Self.length + 5, { _ in nil }) else {
            Issue.record("the bar is open")
            return
        }
        #expect(until == 1_601 * Self.length)
    }

    @Test func aBarWhoseLastTradesMayBeMissingIsNotGivenOut() {
        var bars = (1_000...1_600).map { Self.bar($0, isClosed: $0 < 1_600) }
        bars[bars.count - 2].isClosed = false
        guard case .isBehind? = Self.ask(bars, [("limit", "5")], now: 1_600 * Self.length + 5, { _ in nil }) else {
            Issue.record("a newer bar does not make the one before final")
            return
        }
    }
}
