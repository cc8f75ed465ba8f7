import FeedCore
import GatewayTestSupport
import Testing

@testable import FeedDialects

/// Real REST replies of every kind against values read off their bytes by hand: `Fixtures/venue`.
@Suite struct VenueReplyTests {
    private static let dialect = FuturesDialect(venue: .binance)

    private func fetch(
        _ name: FuturesServiceStreamName, _ reply: some StringProtocol, status: Int = 200, now: Int64 = 0
    ) -> Result<FetchedContent, FeedError> {
        Array(reply.utf8).withUnsafeBufferPointer {
            Self.dialect.decodeSnapshot(of: name, RESTAnswer(status: status, retryAfter: nil, body: Array($0)), now: now)
        }
    }

    private func fetch(_ name: FuturesServiceStreamName, file: String, now: Int64 = 0) throws -> FetchedContent {
        try fetch(name, try VenueFixtures.text(file), now: now).get()
    }

    /// The reply to a request, which is a line of the file.
    private func fetch(_ name: FuturesServiceStreamName, _ request: String, in file: String, now: Int64 = 0) throws -> FetchedContent {
        let start = "/fapi/v1/\(request) -> "
        let line = try #require(try VenueFixtures.lines(file).first { $0.hasPrefix(start) }, "\(file) has no reply to \(request)")
        return try fetch(name, line.dropFirst(start.count), now: now).get()
    }

    private let goc = "gocryptotrader/replies.txt"

