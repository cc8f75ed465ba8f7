package import FeedCore

/// Parses contents written by `ContentEncoder`.
package enum ContentReader {
    /// Parses the data of an `update` or `fetch`; nil if it is not valid for this stream.
    package static func content(_ bytes: [UInt8], of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        bytes.withUnsafeBufferPointer { bytes in
            do throws(JSONReader.Failure) { return try content(JSONReader(bytes), name) } catch { return nil }
        }
    }

    private static func content(_ reader: JSONReader, _ name: FuturesServiceStreamName) throws(JSONReader.Failure) -> FuturesServiceFeedContent {
        var reader = reader
        let fields = try RowFields(&reader)
        try reader.end()
        guard let id = EventID(try fields.string("id")), let state = FeedState(rawValue: try fields.string("state")),
            let source = FeedSource(rawValue: try fields.string("source")), let text = fields["content"]
        else { throw reader.failure("the head of the content is incomplete") }
        return FuturesServiceFeedContent(
            streamName: name, id: id, kind: try fields.optionalString("kind") == "delta" ? .delta : .full, state: state, source: source,
            eventTime: try fields.optionalInteger("eventTime"), receivedAt: try fields.integer("receivedAt"),
            unverifiedMs: try fields.optionalInteger("unverifiedMs") ?? 0, rows: try rows(text, of: try fields.string("type")))
    }

    private static func rows(_ text: UnsafeBufferPointer<UInt8>, of type: String) throws(JSONReader.Failure) -> FeedRows {
        var reader = JSONReader(text)
        switch type {
        case "markPrice", "markPrices": return .markPrice(try rows(&reader, markPrice))
        case "assetIndex", "assetIndices": return .assetIndex(try rows(&reader, assetIndex))
        case "bookTicker", "bookTickers": return .bookTicker(try rows(&reader, bookTicker))
        case "aggregateTrades": return .aggregateTrade(try rows(&reader, aggregateTrade))
        case "trades": return .trade(try rows(&reader, trade))
        case "liquidations": return .liquidation(try rows(&reader, liquidation))
        case "depth": return .depth(try rows(&reader, depth))
        case "klines": return .kline(try rows(&reader, kline))
        case "earlyBars": return .earlyBar(try rows(&reader, earlyBar))
        case "bars": return .bar(try rows(&reader, bar))
        case "miniTicker", "miniTickers": return .miniTicker(try rows(&reader, miniTicker))
        case "ticker", "tickers": return .ticker(try rows(&reader, ticker))
        case "compositeIndex": return .compositeIndex(try rows(&reader, compositeIndex))
        case "contracts": return .contractInfo(try rows(&reader, contractInfo))
        case "tradingSessions": return .tradingSession(try rows(&reader, tradingSession))
        case "upstream": return .json([JSONRow(checked: String(decoding: text, as: UTF8.self))])
        case "upstreamTrades":
            return .upstreamTrade(
                try texts(&reader) { (text, fields) throws(JSONReader.Failure) in
                    UpstreamTrade(checked: text, id: try fields.integer("tid"), time: try fields.integer("time"))
                })
        case "upstreamBars":
            return .upstreamBar(
                try texts(&reader) { (text, fields) throws(JSONReader.Failure) in
                    UpstreamBar(
                        checked: text, openTime: try fields.integer("t"), closeTime: try fields.integer("T"), tradeCount: try fields.integer("n"))
                })
        default: throw reader.failure("the type of the content is unknown")
        }
    }

    /// Parses one row, an array of rows, or null.
    private static func rows<Row>(
        _ reader: inout JSONReader, _ read: (RowFields) throws(JSONReader.Failure) -> Row
    ) throws(JSONReader.Failure) -> [Row] {
        switch try reader.peek() {
        case .null: return []
        case .array:
            var rows: [Row] = []
            try reader.array { (reader) throws(JSONReader.Failure) in rows.append(try read(RowFields(&reader))) }
            return rows
        default: return [try read(RowFields(&reader))]
        }
    }

    /// Parses an array of objects whose texts are kept.
    private static func texts<Row>(
        _ reader: inout JSONReader, _ read: (String, RowFields) throws(JSONReader.Failure) -> Row
    ) throws(JSONReader.Failure) -> [Row] {
        var rows: [Row] = []
        try reader.array { (reader) throws(JSONReader.Failure) in
            let text = try reader.raw()
            var row = JSONReader(text)
            rows.append(try read(String(decoding: text, as: UTF8.self), try RowFields(&row)))
        }
        return rows
    }

    private static func markPrice(_ row: RowFields) throws(JSONReader.Failure) -> MarkPrice {
        MarkPrice(
            symbol: try row.string("symbol"), markPrice: try row.decimal("markPrice"), indexPrice: try row.optionalDecimal("indexPrice"),
            estimatedSettlePrice: try row.optionalDecimal("estimatedSettlePrice"), lastFundingRate: try row.optionalDecimal("lastFundingRate"),
            nextFundingTime: try row.optionalInteger("nextFundingTime"), interestRate: try row.optionalDecimal("interestRate"),
            time: try row.integer("time"))
    }

    private static func assetIndex(_ row: RowFields) throws(JSONReader.Failure) -> AssetIndex {
        AssetIndex(
            symbol: try row.string("symbol"), index: try row.decimal("index"), bidBuffer: try row.decimal("bidBuffer"),
            askBuffer: try row.decimal("askBuffer"), bidRate: try row.decimal("bidRate"), askRate: try row.decimal("askRate"),
            autoExchangeBidBuffer: try row.decimal("autoExchangeBidBuffer"), autoExchangeAskBuffer: try row.decimal("autoExchangeAskBuffer"),
            autoExchangeBidRate: try row.decimal("autoExchangeBidRate"), autoExchangeAskRate: try row.decimal("autoExchangeAskRate"),
            time: try row.integer("time"))
    }

    private static func bookTicker(_ row: RowFields) throws(JSONReader.Failure) -> BookTicker {
        BookTicker(
            symbol: try row.string("symbol"), bidPrice: try row.decimal("bidPrice"), bidQuantity: try row.decimal("bidQty"),
            askPrice: try row.decimal("askPrice"), askQuantity: try row.decimal("askQty"), updateID: try row.optionalInteger("updateId"),
            time: try row.integer("time"))
    }

    private static func aggregateTrade(_ row: RowFields) throws(JSONReader.Failure) -> AggregateTrade {
        AggregateTrade(
            id: try row.integer("id"), price: try row.decimal("price"), quantity: try row.decimal("qty"),
            normalQuantity: try row.optionalDecimal("normalQty"), firstTradeID: try row.integer("firstTradeId"),
            lastTradeID: try row.integer("lastTradeId"), time: try row.integer("time"),
            isBuyerMaker: try row.flag("isBuyerMaker"))
    }

    private static func trade(_ row: RowFields) throws(JSONReader.Failure) -> Trade {
        Trade(
            id: try row.integer("id"), price: try row.decimal("price"), quantity: try row.decimal("qty"), type: try row.optionalString("type"),
            time: try row.integer("time"), isBuyerMaker: try row.flag("isBuyerMaker"))
    }

    private static func liquidation(_ row: RowFields) throws(JSONReader.Failure) -> Liquidation {
        Liquidation(
            symbol: try row.string("symbol"), side: try row.string("side"), orderType: try row.string("type"),
            timeInForce: try row.string("timeInForce"), quantity: try row.decimal("qty"), price: try row.decimal("price"),
            averagePrice: try row.decimal("averagePrice"), status: try row.string("status"), lastFilledQuantity: try row.decimal("lastFilledQty"),
            filledQuantity: try row.decimal("filledQty"), time: try row.integer("time"))
    }

    private static func depth(_ row: RowFields) throws(JSONReader.Failure) -> DepthLevels {
        DepthLevels(
            symbol: try row.string("symbol"), bids: try row.levels("bids"), asks: try row.levels("asks"),
            firstUpdateID: try row.optionalInteger("firstUpdateId"), lastUpdateID: try row.integer("lastUpdateId"),
            previousUpdateID: try row.optionalInteger("previousUpdateId"), time: try row.integer("time"))
    }

    private static func kline(_ row: RowFields) throws(JSONReader.Failure) -> Kline {
        Kline(
            openTime: try row.integer("openTime"), closeTime: try row.integer("closeTime"), open: try row.decimal("open"),
            high: try row.decimal("high"), low: try row.decimal("low"), close: try row.decimal("close"), volume: try row.decimal("volume"),
            quoteVolume: try row.decimal("quoteVolume"), tradeCount: try row.integer("count"), takerBuyVolume: try row.decimal("takerBuyVolume"),
            takerBuyQuoteVolume: try row.decimal("takerBuyQuoteVolume"), isClosed: try row.flag("isClosed"))
    }

    private static func earlyBar(_ row: RowFields) throws(JSONReader.Failure) -> EarlyBar {
        EarlyBar(
            kline: try kline(row), firstTradeID: try row.optionalInteger("firstTradeId"), lastTradeID: try row.optionalInteger("lastTradeId"),
            closing: EarlyBar.Closing(rawValue: try row.string("closing")) ?? .open)
    }

    private static func bar(_ row: RowFields) throws(JSONReader.Failure) -> TradeBar {
        TradeBar(
            kline: try kline(row), firstAggregateID: try row.integer("firstId"), lastAggregateID: try row.integer("lastId"),
            isComplete: try row.flag("isComplete"))
    }

    private static func miniTicker(_ row: RowFields) throws(JSONReader.Failure) -> MiniTicker {
        MiniTicker(
            symbol: try row.string("symbol"), openPrice: try row.decimal("openPrice"), highPrice: try row.decimal("highPrice"),
            lowPrice: try row.decimal("lowPrice"), lastPrice: try row.decimal("lastPrice"), volume: try row.decimal("volume"),
            quoteVolume: try row.decimal("quoteVolume"), time: try row.integer("time"))
    }

    private static func ticker(_ row: RowFields) throws(JSONReader.Failure) -> Ticker {
        Ticker(
            mini: try miniTicker(row), priceChange: try row.decimal("priceChange"), priceChangePercent: try row.decimal("priceChangePercent"),
            weightedAveragePrice: try row.decimal("weightedAvgPrice"), lastQuantity: try row.decimal("lastQty"),
            openTime: try row.integer("openTime"), closeTime: try row.integer("closeTime"), firstTradeID: try row.optionalInteger("firstId"),
            lastTradeID: try row.optionalInteger("lastId"), tradeCount: try row.integer("count"))
    }

    private static func compositeIndex(_ row: RowFields) throws(JSONReader.Failure) -> CompositeIndex {
        CompositeIndex(
            symbol: try row.string("symbol"), price: try row.optionalDecimal("price"), component: try row.string("component"),
            composition: try row.list("composition") { (part) throws(JSONReader.Failure) in
                CompositeIndex.Part(
                    baseAsset: try part.string("baseAsset"), quoteAsset: try part.string("quoteAsset"),
                    weightQuantity: try part.decimal("weightQty"), weightPercentage: try part.decimal("weightPercentage"),
                    indexPrice: try part.optionalDecimal("indexPrice"))
            } ?? [], time: try row.integer("time"))
    }

    private static func contractInfo(_ row: RowFields) throws(JSONReader.Failure) -> ContractInfo {
        ContractInfo(
            symbol: try row.string("symbol"), pair: try row.string("pair"), contractType: try row.string("contractType"),
            status: try row.string("status"), deliveryTime: try row.integer("deliveryTime"), onboardTime: try row.integer("onboardTime"),
            brackets: try row.list("brackets") { (bracket) throws(JSONReader.Failure) in
                ContractInfo.Bracket(
                    number: try bracket.integer("bracket"), floor: try bracket.decimal("floor"), cap: try bracket.decimal("cap"),
                    maintenanceRatio: try bracket.decimal("maintenanceRatio"), auxiliary: try bracket.decimal("auxiliary"),
                    minimumLeverage: try bracket.integer("minimumLeverage"), maximumLeverage: try bracket.integer("maximumLeverage"))
            }, time: try row.integer("time"))
    }

    private static func tradingSession(_ row: RowFields) throws(JSONReader.Failure) -> TradingSession {
        TradingSession(
            market: try row.string("market"), session: try row.string("session"), startTime: try row.integer("startTime"),
            endTime: try row.integer("endTime"), time: try row.integer("time"))
    }
}
