import FeedCore
import Testing

@testable import FeedDialects

/// Snapshots of bars and trades over the venue's `info` requests.
@Suite struct HyperliquidSnapshotTests {
    private static let now: Int64 = 1_764_806_461_000

    private static func content(_ stream: String, _ body: String, status: Int = 200) throws -> Result<FetchedContent, FeedError> {
        let answer = RESTAnswer(status: status, retryAfter: nil, body: Array(body.utf8))
        return try HyperliquidDialectTests.dialect().decodeSnapshot(of: try HyperliquidDialectTests.name(stream), answer, now: 0)
    }

    private static func bar(_ start: Int64, coin: String = "BTC", trades: String = "3") -> String {
        #"{"t":\#(start),"T":\#(start + 59_999),"s":"\#(coin)","i":"1m","o":"1.50","c":"2","h":"3","l":"1","v":"0.5","n":\#(trades)}"#
    }

    private static func trade(_ id: Int, _ time: Int, coin: String = "BTC") -> String {
        #"{"coin":"\#(coin)","side":"B","px":"1.50","sz":"2","time":\#(time),"hash":"0x0","tid":\#(id),"users":["a","b"]}"#
    }

    /// The request needs times, and a dialect has no clock.
    @Test(arguments: [("1m", 60_000), ("1h", 3_600_000), ("1M", 2_678_400_000)] as [(String, Int64)])
    func theRequestForBarsHasTheTimesOf500Bars(_ interval: String, _ length: Int64) throws {
        let (dialect, name) = (try HyperliquidDialectTests.dialect(), try HyperliquidDialectTests.name("xyz:SPCX@candle_\(interval)"))
        let request = try #require(dialect.snapshotRequest(of: name, from: nil, host: 0, now: Self.now))
        let start: Int64 = max(0, Self.now - 499 * length)
        let times = #""startTime":\#(start),"endTime":\#(Self.now + 86_400_000)"#
        #expect(request.url == "https://api.hyperliquid.xyz/info")
        #expect(request.body == #"{"type":"candleSnapshot","req":{"coin":"xyz:SPCX","interval":"\#(interval)",\#(times)}}"#)
        #expect(dialect.newestRequest(of: name, host: 0, now: Self.now)?.body == request.body)
        for wrong in [Int64.min, -1, 0, .max] { _ = dialect.snapshotRequest(of: name, from: nil, host: 0, now: wrong) }
    }

    @Test func theRequestForTradesNamesTheCoin() throws {
        let dialect = try HyperliquidDialectTests.dialect()
        let request = dialect.snapshotRequest(of: try HyperliquidDialectTests.name("@142@trades"), from: nil, host: 0, now: Self.now)
        #expect(request?.body == #"{"type":"recentTrades","coin":"@142"}"#)
    }

    /// A snapshot of 500 bars weighs 20 and 1 for each 60; ten trades weigh 20 and 1 for each 20.
    @Test func eachSnapshotHasTheWeightOfTheVenue() throws {
        let dialect = try HyperliquidDialectTests.dialect()
        for (stream, weight, limit) in [("BTC@candle_1m", 29, 500), ("BTC@trades", 21, 500), ("BTC@book", 2, 1)] {
            let traits = try #require(dialect.traits(of: try HyperliquidDialectTests.name(stream)))
            #expect(traits.hasSnapshotSource && traits.fetchWeight == weight && traits.limit == limit, "\(stream)")
        }
        let entry = try #require(dialect.catalogue.first { $0.pattern == "hyperliquid:{COIN}@candle_{interval}" })
        #expect(entry.rule == .byKey && entry.key == "t" && entry.keep == 500 && entry.hasSnapshotSource)
        let refetch = dialect.catalogue.filter(\.hasSnapshotSource).map(\.pattern)
        #expect(refetch == ["book", "trades", "candle_{interval}"].map { "hyperliquid:{COIN}@\($0)" })
        for (stream, rule) in [("BTC@candle_1m", MergeRule.byKey), ("@142@candle_1M", .byKey), ("BTC@trades", .append), ("BTC@book", .replace)] {
            #expect(try HyperliquidDialectTests.name(stream).mergeRule == rule)
        }
    }

