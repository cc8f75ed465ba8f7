import FeedCore
import Testing

@testable import FeedDialects

/// The venue's own REST paths: what each comes to, and how contents are written.
@Suite struct VenueRESTTests {
    static let venue = VenueREST(dialect: FuturesDialect(venue: .aster))
    static let minute: Int64 = 60_000

    static func answer(_ path: String, _ query: [(String, String)] = [], now: Int64? = 1_763_679_630_000) -> VenueAnswer? {
        venue.answer(path.split(separator: "/").map(String.init), query.map { (name: $0.0, value: $0.1) }, now: now) {
            ["BTCUSDT", "ETHUSDT"].contains($0)
        }?.answer
    }

    private static func reading(_ path: String, _ query: [(String, String)] = []) -> VenueReading? {
        if case .stream(let reading)? = answer(path, query) { reading } else { nil }
    }

    private static func relay(_ path: String, _ query: [(String, String)] = [], now: Int64? = 1_763_679_630_000) -> VenueRelay? {
        if case .relay(let relay)? = answer(path, query, now: now) { relay } else { nil }
    }

    private static func refusal(_ path: String, _ query: [(String, String)] = []) -> VenueRefusal? {
        if case .refused(let refusal)? = answer(path, query) { refusal } else { nil }
    }

    private static func text(_ path: String, _ query: [(String, String)], _ rows: FeedRows, eventTime: Int64? = nil) -> String? {
        guard let reading = reading(path, query) else { return nil }
        let rendering = venue.render(reading, content(reading.name, rows, eventTime), listing: nil, VenueTimes(now: 0, fetched: nil)) { _ in nil }
        if case .body(let body, _) = rendering { return String(decoding: body, as: UTF8.self) }
        return nil
    }

