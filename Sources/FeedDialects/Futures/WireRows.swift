import FeedCore

/// Parses the data of one stream's frame: the venue's one-letter fields (docs/reference/venues.md §2) into rows.
struct WireRows {
    let name: FuturesServiceStreamName

    typealias Failure = JSONReader.Failure
    typealias Key = UnsafeBufferPointer<UInt8>

    /// - Parameter leftOut: Receives the unreadable rows of a list of all symbols.
    func read(_ reader: inout JSONReader, _ leftOut: inout LeftOutRows) throws(Failure) -> (FeedRows, eventTime: Int64?) {
        switch name.channel {
        case .markPrice: try rows(&reader, &leftOut, FeedRows.markPrice, markPrice)
        case .assetIndex: try rows(&reader, &leftOut, FeedRows.assetIndex, assetIndex)
        case .bookTicker: try rows(&reader, &leftOut, FeedRows.bookTicker, bookTicker)
        case .aggregateTrade: try rows(&reader, &leftOut, FeedRows.aggregateTrade, aggregateTrade)
        case .trade: try rows(&reader, &leftOut, FeedRows.trade, trade)
        case .liquidation: try rows(&reader, &leftOut, FeedRows.liquidation, liquidation)
        case .partialDepth, .depth, .rpiDepth: try rows(&reader, &leftOut, FeedRows.depth, depth)
        case .kline, .continuousKline: try rows(&reader, &leftOut, FeedRows.kline, kline)
        case .earlyKline: try rows(&reader, &leftOut, FeedRows.earlyBar, earlyBar)
        case .miniTicker: try rows(&reader, &leftOut, FeedRows.miniTicker, miniTicker)
        case .ticker: try rows(&reader, &leftOut, FeedRows.ticker, ticker)
        case .bar, .openInterest, .fundingRate, .funding, .longShortRatio, .markets, .upstream:
            throw reader.failure("this stream is not sent as frames")
        case .compositeIndex, .contractInfo, .tradingSession: try ReferenceFrame(name: name).read(&reader)
        }
    }

    /// Parses one object or an array of them; the venue sends either under some names.
    private func rows<Row>(
        _ reader: inout JSONReader, _ leftOut: inout LeftOutRows, _ wrap: ([Row]) -> FeedRows,
        _ read: (borrowing WireFields, JSONReader) throws(Failure) -> Row
    ) throws(Failure) -> (FeedRows, eventTime: Int64?) {
        var rows: [Row] = []
        var latest: Int64?
        try WireFields.with(symbol: name.channel == .continuousKline ? nil : name.symbol) { fields throws(Failure) in
            try readRows(&reader, &fields, &rows, &latest, &leftOut, read)
        }
        return (wrap(rows), latest)
    }

    private func readRows<Row>(
        _ reader: inout JSONReader, _ fields: inout WireFields, _ rows: inout [Row], _ latest: inout Int64?, _ leftOut: inout LeftOutRows,
        _ read: (borrowing WireFields, JSONReader) throws(Failure) -> Row
    ) throws(Failure) {
        guard try reader.peek() == .array else { return try readRow(&reader, &fields, &rows, &latest, read) }
        var first: Failure?
        try reader.array { (reader) throws(Failure) in
            let start = reader.position
            do throws(Failure) { try readRow(&reader, &fields, &rows, &latest, read) } catch {
                guard name.symbol == nil else { throw error }
                try RESTFields.leaveOut(&reader, from: start, symbol: "s", error, &leftOut)
                first = first ?? error
            }
        }
        guard rows.isEmpty else { return }
        if let first { throw first }
        // An empty list is normal for all symbols. For one symbol it is refused; otherwise it would count as fresh data.
        guard name.symbol == nil else { throw reader.failure("the list for one symbol is empty") }
    }

