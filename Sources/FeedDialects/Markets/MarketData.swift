package import FeedCore

/// Data of a contract that all venues have, in one shape. Prices are in the currency of the row, sizes are amounts of the asset.
package enum MarketData: Sendable {
    /// The best levels of the order book, at most 20 per side.
    case book(depth: Int)
    /// The newest trades.
    case trades(limit: Int)
    /// The newest bars.
    case bars(KlineInterval, limit: Int)
}

/// A level of an order book, a trade and a bar in the shape that all venues share.
struct MarketLevel {
    let price: DecimalString
    let size: DecimalString
}

struct MarketTrade {
    let id: UInt64
    let price: DecimalString
    let size: DecimalString
    /// Whether the order that was executed on arrival was a purchase.
    let isBuy: Bool
    let time: Int64
}

struct MarketBar {
    let openTime: Int64
    /// The last millisecond of the bar.
    let closeTime: Int64
    let open: DecimalString
    let high: DecimalString
    let low: DecimalString
    let close: DecimalString
    let volume: DecimalString
    let trades: UInt64
}

extension JSONWriter {
    mutating func marketBook(_ bids: some Sequence<MarketLevel>, _ asks: some Sequence<MarketLevel>, time: Int64?) {
        member("time", optional: time)
        member("bids")
        levels(bids)
        member("asks")
        levels(asks)
    }

    private mutating func levels(_ levels: some Sequence<MarketLevel>) {
        array { json in
            for level in levels {
                json.array {
                    $0.string(level.price.text)
                    $0.string(level.size.text)
                }
            }
        }
    }

    mutating func marketTrades(_ trades: some Sequence<MarketTrade>) {
        objects("trades", trades) { trade, json in
            json.member("id", trade.id)
            json.member("price", trade.price)
            json.member("size", trade.size)
            json.member("side", trade.isBuy ? "buy" : "sell")
            json.member("time", trade.time)
        }
    }

    mutating func marketBars(_ bars: some Sequence<MarketBar>) {
        objects("bars", bars) { bar, json in
            json.member("openTime", bar.openTime)
            json.member("closeTime", bar.closeTime)
            json.member("open", bar.open)
            json.member("high", bar.high)
            json.member("low", bar.low)
            json.member("close", bar.close)
            json.member("volume", bar.volume)
            json.member("tradeCount", bar.trades)
        }
    }

    private mutating func objects<Row>(_ name: StaticString, _ rows: some Sequence<Row>, _ write: (Row, inout JSONWriter) -> Void) {
        member(name)
        array { json in for row in rows { json.object { write(row, &$0) } } }
    }
}

extension FuturesDialect {
    package func marketStream(of asset: String, _ data: MarketData, _ listing: VenueListing?) -> FuturesServiceStreamName? {
        guard let symbol = Self.symbol(of: asset, listing) else { return nil }
        let name: FuturesServiceStreamName =
            switch data {
            case .book: .partialDepth(symbol: symbol, levels: .twenty, speed: .milliseconds100)
            case .trades: .aggregateTrade(symbol: symbol)
            case .bars(let interval, _): .kline(symbol: symbol, interval: interval)
            }
        return name.at(venue: prefix)
    }

    package func write(_ data: MarketData, of content: FuturesServiceFeedContent, _ json: inout JSONWriter) {
        switch (data, content.rows) {
        case (.book(let depth), .depth(let books)):
            guard let book = books.first else { return }
            func levels(_ side: [PriceLevel]) -> [MarketLevel] { side.prefix(depth).map { MarketLevel(price: $0.price, size: $0.quantity) } }
            json.marketBook(levels(book.bids), levels(book.asks), time: book.time > 0 ? book.time : nil)
        case (.trades(let limit), .aggregateTrade(let trades)):
            json.marketTrades(
                trades.suffix(limit).map { MarketTrade(id: $0.id, price: $0.price, size: $0.quantity, isBuy: !$0.isBuyerMaker, time: $0.time) })
        case (.bars(_, let limit), .kline(let bars)):
            json.marketBars(
                bars.suffix(limit).map {
                    MarketBar(
                        openTime: $0.openTime, closeTime: $0.closeTime, open: $0.open, high: $0.high, low: $0.low, close: $0.close, volume: $0.volume,
                        trades: $0.tradeCount)
                })
        default: break
        }
    }
}

extension HyperliquidDialect {
    package func marketStream(of asset: String, _ data: MarketData, _ listing: VenueListing?) -> FuturesServiceStreamName? {
        guard !marketStreams(of: asset, listing).isEmpty else { return nil }
        let channel =
            switch data {
            case .book: "book"
            case .trades: "trades"
            case .bars(let interval, _): "candle_" + interval.rawValue
            }
        return FuturesServiceStreamName(upstream: name, stream: asset + "@" + channel).flatMap { traits(of: $0) == nil ? nil : $0 }
    }

    package func write(_ data: MarketData, of content: FuturesServiceFeedContent, _ json: inout JSONWriter) {
        switch (data, content.rows) {
        case (.book(let depth), .json(let rows)):
            let read = Self.read(rows.first?.text) { (fields) throws(RowFields.Failure) in (try Self.sides(fields), try Self.time(fields)) }
            guard let ((bids, asks), time) = read else { return }
            json.marketBook(bids.prefix(depth), asks.prefix(depth), time: time)
        case (.trades(let limit), .upstreamTrade(let trades)):
            json.marketTrades(
                trades.suffix(limit).compactMap { trade in
                    Self.read(trade.text) { (fields) throws(RowFields.Failure) in
                        MarketTrade(
                            id: trade.id, price: try fields.decimal("px"), size: try fields.decimal("sz"), isBuy: try fields.string("side") == "B",
                            time: trade.time)
                    }
                })
        case (.bars(_, let limit), .upstreamBar(let rows)):
            json.marketBars(
                rows.suffix(limit).compactMap { row in
                    Self.read(row.text) { (fields) throws(RowFields.Failure) in
                        MarketBar(
                            openTime: try fields.integer("t"), closeTime: try fields.integer("T"), open: try fields.decimal("o"),
                            high: try fields.decimal("h"), low: try fields.decimal("l"), close: try fields.decimal("c"),
                            volume: try fields.decimal("v"), trades: try fields.optionalInteger("n") ?? 0)
                    }
                })
        default: break
        }
    }

    private static func read<Value>(_ text: String?, _ read: (RowFields) throws(RowFields.Failure) -> Value?) -> Value? {
        text.flatMap { RowFields.read(Array($0.utf8)[...], read) }
    }

    private static func time(_ fields: RowFields) throws(RowFields.Failure) -> Int64 { try fields.integer("time") }

    /// `"levels":[[bid,…],[ask,…]]`.
    private static func sides(_ fields: RowFields) throws(RowFields.Failure) -> (bids: [MarketLevel], asks: [MarketLevel]) {
        var sides: [[MarketLevel]] = []
        if let text = fields["levels"] {
            var reader = JSONReader(text)
            try reader.array { (reader) throws(RowFields.Failure) in
                var side: [MarketLevel] = []
                try reader.array { (reader) throws(RowFields.Failure) in
                    let level = try RowFields(&reader)
                    side.append(MarketLevel(price: try level.decimal("px"), size: try level.decimal("sz")))
                }
                sides.append(side)
            }
        }
        guard sides.count == 2 else { throw JSONReader.Failure(reason: "a book has two sides", offset: 0) }
        return (sides[0], sides[1])
    }
}
