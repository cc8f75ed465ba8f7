import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// Real frames of every kind against values read off their bytes by hand: `Fixtures/venue`.
@Suite struct VenueFrameTests {
    @Test func anAggregateTradeKeepsItsDigitsAndItsIds() throws {
        let traded = try ReadFrame("crypto-msg-parser/frames.jsonl", "btcusdt_210625@aggTrade")
        #expect(traded.eventTime == 1_616_201_036_113)
        #expect(
            traded.rows
                == .aggregateTrade([
                    AggregateTrade(
                        id: 21021, price: "62595.8", quantity: "0.094", firstTradeID: 21824, lastTradeID: 21824, time: 1_616_201_035_958,
                        isBuyerMaker: false)
                ]))
        #expect(
            try ReadFrame("polyoxide/stream_btcusdt_aggTrade.json").rows
                == .aggregateTrade([
                    AggregateTrade(
                        id: 3_477_868_433, price: "83091.70", quantity: "0.022", normalQuantity: "0.022", firstTradeID: 8_153_634_393,
                        lastTradeID: 8_153_634_394, time: 1_791_382_992_338, isBuyerMaker: false)
                ]))
        #expect(
            try ReadFrame("cryptofeed/frames-2026-08-08.jsonl", "btcusdt@aggTrade").rows
                == .aggregateTrade([
                    AggregateTrade(
                        id: 3_404_749_954, price: "64990.90", quantity: "0.002", normalQuantity: "0.002", firstTradeID: 7_960_913_511,
                        lastTradeID: 7_960_913_511, time: 1_786_171_884_471, isBuyerMaker: true)
                ]))
    }

    @Test func theQuantityOfATradeIsNotTheOneWithoutImprovementOrders() throws {
        guard case .aggregateTrade(let rows) = try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusdt@aggTrade").rows else {
            Issue.record("no aggregate trade")
            return
        }
        #expect(rows.map(\.quantity.text) == ["4.577"])
    }

    @Test func aTradeTellsItsKindAndWhoWasTheMaker() throws {
        #expect(
            try ReadFrame("hftbacktest/frames.jsonl", "btcusdt@trade").rows
                == .trade([
                    Trade(id: 2_691_833_663, price: "24670.90", quantity: "0.022", type: "MARKET", time: 1_660_228_023_973, isBuyerMaker: true)
                ]))
        #expect(
            try ReadFrame("hftbacktest/frames.jsonl", "btcusdt@trade", 1).rows
                == .trade([
                    Trade(id: 2_691_833_664, price: "24671.00", quantity: "0.001", type: "MARKET", time: 1_660_228_023_983, isBuyerMaker: false)
                ]))
    }

    @Test func aBookTickerCarriesItsUpdateAndItsTransactionTime() throws {
        let balancer = try ReadFrame("crypto-msg-parser/frames.jsonl", "!bookTicker")
        #expect(balancer.eventTime == 1_653_812_037_552)
        #expect(
            balancer.rows
                == .bookTicker([
                    BookTicker(
                        symbol: "BALUSDT", bidPrice: "6.718", bidQuantity: "16.2", askPrice: "6.719", askQuantity: "3.7",
                        updateID: 1_553_205_153_844, time: 1_653_812_037_547)
                ]))
        #expect(
            try ReadFrame("polyoxide/stream_btcusdt_bookTicker.json").rows
                == .bookTicker([
                    BookTicker(
                        symbol: "BTCUSDT", bidPrice: "83091.60", bidQuantity: "4.215", askPrice: "83091.70", askQuantity: "3.763",
                        updateID: 11_757_092_630_476, time: 1_791_382_994_657)
                ]))
        #expect(
            try ReadFrame("hftbacktest/frames.jsonl", "solusdt@bookTicker").rows
                == .bookTicker([
                    BookTicker(
                        symbol: "SOLUSDT", bidPrice: "142.4440", bidQuantity: "50", askPrice: "142.4450", askQuantity: "3",
                        updateID: 4_456_408_609_867, time: 1_713_571_200_009)
                ]))
    }

    @Test func aBookUpdateIsTakenAsItStandsWithItsThreeNumbers() throws {
        let ether = try ReadFrame("crypto-msg-parser/frames.jsonl", "ethusdt_210625@depth@100ms")
        #expect(ether.eventTime == 1_622_368_962_075)
        #expect(
            ether.rows
                == .depth([
                    DepthLevels(
                        symbol: "ETHUSDT_210625", bids: [["2437.04", "82.320"], ["2437.07", "0.000"]],
                        asks: [["2441.23", "1.500"], ["2441.24", "0.220"]], firstUpdateID: 475_700_780_918, lastUpdateID: 475_700_783_070,
                        previousUpdateID: 475_700_774_972, time: 1_622_368_962_065)
                ]))
    }

    @Test func aLevelIsTakenAwayByAZeroWithAndWithoutAPoint() throws {
        for (file, stream, place, side) in [
            ("crypto-msg-parser/frames.jsonl", "ethusdt_210625@depth@100ms", 0, \DepthLevels.bids),
            ("gocryptotrader/wsUFuturesPublic.json", "btcusdt@depth@100ms", 0, \.bids),
            ("gocryptotrader/wsUFuturesPublic.json", "btcusdt@depth@100ms", 1, \.asks),
        ] {
            guard case .depth(let rows) = try ReadFrame(file, stream, place).rows, let levels = rows.first else {
                Issue.record("no book update")
                continue
            }
            #expect(levels[keyPath: side].count { $0.quantity.isZero } == 1, "\(stream)")
        }
    }

    @Test func aBookUpdateOfOneSideLeavesTheOtherEmpty() throws {
        let line = try #require(try VenueFixtures.lines(VenueFixtures.session).dropFirst(3).first)
        #expect(
            try ReadFrame(frame: line.drop { $0 != "{" }).rows
                == .depth([
                    DepthLevels(
                        symbol: "AKROUSDT", bids: [], asks: [["0.01737", "437848"]], firstUpdateID: 600_859_599_831,
                        lastUpdateID: 600_859_599_831, previousUpdateID: 600_859_598_737, time: 1_626_992_740_974)
                ]))
    }

    @Test func aPartialBookIsWholeAndFollowsNothing() throws {
        #expect(
            try ReadFrame("polyoxide/stream_btcusdt_depth20_100ms.json").rows
                == .depth([
                    DepthLevels(
                        symbol: "BTCUSDT", bids: [["83091.60", "4.215"], ["83091.50", "0.200"], ["83091.40", "0.002"]],
                        asks: [["83091.70", "3.768"], ["83091.80", "0.002"], ["83092.00", "0.002"]], lastUpdateID: 11_757_092_625_654,
                        time: 1_791_382_994_613)
                ]))
        #expect(
            try ReadFrame("crypto-msg-parser/frames.jsonl", "ethusdt@depth20").rows
                == .depth([
                    DepthLevels(
                        symbol: "ETHUSDT", bids: [["2886.71", "0.454"], ["2886.70", "2.755"], ["2886.67", "1.000"]],
                        asks: [["2886.72", "77.215"], ["2886.73", "1.734"], ["2886.74", "0.181"]], lastUpdateID: 1_437_010_882_721,
                        time: 1_651_122_265_854)
                ]))
    }

    @Test func aBookWithImprovementOrdersHasTheSameShape() throws {
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesPublic.json", "btcusdt@rpiDepth@500ms").rows
                == .depth([
                    DepthLevels(
                        symbol: "BTCUSDT", bids: [["84441.60", "0.019"], ["84444.90", "0.010"]],
                        asks: [["86160.10", "0.320"], ["86160.20", "0.004"]], firstUpdateID: 11_747_185_666_708,
                        lastUpdateID: 11_747_185_738_417, previousUpdateID: 11_747_185_666_537, time: 1_791_285_277_441)
                ]))
    }

    @Test func aMarkPriceIsNotItsMovingAverageNorItsIndex() throws {
        let minted = try ReadFrame("polyoxide/stream_btcusdt_markPrice_1s.json")
        #expect(minted.eventTime == 1_791_382_993_000)
        #expect(
            minted.rows
                == .markPrice([
                    MarkPrice(
                        symbol: "BTCUSDT", markPrice: "83084.30000000", indexPrice: "83123.65891304", estimatedSettlePrice: "83195.15881449",
                        lastFundingRate: "0.00000078", nextFundingTime: 1_791_388_800_000, time: 1_791_382_993_000)
                ]))
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusdt@markPrice@1s").rows
                == .markPrice([
                    MarkPrice(
                        symbol: "BTCUSDT", markPrice: "86026.40000000", indexPrice: "86059.26913043", estimatedSettlePrice: "86090.55903865",
                        lastFundingRate: "-0.00003629", nextFundingTime: 1_791_302_400_000, time: 1_791_283_239_000)
                ]))
    }

    @Test func theMarkPricesOfAllSymbolsAreARowEach() throws {
        #expect(
            try ReadFrame("crypto-msg-parser/frames.jsonl", "!markPrice@arr").rows
                == .markPrice([
                    MarkPrice(
                        symbol: "BTCUSDT", markPrice: "59022.53514719", indexPrice: "58936.68384000", estimatedSettlePrice: "58902.34482833",
                        lastFundingRate: "0.00058959", nextFundingTime: 1_617_321_600_000, time: 1_617_309_024_002),
                    MarkPrice(
                        symbol: "ETHUSDT", markPrice: "1981.15704420", indexPrice: "1978.08197502", estimatedSettlePrice: "1974.79557094",
                        lastFundingRate: "0.00059142", nextFundingTime: 1_617_321_600_000, time: 1_617_309_024_002),
                ]))
    }

    @Test func anOpenBarIsOpenAndAClosedOneClosed() throws {
        #expect(
            try ReadFrame("polyoxide/stream_btcusdt_kline_1m.json").rows
                == .kline([
                    Kline(
                        openTime: 1_791_382_980_000, closeTime: 1_791_383_039_999, open: "83084.90", high: "83091.70", low: "83051.20",
                        close: "83091.60", volume: "13.551", quoteVolume: "1125714.73960", tradeCount: 1027, takerBuyVolume: "6.426",
                        takerBuyQuoteVolume: "533856.66860", isClosed: false)
                ]))
        let closed = try ReadFrame("cryptofeed/frames-2026-08-08.jsonl", "btcusdt@kline_1m")
        #expect(closed.eventTime == 1_786_173_360_960)
        #expect(
            closed.rows
                == .kline([
                    Kline(
                        openTime: 1_786_173_300_000, closeTime: 1_786_173_359_999, open: "64970.80", high: "64970.90", low: "64969.40",
                        close: "64969.40", volume: "9.090", quoteVolume: "590577.96880", tradeCount: 194, takerBuyVolume: "3.460",
                        takerBuyQuoteVolume: "224795.09440", isClosed: true)
                ]))
    }

    @Test func aBarOfAMonthIsNotOneOfAMinute() throws {
        let month = try ReadFrame("crypto-msg-parser/frames.jsonl", "btcusdt@kline_1M")
        #expect(month.name.interval == .month1)
        guard case .kline(let bars) = month.rows else { return }
        #expect(bars.map(\.closeTime) == [1_654_041_599_999])
        #expect(bars.map(\.quoteVolume.text) == ["423075730671.12853"])
        #expect(bars.map(\.tradeCount) == [129_025_447])
    }

    @Test func aContinuousBarIsOfAPairAndAContract() throws {
        #expect(
            try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusdt_perpetual@continuousKline_1m").rows
                == .kline([
                    Kline(
                        openTime: 1_791_283_200_000, closeTime: 1_791_283_259_999, open: "85999.90", high: "86026.50", low: "85999.80",
                        close: "86026.50", volume: "10.516", quoteVolume: "904406.80290", tradeCount: 447, takerBuyVolume: "7.507",
                        takerBuyQuoteVolume: "645620.87820", isClosed: true)
                ]))
    }

    @Test func aMiniTickerComesAloneAndInAList() throws {
        let bitcoin = MiniTicker(
            symbol: "BTCUSDT", openPrice: "86016.50", highPrice: "86683.90", lowPrice: "84910.00", lastPrice: "86026.40", volume: "119489.809",
            quoteVolume: "10238568766.13", time: 1_791_283_239_234)
        #expect(try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "btcusdt@miniTicker").rows == .miniTicker([bitcoin]))
        guard case .miniTicker(let rows) = try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!miniTicker@arr").rows else {
            Issue.record("no mini tickers")
            return
        }
        #expect(rows.first == bitcoin)
        #expect(rows.map(\.symbol) == ["BTCUSDT", "ETHUSDT", "BTCUSD_PERP", "NOTLISTEDUSDT"])
    }

    @Test func aTickerKeepsItsWindowAndItsTrades() throws {
        let ticked = try ReadFrame("polyoxide/stream_btcusdt_ticker.json")
        #expect(ticked.eventTime == 1_791_382_993_519)
        #expect(
            ticked.rows
                == .ticker([
                    Ticker(
                        mini: MiniTicker(
                            symbol: "BTCUSDT", openPrice: "86150.00", highPrice: "86664.90", lowPrice: "82706.20", lastPrice: "83091.60",
                            volume: "170340.583", quoteVolume: "14374214019.71", time: 1_791_382_993_519),
                        priceChange: "-3058.40", priceChangePercent: "-3.550", weightedAveragePrice: "84385.14", lastQuantity: "0.002",
                        openTime: 1_791_296_580_000, closeTime: 1_791_382_993_519, firstTradeID: 8_150_083_791, lastTradeID: 8_153_634_403,
                        tradeCount: 3_538_937)
                ]))
        #expect(
            try ReadFrame("crypto-msg-parser/frames.jsonl", "btcusdt_220624@ticker").rows
                == .ticker([
                    Ticker(
                        mini: MiniTicker(
                            symbol: "BTCUSDT_220624", openPrice: "28926.0", highPrice: "29335.0", lowPrice: "28834.4", lastPrice: "29122.5",
                            volume: "1047.859", quoteVolume: "30433679.16", time: 1_653_814_783_325),
                        priceChange: "196.5", priceChangePercent: "0.679", weightedAveragePrice: "29043.7", lastQuantity: "0.004",
                        openTime: 1_653_728_340_000, closeTime: 1_653_814_783_320, firstTradeID: 2_872_692, lastTradeID: 2_893_528,
                        tradeCount: 20837)
                ]))
    }

    @Test func aListOfTickersHasARowForEachChangedSymbolAndMayHaveNone() throws {
        let list = try ReadFrame("polyoxide/stream_all_ticker_arr.json")
        guard case .ticker(let rows) = list.rows else {
            Issue.record("no tickers")
            return
        }
        #expect(rows.map(\.mini.symbol) == ["XPTUSDT", "BTCUSD_PERP"])
        #expect(rows.map(\.weightedAveragePrice.text) == ["1664.1148", "84473.21726735"])
        #expect(rows.map(\.mini.time) == [1_791_382_992_307, 1_791_382_992_429] && list.eventTime == 1_791_382_992_429)
        #expect(try ReadFrame("gocryptotrader/wsUFuturesMarket.json", "!ticker@arr", 1).rows == .ticker([]))
    }

    @Test func oneSubscriptionTooManyIsARefusalThatDoesNotSayOfWhat() throws {
        let answer = try #require(try VenueFixtures.lines("polyoxide/answers.txt").first?.drop { $0 != "{" })
        guard case .rejected(nil, let error)? = ReadFrame.events(String(answer)).first else {
            Issue.record("no refusal: \(answer)")
            return
        }
        #expect(error.code == .subscriptionRejected && error.venueCode == 4)
    }

    @Test func everyFrameIsReadAsTheStreamItNamesAndEveryKindOfStreamHasOne() throws {
        var (channels, count): (Set<FuturesServiceStreamName.Channel>, Int) = ([], 0)
        for file in try VenueFixtures.files(ReadFrame.holdsFrames) {
            for frame in try ReadFrame.frames(file) {
                channels.insert(try ReadFrame(frame: frame).name.channel)
                count += 1
            }
        }
        #expect(count == 56)
        let withoutFrames: [FuturesServiceStreamName.Channel] = [
            .markets, .upstream, .bar, .earlyKline, .openInterest, .fundingRate, .funding, .longShortRatio,
        ]
        #expect(channels == Set(FuturesServiceStreamName.Channel.allCases).subtracting(withoutFrames))
    }

    @Test func everyFrameOfTheSessionIsReadFrame() throws {
        var counts: [String: Int] = [:]
        for line in try VenueFixtures.lines(VenueFixtures.session).dropFirst() {
            counts[try ReadFrame(frame: line.drop { $0 != "{" }).name.channel.rawValue, default: 0] += 1
        }
        #expect(counts == ["bookTicker": 613, "aggTrade": 91, "kline": 67, "depth": 764])
    }

    @Test func aFrameCutShortAnywhereIsMalformed() throws {
        for file in try VenueFixtures.files(ReadFrame.holdsFrames) {
            for frame in try ReadFrame.frames(file) {
                let bytes = Array(String(frame).utf8)
                let end = try #require(bytes.lastIndex(of: UInt8(ascii: "}")))
                for length in 0..<end {
                    guard case .malformed? = ReadFrame.events(bytes[..<length]).first else {
                        Issue.record("taken though only \(length) bytes of it came: \(frame)")
                        break
                    }
                }
            }
        }
    }
}

