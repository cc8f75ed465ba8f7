import FeedCore
import Testing

@testable import FeedDialects

@Suite struct FuturesDialectTests {
    static let dialect = FuturesDialect(venue: .aster)

    static func decode(_ frame: String) -> [UpstreamEvent] {
        var events: [UpstreamEvent] = []
        Array(frame.utf8).withUnsafeBufferPointer { bytes in dialect.decode(bytes, names: StreamNames()) { events.append($0) } }
        return events
    }

    static func rows(_ frame: String) -> FeedRows? {
        if case .rows(_, let rows, _)? = decode(frame).first { rows } else { nil }
    }

    static func snapshot(_ name: FuturesServiceStreamName, status: Int = 200, _ body: String, now: Int64 = 0) -> Result<FetchedContent, FeedError> {
        Array(body.utf8).withUnsafeBufferPointer {
            dialect.decodeSnapshot(of: name, RESTAnswer(status: status, retryAfter: nil, body: Array($0)), now: now)
        }
    }

    @Test func aMarkPriceKeepsTheVenuesDigits() {
        let rows = Self.rows(
            """
            {"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1562305380000,"s":"BTCUSDT","p":"11794.15000000",
             "i":"11784.62659091","P":"11784.25641265","r":"0.00038167","T":1562306400000,"st":1,"ap":"1"}}
            """)
        guard case .markPrice(let prices)? = rows, let price = prices.first else {
            Issue.record("unread: \(String(describing: rows))")
            return
        }
        #expect(price.markPrice.text == "11794.15000000")
        #expect(price.indexPrice?.text == "11784.62659091")
        #expect(price.nextFundingTime == 1_562_306_400_000)
        #expect(price.time == 1_562_305_380_000)
    }

