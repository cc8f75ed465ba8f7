import FeedCore

/// A row that is read from the venue's frames.
protocol WireRow: FeedRow {
    /// Reads the row from the members of its object.
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure)

    /// Reads a row in the venues' usual notation, appends it, and returns the time of its event; nil if the text has another notation.
    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64?
}

extension WireRow {
    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64? { nil }
}

extension MarkPrice: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        let funding = try fields.optionalDecimal("r", reader)
        let next = try fields.integer("T", reader, Int64.self)
        self.init(
            symbol: fields.symbol, markPrice: try fields.decimal("p", reader), indexPrice: try fields.optionalDecimal("i", reader),
            estimatedSettlePrice: try fields.optionalDecimal("P", reader), lastFundingRate: next == 0 ? nil : funding,
            nextFundingTime: next == 0 || funding == nil ? nil : next, time: try fields.integer("E", reader))
    }

    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64? {
        guard text.skip(#"{"e":"markPriceUpdate","E":"#), let time = text.time(), text.skip(#","s":""#), let symbol = text.symbol(),
            text.skip(#","p":""#), let mark = text.decimal(), text.skip(#","i":""#), let index = text.decimal(), text.skip(#","P":""#),
            let settle = text.decimal(), text.skip(#","r":""#), let rate = text.decimal(), text.skipAverage(), text.skip(#","T":"#),
            let next = text.time(), text.end()
        else { return nil }
        rows.add(
            MarkPrice(
                symbol: symbol, markPrice: mark, indexPrice: index, estimatedSettlePrice: settle, lastFundingRate: next == 0 ? nil : rate,
                nextFundingTime: next == 0 ? nil : next, time: time))
        return time
    }
}

extension AssetIndex: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            symbol: fields.symbol, index: try fields.decimal("i", reader), bidBuffer: try fields.decimal("b", reader),
            askBuffer: try fields.decimal("a", reader), bidRate: try fields.decimal("B", reader), askRate: try fields.decimal("A", reader),
            autoExchangeBidBuffer: try fields.decimal("q", reader), autoExchangeAskBuffer: try fields.decimal("g", reader),
            autoExchangeBidRate: try fields.decimal("Q", reader), autoExchangeAskRate: try fields.decimal("G", reader),
            time: try fields.integer("E", reader))
    }
}

extension BookTicker: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            symbol: fields.symbol, bidPrice: try fields.decimal("b", reader), bidQuantity: try fields.decimal("B", reader),
            askPrice: try fields.decimal("a", reader), askQuantity: try fields.decimal("A", reader),
            updateID: try fields.integer("u", reader), time: try fields.integer("T", reader))
    }

    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64? {
        guard text.skip(#"{"e":"bookTicker","u":"#), let id = text.integer(), text.skip(#","s":""#), let symbol = text.symbol(), text.skipPair(),
            text.skip(#","b":""#), let bid = text.decimal(), text.skip(#","B":""#), let bidQuantity = text.decimal(),
            text.skip(#","a":""#), let ask = text.decimal(), text.skip(#","A":""#), let askQuantity = text.decimal(),
            text.skip(#","T":"#), let time = text.time(), text.skip(#","E":"#), let eventTime = text.time(), text.end()
        else { return nil }
        rows.add(
            BookTicker(symbol: symbol, bidPrice: bid, bidQuantity: bidQuantity, askPrice: ask, askQuantity: askQuantity, updateID: id, time: time))
        return eventTime
    }
}

extension AggregateTrade: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            id: try fields.integer("a", reader), price: try fields.decimal("p", reader), quantity: try fields.decimal("q", reader),
            normalQuantity: fields.normalQuantity, firstTradeID: try fields.integer("f", reader), lastTradeID: try fields.integer("l", reader),
            time: try fields.integer("T", reader), isBuyerMaker: try fields.flag("m", reader))
    }

    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64? {
        guard text.skip(#"{"e":"aggTrade","E":"#), let eventTime = text.time(), text.skip(#","a":"#), let id = text.integer(),
            text.skip(#","s":""#), text.symbol() != nil, text.skipPair(), text.skip(#","p":""#), let price = text.decimal(),
            text.skip(#","q":""#), let quantity = text.decimal()
        else { return nil }
        var normal: DecimalString?
        if text.skip(#","nq":""#) {
            normal = text.decimal()
            guard normal != nil else { return nil }
        }
        guard text.skip(#","f":"#), let first = text.integer(), text.skip(#","l":"#), let last = text.integer(), text.skip(#","T":"#),
            let time = text.time(), text.skip(#","m":"#), let isBuyerMaker = text.flag(), text.end()
        else { return nil }
        rows.add(
            AggregateTrade(
                id: id, price: price, quantity: quantity, normalQuantity: normal, firstTradeID: first, lastTradeID: last, time: time,
                isBuyerMaker: isBuyerMaker))
        return eventTime
    }
}

extension Trade: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            id: try fields.integer("t", reader), price: try fields.decimal("p", reader), quantity: try fields.decimal("q", reader),
            type: fields.word("X"), time: try fields.integer("T", reader), isBuyerMaker: try fields.flag("m", reader))
    }
}

extension Liquidation: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        guard let side = fields.word("S"), let type = fields.word("o"), let inForce = fields.word("f"), let status = fields.word("X"),
            let averagePrice = fields.averagePrice
        else { throw reader.failure("a liquidation lacks a field") }
        self.init(
            symbol: fields.symbol, side: side, orderType: type, timeInForce: inForce, quantity: try fields.decimal("q", reader),
            price: try fields.decimal("p", reader), averagePrice: averagePrice, status: status,
            lastFilledQuantity: try fields.decimal("l", reader), filledQuantity: try fields.decimal("z", reader),
            time: try fields.integer("T", reader))
    }
}