    @Test func aBooksSnapshotIsBestFirstAndCarriesItsNumber() throws {
        let content = try fetch(.depth(symbol: "BTCUSDT"), file: "polyoxide/depth.json")
        #expect(content.eventTime == 1_791_382_991_286)
        #expect(
            content.rows
                == .depth([
                    DepthLevels(
                        symbol: "BTCUSDT",
                        bids: [
                            ["83084.30", "2.986"], ["83084.20", "0.002"], ["83084.10", "0.001"], ["83083.90", "0.001"], ["83083.80", "0.002"],
                        ],
                        asks: [
                            ["83084.40", "4.632"], ["83084.50", "0.064"], ["83084.60", "0.003"], ["83084.70", "0.025"], ["83085.00", "0.001"],
                        ],
                        lastUpdateID: 11_757_092_217_378, time: 1_791_382_991_283)
                ]))
    }

    @Test func aBooksSnapshotIsReadInAnyOrderOfItsMembers() throws {
        guard case .depth(let old) = try fetch(.depth(symbol: "BTCUSDT"), "depth?limit=5&symbol=BTCUSDT", in: goc).rows,
            case .depth(let quarterly) = try fetch(
                .depth(symbol: "BTCUSDT_220624"), "depth?symbol=BTCUSDT_220624&limit=1000", in: "crypto-msg-parser/replies.txt"
            ).rows
        else {
            Issue.record("no book")
            return
        }
        #expect(old.map(\.lastUpdateID) == [78_378_956_573] && old.map(\.time) == [1_602_818_750_767])
        #expect(old.first?.bids.first == ["11492.09", "0.004"] && old.first?.asks.last == ["11492.82", "0.153"])
        #expect(quarterly.map(\.lastUpdateID) == [1_570_223_094_073] && quarterly.map(\.symbol) == ["BTCUSDT_220624"])
        #expect(quarterly.first?.bids.first == ["30564.6", "0.024"] && quarterly.first?.asks.first == ["30569.5", "0.141"])
    }

    @Test func aMarkPriceOverRESTHasTheInterestRateToo() throws {
        let content = try fetch(.markPrice(symbol: "BTCUSDT"), "premiumIndex?symbol=BTCUSDT", in: goc)
        #expect(content.eventTime == 1_687_244_112_000)
        #expect(
            content.rows
                == .markPrice([
                    MarkPrice(
                        symbol: "BTCUSDT", markPrice: "26780.82240476", indexPrice: "26798.25197802", estimatedSettlePrice: "26808.13173098",
                        lastFundingRate: "0.00001226", nextFundingTime: 1_687_248_000_000, interestRate: "0.00010000", time: 1_687_244_112_000)
                ]))
    }

    @Test func theMarkPricesOfAllSymbolsKeepTheirOwnTimesAndScripts() throws {
        let content = try fetch(.markPrices, file: "polyoxide/premium_index.json")
        guard case .markPrice(let rows) = content.rows else {
            Issue.record("no mark prices")
            return
        }
        #expect(rows.map(\.symbol) == ["BTCUSDT", "XAUUSDT", "币安人生USDT"])
        #expect(rows.map(\.time) == [1_791_382_985_000, 1_791_382_984_684, 1_791_382_985_000] && content.eventTime == 1_791_382_985_000)
        #expect(rows.map(\.markPrice.text) == ["83067.30000000", "4102.86000000", "0.47620000"])
        #expect(rows.map(\.interestRate?.text) == ["0.00010000", "0.00000000", "0.00010000"])
    }

    @Test func aMarkPriceOfYearsAgoLacksTheEstimatedSettlePrice() throws {
        guard case .markPrice(let rows) = try fetch(.markPrices, "premiumIndex", in: goc).rows else {
            Issue.record("no mark prices")
            return
        }
        #expect(rows.count == 5 && rows.allSatisfy { $0.estimatedSettlePrice == nil })
        #expect(
            rows.first
                == MarkPrice(
                    symbol: "EOSUSDT", markPrice: "2.59828765", indexPrice: "2.59732255", lastFundingRate: "0.00010000",
                    nextFundingTime: 1_602_835_200_000, interestRate: "0.00010000", time: 1_602_819_970_000))
    }

    @Test func aBarIsReadByItsPlacesAndTheLastIsOpenUntilItsEnd() throws {
        let name = FuturesServiceStreamName.kline(symbol: "BTCUSDT", interval: .minute1)
        let content = try fetch(name, file: "polyoxide/klines.json", now: 1_791_382_990_000)
        #expect(
            content.rows
                == .kline([
                    Kline(
                        openTime: 1_791_382_920_000, closeTime: 1_791_382_979_999, open: "83137.90", high: "83155.70", low: "83082.90",
                        close: "83084.90", volume: "102.437", quoteVolume: "8514292.61220", tradeCount: 4409, takerBuyVolume: "49.832",
                        takerBuyQuoteVolume: "4141805.93340", isClosed: true),
                    Kline(
                        openTime: 1_791_382_980_000, closeTime: 1_791_383_039_999, open: "83084.90", high: "83086.20", low: "83051.20",
                        close: "83078.00", volume: "10.541", quoteVolume: "875630.54300", tradeCount: 801, takerBuyVolume: "4.063",
                        takerBuyQuoteVolume: "337524.14620", isClosed: false),
                ]))
        let days = try fetch(.kline(symbol: "BTCUSDT", interval: .day1), "klines?interval=1d&limit=5&symbol=BTCUSDT", in: goc, now: .max)
        guard case .kline(let bars) = days.rows else { return }
        #expect(bars.map(\.tradeCount) == [694_620, 768_321, 725_825, 459_443, 49_986])
        #expect(bars.map(\.isClosed) == [true, true, true, true, true])
    }

    @Test func aggregateTradesComeOldestFirst() throws {
        guard case .aggregateTrade(let rows) = try fetch(.aggregateTrade(symbol: "BTCUSDT"), file: "polyoxide/agg_trades.json").rows else {
            Issue.record("no aggregate trades")
            return
        }
        #expect(rows.map(\.id) == [3_477_868_380, 3_477_868_381, 3_477_868_382])
        #expect(
            rows.last
                == AggregateTrade(
                    id: 3_477_868_382, price: "83084.30", quantity: "0.015", normalQuantity: "0.015", firstTradeID: 8_153_634_284,
                    lastTradeID: 8_153_634_285, time: 1_791_382_990_860, isBuyerMaker: true))
        let old = try fetch(.aggregateTrade(symbol: "BTCUSDT"), "aggTrades?limit=5&symbol=BTCUSDT", in: goc)
        #expect(old.rows.ids == 154_676_475...154_676_479 && old.eventTime == 1_602_989_583_660)
    }

    @Test func tradesOverRESTDoNotTellTheirKind() throws {
        let content = try fetch(.trade(symbol: "BTCUSDT"), "trades?limit=5&symbol=BTCUSDT", in: goc)
        guard case .trade(let rows) = content.rows else {
            Issue.record("no trades")
            return
        }
        #expect(rows.map(\.id) == [229_020_336, 229_020_337, 229_020_338, 229_020_339, 229_020_340])
        #expect(
            rows.last
                == Trade(id: 229_020_340, price: "11494.05", quantity: "0.080", type: nil, time: 1_602_819_642_335, isBuyerMaker: true))
    }

    @Test func aTickerIsReadWholeAndAsAMiniTicker() throws {
        let mini = MiniTicker(
            symbol: "BTCUSDT", openPrice: "47184.22", highPrice: "47688.88", lowPrice: "46280.00", lastPrice: "47028.59", volume: "471823.103",
            quoteVolume: "22175129357.20", time: 1_630_042_423_017)
        let request = "ticker/24hr?symbol=BTCUSDT"
        #expect(try fetch(.miniTicker(symbol: "BTCUSDT"), request, in: goc).rows == .miniTicker([mini]))
        #expect(
            try fetch(.ticker(symbol: "BTCUSDT"), request, in: goc).rows
                == .ticker([
                    Ticker(
                        mini: mini, priceChange: "-155.63", priceChangePercent: "-0.330", weightedAveragePrice: "46998.82", lastQuantity: "0.023",
                        openTime: 1_629_955_980_000, closeTime: 1_630_042_423_017, firstTradeID: 1_373_117_969, lastTradeID: 1_377_202_095,
                        tradeCount: 4_084_092)
                ]))
    }

    @Test func theTickersOfAllSymbolsAreAsOldAsTheirLastTrades() throws {
        let content = try fetch(.tickers, file: "polyoxide/ticker_24hr.json")
        guard case .ticker(let rows) = content.rows else {
            Issue.record("no tickers")
            return
        }
        #expect(rows.map(\.mini.symbol) == ["XAUUSDT", "币安人生USDT", "BTCUSDT"])
        #expect(rows.map(\.closeTime) == [1_791_382_979_826, 1_791_382_970_024, 1_791_382_979_530] && content.eventTime == 1_791_382_979_826)
        #expect(rows.map(\.lastTradeID) == [196_055_713, 233_698_933, 8_153_633_360])
    }

    @Test func aBookTickerOverRESTHasNoUpdateId() throws {
        #expect(
            try fetch(.bookTicker(symbol: "BTCUSDT"), "ticker/bookTicker?symbol=BTCUSDT", in: goc).rows
                == .bookTicker([
                    BookTicker(
                        symbol: "BTCUSDT", bidPrice: "19115.95", bidQuantity: "0.274", askPrice: "19116.50", askQuantity: "0.384",
                        time: 1_607_294_182_164)
                ]))
        guard case .bookTicker(let all) = try fetch(.bookTickers, "ticker/bookTicker", in: goc).rows else { return }
        #expect(all.map(\.symbol) == ["BTCUSDT", "ETHUSDT"] && all.map(\.bidPrice.text) == ["11495.46", "377.63"])
    }

    @Test func aCompositeIndexOverRESTHasNoPrices() throws {
        let content = try fetch(.compositeIndex(symbol: "BTCDOMUSDT"), "indexInfo?symbol=BTCDOMUSDT", in: goc)
        guard case .compositeIndex(let rows) = content.rows, let index = rows.first else {
            Issue.record("no composite index")
            return
        }
        #expect(index.symbol == "BTCDOMUSDT" && index.component == "quoteAsset" && index.price == nil && index.time == 1_758_250_145_000)
        #expect(index.composition.map(\.quoteAsset) == ["AAVE", "ADA", "AVAX", "BCH", "BNB"])
        #expect(
            index.composition.last
                == CompositeIndex.Part(
                    baseAsset: "BTC", quoteAsset: "BNB", weightQuantity: "3.58068053", weightPercentage: "0.11126600", indexPrice: nil))
    }

    @Test func theListOfSymbolsTellsWhatTradesWhatIsSettledAndTheWeight() throws {
        let listing = try Array(try VenueFixtures.bytes("polyoxide/exchange_info.json")).withUnsafeBufferPointer {
            try Self.dialect.decodeListing(RESTAnswer(status: 200, retryAfter: nil, body: Array($0))).get()
        }
        #expect(listing.symbols == ["币安人生USDT", "BTCUSDT_261225"] && listing.settled == ["OMGUSDT"])
        #expect(listing.assetIndices == ["USDTUSD", "BTCUSD"] && listing.weightLimit == 2400)
        #expect(!listing.isSimulated, "no venue says that its data are made up")
    }

    @Test(arguments: [("true", true), ("false", false), ("null", false), (#""yes""#, false), ("{}", false)])
    func aDemoExchangeSaysThatItsDataAreMadeUp(value: String, isSimulated: Bool) throws {
        let body = #"{"simulated":\#(value),"symbols":[{"symbol":"BTCUSDT","status":"TRADING"}]}"#
        let listing = try Self.dialect.decodeListing(RESTAnswer(status: 200, retryAfter: nil, body: Array(body.utf8))).get()
        #expect(listing.isSimulated == isSimulated && listing.symbols == ["BTCUSDT"])
    }

    @Test func theListOfSymbolsIsTheContractsInfo() throws {
        guard case .contractInfo(let rows) = try fetch(.contractInfo, file: "polyoxide/exchange_info.json").rows else {
            Issue.record("no contracts")
            return
        }
        #expect(
            rows == [
                ContractInfo(
                    symbol: "币安人生USDT", pair: "币安人生USDT", contractType: "PERPETUAL", status: "TRADING", deliveryTime: 4_133_404_800_000,
                    onboardTime: 1_760_958_000_000, brackets: nil, time: 0),
                ContractInfo(
                    symbol: "OMGUSDT", pair: "OMGUSDT", contractType: "PERPETUAL", status: "SETTLING", deliveryTime: 1_738_314_000_000,
                    onboardTime: 1_593_680_400_000, brackets: nil, time: 0),
                ContractInfo(
                    symbol: "BTCUSDT_261225", pair: "BTCUSDT", contractType: "CURRENT_QUARTER", status: "TRADING", deliveryTime: 1_798_185_600_000,
                    onboardTime: 1_782_460_800_000, brackets: nil, time: 0),
            ])
    }

    @Test func aRefusalIsToldWithTheVenuesOwnCodeAndWords() throws {
        var codes: [Int?] = []
        for line in try VenueFixtures.lines("polyoxide/answers.txt").dropFirst() {
            let reply = line.drop { $0 != "{" }
            guard case .failure(let error) = fetch(.markPrice(symbol: "BTCUSDT"), reply, status: 400) else {
                Issue.record("taken for content: \(line)")
                continue
            }
            codes.append(error.venueCode)
            #expect(error.code == .venueRejected && error.message.contains(reply.split(separator: "\"").dropLast().last ?? ""))
        }
        #expect(codes == [-1121, -4021, -1130, -1120, -4166])
    }

    @Test func anotherSymbolsReplyIsNotTaken() throws {
        let reply = try VenueFixtures.lines(goc).first { $0.hasPrefix("/fapi/v1/premiumIndex?") }?.drop { $0 != "{" }
        guard case .failure(let error) = fetch(.markPrice(symbol: "ETHUSDT"), try #require(reply)) else {
            Issue.record("BTCUSDT's mark price was taken for ETHUSDT's")
            return
        }
        #expect(error.code == .malformed)
    }
}
