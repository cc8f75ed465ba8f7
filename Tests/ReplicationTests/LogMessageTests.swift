import FeedCore
import FeedDialects
import Rings
import Testing

@testable import Replication

@Suite struct LogMessageTests {
    @Test func aMessageIsReadAsItWasWritten() throws {
        let kinds = FeedRecord.Kind.allCases.filter { $0 != .epoch }
        let records = kinds.map { FeedRecord($0, of: "btcusdt@markPrice", Array("{\"a b\":\"c\"}".utf8)[...]) }
        let message = LogMessage(epoch: .max, term: 3, first: 77, sentAt: 1_763_679_600_000, records: records)
        #expect(LogMessage(message.bytes) == message)
        #expect(message.eventCount == UInt64(kinds.count(where: \.isNumbered)), "what is no event has no number")
    }

    @Test(arguments: [
        "", "fg1", "fg2 1 1 1 1", "fg1 1 1 0 1", "fg1 1 1 1 1 1", "fg1 1 1 1 -1", "fg1 1 1 zzzzzzzzzzzzz 1", "fg1 1 1 1 1\nu", "fg1 1 1 1 1\n? a b",
        "fg1 1 1 1 3w5e11264sgsf",
    ])
    func whatIsNoMessageIsRefused(_ text: String) {
        #expect(LogMessage(Array(text.utf8)) == nil)
    }

    @Test func aMessageThatIsCutAnywhereTrapsNobody() {
        let record = FeedRecord(.value, of: "btcusdt@markPrice", Array("{\"a\":1}".utf8)[...])
        let bytes = LogMessage(epoch: 5, term: 1, first: 1, sentAt: 1, records: [record, record]).bytes
        for count in 0...bytes.count { _ = LogMessage(Array(bytes.prefix(count))) }
    }
}

@Suite struct ContentReaderTests {
    private static let one = DecimalString(checked: "1.50")
    private static let mini = MiniTicker(
        symbol: "BTCUSDT", openPrice: one, highPrice: one, lowPrice: one, lastPrice: one, volume: one, quoteVolume: one, time: 7)
    private static let level = PriceLevel(price: one, quantity: one)