    @Test func barsAreReadByteForByteAndSortedByTheirTimes() throws {
        let (one, two) = (Self.bar(60_000), Self.bar(120_000, trades: "18446744073709551615"))
        let content = try Self.content("BTC@candle_1m", "[\(two),\(one)]").get()
        #expect(
            content.rows
                == .upstreamBar([
                    UpstreamBar(checked: one, openTime: 60_000, closeTime: 119_999, tradeCount: 3),
                    UpstreamBar(checked: two, openTime: 120_000, closeTime: 179_999, tradeCount: .max),
                ]))
        #expect(content.eventTime == nil)
        #expect(try Self.content("BTC@candle_1m", "[]").get().rows == .upstreamBar([]))
    }

    /// The venue returns the newest trade first.
    @Test func tradesAreSortedOldestFirst() throws {
        let texts = [Self.trade(7, 1_000), Self.trade(3, 1_000), Self.trade(9, 2_000)]
        let expected = FeedRows.upstreamTrade([
            UpstreamTrade(checked: texts[0], id: 7, time: 1_000), UpstreamTrade(checked: texts[1], id: 3, time: 1_000),
            UpstreamTrade(checked: texts[2], id: 9, time: 2_000),
        ])
        for order in [texts, texts.reversed()] {
            let content = try Self.content("BTC@trades", "[\(order.joined(separator: ","))]").get()
            #expect(content.rows == expected && content.eventTime == 2_000)
        }
        #expect(try Self.content("BTC@trades", "[]").get().rows == .upstreamTrade([]))
    }

    private static let wrongBars: [String] = {
        let right = bar(60_000)
        var wrong = ["", "null", "{", "[", "[1]", "7", #""busy""#, "[{}]", #"[{"t":1}]"#, right, "[" + right, "[" + right + "]]"]
        wrong.append(#"{"coin":"BTC","time":1737918843000,"levels":[[],[]]}"#)
        wrong += [
            right + ",null", bar(60_000, coin: "ETH"), bar(60_000, trades: "-1"), bar(60_000, trades: "null"),
            bar(60_000, trades: "18446744073709551616"), bar(0), right.replacing("1.50", with: "NaN"), right.replacing(#""1m""#, with: #""5m""#),
            right.replacing("119999", with: "99999999999999999999"), trade(1, 1_000),
        ].map { "[" + $0 + "]" }
        return wrong
    }()

    @Test(arguments: wrongBars)
    func anUnreadableAnswerWithBarsIsAnError(_ body: String) throws {
        let error = #expect(throws: FeedError.self) { try Self.content("BTC@candle_1m", body).get() }
        #expect(error?.code == .malformed && error?.message.contains("hyperliquid:BTC@candle_1m") == true)
    }

    private static let wrongTrades: [String] = {
        let right = trade(1, 1_000)
        let wrong = ["", "null", "{", "[", "[1]", "[{}]", right, "[" + right + "]x"]
        return wrong
            + [trade(1, 1_000, coin: "ETH"), right + "," + trade(2, 1_000, coin: "ETH"), trade(-1, 1_000), trade(1, 0), bar(60_000)].map {
                "[" + $0 + "]"
            }
    }()

    @Test(arguments: wrongTrades)
    func anUnreadableAnswerWithTradesIsAnError(_ body: String) throws {
        let error = #expect(throws: FeedError.self) { try Self.content("BTC@trades", body).get() }
        #expect(error?.code == .malformed && error?.message.contains("hyperliquid:BTC@trades") == true)
    }

    @Test func aRefusedRequestHasTheVenuesWords() throws {
        for stream in ["BTC@candle_1m", "BTC@trades"] {
            let limited = #expect(throws: FeedError.self) { try Self.content(stream, "slow down", status: 429).get() }
            #expect(limited?.code == .rateLimited && limited?.message.contains("slow down") == true)
            let broken = #expect(throws: FeedError.self) { try Self.content(stream, "null", status: 500).get() }
            #expect(broken?.code == .unreachable)
        }
    }

    /// Without the number of trades, nothing shows which of two messages about a bar is newer.
    @Test func aBarWithoutTheNumberOfItsTradesIsReported() throws {
        let session = try HyperliquidDialectTests.session(["BTC@candle_1m"])
        let message = #"{"channel":"candle","data":\#(Self.bar(60_000))}"#
        #expect(BUXDialectTests.read(session, message) == ["hyperliquid:BTC@candle_1m \(Self.bar(60_000)) -"])
        #expect(BUXDialectTests.read(session, message.replacing(#","n":3"#, with: "")) == ["malformed hyperliquid:BTC@candle_1m"])
    }
}
