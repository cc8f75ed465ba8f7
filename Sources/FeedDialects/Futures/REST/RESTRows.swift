import FeedCore

/// Parses a stream's snapshot from REST: the long field names (docs/reference/venues.md §3.1) into the same rows as the frames.
struct RESTRows {
    let name: FuturesServiceStreamName
    /// The venue's time, ms since 1970 UTC. The last bar is closed if this is past its end; every earlier bar is closed.
    let now: Int64

    typealias Failure = JSONReader.Failure

    func read(_ reader: inout JSONReader) throws(Failure) -> FetchedContent {
        switch name.channel {
        case .markPrice: try named(&reader, FeedRows.markPrice, markPrice, time: \.time)
        case .assetIndex: try named(&reader, FeedRows.assetIndex, assetIndex, time: \.time)
        case .bookTicker: try named(&reader, FeedRows.bookTicker, bookTicker, time: \.time)
        case .miniTicker: try named(&reader, FeedRows.miniTicker, miniTicker, time: \.time)
        case .ticker: try named(&reader, FeedRows.ticker, ticker, time: \.closeTime)
        case .aggregateTrade, .bar: try named(&reader, FeedRows.aggregateTrade, aggregateTrade, time: \.time)
        case .trade: try named(&reader, FeedRows.trade, trade, time: \.time)
        case .partialDepth, .depth, .rpiDepth: try depth(&reader)
        case .kline, .earlyKline, .continuousKline: try klines(&reader)
        case .compositeIndex: try named(&reader, FeedRows.compositeIndex, compositeIndex, time: \.time)
        case .contractInfo: try contracts(&reader)
        case .openInterest, .fundingRate, .longShortRatio: try newest(&reader)
        case .liquidation, .tradingSession, .funding, .markets, .upstream: throw reader.failure("the stream has no REST source")
        }
    }

    /// An object, or the last one of an array, exactly as the venue wrote it.
    private func newest(_ reader: inout JSONReader) throws(Failure) -> FetchedContent {
        var text: UnsafeBufferPointer<UInt8>?
        if try reader.peek() == .array {
            try reader.array { (reader) throws(Failure) in text = try reader.raw() }
        } else {
            text = try reader.raw()
        }
        guard let text else { throw reader.failure("the list is empty") }
        var object = JSONReader(text)
        let fields = try RESTFields(&object)
        if let symbol = name.symbol, try fields.symbol() != symbol { throw reader.failure("the symbol belongs to another stream") }
        var time: Int64?
        for key in ["time", "fundingTime", "timestamp"] where time == nil { time = try? fields.integer(key) }
        return FetchedContent(rows: .json([JSONRow(checked: String(decoding: text, as: UTF8.self))]), eventTime: time)
    }

    /// An object, or an array of objects.
    private func named<Row>(
        _ reader: inout JSONReader, _ wrap: ([Row]) -> FeedRows, _ read: (RESTFields) throws(Failure) -> Row, time: (Row) -> Int64
    ) throws(Failure) -> FetchedContent {
        var rows: [Row] = []
        var leftOut = LeftOutRows()
        func readRow(_ reader: inout JSONReader) throws(Failure) {
            let fields = try RESTFields(&reader, lists: ["baseAssetList"])
            let row = try read(fields)
            if let symbol = name.symbol, let rowSymbol = fields.symbolIfTold, rowSymbol != symbol {
                throw reader.failure("the symbol belongs to another stream")
            }
            rows.append(row)
        }
        if try reader.peek() != .array {
            try readRow(&reader)
        } else {
            var first: Failure?
            try reader.array { (reader) throws(Failure) in
                let start = reader.position
                do throws(Failure) { try readRow(&reader) } catch {
                    guard name.symbol == nil else { throw error }
                    try RESTFields.leaveOut(&reader, from: start, symbol: "symbol", error, &leftOut)
                    first = first ?? error
                }
            }
            if rows.isEmpty, let first { throw first }
        }
        return FetchedContent(rows: wrap(rows), eventTime: rows.map(time).max(), leftOut: leftOut)
    }