    private func readRow<Row>(
        _ reader: inout JSONReader, _ fields: inout WireFields, _ rows: inout [Row], _ latest: inout Int64?,
        _ read: (borrowing WireFields, JSONReader) throws(Failure) -> Row
    ) throws(Failure) {
        try fields.read(&reader)
        try check(fields, reader)
        rows.append(try read(fields, reader))
        if let time = try fields.eventTime(reader) { latest = max(latest ?? time, time) }
    }

    /// Checks that the event and the symbol belong to the stream.
    private func check(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) {
        guard fields.isWord("e", Self.event(name.channel)) else { throw reader.failure("the event belongs to another stream") }
        guard let symbol = name.symbol else { return }
        let told = name.channel == .continuousKline ? fields.pair + "_" + fields.contractType : fields.symbol
        guard told == symbol else { throw reader.failure("the symbol belongs to another stream") }
        if let interval = name.interval, fields.word("i") != interval.rawValue { throw reader.failure("the interval belongs to another stream") }
    }

    static func event(_ channel: FuturesServiceStreamName.Channel) -> StaticString {
        switch channel {
        case .markPrice: "markPriceUpdate"
        case .assetIndex: "assetIndexUpdate"
        case .bookTicker: "bookTicker"
        case .aggregateTrade: "aggTrade"
        case .trade: "trade"
        case .liquidation: "forceOrder"
        case .partialDepth, .depth, .rpiDepth: "depthUpdate"
        case .kline, .earlyKline: "kline"
        case .continuousKline: "continuous_kline"
        case .compositeIndex: "compositeIndex"
        case .contractInfo: "contractInfo"
        case .tradingSession: "EquityUpdate"
        case .bar, .openInterest, .fundingRate, .funding, .longShortRatio, .markets, .upstream: ""
        case .miniTicker: "24hrMiniTicker"
        case .ticker: "24hrTicker"
        }
    }

