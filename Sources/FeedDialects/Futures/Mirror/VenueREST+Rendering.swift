package import FeedCore

extension VenueREST {
    /// Writes the requested part of a content in the venue's format.
    ///
    /// - Parameters:
    ///   - listing: The venue's listing; nil until it has arrived.
    ///   - times: The current time, and when the content was fetched.
    ///   - kept: Returns the body of an earlier relayed request if it is kept.
    package func render(
        _ reading: VenueReading, _ content: FuturesServiceFeedContent, listing: VenueListing?, _ times: VenueTimes, kept: (VenueRelay) -> [UInt8]?
    ) -> VenueRendering {
        switch (reading.rows, content.rows) {
        case (.premiumIndex(let symbol), .markPrice(let rows)): render(rows, \.symbol, symbol, Self.write)
        case (.ticker(let symbol), .ticker(let rows)): render(trading(rows, \.mini.symbol, listing), \.mini.symbol, symbol, Self.write)
        case (.price(let symbol), .ticker(let rows)): render(trading(rows, \.mini.symbol, listing), \.mini.symbol, symbol, Self.writePrice)
        case (.bookTicker(let symbol), .bookTicker(let rows)): render(trading(rows, \.symbol, listing), \.symbol, symbol, Self.write)
        case (.assetIndex(let symbol), .assetIndex(let rows)): render(rows, \.symbol, symbol, Self.write)
        case (.depth(let limit), .depth(let rows)): render(rows, limit, content.eventTime, reading.missingLevels)
        case (.trades(let limit, let from, let start, let end), .aggregateTrade(let rows)):
            trades(rows, limit, from, start, end).map { render($0) } ?? .lacks
        case (.bars(let range), .kline(let rows)): render(rows, range, reading, times, kept)
        case (.bars(let range), .earlyBar(let rows)): render(rows.map(\.kline), range, reading, times, kept)
        default: .lacks
        }
    }

    /// Removes settled contracts, which stay in the content but leave the venue's list.
    private func trading<Row>(_ rows: [Row], _ symbol: KeyPath<Row, String>, _ listing: VenueListing?) -> [Row] {
        guard let listing, !listing.settled.isEmpty else { return rows }
        return rows.filter { !listing.settled.contains($0[keyPath: symbol]) }
    }

    private func render<Row>(
        _ rows: [Row], _ key: KeyPath<Row, String>, _ symbol: String?, _ write: (inout JSONWriter, Row) -> Bool
    ) -> VenueRendering {
        var writer = JSONWriter(capacity: 256 * (symbol == nil ? rows.count : 1))
        guard let symbol else {
            var isWhole = !rows.isEmpty
            writer.array { json in for row in rows { isWhole = write(&json, row) && isWhole } }
            return isWhole ? .body(writer.bytes, until: nil) : .lacks
        }
        guard let row = rows.first(where: { $0[keyPath: key] == symbol }), write(&writer, row) else { return .lacks }
        return .body(writer.bytes, until: nil)
    }

    /// False if the row lacks a field of the venue's REST.
    private static func write(_ json: inout JSONWriter, _ row: MarkPrice) -> Bool {
        let zero = DecimalString(checked: "0.00000000")
        guard let index = row.indexPrice, let settle = row.estimatedSettlePrice, let interest = row.interestRate else { return false }
        json.object {
            $0.member("symbol", row.symbol)
            $0.member("markPrice", row.markPrice)
            $0.member("indexPrice", index)
            $0.member("estimatedSettlePrice", settle)
            $0.member("lastFundingRate", row.lastFundingRate ?? zero)
            $0.member("interestRate", interest)
            $0.member("nextFundingTime", row.nextFundingTime ?? 0)
            $0.member("time", row.time)
        }
        return true
    }

    private static func write(_ json: inout JSONWriter, _ row: Ticker) -> Bool {
        json.object {
            $0.member("symbol", row.mini.symbol)
            $0.member("priceChange", row.priceChange)
            $0.member("priceChangePercent", row.priceChangePercent)
            $0.member("weightedAvgPrice", row.weightedAveragePrice)
            $0.member("lastPrice", row.mini.lastPrice)
            $0.member("lastQty", row.lastQuantity)
            $0.member("openPrice", row.mini.openPrice)
            $0.member("highPrice", row.mini.highPrice)
            $0.member("lowPrice", row.mini.lowPrice)
            $0.member("volume", row.mini.volume)
            $0.member("quoteVolume", row.mini.quoteVolume)
            $0.member("openTime", row.openTime)
            $0.member("closeTime", row.closeTime)
            $0.member("firstId", row.firstTradeID.map { Int64(clamping: $0) } ?? -1)
            $0.member("lastId", row.lastTradeID.map { Int64(clamping: $0) } ?? -1)
            $0.member("count", row.tradeCount)
        }
        return true
    }