    private func markPrice(_ fields: RESTFields) throws(Failure) -> MarkPrice {
        let funding = try fields.optionalDecimal("lastFundingRate")
        let next = try fields.integer("nextFundingTime", Int64.self)
        return MarkPrice(
            symbol: try fields.symbol(), markPrice: try fields.decimal("markPrice"), indexPrice: try fields.optionalDecimal("indexPrice"),
            estimatedSettlePrice: try fields.optionalDecimal("estimatedSettlePrice"), lastFundingRate: next == 0 ? nil : funding,
            nextFundingTime: next == 0 || funding == nil ? nil : next, interestRate: try fields.optionalDecimal("interestRate"),
            time: try fields.integer("time"))
    }

    private func assetIndex(_ fields: RESTFields) throws(Failure) -> AssetIndex {
        AssetIndex(
            symbol: try fields.symbol(), index: try fields.decimal("index"), bidBuffer: try fields.decimal("bidBuffer"),
            askBuffer: try fields.decimal("askBuffer"), bidRate: try fields.decimal("bidRate"), askRate: try fields.decimal("askRate"),
            autoExchangeBidBuffer: try fields.decimal("autoExchangeBidBuffer"),
            autoExchangeAskBuffer: try fields.decimal("autoExchangeAskBuffer"),
            autoExchangeBidRate: try fields.decimal("autoExchangeBidRate"), autoExchangeAskRate: try fields.decimal("autoExchangeAskRate"),
            time: try fields.integer("time"))
    }

    private func bookTicker(_ fields: RESTFields) throws(Failure) -> BookTicker {
        BookTicker(
            symbol: try fields.symbol(), bidPrice: try fields.decimal("bidPrice"), bidQuantity: try fields.decimal("bidQty"),
            askPrice: try fields.decimal("askPrice"), askQuantity: try fields.decimal("askQty"), time: try fields.integer("time"))
    }

    private func miniTicker(_ fields: RESTFields) throws(Failure) -> MiniTicker {
        MiniTicker(
            symbol: try fields.symbol(), openPrice: try fields.decimal("openPrice"), highPrice: try fields.decimal("highPrice"),
            lowPrice: try fields.decimal("lowPrice"), lastPrice: try fields.decimal("lastPrice"), volume: try fields.decimal("volume"),
            quoteVolume: try fields.decimal("quoteVolume"), time: try fields.integer("closeTime"))
    }

    private func ticker(_ fields: RESTFields) throws(Failure) -> Ticker {
        Ticker(
            mini: try miniTicker(fields), priceChange: try fields.decimal("priceChange"),
            priceChangePercent: try fields.decimal("priceChangePercent"), weightedAveragePrice: try fields.decimal("weightedAvgPrice"),
            lastQuantity: try fields.decimal("lastQty"), openTime: try fields.integer("openTime"), closeTime: try fields.integer("closeTime"),
            firstTradeID: UInt64(exactly: try fields.integer("firstId", Int64.self)),
            lastTradeID: UInt64(exactly: try fields.integer("lastId", Int64.self)), tradeCount: try fields.integer("count"))
    }

    private func aggregateTrade(_ fields: RESTFields) throws(Failure) -> AggregateTrade {
        AggregateTrade(
            id: try fields.integer("a"), price: try fields.decimal("p"), quantity: try fields.decimal("q"),
            normalQuantity: try fields.optionalDecimal("nq"), firstTradeID: try fields.integer("f"), lastTradeID: try fields.integer("l"),
            time: try fields.integer("T"),
            isBuyerMaker: try fields.flag("m"))
    }

    private func trade(_ fields: RESTFields) throws(Failure) -> Trade {
        Trade(
            id: try fields.integer("id"), price: try fields.decimal("price"), quantity: try fields.decimal("qty"), type: nil,
            time: try fields.integer("time"), isBuyerMaker: try fields.flag("isBuyerMaker"))
    }