    private func markPrice(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> MarkPrice {
        let funding = try fields.optionalDecimal("r", reader)
        let next = try fields.integer("T", reader, Int64.self)
        return MarkPrice(
            symbol: fields.symbol, markPrice: try fields.decimal("p", reader), indexPrice: try fields.optionalDecimal("i", reader),
            estimatedSettlePrice: try fields.optionalDecimal("P", reader), lastFundingRate: next == 0 ? nil : funding,
            nextFundingTime: next == 0 || funding == nil ? nil : next, time: try fields.integer("E", reader))
    }

    private func assetIndex(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> AssetIndex {
        AssetIndex(
            symbol: fields.symbol, index: try fields.decimal("i", reader), bidBuffer: try fields.decimal("b", reader),
            askBuffer: try fields.decimal("a", reader), bidRate: try fields.decimal("B", reader), askRate: try fields.decimal("A", reader),
            autoExchangeBidBuffer: try fields.decimal("q", reader), autoExchangeAskBuffer: try fields.decimal("g", reader),
            autoExchangeBidRate: try fields.decimal("Q", reader), autoExchangeAskRate: try fields.decimal("G", reader),
            time: try fields.integer("E", reader))
    }

    private func bookTicker(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> BookTicker {
        BookTicker(
            symbol: fields.symbol, bidPrice: try fields.decimal("b", reader), bidQuantity: try fields.decimal("B", reader),
            askPrice: try fields.decimal("a", reader), askQuantity: try fields.decimal("A", reader),
            updateID: try fields.integer("u", reader), time: try fields.integer("T", reader))
    }

    private func aggregateTrade(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> AggregateTrade {
        AggregateTrade(
            id: try fields.integer("a", reader), price: try fields.decimal("p", reader), quantity: try fields.decimal("q", reader),
            normalQuantity: fields.normalQuantity, firstTradeID: try fields.integer("f", reader), lastTradeID: try fields.integer("l", reader),
            time: try fields.integer("T", reader), isBuyerMaker: try fields.flag("m", reader))
    }

    private func trade(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> Trade {
        Trade(
            id: try fields.integer("t", reader), price: try fields.decimal("p", reader), quantity: try fields.decimal("q", reader),
            type: fields.word("X"), time: try fields.integer("T", reader), isBuyerMaker: try fields.flag("m", reader))
    }

    private func liquidation(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> Liquidation {
        guard let side = fields.word("S"), let type = fields.word("o"), let inForce = fields.word("f"), let status = fields.word("X"),
            let averagePrice = fields.averagePrice
        else { throw reader.failure("a liquidation lacks a field") }
        return Liquidation(
            symbol: fields.symbol, side: side, orderType: type, timeInForce: inForce, quantity: try fields.decimal("q", reader),
            price: try fields.decimal("p", reader), averagePrice: averagePrice, status: status,
            lastFilledQuantity: try fields.decimal("l", reader), filledQuantity: try fields.decimal("z", reader),
            time: try fields.integer("T", reader))
    }

    /// Parses a book. A partial book is complete each time: its levels are sorted, and it has no previous update.
    private func depth(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> DepthLevels {
        guard let bids = fields.bids, let asks = fields.asks else { throw reader.failure("a side of the book is missing") }
        let last = try fields.integer("u", reader, UInt64.self)
        let time = try fields.integer("T", reader, Int64.self)
        if name.channel == .partialDepth {
            return DepthLevels(symbol: fields.symbol, bids: bids, asks: asks, lastUpdateID: last, time: time).sorted
        }
        guard let previous = fields.previousUpdateID else { throw reader.failure("the previous update's id is missing") }
        let first = try fields.integer("U", reader, UInt64.self)
        guard first <= last, previous <= last else { throw reader.failure("the update ids are not in order") }
        return DepthLevels(
            symbol: fields.symbol, bids: bids, asks: asks, firstUpdateID: first, lastUpdateID: last, previousUpdateID: previous, time: time)
    }

    private func kline(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> Kline {
        Kline(
            openTime: try fields.integer("t", reader), closeTime: try fields.integer("T", reader), open: try fields.decimal("o", reader),
            high: try fields.decimal("h", reader), low: try fields.decimal("l", reader), close: try fields.decimal("c", reader),
            volume: try fields.decimal("v", reader), quoteVolume: try fields.decimal("q", reader),
            tradeCount: try fields.integer("n", reader), takerBuyVolume: try fields.decimal("V", reader),
            takerBuyQuoteVolume: try fields.decimal("Q", reader), isClosed: try fields.flag("x", reader))
    }

    private func earlyBar(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> EarlyBar {
        let kline = try kline(fields, reader)
        return EarlyBar(
            kline: kline, firstTradeID: try fields.tradeID("f", reader), lastTradeID: try fields.tradeID("L", reader),
            closing: kline.isClosed ? .confirmed : .open)
    }

    private func miniTicker(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> MiniTicker {
        MiniTicker(
            symbol: fields.symbol, openPrice: try fields.decimal("o", reader), highPrice: try fields.decimal("h", reader),
            lowPrice: try fields.decimal("l", reader), lastPrice: try fields.decimal("c", reader), volume: try fields.decimal("v", reader),
            quoteVolume: try fields.decimal("q", reader), time: try fields.integer("E", reader))
    }

    private func ticker(_ fields: borrowing WireFields, _ reader: JSONReader) throws(Failure) -> Ticker {
        Ticker(
            mini: try miniTicker(fields, reader), priceChange: try fields.decimal("p", reader),
            priceChangePercent: try fields.decimal("P", reader), weightedAveragePrice: try fields.decimal("w", reader),
            lastQuantity: try fields.decimal("Q", reader), openTime: try fields.integer("O", reader),
            closeTime: try fields.integer("C", reader), firstTradeID: try fields.tradeID("F", reader),
            lastTradeID: try fields.tradeID("L", reader), tradeCount: try fields.integer("n", reader))
    }
}
