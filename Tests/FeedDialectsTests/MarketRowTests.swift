import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// The contracts of several venues in one shape.
@Suite struct MarketRowTests {
    private static let listing = VenueListing(symbols: ["BTCUSDT", "BTCUSDC", "ETHUSDC", "BTCUSDT_260327", "1000PEPEUSDT"])

    private static func content(_ name: FuturesServiceStreamName, _ rows: FeedRows) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .rest, eventTime: nil, receivedAt: 1, rows: rows)
    }

    private static func decimal(_ text: String) throws -> DecimalString { try #require(DecimalString(text)) }

    @Test(arguments: [
        ("0.00010000", 8, "0.0000125"), ("-0.00011523", 8, "-0.00001440375"), ("0.0001", 4, "0.000025"), ("0.0000125", 1, "0.0000125"),
        ("0.0001", 3, "0.000033333333333333"), ("0", 8, "0"), ("-0.00000000", 8, "0"), ("8", 4, "2"), ("0.000000000000000001", 8, "0"),
    ])
    func theRateForAnHourIsExact(_ rate: String, _ hours: Int64, _ perHour: String) throws {
        var row = MarketRow(asset: "BTC", symbol: "BTCUSDT", quote: "USDT")
        (row.fundingRate, row.fundingIntervalHours) = (try Self.decimal(rate), hours)
        #expect(row.fundingPerHour?.text == perHour)
        row.fundingIntervalHours = 0
        #expect(row.fundingPerHour == nil)
    }

    @Test func anAssetHasTheContractInThePreferredCurrency() {
        let dialect = FuturesDialect(venue: .binance, prefix: "binance")
        #expect(dialect.marketStreams(of: "BTC", Self.listing).first?.description == "binance:btcusdt@markPrice@1s")
        #expect(dialect.marketStreams(of: "ETH", Self.listing).first?.description == "binance:ethusdc@markPrice@1s")
        for text in ["DOGE", "", "a/b", String(repeating: "A", count: 33), "BTC USD"] {
            #expect(dialect.marketStreams(of: text, Self.listing).isEmpty, "\(text)")
        }
        let assets = dialect.markets(of: nil, Self.listing, in: []).map { "\($0.asset) \($0.quote)" }
        #expect(assets == ["1000PEPE USDT", "BTC USDT", "ETH USDC"], "neither a delivery contract nor a second currency")
        #expect(FuturesDialect(venue: .apollox).marketStreams(of: nil, nil).allSatisfy { $0.channel != .funding })
    }

    @Test func aRowHasTheDigitsOfTheVenue() throws {
        let prices = [
            MarkPrice(
                symbol: "BTCUSDT", markPrice: try Self.decimal("11794.15000000"), indexPrice: try Self.decimal("11784.62659091"),
                lastFundingRate: try Self.decimal("0.00038167"), nextFundingTime: 9, time: 1),
            MarkPrice(symbol: "OTHERUSDT", markPrice: try Self.decimal("1"), time: 1),
        ]
        let funding = #"{"from":[],"rows":[{"symbol":"BTCUSDT","rate":"1","intervalHours":4},{"symbol":"X","intervalHours":8}]}"#
        let contents = [
            Self.content(.fastMarkPrices, .markPrice(prices)), Self.content(.funding, .json([JSONRow(checked: funding)])),
            Self.content(
                .openInterest(symbol: "BTCUSDT"), .json([JSONRow(checked: #"{"symbol":"BTCUSDT","openInterest":"10659.509","time":1}"#)])),
        ]
        let row = try #require(FuturesDialect(venue: .aster).markets(of: "BTC", Self.listing, in: contents).first)
        #expect(row.markPrice?.text == "11794.15000000" && row.indexPrice?.text == "11784.62659091" && row.openInterest?.text == "10659.509")
        #expect(row.fundingRate?.text == "0.00038167" && row.fundingIntervalHours == 4 && row.fundingPerHour?.text == "0.0000954175")
        #expect(row.nextFundingTime == 9 && row.bidPrice == nil)
    }

    @Test func aRowOfAllContractsHasThePhaseOfItsOwnMarket() throws {
        var listing = VenueListing(symbols: ["BTCUSDT", "ETHUSDT", "TSLAUSDT"])
        listing.halted = ["ETHUSDT"]
        (listing.markets, listing.closures) = (["TSLAUSDT": "EQUITY"], ["EQUITY": [10..<21]])
        let source = try #require(MarketSource.all(for: .contracts(nil), FuturesDialect(venue: .aster), listing: { _ in listing }).first)
        let values: [(content: FuturesServiceFeedContent, status: StreamStatus)?] = source.streams.map { name in
            let status = StreamStatus(
                name: name, state: .live, contentID: nil, isWhole: true, ageMs: 1, unverifiedMs: 1, source: .rest, isConnected: true, observers: 1)
            return (Self.content(name, .markPrice([])), status)
        }
        for (time, phase) in [(9, nil), (10, "closed"), (20, "closed"), (21, nil), (nil, nil)] as [(Int64?, String?)] {
            var writer = JSONWriter()
            writer.array { #expect(source.write(.contracts(nil), listing, at: time, values, &$0)) }
            let rows = try #require(try JSON(String(decoding: writer.bytes, as: UTF8.self)).array)
            #expect(rows.map { $0["symbol"]?.text } == ["BTCUSDT", "ETHUSDT", "TSLAUSDT"] && rows.allSatisfy { $0["state"] == "live" })
            #expect(rows.map { $0["market"]?.text } == [nil, "halted", phase], "\(String(describing: time))")
        }
    }

    @Test func aContentThatCannotBeReadLeavesItsMembersOut() throws {
        for text in ["[]", "1", #"{"symbol":"BTCUSDT"}"#, #"{"symbol":"BTCUSDT","openInterest":"x"}"#, #"{"rows":[{"symbol":1}]}"#] {
            for name in [FuturesServiceStreamName.openInterest(symbol: "BTCUSDT"), .funding] {
                let rows = FuturesDialect(venue: .aster).markets(of: "BTC", Self.listing, in: [Self.content(name, .json([JSONRow(checked: text)]))])
                #expect(rows == [MarketRow(asset: "BTC", symbol: "BTCUSDT", quote: "USDT")], "\(text)")
            }
        }
    }

    @Test func hyperliquidsContextAndBestPricesAreOneRow() throws {
        let dialect = try #require(
            try UpstreamsFile.read(#"{"hyperliquid":{"kind":"hyperliquid"}}"#) { _ in nil }.first?.dialect as? any MarketDialect)
        let names = dialect.marketStreams(of: "BTC", nil)
        #expect(names.map(\.description) == ["hyperliquid:BTC@context", "hyperliquid:BTC@bbo"] && dialect.marketStreams(of: "B C", nil).isEmpty)
        let context =
            #"{"coin":"BTC","ctx":{"funding":"-0.0000125","openInterest":"688.11","dayNtlVlm":"1169046.29406","oraclePx":"14.32","markPx":"14.3161","midPx":null}}"#
        let best = #"{"coin":"BTC","time":1,"bbo":[{"px":"14.3","sz":"2","n":1},null]}"#
        let contents = zip(names, [context, best]).map { Self.content($0, .json([JSONRow(checked: $1)])) }
        let row = try #require(dialect.markets(of: "BTC", nil, in: contents).first)
        #expect(row.fundingPerHour?.text == "-0.0000125" && row.openInterest?.text == "688.11" && row.quoteVolume?.text == "1169046.29406")
        #expect(row.markPrice?.text == "14.3161" && row.indexPrice?.text == "14.32" && row.midPrice == nil)
        #expect(row.bidPrice?.text == "14.3" && row.bidSize?.text == "2" && row.askPrice == nil && row.askSize == nil)
        #expect(dialect.markets(of: "BTC", nil, in: []).isEmpty, "a coin without content may not exist")
        let listing = VenueListing(symbols: ["BTC"])
        #expect(dialect.marketStreams(of: "BTC", listing) == names && dialect.marketStreams(of: "NOPE", listing).isEmpty)
        #expect(dialect.marketStreams(of: "xyz:SPCX", listing).count == 2, "the list lacks the contracts of other exchanges")
        for text in ["1", #"{"bbo":[1]}"#, #"{"ctx":5,"bbo":[{"px":"x"},null]}"#] {
            let rows = dialect.markets(of: "BTC", nil, in: names.map { Self.content($0, .json([JSONRow(checked: text)])) })
            #expect(rows == [MarketRow(asset: "BTC", symbol: "BTC", quote: "USD")], "\(text)")
        }
    }

    @Test func hyperliquidsBooksTradesAndBarsHaveTheSharedShape() throws {
        let dialect = try #require(
            try UpstreamsFile.read(#"{"hyperliquid":{"kind":"hyperliquid"}}"#) { _ in nil }.first?.dialect as? any MarketDialect)
        func text(_ data: MarketData, _ rows: FeedRows) throws -> String {
            let name = try #require(dialect.marketStream(of: "BTC", data, nil))
            var writer = JSONWriter()
            writer.object { dialect.write(data, of: Self.content(name, rows), &$0) }
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        let book = #"{"coin":"BTC","time":5,"levels":[[{"px":"2.0","sz":"1","n":1},{"px":"1","sz":"9","n":1}],[{"px":"3","sz":"0.10","n":1}]]}"#
        #expect(try text(.book(depth: 1), .json([JSONRow(checked: book)])) == #"{"time":5,"bids":[["2.0","1"]],"asks":[["3","0.10"]]}"#)
        let trade = UpstreamTrade(checked: #"{"coin":"BTC","side":"A","px":"2.50","sz":"1","time":7,"tid":3}"#, id: 3, time: 7)
        #expect(
            try text(.trades(limit: 9), .upstreamTrade([trade]))
                == #"{"trades":[{"id":3,"price":"2.50","size":"1","side":"sell","time":7}]}"#)
        let bar = #"{"t":1,"T":2,"s":"BTC","i":"1m","o":"1","c":"2","h":"3","l":"0.5","v":"10.0","n":4}"#
        #expect(
            try text(.bars(.minute1, limit: 9), .upstreamBar([UpstreamBar(checked: bar, openTime: 1, closeTime: 2, tradeCount: 4)]))
                == #"{"bars":[{"openTime":1,"closeTime":2,"open":"1","high":"3","low":"0.5","close":"2","volume":"10.0","tradeCount":4}]}"#)
        #expect(dialect.marketStream(of: "BTC", .bars(.hour6, limit: 1), nil) == nil, "the venue has no bars of six hours")
        #expect(dialect.marketStream(of: "NOPE", .book(depth: 1), VenueListing(symbols: ["BTC"])) == nil)
        for text in ["1", "{}", #"{"time":5,"levels":[[]]}"#, #"{"time":5,"levels":[[1],[]]}"#] {
            let name = try #require(dialect.marketStream(of: "BTC", .book(depth: 1), nil))
            var writer = JSONWriter()
            writer.object { dialect.write(.book(depth: 1), of: Self.content(name, .json([JSONRow(checked: text)])), &$0) }
            #expect(writer.bytes == Array("{}".utf8), "\(text)")
        }
    }

    @Test func hyperliquidsContextsAreARowForEachContract() throws {
        let dialect = try #require(
            try UpstreamsFile.read(#"{"hyperliquid":{"kind":"hyperliquid"}}"#) { _ in nil }.first?.dialect as? any MarketDialect)
        let name = try #require(dialect.marketStreams(of: nil, nil).first)
        let text = #"{"contexts":{"0G":{"markPx":"1.2017","funding":"0.00001"},"kPEPE":{"markPx":"0.004","midPx":null},"X":{"markPx":"x"}}}"#
        let rows = dialect.markets(of: nil, nil, in: [Self.content(name, .json([JSONRow(checked: text)]))])
        #expect(rows.map(\.asset) == ["0G", "kPEPE"] && rows.map { $0.markPrice?.text } == ["1.2017", "0.004"])
        #expect(rows.map { $0.fundingPerHour?.text } == ["0.00001", nil])
    }
}
