package import FeedCore

/// Writes contents in the API's format: the snapshot object, with the same names for REST and WebSocket data.
package enum ContentEncoder {
    /// The snapshot of a stream, with its current freshness and without `kind`.
    ///
    /// - Parameter depth: The maximum number of levels per side of an order book; nil for all.
    package static func snapshot(_ content: FuturesServiceFeedContent, _ status: StreamStatus, depth: Int? = nil) -> [UInt8] {
        guard let depth, case .depth(let rows) = content.rows else { return write(content, status, kind: nil) }
        let top = rows.map { row in
            var row = row
            row.bids = Array(row.bids.prefix(depth))
            row.asks = Array(row.asks.prefix(depth))
            return row
        }
        return write(content.with(.depth(top)), status, kind: nil)
    }

    /// The data of a `fetch` or `update` event, without age, because it has just arrived.
    package static func event(_ content: FuturesServiceFeedContent) -> [UInt8] {
        write(content, nil, kind: content.kind)
    }

    /// The data of an `update` with a cached content, with its current freshness.
    static func cached(_ content: FuturesServiceFeedContent, _ status: StreamStatus) -> [UInt8] {
        write(content, status, kind: content.kind)
    }

    private static func write(
        _ content: FuturesServiceFeedContent, _ status: StreamStatus?, kind: FuturesServiceFeedContent.Kind?
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: capacity(content))
        write(content, status, kind: kind, &writer)
        return writer.bytes
    }

    /// A capacity that suffices for most contents.
    static func capacity(_ content: FuturesServiceFeedContent) -> Int {
        let levels = if case .depth(let rows) = content.rows { rows.reduce(0) { $0 + $1.bids.count + $1.asks.count } } else { 0 }
        return 256 + content.rows.count * 256 + levels * 28
    }

    /// Returns where the id is in the text.
    @discardableResult
    static func write(
        _ content: FuturesServiceFeedContent, _ status: StreamStatus?, kind: FuturesServiceFeedContent.Kind?, _ json: inout JSONWriter
    ) -> Range<Int> {
        let (name, isArray) = (content.streamName, content.streamName.isArray)
        json.start(#"{"stream":""#)
        json.part(name)
        json.room(numbers: 1, others: 128)
        json.part(#"","id":""#)
        let id = json.plain(content.id)
        json.room(numbers: 0, others: 128)
        json.part(#"","type":""#)
        json.part(word: type(of: content.rows, asArray: isArray))
        if let kind { json.part(word: kind == .full ? #"","kind":"full"# : #"","kind":"delta"#) }
        json.part(#"","state":""#)
        json.part(word: word(status?.state ?? content.state))
        json.end("\"")
        if let status {
            json.market(status)
            json.member("ageMs", optional: status.ageMs)
            json.member("unverifiedMs", optional: status.unverifiedMs)
        }
        json.room(numbers: 2, others: 96)
        json.part(word: content.source == .rest ? #","source":"rest"# : #","source":"websocket"#)
        if let eventTime = content.eventTime {
            json.part(#"","eventTime":"#)
            json.part(eventTime)
            json.part(#","receivedAt":"#)
        } else {
            json.part(#"","receivedAt":"#)
        }
        json.part(content.receivedAt)
        json.beforeValue(#","content":"#)
        write(content.rows, asArray: isArray, &json)
        json.room(numbers: 0, others: 1)
        json.end("}")
        return id
    }

    /// A state's name as a constant. Its raw value would be a string that is copied and checked for escapes.
    static func word(_ state: FeedState) -> StaticString {
        switch state {
        case .connecting: "connecting"
        case .live: "live"
        case .stale: "stale"
        case .recovering: "recovering"
        case .failed: "failed"
        case .ended: "ended"
        }
    }

    private static func word(_ closing: EarlyBar.Closing) -> StaticString {
        switch closing {
        case .open: "open"
        case .provisional: "provisional"
        case .confirmed: "confirmed"
        case .corrected: "corrected"
        }
    }

    /// The kind of content, by which `openapi.yaml` distinguishes its schemas.
    static func type(of rows: FeedRows, asArray: Bool) -> StaticString {
        switch rows {
        case .markPrice: asArray ? "markPrices" : "markPrice"
        case .assetIndex: asArray ? "assetIndices" : "assetIndex"
        case .bookTicker: asArray ? "bookTickers" : "bookTicker"
        case .aggregateTrade: "aggregateTrades"
        case .trade: "trades"
        case .liquidation: "liquidations"
        case .depth: "depth"
        case .kline: "klines"
        case .earlyBar: "earlyBars"
        case .bar: "bars"
        case .miniTicker: asArray ? "miniTickers" : "miniTicker"
        case .ticker: asArray ? "tickers" : "ticker"
        case .compositeIndex: "compositeIndex"
        case .contractInfo: "contracts"
        case .tradingSession: "tradingSessions"
        case .json: "upstream"
        case .upstreamTrade: "upstreamTrades"
        case .upstreamBar: "upstreamBars"
        }
    }

    private static func write(_ rows: FeedRows, asArray: Bool, _ json: inout JSONWriter) {
        switch rows {
        case .markPrice(let rows): write(rows, asArray, &json, write)
        case .assetIndex(let rows): objects(rows, asArray, &json, write)
        case .bookTicker(let rows): write(rows, asArray, &json, write)
        case .aggregateTrade(let rows): write(rows, asArray, &json, write)
        case .trade(let rows): objects(rows, asArray, &json, write)
        case .liquidation(let rows): objects(rows, asArray, &json, write)
        case .depth(let rows): objects(rows, asArray, &json, write)
        case .kline(let rows): objects(rows, asArray, &json, write)
        case .earlyBar(let rows): objects(rows, asArray, &json, write)
        case .bar(let rows): objects(rows, asArray, &json, write)
        case .miniTicker(let rows): objects(rows, asArray, &json, write)
        case .ticker(let rows): objects(rows, asArray, &json, write)
        case .compositeIndex(let rows): objects(rows, asArray, &json, write)
        case .contractInfo(let rows): objects(rows, asArray, &json, write)
        case .tradingSession(let rows): objects(rows, asArray, &json, write)
        case .json(let rows): if let row = rows.first { json.raw(row) } else { json.null() }
        case .upstreamTrade(let rows): json.array { json in for row in rows { json.raw(checked: row.text) } }
        case .upstreamBar(let rows): json.array { json in for row in rows { json.raw(checked: row.text) } }
        }
    }

    private static func write<Row>(_ rows: [Row], _ asArray: Bool, _ json: inout JSONWriter, _ write: (Row, inout JSONWriter) -> Void) {
        if asArray {
            json.array { json in for row in rows { write(row, &json) } }
        } else if let row = rows.first {
            write(row, &json)
        } else {
            json.null()
        }
    }

    /// The same for rows that are written as members.
    private static func objects<Row>(_ rows: [Row], _ asArray: Bool, _ json: inout JSONWriter, _ write: (Row, inout JSONWriter) -> Void) {
        self.write(rows, asArray, &json) { row, json in json.object { write(row, &$0) } }
    }

    private static func write(_ row: MarkPrice, _ json: inout JSONWriter) {
        json.start(#"{"symbol":"#)
        json.string(row.symbol)
        json.room(numbers: 7, others: 160)
        json.part(#","markPrice":""#)
        json.part(row.markPrice)
        if let price = row.indexPrice {
            json.part(#"","indexPrice":""#)
            json.part(price)
        }
        if let price = row.estimatedSettlePrice {
            json.part(#"","estimatedSettlePrice":""#)
            json.part(price)
        }
        if let rate = row.lastFundingRate {
            json.part(#"","lastFundingRate":""#)
            json.part(rate)
        }
        json.part("\"")
        if let time = row.nextFundingTime {
            json.part(#","nextFundingTime":"#)
            json.part(time)
        }
        if let rate = row.interestRate {
            json.part(#","interestRate":""#)
            json.part(rate)
            json.part("\"")
        }
        json.part(#","time":"#)
        json.part(row.time)
        json.end("}")
    }

    private static func write(_ row: AssetIndex, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("index", row.index)
        json.member("bidBuffer", row.bidBuffer)
        json.member("askBuffer", row.askBuffer)
        json.member("bidRate", row.bidRate)
        json.member("askRate", row.askRate)
        json.member("autoExchangeBidBuffer", row.autoExchangeBidBuffer)
        json.member("autoExchangeAskBuffer", row.autoExchangeAskBuffer)
        json.member("autoExchangeBidRate", row.autoExchangeBidRate)
        json.member("autoExchangeAskRate", row.autoExchangeAskRate)
        json.member("time", row.time)
    }

    private static func write(_ row: BookTicker, _ json: inout JSONWriter) {
        json.start(#"{"symbol":"#)
        json.string(row.symbol)
        json.room(numbers: 6, others: 100)
        json.part(#","bidPrice":""#)
        json.part(row.bidPrice)
        json.part(#"","bidQty":""#)
        json.part(row.bidQuantity)
        json.part(#"","askPrice":""#)
        json.part(row.askPrice)
        json.part(#"","askQty":""#)
        json.part(row.askQuantity)
        if let id = row.updateID {
            json.part(#"","updateId":"#)
            json.part(id)
            json.part(#","time":"#)
        } else {
            json.part(#"","time":"#)
        }
        json.part(row.time)
        json.end("}")
    }

    private static func write(_ row: AggregateTrade, _ json: inout JSONWriter) {
        json.start(#"{"id":"#)
        json.room(numbers: 7, others: 128)
        json.part(row.id)
        json.part(#","price":""#)
        json.part(row.price)
        json.part(#"","qty":""#)
        json.part(row.quantity)
        if let quantity = row.normalQuantity {
            json.part(#"","normalQty":""#)
            json.part(quantity)
        }
        json.part(#"","firstTradeId":"#)
        json.part(row.firstTradeID)
        json.part(#","lastTradeId":"#)
        json.part(row.lastTradeID)
        json.part(#","time":"#)
        json.part(row.time)
        json.part(word: row.isBuyerMaker ? #","isBuyerMaker":true"# : #","isBuyerMaker":false"#)
        json.end("}")
    }

    private static func write(_ row: Trade, _ json: inout JSONWriter) {
        json.member("id", row.id)
        json.member("price", row.price)
        json.member("qty", row.quantity)
        if let type = row.type { json.member("type", type) }
        json.member("time", row.time)
        json.member("isBuyerMaker", row.isBuyerMaker)
    }

    private static func write(_ row: Liquidation, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("side", row.side)
        json.member("type", row.orderType)
        json.member("timeInForce", row.timeInForce)
        json.member("qty", row.quantity)
        json.member("price", row.price)
        json.member("averagePrice", row.averagePrice)
        json.member("status", row.status)
        json.member("lastFilledQty", row.lastFilledQuantity)
        json.member("filledQty", row.filledQuantity)
        json.member("time", row.time)
    }

    private static func write(_ row: DepthLevels, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("firstUpdateId", optional: row.firstUpdateID)
        json.member("lastUpdateId", row.lastUpdateID)
        json.member("previousUpdateId", optional: row.previousUpdateID)
        json.member("time", row.time)
        json.member("bids")
        json.array { json in for level in row.bids { write(&json, level) } }
        json.member("asks")
        json.array { json in for level in row.asks { write(&json, level) } }
    }

    /// A level is `["price","quantity"]`, as at the venue.
    private static func write(_ json: inout JSONWriter, _ level: PriceLevel) {
        json.pair(level.price, level.quantity)
    }

    private static func write(_ row: Kline, _ json: inout JSONWriter) {
        json.member("openTime", row.openTime)
        json.member("closeTime", row.closeTime)
        json.member("open", row.open)
        json.member("high", row.high)
        json.member("low", row.low)
        json.member("close", row.close)
        json.member("volume", row.volume)
        json.member("quoteVolume", row.quoteVolume)
        json.member("count", row.tradeCount)
        json.member("takerBuyVolume", row.takerBuyVolume)
        json.member("takerBuyQuoteVolume", row.takerBuyQuoteVolume)
        json.member("isClosed", row.isClosed)
    }

    private static func write(_ row: EarlyBar, _ json: inout JSONWriter) {
        write(row.kline, &json)
        json.member("firstTradeId", optional: row.firstTradeID)
        json.member("lastTradeId", optional: row.lastTradeID)
        json.member("closing", word: word(row.closing))
    }

    private static func write(_ row: TradeBar, _ json: inout JSONWriter) {
        write(row.kline, &json)
        json.member("firstId", row.firstAggregateID)
        json.member("lastId", row.lastAggregateID)
        json.member("isComplete", row.isComplete)
    }

    private static func write(_ row: MiniTicker, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("openPrice", row.openPrice)
        json.member("highPrice", row.highPrice)
        json.member("lowPrice", row.lowPrice)
        json.member("lastPrice", row.lastPrice)
        json.member("volume", row.volume)
        json.member("quoteVolume", row.quoteVolume)
        json.member("time", row.time)
    }

    private static func write(_ row: Ticker, _ json: inout JSONWriter) {
        write(row.mini, &json)
        json.member("priceChange", row.priceChange)
        json.member("priceChangePercent", row.priceChangePercent)
        json.member("weightedAvgPrice", row.weightedAveragePrice)
        json.member("lastQty", row.lastQuantity)
        json.member("openTime", row.openTime)
        json.member("closeTime", row.closeTime)
        json.member("firstId", optional: row.firstTradeID)
        json.member("lastId", optional: row.lastTradeID)
        json.member("count", row.tradeCount)
    }
}