    private static let contents: [(String, FeedRows)] = [
        ("btcusdt@markPrice", .markPrice([MarkPrice(symbol: "BTCUSDT", markPrice: one, lastFundingRate: one, nextFundingTime: 9, time: 7)])),
        ("!markPrice@arr", .markPrice([MarkPrice(symbol: "A", markPrice: one, time: 7), MarkPrice(symbol: "B", markPrice: one, time: 8)])),
        (
            "!assetIndex@arr",
            .assetIndex([
                AssetIndex(
                    symbol: "BTCUSD", index: one, bidBuffer: one, askBuffer: one, bidRate: one, askRate: one, autoExchangeBidBuffer: one,
                    autoExchangeAskBuffer: one, autoExchangeBidRate: one, autoExchangeAskRate: one, time: 7)
            ])
        ),
        (
            "btcusdt@bookTicker",
            .bookTicker([
                BookTicker(symbol: "BTCUSDT", bidPrice: one, bidQuantity: one, askPrice: one, askQuantity: one, updateID: .max, time: 7)
            ])
        ),
        (
            "btcusdt@aggTrade",
            .aggregateTrade([
                AggregateTrade(id: 1, price: one, quantity: one, firstTradeID: 2, lastTradeID: 3, time: 7, isBuyerMaker: true)
            ])
        ),
        ("btcusdt@trade", .trade([Trade(id: 1, price: one, quantity: one, type: "MARKET", time: 7, isBuyerMaker: false)])),
        (
            "btcusdt@forceOrder",
            .liquidation([
                Liquidation(
                    symbol: "BTCUSDT", side: "BUY", orderType: "LIMIT", timeInForce: "IOC", quantity: one, price: one, averagePrice: one,
                    status: "FILLED", lastFilledQuantity: one, filledQuantity: one, time: 7)
            ])
        ),
        (
            "btcusdt@depth",
            .depth([
                DepthLevels(
                    symbol: "BTCUSDT", bids: [level, level], asks: [], firstUpdateID: 4, lastUpdateID: 5, previousUpdateID: 3, time: 7)
            ])
        ),
        (
            "btcusdt@kline_1m",
            .kline([
                Kline(
                    openTime: 1, closeTime: 2, open: one, high: one, low: one, close: one, volume: one, quoteVolume: one, tradeCount: 3,
                    takerBuyVolume: one, takerBuyQuoteVolume: one, isClosed: true)
            ])
        ),
        (
            "btcusdt@kline_1m_early",
            .earlyBar([
                EarlyBar(
                    kline: Kline(
                        openTime: 1, closeTime: 2, open: one, high: one, low: one, close: one, volume: one, quoteVolume: one, tradeCount: 3,
                        takerBuyVolume: one, takerBuyQuoteVolume: one, isClosed: true), firstTradeID: nil, lastTradeID: .max, closing: .provisional)
            ])
        ),
        (
            "btcusdt@bar_5s",
            .bar([
                TradeBar(
                    kline: Kline(
                        openTime: 5_000, closeTime: 9_999, open: one, high: one, low: one, close: one, volume: one, quoteVolume: one, tradeCount: 3,
                        takerBuyVolume: one, takerBuyQuoteVolume: one, isClosed: true), firstAggregateID: 1, lastAggregateID: .max, isComplete: false)
            ])
        ),
        ("!miniTicker@arr", .miniTicker([mini])),
        (
            "btcusdt@ticker",
            .ticker([
                Ticker(
                    mini: mini, priceChange: one, priceChangePercent: one, weightedAveragePrice: one, lastQuantity: one, openTime: 1, closeTime: 2,
                    firstTradeID: nil, lastTradeID: 4, tradeCount: 5)
            ])
        ),
        (
            "defiusdt@compositeIndex",
            .compositeIndex([
                CompositeIndex(
                    symbol: "DEFIUSDT", price: one, component: "baseAsset",
                    composition: [.init(baseAsset: "A", quoteAsset: "U", weightQuantity: one, weightPercentage: one, indexPrice: nil)], time: 7)
            ])
        ),
        (
            "!contractInfo",
            .contractInfo([
                ContractInfo(
                    symbol: "BTCUSDT", pair: "BTCUSDT", contractType: "PERPETUAL", status: "TRADING", deliveryTime: 1, onboardTime: 2,
                    brackets: [
                        .init(
                            number: 1, floor: one, cap: one, maintenanceRatio: one, auxiliary: one, minimumLeverage: 1, maximumLeverage: 20)
                    ], time: 7)
            ])
        ),
        ("tradingSession", .tradingSession([TradingSession(market: "U", session: "OPEN", startTime: 1, endTime: 2, time: 7)])),
        (
            "hyperliquid:BTC@candle_1m",
            .upstreamBar([UpstreamBar(checked: #"{"t":1,"T":2,"s":"BTC","c":"1.50","n":3}"#, openTime: 1, closeTime: 2, tradeCount: 3)])
        ),
        (
            "hyperliquid:BTC@trades",
            .upstreamTrade([UpstreamTrade(checked: #"{"coin":"BTC","px":"1.50","time":7,"tid":18446744073709551615}"#, id: .max, time: 7)])
        ),
        ("bux:sb26493", .json([JSONRow(checked: "{\"a\":[1,\"zwei\\n\"]}")])),
    ]

    @Test(arguments: contents.indices) func aContentIsReadAsItWasWritten(_ index: Int) throws {
        let (text, rows) = Self.contents[index]
        let name = try #require(FuturesServiceStreamName(text))
        let content = FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 5, sequence: 6), kind: .delta, state: .live, source: .rest, eventTime: nil, receivedAt: 8,
            rows: rows)
        let bytes = ContentEncoder.event(content)
        #expect(ContentReader.content(bytes, of: name) == content)
        for count in bytes.indices { #expect(ContentReader.content(Array(bytes.prefix(count)), of: name) == nil) }
    }
}