    private static func writePrice(_ json: inout JSONWriter, _ row: Ticker) -> Bool {
        json.object {
            $0.member("symbol", row.mini.symbol)
            $0.member("price", row.mini.lastPrice)
            $0.member("time", row.closeTime)
        }
        return true
    }

    private static func write(_ json: inout JSONWriter, _ row: BookTicker) -> Bool {
        json.object {
            $0.member("symbol", row.symbol)
            $0.member("bidPrice", row.bidPrice)
            $0.member("bidQty", row.bidQuantity)
            $0.member("askPrice", row.askPrice)
            $0.member("askQty", row.askQuantity)
            $0.member("time", row.time)
        }
        return true
    }

    private static func write(_ json: inout JSONWriter, _ row: AssetIndex) -> Bool {
        json.object {
            $0.member("symbol", row.symbol)
            $0.member("time", row.time)
            $0.member("index", row.index)
            $0.member("bidBuffer", row.bidBuffer)
            $0.member("askBuffer", row.askBuffer)
            $0.member("bidRate", row.bidRate)
            $0.member("askRate", row.askRate)
            $0.member("autoExchangeBidBuffer", row.autoExchangeBidBuffer)
            $0.member("autoExchangeAskBuffer", row.autoExchangeAskBuffer)
            $0.member("autoExchangeBidRate", row.autoExchangeBidRate)
            $0.member("autoExchangeAskRate", row.autoExchangeAskRate)
        }
        return true
    }

    /// Writes a book. One with fewer levels than requested may lack some, because the market has moved away from its snapshot.
    private func render(_ rows: [DepthLevels], _ limit: Int, _ eventTime: Int64?, _ missing: VenueReading.MissingLevels) -> VenueRendering {
        guard let book = rows.first else { return .lacks }
        let isCut = max(book.bids.count, book.asks.count) >= FuturesDialect.bookDepth / 2
        let least =
            switch missing {
            // The venue has no deeper snapshot than this. A level that the market has reached since is no longer behind the others.
            case .tenth where limit >= FuturesDialect.bookDepth: FuturesDialect.bookDepth * 9 / 10
            case .none, .tenth: limit
            case .any: 1
            }
        guard min(book.bids.count, book.asks.count) >= least || !isCut else { return .lacks }
        var writer = JSONWriter(capacity: 64 * min(limit, book.bids.count) + 256)
        writer.object { json in
            json.member("lastUpdateId", book.lastUpdateID)
            json.member("E", eventTime ?? book.time)
            json.member("T", book.time)
            json.member("bids")
            json.array { json in for level in book.bids.prefix(limit) { json.pair(level.price, level.quantity) } }
            json.member("asks")
            json.array { json in for level in book.asks.prefix(limit) { json.pair(level.price, level.quantity) } }
        }
        return .body(writer.bytes, until: nil)
    }

    /// The requested trades; nil if some of them may precede the first kept one.
    private func trades(_ rows: [AggregateTrade], _ limit: Int, _ from: UInt64?, _ start: Int64?, _ end: Int64?) -> ArraySlice<AggregateTrade>? {
        guard let first = rows.first else { return nil }
        if let from { return from >= first.id ? rows.drop { $0.id < from }.prefix(limit) : nil }
        let until = end.map { end in rows.prefix { $0.time <= end } } ?? rows[...]
        if let start { return start > first.time ? until.drop { $0.time < start }.prefix(limit) : nil }
        return until.count >= limit ? until.suffix(limit) : nil
    }

    private func render(_ trades: ArraySlice<AggregateTrade>) -> VenueRendering {
        var writer = JSONWriter(capacity: 128 * trades.count)
        writer.array { json in
            for trade in trades {
                json.object {
                    $0.member("a", trade.id)
                    $0.member("p", trade.price)
                    $0.member("q", trade.quantity)
                    if let quantity = trade.normalQuantity { $0.member("nq", quantity) }
                    $0.member("f", trade.firstTradeID)
                    $0.member("l", trade.lastTradeID)
                    $0.member("T", trade.time)
                    $0.member("m", trade.isBuyerMaker)
                }
            }
        }
        return .body(writer.bytes, until: nil)
    }
}
