import FeedCore
import Testing

@testable import FeedDialects

@Suite struct StreamNameMistakeTests {
    private static let prices = #"""
        {"prices":{"kind":"graphql","webSocket":"ws://a/b","streams":{"quote":{"subscription":"subscription($s: String!) { a(s: $s) { b } }",
        "variables":{"s":"{key}"},"path":"a"}}},"bux":{"kind":"bux","webSocket":"wss://x/y","token":"t"}}
        """#
    private static let listing = VenueListing(symbols: ["BTCUSDT", "BTCUSDC", "ETHUSDT", "1000PEPEUSDT"], assetIndices: ["BTCUSD"])

    private func mistake(_ text: String, venue: FuturesVenue = .aster, listing: VenueListing? = Self.listing) throws -> StreamNameMistake {
        let others = try UpstreamsFile.read(Self.prices) { _ in nil }.map { (upstream: Upstream(name: $0.name), dialect: $0.dialect) }
        let dialect = CombinedDialect(venue: FuturesDialect(venue: venue, bars: 500, trades: 500), others: others)
        return StreamNameMistake(text, dialect: dialect, listing: { _ in listing })
    }

    @Test(
        arguments: [
            ("btcusdt@markprice", .unknownKind, ["btcusdt@markPrice"]), ("btcusdt@MARKPRICE@1S", .unknownKind, ["btcusdt@markPrice@1s"]),
            ("BTCUSDT@markprice", .unknownKind, ["btcusdt@markPrice"]), ("BTCUSDT@markPrice", .upperCase, ["btcusdt@markPrice"]),
            ("BTCUSDZ@depth", .upperCase, ["btcusdc@depth", "btcusdt@depth"]), ("btcusd@depth", .unlisted, ["btcusdc@depth", "btcusdt@depth"]),
            ("btc@depth", .unlisted, ["btcusdc@depth", "btcusdt@depth"]), ("nothinglikethis@depth", .unlisted, []),
            ("btcusdt@assetIndex", .unlisted, ["btcusd@assetIndex"]), ("btcusdt@kline", .incomplete, ["btcusdt@kline_1m"]),
            ("btcusdt@kline_", .incomplete, ["btcusdt@kline_1m"]), ("btcusdt@kline_1x", .unknownKind, ["btcusdt@kline_1m"]),
            ("btcusdt@depth7", .unknownKind, ["btcusdt@depth5"]),
            ("btcusdt@depth@1s", .unknownKind, ["btcusdt@depth", "btcusdt@depth@0ms", "btcusdt@depth@100ms"]),
            ("btcusdt", .incomplete, ["btcusdt@markPrice"]), ("btcusdt@", .incomplete, ["btcusdt@markPrice"]),
            ("btcusdt@markPrice ", .badCharacter, ["btcusdt@markPrice"]), ("btc usdt@markPrice\n", .badCharacter, ["btcusdt@markPrice"]),
            ("btc-usdt@markPrice", .badCharacter, []), ("!markPrice", .incomplete, ["!markPrice@arr", "!markPrice@arr@1s"]),
            ("!miniticker@arr", .unknownKind, ["!miniTicker@arr"]), ("!bookTickers", .unknownKind, ["!bookTicker"]),
            ("prices:AAPL", .incomplete, ["prices:AAPL@quote"]), ("prices:AAPL@qoute", .unknownKind, ["prices:AAPL@quote"]),
            ("price:AAPL@quote", .unknownUpstream, ["prices:AAPL@quote"]), ("foo:AAPL", .unknownUpstream, []), ("", .incomplete, []),
            ("@", .incomplete, []),
            ("!", .unknownKind, []), (":", .unknownUpstream, []), ("prices:", .incomplete, []),
        ] as [(String, StreamNameMistake.Code, [String])])
    func aWrongNameIsToldWhichMistakeItIsAndWhatIsNear(text: String, code: StreamNameMistake.Code, suggestions: [String]) throws {
        let mistake = try mistake(text)
        #expect(mistake.code == code)
        if suggestions.count == 1 {
            #expect(mistake.suggestions.first == suggestions.first, "\(mistake)")
        } else {
            #expect(mistake.suggestions.prefix(3) == suggestions[...], "\(mistake)")
        }
        for suggestion in mistake.suggestions { #expect(mistake.detail.contains(suggestion)) }
    }

    @Test func theDetailTellsWhatThereIs() throws {
        #expect(try mistake("foo:AAPL").detail == "There is no upstream with this name. Available: prices, bux.")
        #expect(try mistake("btcusdt@kline").detail.contains("The interval is missing. Available: 1m, 3m, 5m"))
        #expect(try mistake("btcusdt@nothinglikeit").detail.contains("Available for a symbol: @markPrice, @markPrice@1s"))
        #expect(try mistake("prices:AAPL").detail.contains("its names look like prices:{key}@quote"))
    }

    @Test func nothingIsSuggestedThatIsNotThere() throws {
        #expect(try mistake("btcusdt@rpidepth@500ms").suggestions.contains("btcusdt@rpiDepth@500ms") == false)
        #expect(try mistake("btcusdt@continuousKline_1h", venue: .binance).suggestions.first == "btcusdt_perpetual@continuousKline_1h")
        #expect(try mistake("btcusdt@rpidepth@500ms", venue: .binance).suggestions == ["btcusdt@rpiDepth@500ms"])
        #expect(try mistake("btcusdz@markprice", listing: nil).suggestions == ["btcusdz@markPrice"])
        #expect(try mistake("btcusdz@markprice").suggestions == ["btcusdc@markPrice", "btcusdt@markPrice"])
    }
}