    @Test(arguments: [#""r":"0.00000000","T":0"#, #""r":"","T":1562306400000"#, #""r":"","T":0"#])
    func withoutScheduledFundingThereIsNone(_ funding: String) {
        let rows = Self.rows(
            #"{"data":{"e":"markPriceUpdate","E":1,"s":"BTCUSDT_261225","p":"1.0",\#(funding)},"stream":"btcusdt_261225@markPrice"}"#)
        guard case .markPrice(let prices)? = rows, let price = prices.first else {
            Issue.record("unread")
            return
        }
        #expect(price.lastFundingRate == nil)
        #expect(price.nextFundingTime == nil)
    }

    @Test func anAssetIndexComesAsAnObjectOrInAnArray() {
        let object =
            #"{"e":"assetIndexUpdate","E":1686749230000,"s":"ADAUSD","i":"0.27462452","b":"0.10000000","a":"0.10000000","B":"0.24716207","#
            + #""A":"0.30208698","q":"0.05000000","g":"0.05000000","Q":"0.26089330","G":"0.28835575"}"#
        let single = Self.rows(#"{"stream":"adausd@assetIndex","data":\#(object)}"#)
        let array = Self.rows(#"{"stream":"!assetIndex@arr","data":[\#(object)]}"#)
        #expect(single?.count == 1)
        #expect(single == array)
    }

    @Test func aBarReadsItsOwnFieldsAndNotTheEvents() {
        let rows = Self.rows(
            #"{"stream":"btcusdt@kline_1m","data":{"e":"kline","E":123456789,"s":"BTCUSDT","k":{"t":60000,"T":119999,"s":"BTCUSDT","i":"1m","f":100,"#
                + #""L":200,"o":"0.0010","c":"0.0020","h":"0.0025","l":"0.0015","v":"1000","n":100,"x":false,"q":"1.0000","V":"500","Q":"0.500","B":"1"}}}"#
        )
        guard case .kline(let bars)? = rows, let bar = bars.first else {
            Issue.record("unread")
            return
        }
        #expect(bar.openTime == 60_000 && bar.closeTime == 119_999)
        #expect(bar.open.text == "0.0010" && bar.high.text == "0.0025" && bar.low.text == "0.0015" && bar.close.text == "0.0020")
        #expect(bar.takerBuyVolume.text == "500" && bar.takerBuyQuoteVolume.text == "0.500" && bar.tradeCount == 100 && !bar.isClosed)
    }

    @Test func answersToControlMessagesAreToldApart() {
        guard case .acknowledged(312)? = Self.decode(#"{"result":null,"id":312}"#).first else {
            Issue.record("an acknowledgement was not read")
            return
        }
        for text in [#"{"error":{"code":4,"msg":"Too many subscriptions"},"id":9}"#, #"{"code":4,"msg":"Too many subscriptions","id":9}"#] {
            guard case .rejected(9, let error)? = Self.decode(text).first else {
                Issue.record("a refusal was not read: \(text)")
                continue
            }
            #expect(error.venueCode == 4)
        }
        guard case .rejected(nil, _)? = Self.decode(#"{"code":2,"msg":"Invalid request"}"#).first else {
            Issue.record("a refusal without an id was not read")
            return
        }
    }

    static let broken = [
        "", "{", "[]", "nul", #"{"stream":"btcusdt@markPrice"}"#, #"{"stream":"btcusdt@markPrice","data":{"#,
        #"{"stream":"btcusdt@markPrice","data":null}"#, #"{"stream":"btcusdt@markPrice","data":[1]}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"aggTrade","s":"BTCUSDT"}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1,"s":"ETHUSDT","p":"1","T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","p":"NaN","T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1e400,"s":"BTCUSDT","p":"1","T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":99999999999999999999999,"s":"BTCUSDT","p":"1","T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","p":1e400,"T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","T":1}}"#,
        #"{"stream":"btcusdt@markPrice","data":{"e":"markPriceUpdate","E":1,"s":"BTCUSDT","p":"1","T":1}} x"#,
        #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":1,"s":"BTCUSDT","a":-1,"p":"1","q":"1","f":1,"l":1,"T":1,"m":true}}"#,
        #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":1,"s":"BTCUSDT","a":1,"p":"1","q":"1","f":1,"l":1,"T":1,"m":"yes"}}"#,
        String(repeating: "[", count: 100_000), #"{"stream":""# + String(repeating: "\\", count: 999),
    ]

    @Test(arguments: broken)
    func brokenFramesAreMalformedAndNothingElse(_ frame: String) {
        let events = Self.decode(frame)
        #expect(events.count == 1)
        switch events.first {
        case .malformed?, .unknown?: break
        default: Issue.record("taken for \(events)")
        }
    }

    @Test func cutAndMangledFramesNeverCrashTheReader() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let good = Array(
            #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":123,"s":"BTCUSDT","a":5933014,"p":"0.001","q":"100","f":100,"l":105,"T":123,"m":true}}"#
                .utf8)
        for _ in 0..<20_000 {
            var frame = Array(good.prefix(Int.random(in: 0...good.count, using: &random)))
            for _ in 0..<Int.random(in: 0...4, using: &random) where !frame.isEmpty {
                frame[Int.random(in: 0..<frame.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            var count = 0
            frame.withUnsafeBufferPointer { bytes in Self.dialect.decode(bytes, names: StreamNames()) { _ in count += 1 } }
            #expect(count == 1, "seed \(seed)")
        }
    }

    @Test func namesWithoutALatinLetterAreReadInEitherSpelling() {
        let price = #""e":"markPriceUpdate","E":1,"s":"币安人生USDT","p":"1","T":1"#
        #expect(Self.rows(#"{"stream":"币安人生usdt@markPrice","data":{\#(price)}}"#) != nil)
        #expect(Self.rows(#"{"stream":"\u5e01\u5b89\u4eba\u751fusdt@markPrice","data":{\#(price)}}"#) != nil)
    }

    @Test func everyVenueHasItsPaths() {
        let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        let binance = FuturesDialect(venue: .binance)
        #expect(binance.traits(of: name).map { binance.webSocketURL(endpoint: $0.endpoint, host: 0) } == "wss://fstream.binance.com/public/stream")
        #expect(
            binance.traits(of: .markPrices).map { binance.webSocketURL(endpoint: $0.endpoint, host: 0) } == "wss://fstream.binance.com/market/stream")
        #expect(
            Self.dialect.traits(of: name).map { Self.dialect.webSocketURL(endpoint: $0.endpoint, host: 0) } == "wss://fstream.asterdex.com/stream")
        #expect(
            Self.dialect.subscribe([.btc, .assetIndex], request: 4)
                == #"{"method":"SUBSCRIBE","params":["btcusdt@markPrice","!assetIndex@arr"],"id":4}"#)
    }

    @Test func restAndFramesShareOneVocabulary() throws {
        let rest = try Self.snapshot(
            .btc,
            #"{"symbol":"BTCUSDT","markPrice":"1.10","indexPrice":"1.20","estimatedSettlePrice":"1.30","lastFundingRate":"0.1","interestRate":"0.00010000","nextFundingTime":9,"time":8}"#
        ).get()
        guard case .markPrice(let rows) = rest.rows, let row = rows.first else { return }
        #expect(row.markPrice.text == "1.10" && row.interestRate?.text == "0.00010000" && row.time == 8)
        let bars = try Self.snapshot(
            .kline(symbol: "BTCUSDT", interval: .minute1),
            #"[[60000,"1","4","0.5","2","10",119999,"20",7,"5","6","0"],[120000,"2","4","0.5","2","10",179999,"20",7,"5","6","0"]]"#, now: 150_000
        ).get()
        guard case .kline(let klines) = bars.rows else { return }
        #expect(klines.map(\.isClosed) == [true, false])
        #expect(klines[0].high.text == "4" && klines[0].takerBuyQuoteVolume.text == "6")
    }

    @Test(
        arguments: [
            (400, #"{"code":-1121,"msg":"Invalid symbol."}"#, FeedError.Code.venueRejected), (429, "", .rateLimited), (418, "<html>", .rateLimited),
            (500, "<!DOCTYPE html><html>", .unreachable), (403, "<html>", .unreachable), (404, "not found", .venueRejected),
            (200, "<!DOCTYPE html>", .malformed), (200, "[]x", .malformed),
            (200, #"{"symbol":"ETHUSDT","markPrice":"1","nextFundingTime":1,"time":1}"#, .malformed),
        ])
    func restFailuresAreToldApart(_ status: Int, _ body: String, _ code: FeedError.Code) {
        guard case .failure(let error) = Self.snapshot(.btc, status: status, body) else {
            Issue.record("taken for content")
            return
        }
        #expect(error.code == code)
        #expect(!error.message.isEmpty)
    }

    @Test func symbolsArePercentEncodedInAddresses() {
        #expect(
            Self.dialect.snapshotRequest(of: .markPrice(symbol: "币USDT"), from: nil, host: 0, now: 0)?.url
                == "https://fapi.asterdex.com/fapi/v1/premiumIndex?symbol=%E5%B8%81USDT")
    }
}

extension FuturesServiceStreamName {
    static let btc = markPrice(symbol: "BTCUSDT")
}