    private func compositeIndex(_ fields: RESTFields) throws(Failure) -> CompositeIndex {
        var parts: [CompositeIndex.Part] = []
        for part in fields.list("baseAssetList") {
            parts.append(
                CompositeIndex.Part(
                    baseAsset: part.word("baseAsset") ?? "", quoteAsset: part.word("quoteAsset") ?? "",
                    weightQuantity: try part.decimal("weightInQuantity"), weightPercentage: try part.decimal("weightInPercentage"), indexPrice: nil))
        }
        return CompositeIndex(
            symbol: try fields.symbol(), price: nil, component: fields.word("component") ?? "", composition: parts, time: try fields.integer("time"))
    }

    /// The contracts in the venue's listing; a row without a contract type is not a contract yet.
    private func contracts(_ reader: inout JSONReader) throws(Failure) -> FetchedContent {
        var rows: [ContractInfo] = []
        var leftOut = LeftOutRows()
        for fields in try RESTFields(&reader, lists: ["symbols"]).list("symbols") {
            guard let type = fields.word("contractType"), !type.isEmpty else { continue }
            do throws(Failure) {
                rows.append(
                    ContractInfo(
                        symbol: try fields.symbol(), pair: fields.word("pair") ?? "", contractType: type, status: fields.word("status") ?? "",
                        deliveryTime: try fields.integer("deliveryDate"), onboardTime: try fields.integer("onboardDate"), brackets: nil, time: 0))
            } catch {
                leftOut.add(fields.symbolIfTold, "\(error.reason)")
            }
        }
        return FetchedContent(rows: .contractInfo(rows), eventTime: nil, leftOut: leftOut)
    }

    /// A book's snapshot, which does not contain its symbol.
    private func depth(_ reader: inout JSONReader) throws(Failure) -> FetchedContent {
        var (last, time, eventTime): (UInt64?, Int64?, Int64?)
        var (bids, asks): ([PriceLevel]?, [PriceLevel]?)
        try reader.object { (reader, key) throws(Failure) in
            switch String(decoding: key, as: UTF8.self) {
            case "lastUpdateId": last = try reader.integer()
            case "T": time = try reader.integer()
            case "E": eventTime = try reader.integer()
            case "bids": bids = try PriceLevel.levels(&reader)
            case "asks": asks = try PriceLevel.levels(&reader)
            default: try reader.skip()
            }
        }
        guard let last, let bids, let asks else { throw reader.failure("a book's update id or a side is missing") }
        let levels = DepthLevels(symbol: name.symbol ?? "", bids: bids, asks: asks, lastUpdateID: last, time: time ?? eventTime ?? 0)
        return FetchedContent(rows: .depth([levels.sorted]), eventTime: eventTime)
    }

    /// Bars are arrays: open time, open, high, low, close, volume, close time, quote volume, trades, taker buy base and quote, unused.
    private func klines(_ reader: inout JSONReader) throws(Failure) -> FetchedContent {
        var rows: [Kline] = []
        try reader.array { (reader) throws(Failure) in
            var fields = RESTFields()
            var position = 0
            try reader.array { (reader) throws(Failure) in
                try fields.take(&reader, "\(position)")
                position += 1
            }
            let closeTime = try fields.integer("6", Int64.self)
            rows.append(
                Kline(
                    openTime: try fields.integer("0"), closeTime: closeTime, open: try fields.decimal("1"), high: try fields.decimal("2"),
                    low: try fields.decimal("3"), close: try fields.decimal("4"), volume: try fields.decimal("5"),
                    quoteVolume: try fields.decimal("7"), tradeCount: try fields.integer("8"), takerBuyVolume: try fields.decimal("9"),
                    takerBuyQuoteVolume: try fields.decimal("10"), isClosed: VenueClock.isAhead(now, of: closeTime)))
        }
        for place in rows.indices.dropLast() { rows[place].isClosed = true }
        return FetchedContent(rows: .kline(rows), eventTime: nil)
    }
}
