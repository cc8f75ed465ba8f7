import FeedCore

/// Writes the rows of an event's content.
extension ContentEncoder {
    static func write(_ row: MarkPrice, _ json: inout JSONWriter) {
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

    static func write(_ row: AssetIndex, _ json: inout JSONWriter) {
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

    static func write(_ row: BookTicker, _ json: inout JSONWriter) {
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

    static func write(_ row: AggregateTrade, _ json: inout JSONWriter) {
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

    static func write(_ row: Trade, _ json: inout JSONWriter) {
        json.member("id", row.id)
        json.member("price", row.price)
        json.member("qty", row.quantity)
        if let type = row.type { json.member("type", type) }
        json.member("time", row.time)
        json.member("isBuyerMaker", row.isBuyerMaker)
    }

    static func write(_ row: Liquidation, _ json: inout JSONWriter) {
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

    static func write(_ row: DepthLevels, _ json: inout JSONWriter) {
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
    static func write(_ json: inout JSONWriter, _ level: PriceLevel) {
        json.pair(level.price, level.quantity)
    }

    static func write(_ row: Kline, _ json: inout JSONWriter) {
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

    static func write(_ row: EarlyBar, _ json: inout JSONWriter) {
        write(row.kline, &json)
        json.member("firstTradeId", optional: row.firstTradeID)
        json.member("lastTradeId", optional: row.lastTradeID)
        json.member("closing", word: word(row.closing))
    }

    static func write(_ row: TradeBar, _ json: inout JSONWriter) {
        write(row.kline, &json)
        json.member("firstId", row.firstAggregateID)
        json.member("lastId", row.lastAggregateID)
        json.member("isComplete", row.isComplete)
    }

    static func write(_ row: MiniTicker, _ json: inout JSONWriter) {
        json.member("symbol", row.symbol)
        json.member("openPrice", row.openPrice)
        json.member("highPrice", row.highPrice)
        json.member("lowPrice", row.lowPrice)
        json.member("lastPrice", row.lastPrice)
        json.member("volume", row.volume)
        json.member("quoteVolume", row.quoteVolume)
        json.member("time", row.time)
    }

    static func write(_ row: Ticker, _ json: inout JSONWriter) {
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

    private static func word(_ closing: EarlyBar.Closing) -> StaticString {
        switch closing {
        case .open: "open"
        case .provisional: "provisional"
        case .confirmed: "confirmed"
        case .corrected: "corrected"
        }
    }
}