    private static func content(_ name: FuturesServiceStreamName, _ rows: FeedRows, _ eventTime: Int64? = nil) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .websocket, eventTime: eventTime,
            receivedAt: 0, rows: rows)
    }

    @Test(arguments: [
        ("/fapi/v1/klines", "btcusdt@kline_1m"), ("/fapi/v3/klines", "btcusdt@kline_1m"), ("/fapi/v1/depth", "btcusdt@depth@100ms"),
        ("/fapi/v1/aggTrades", "btcusdt@aggTrade"), ("/fapi/v1/ticker/24hr", "!ticker@arr"), ("/fapi/v2/ticker/price", "!ticker@arr"),
        ("/fapi/v1/ticker/bookTicker", "btcusdt@bookTicker"), ("/fapi/v1/premiumIndex", "!markPrice@arr@1s"),
    ])
    func aPathIsAnsweredFromItsStream(path: String, stream: String) {
        #expect(Self.reading(path, [("interval", "1m"), ("symbol", "btcusdt")])?.name.description == stream)
    }

    @Test func onePathIsAskedOfTheVenueInOneSpelling() {
        let relays = [
            Self.relay("/fapi/v1/fundingRate", [("symbol", "btcusdt"), ("limit", "5"), ("startTime", "7")]),
            Self.relay("/fapi/v3/fundingRate", [("startTime", "7"), ("limit", "5"), ("symbol", "BTCUSDT"), ("nonsense", "1")]),
        ]
        #expect(relays[0]?.target == "/fapi/v1/fundingRate?symbol=BTCUSDT&startTime=7&limit=5")
        #expect(relays[0] == relays[1])
        #expect(Self.relay("/fapi/v1/exchangeInfo")?.target != Self.relay("/fapi/v3/exchangeInfo")?.target, "the lists may differ")
    }

    @Test func anAnswerIsKeptForAsLongAsItIsTrue() {
        let hour: Int64 = 3_600_000
        let noon = 1_763_640_000_000 / hour * hour
        #expect(Self.relay("/fapi/v1/fundingInfo")?.keep.end(from: noon + 100_000) == noon + hour)
        #expect(Self.relay("/fapi/v1/fundingInfo")?.keep.end(from: noon + 10_000) == noon + 15_000, "the new rate may come late")
        let bars = Self.relay("/fapi/v1/markPriceKlines", [("symbol", "BTCUSDT"), ("interval", "1m")], now: noon + 20_000)
        #expect(bars?.keep.end(from: noon + 20_000) == noon + 30_000)
        #expect(bars?.keep.end(from: noon + 55_000) == noon + 60_000, "until the bar closes")
        let days = Self.relay("/fapi/v1/markPriceKlines", [("symbol", "BTCUSDT"), ("interval", "1d")], now: noon + 20_000)
        #expect(days?.keep.end(from: noon + 20_000) == noon + 30_000, "the open bar changes")
        for (ago, kept) in [(90_000, 10_000), (150_000, hour)] as [(Int64, Int64)] {
            let query = [("symbol", "BTCUSDT"), ("interval", "1m"), ("endTime", "\(noon - ago)")]
            let closed = Self.relay("/fapi/v1/markPriceKlines", query, now: noon)
            #expect(closed?.keep.end(from: noon) == noon + kept, "the venue's clock may be a minute ahead")
        }
        let past = [("symbol", "BTCUSDT"), ("interval", "1m"), ("endTime", "\(noon - hour)")]
        #expect(Self.relay("/fapi/v1/markPriceKlines", past, now: nil)?.keep == .bar(60_000), "the venue's clock is unknown")
        let period = Self.relay("/futures/data/openInterestHist", [("symbol", "BTCUSDT"), ("period", "5m")])
        #expect(period?.keep.end(from: noon + 90_000) == noon + 300_000)
    }

    /// The next client would receive the open bar of the previous one as its last row.
    @Test func anAnswerWithBarsIsNotKeptBeyondTheEndOfTheOpenOne() {
        let monday: Int64 = 1_763_942_400_000
        let keep = Self.reading("/fapi/v1/klines", [("symbol", "BTCUSDT"), ("interval", "1m")])?.instead.keep
        #expect(keep?.end(from: monday + 20_000) == monday + 21_000)
        #expect(keep?.end(from: monday + 59_600) == monday + 60_000)
        #expect(VenueKeep.bar(7 * 86_400_000).end(from: monday - 4_000) == monday, "weeks since 1970 begin on Thursday")
    }

    @Test func anAnswerThatIsEmptyOrLacksTheNewestRowIsNotKeptForLong() {
        let period: Int64 = 300_000
        let noon = 1_763_640_000_000 / period * period
        func end(_ body: String, _ keep: VenueKeep = .period(period)) -> Int64 { keep.end(of: Array(body.utf8), from: noon + 90_000) - noon }
        #expect(end(#"[{"symbol":"BTCUSDT","timestamp":\#(noon - period)}]"#) == 100_000, "the venue is late")
        #expect(end(#"[{"symbol":"BTCUSDT","timestamp":\#(noon)}]"#) == period)
        #expect(end(#"[{"longShortRatio":"1.2","timestamp":"\#(noon)"}]"#) == period)
        #expect(end(#"[{"symbol":"BTCUSDT","fundingIntervalHours":8}]"#) == period, "it has no time")
        #expect(end("[]", .milliseconds(3_600_000)) == 100_000)
        #expect(end("[[1]]", .milliseconds(3_600_000)) == 3_690_000)
    }

    @Test(arguments: [
        ([("interval", "1m")], -1102), ([("symbol", "NOPE"), ("interval", "1m")], -1121), ([("symbol", "BTCUSDT")], -1102),
        ([("symbol", "BTCUSDT"), ("interval", "7m")], -1120), ([("symbol", "BTCUSDT"), ("interval", "1m"), ("limit", "1501")], -1130),
        ([("symbol", "BTCUSDT"), ("interval", "1m"), ("startTime", "x")], -1100),
        ([("symbol", "BTCUSDT"), ("interval", "1m"), ("endTime", "99999999999999999999")], -1100),
    ])
    func aMistakeIsRefusedInTheVenuesWords(query: [(String, String)], code: Int) {
        let refusal = Self.refusal("/fapi/v1/klines", query)
        #expect(refusal?.status == 400)
        #expect(refusal?.code == code)
    }

    @Test(arguments: ["klines", "continuousKlines", "indexPriceKlines", "markPriceKlines", "premiumIndexKlines"])
    func barsThatShouldEndBeforeTheyBeginAreRefused(path: String) {
        func refusal(from start: String, to end: String) -> VenueRefusal? {
            Self.refusal(
                "/fapi/v1/\(path)",
                [
                    ("symbol", "BTCUSDT"), ("pair", "BTCUSDT"), ("contractType", "PERPETUAL"), ("interval", "1m"), ("startTime", start),
                    ("endTime", end),
                ])
        }
        #expect(refusal(from: "60001", to: "60000") == VenueRefusal(code: -1023, "Start time is greater than end time."))
        #expect(refusal(from: "60000", to: "60000") == nil)
    }

    @Test func listsOfAnotherVersionAreThatVersionsOwn() {
        for path in ["/fapi/v3/ticker/24hr", "/fapi/v2/ticker/price", "/fapi/v3/ticker/bookTicker", "/fapi/v3/premiumIndex", "/fapi/v3/exchangeInfo"]
        {
            guard case .relay(let relay)? = Self.answer(path) else {
                Issue.record("\(path) is answered from a list of version 1")
                continue
            }
            #expect(relay.target == path)
        }
        guard case .stream? = Self.answer("/fapi/v1/ticker/24hr"), case .stream? = Self.answer("/fapi/v3/ticker/24hr", [("symbol", "BTCUSDT")]) else {
            Issue.record("version 1, and one symbol of any version, come from streams")
            return
        }
    }

    @Test func whatASignedRequestHasBesidesIsIgnoredOnPublicPaths() {
        #expect(Self.refusal("/fapi/v1/time", [("recvWindow", "5000"), ("timestamp", "1"), ("signature", "secret")]) == nil)
    }

    @Test func whatNeedsAnAccountIsRefused() {
        for (path, query) in [
            ("/fapi/v1/historicalTrades", [("symbol", "BTCUSDT")]), ("/fapi/v1/order", [("symbol", "BTCUSDT"), ("signature", "secret")]),
            ("/fapi/v1/listenKey", [("listenKey", "secret")]),
        ] {
            let refusal = Self.refusal(path, query)
            #expect(refusal?.code == -2014 && refusal?.status == 401)
            #expect(refusal?.message.contains("secret") == false)
        }
        #expect(Self.refusal("/fapi/v1/order")?.code == -2014 && Self.refusal("/fapi/v3/positionSide/dual")?.code == -2014)
        #expect(Self.answer("/fapi/v1/nonsense") == nil)
        let names = ["1", "2"].map { Self.venue.answer(["fapi", "v1", "order", $0], [], now: 0) { _ in true }?.name }
        #expect(names[0] == names[1], "clients make up no names of metrics")
    }

    @Test func historyIsRefusedInItsOwnWords() {
        let refusal = Self.refusal("/futures/data/basis", [("pair", "BTCUSDT"), ("contractType", "PERPETUAL"), ("period", "1m")])
        #expect(refusal.map { String(decoding: $0.body, as: UTF8.self) } == #"{"msg":"parameter 'period' is invalid.","code":-1130}"#)
    }

    @Test func theSpotMarketsListIsEmptyUnderAnyBase() {
        for path in ["/api/v3/exchangeInfo", "/dapi/v1/exchangeInfo", "/sapi/v1/api/v3/exchangeInfo"] {
            guard case .clock(let body)? = Self.answer(path) else {
                Issue.record("\(path) is not answered")
                continue
            }
            #expect(body(5) == #"{"timezone":"UTC","serverTime":5,"rateLimits":[],"exchangeFilters":[],"symbols":[]}"#)
        }
    }

    @Test func aMarkPriceIsWrittenAsTheVenueDoes() {
        let row = MarkPrice(
            symbol: "BTCUSDT", markPrice: "11793.63104562", indexPrice: "11781.80495970", estimatedSettlePrice: "11781.16138815",
            lastFundingRate: "0.00038246", nextFundingTime: 1_597_392_000_000, interestRate: "0.00010000", time: 1_597_370_495_002)
        let json =
            #"{"symbol":"BTCUSDT","markPrice":"11793.63104562","indexPrice":"11781.80495970","estimatedSettlePrice":"11781.16138815","#
            + #""lastFundingRate":"0.00038246","interestRate":"0.00010000","nextFundingTime":1597392000000,"time":1597370495002}"#
        #expect(Self.text("/fapi/v1/premiumIndex", [("symbol", "BTCUSDT")], .markPrice([row])) == json)
        #expect(Self.text("/fapi/v1/premiumIndex", [], .markPrice([row])) == "[\(json)]")
        var partial = row
        partial.interestRate = nil
        #expect(Self.text("/fapi/v1/premiumIndex", [], .markPrice([row, partial])) == nil, "only REST tells the interest rate")
    }

    @Test func aBookIsWrittenToTheDepthAskedFor() {
        let book = DepthLevels(
            symbol: "BTCUSDT",
            bids: [PriceLevel(price: "4.00000000", quantity: "431.0"), PriceLevel(price: "3.9", quantity: "1")],
            asks: [PriceLevel(price: "4.00000200", quantity: "12.0")], lastUpdateID: 1_027_024, time: 1_589_436_922_959)
        #expect(
            Self.text("/fapi/v1/depth", [("symbol", "BTCUSDT"), ("limit", "5")], .depth([book]), eventTime: 1_589_436_922_972)
                == #"{"lastUpdateId":1027024,"E":1589436922972,"T":1589436922959,"bids":[["4.00000000","431.0"],["3.9","1"]],"asks":[["4.00000200","12.0"]]}"#
        )
    }

    @Test(arguments: [
        "", "<html>Bad gateway</html>", "[[1,2", "[] []", "{}", " { }", "null", "7", #"{"code":-1003,"msg":"Too many requests."}"#,
        #"{"code":-1003,"msg":"\#(String(repeating: "Too many requests. ", count: 100))"}"#,
    ])
    func aBodyThatIsNoAnswerIsNotPassedOnAsOne(_ body: String) {
        func failure(_ status: Int, _ body: String, _ path: String = "klines") -> FeedError? {
            let relay = VenueRelay(upstream: 0, target: "/fapi/v1/\(path)", weight: 1, keep: .milliseconds(1))
            return Self.venue.failure(RESTAnswer(status: status, retryAfter: nil, body: Array(body.utf8)), to: relay)
        }
        #expect(failure(200, body) != nil)
        #expect(failure(200, "{}", "ping") == nil)
        #expect(failure(200, "[]") == nil && failure(200, #"{"code":200,"msg":"success"}"#) == nil)
        #expect(failure(400, #"{"code":-1121,"msg":"Invalid symbol."}"#) == nil, "a refusal is an answer")
    }

    @Test func aBookThatHasFewerLevelsThanTheVenueIsNotGivenOut() {
        let levels = (0..<899).map { PriceLevel(price: DecimalString(checked: "\(10_000 - $0)"), quantity: "1") }
        let asks = (0..<899).map { PriceLevel(price: DecimalString(checked: "\(20_000 + $0)"), quantity: "1") }
        let book = DepthLevels(symbol: "BTCUSDT", bids: levels, asks: asks, lastUpdateID: 1, time: 1)
        #expect(Self.text("/fapi/v1/depth", [("symbol", "BTCUSDT"), ("limit", "1000")], .depth([book])) == nil)
        #expect(Self.text("/fapi/v1/depth", [("symbol", "BTCUSDT"), ("limit", "500")], .depth([book])) != nil)
    }

    @Test func tradesAreGivenOutAsFarBackAsTheyAreKept() {
        let rows = FeedRows.aggregateTrade(
            (100...199).map {
                AggregateTrade(
                    id: $0, price: "1.0", quantity: "2", firstTradeID: $0, lastTradeID: $0, time: Int64($0) * 1000, isBuyerMaker: false)
            })
        func ids(_ query: [(String, String)]) -> [Substring]? {
            Self.text("/fapi/v1/aggTrades", [("symbol", "BTCUSDT")] + query, rows)?.split(separator: "\"a\":").dropFirst().map { $0.prefix(3) }
        }
        #expect(ids([("limit", "2")]) == ["198", "199"])
        #expect(ids([("limit", "100")])?.count == 100)
        #expect(ids([("limit", "101")]) == nil)
        #expect(ids([("fromId", "100"), ("limit", "2")]) == ["100", "101"])
        #expect(ids([("fromId", "99"), ("limit", "2")]) == nil)
        #expect(ids([("startTime", "150000"), ("limit", "2")]) == ["150", "151"])
        #expect(ids([("startTime", "100000"), ("limit", "2")]) == nil, "another trade of that millisecond may be lost")
        #expect(ids([("endTime", "150000"), ("limit", "2")]) == ["149", "150"])
        #expect(ids([("endTime", "100000"), ("limit", "2")]) == nil)
    }

    @Test func onlyTradesOfATimeThatIsOverAreKept() {
        func keep(_ query: [(String, String)]) -> VenueKeep? { Self.reading("/fapi/v1/aggTrades", [("symbol", "BTCUSDT")] + query)?.instead.keep }
        #expect(keep([("startTime", "1763679000000"), ("endTime", "1763679500000")]) == .milliseconds(3_600_000))
        #expect(keep([("startTime", "1763679000000")]) == .milliseconds(1_000))
        #expect(keep([("fromId", "7"), ("endTime", "1763679500000")]) == .milliseconds(1_000), "it goes on to the newest")
    }
}