extension DepthLevels: WireRow {
    /// A partial book is complete each time: its levels are sorted, and it has no previous update.
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        guard let bids = fields.bids, let asks = fields.asks else { throw reader.failure("a side of the book is missing") }
        let last = try fields.integer("u", reader, UInt64.self)
        let time = try fields.integer("T", reader, Int64.self)
        if name.channel == .partialDepth {
            self = DepthLevels(symbol: fields.symbol, bids: bids, asks: asks, lastUpdateID: last, time: time).sorted
            return
        }
        guard let previous = fields.previousUpdateID else { throw reader.failure("the previous update's id is missing") }
        let first = try fields.integer("U", reader, UInt64.self)
        guard first <= last, previous <= last else { throw reader.failure("the update ids are not in order") }
        self.init(
            symbol: fields.symbol, bids: bids, asks: asks, firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous, time: time)
    }

    static func read(_ text: inout PlainText, of name: FuturesServiceStreamName, into rows: inout [Self]) -> Int64? {
        guard text.skip(#"{"e":"depthUpdate","E":"#), let eventTime = text.time(), text.skip(#","T":"#), let time = text.time(),
            text.skip(#","s":""#), let symbol = text.symbol(), text.skipPair(), text.skip(#","U":"#), let first = text.integer(),
            text.skip(#","u":"#), let last = text.integer(), text.skip(#","pu":"#), let previous = text.integer(), first <= last, previous <= last,
            text.skip(#","b":["#), let bids = text.levels(), text.skip(#","a":["#), let asks = text.levels(), text.end()
        else { return nil }
        if name.channel == .partialDepth {
            rows.add(DepthLevels(symbol: symbol, bids: bids, asks: asks, lastUpdateID: last, time: time).sorted)
        } else {
            rows.add(
                DepthLevels(
                    symbol: symbol, bids: bids, asks: asks, firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous, time: time))
        }
        return eventTime
    }
}

extension Kline: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            openTime: try fields.integer("t", reader), closeTime: try fields.integer("T", reader), open: try fields.decimal("o", reader),
            high: try fields.decimal("h", reader), low: try fields.decimal("l", reader), close: try fields.decimal("c", reader),
            volume: try fields.decimal("v", reader), quoteVolume: try fields.decimal("q", reader),
            tradeCount: try fields.integer("n", reader), takerBuyVolume: try fields.decimal("V", reader),
            takerBuyQuoteVolume: try fields.decimal("Q", reader), isClosed: try fields.flag("x", reader))
    }
}

extension EarlyBar: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        let kline = try Kline(fields, reader, of: name)
        self.init(
            kline: kline, firstTradeID: try fields.tradeID("f", reader), lastTradeID: try fields.tradeID("L", reader),
            closing: kline.isClosed ? .confirmed : .open)
    }
}

extension MiniTicker: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            symbol: fields.symbol, openPrice: try fields.decimal("o", reader), highPrice: try fields.decimal("h", reader),
            lowPrice: try fields.decimal("l", reader), lastPrice: try fields.decimal("c", reader), volume: try fields.decimal("v", reader),
            quoteVolume: try fields.decimal("q", reader), time: try fields.integer("E", reader))
    }
}

extension Ticker: WireRow {
    init(_ fields: borrowing WireFields, _ reader: JSONReader, of name: FuturesServiceStreamName) throws(JSONReader.Failure) {
        self.init(
            mini: try MiniTicker(fields, reader, of: name), priceChange: try fields.decimal("p", reader),
            priceChangePercent: try fields.decimal("P", reader), weightedAveragePrice: try fields.decimal("w", reader),
            lastQuantity: try fields.decimal("Q", reader), openTime: try fields.integer("O", reader),
            closeTime: try fields.integer("C", reader), firstTradeID: try fields.tradeID("F", reader),
            lastTradeID: try fields.tradeID("L", reader), tradeCount: try fields.integer("n", reader))
    }
}

extension Array {
    /// Appends an element. An array of one element is made at its size, which costs less than the growth of an empty one.
    @inline(__always)
    fileprivate mutating func add(_ element: Element) { if isEmpty, capacity == 0 { self = [element] } else { append(element) } }
}