/// What the dialect makes of one frame of the fixtures.
struct ReadFrame {
    struct Unread: Error { let events: [UpstreamEvent] }

    let name: FuturesServiceStreamName
    let rows: FeedRows
    let eventTime: Int64?

    /// The frame of a stream, that at `place` where it has several; without a stream the file's only one.
    init(_ file: String, _ stream: String? = nil, _ place: Int = 0) throws {
        let frames = try Self.frames(file).filter { frame in stream.map { frame.hasPrefix(#"{"stream":"\#($0)","#) } ?? true }
        try self.init(frame: try #require(frames.dropFirst(place).first, "\(file) has no \(stream ?? "frame") \(place)"))
    }

    init(frame: Substring) throws {
        let events = Self.events(String(frame))
        guard events.count == 1, case .rows(let name, let rows, let eventTime)? = events.first else { throw Unread(events: events) }
        (self.name, self.rows, self.eventTime) = (name, rows, eventTime)
        #expect(frame.contains(#""\#(name)""#), "another stream's: \(frame)")
    }

    static func events(_ frame: String) -> [UpstreamEvent] { events(Array(frame.utf8)[...]) }

    static func events(_ frame: ArraySlice<UInt8>) -> [UpstreamEvent] {
        var events: [UpstreamEvent] = []
        frame.withUnsafeBufferPointer { bytes in FuturesDialect(venue: .binance).decode(bytes, names: StreamNames()) { events.append($0) } }
        return events
    }

    static func holdsFrames(_ file: String) -> Bool { file.hasSuffix(".jsonl") || file.contains("/ws") || file.contains("/stream_") }

    /// The frames of a file: one a line, or one over all its lines.
    static func frames(_ file: String) throws -> [Substring] {
        file.contains("/stream_") ? [try VenueFixtures.text(file)[...]] : try VenueFixtures.lines(file).map { $0[...] }
    }
}

extension DecimalString: ExpressibleByStringLiteral {
    /// A golden value; one that is no decimal number stops the test.
    init(stringLiteral text: String) { self.init(checked: text) }
}

extension PriceLevel: ExpressibleByArrayLiteral {
    /// A price and a quantity.
    init(arrayLiteral elements: DecimalString...) { self.init(price: elements[0], quantity: elements[1]) }
}
