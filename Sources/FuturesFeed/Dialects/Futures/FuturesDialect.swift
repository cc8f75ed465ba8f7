package import FeedCore

/// The USDⓈ-M futures dialect that ApolloX, Aster and Binance share (venue.md): combined JSON frames, decimal strings, REST under `/fapi/v1`.
package struct FuturesDialect: Dialect {
    let venue: FuturesVenue
    /// How many bars or trades a snapshot holds.
    let history: Int

    package init(venue: FuturesVenue, history: Int = 500) {
        self.venue = venue
        self.history = history
    }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        StreamTraits(
            endpoint: endpoint(name), hasSnapshotSource: name.channel != .liquidation, fetchWeight: fetchWeight(name), staleAfter: staleAfter(name),
            limit: limit(name))
    }

    /// The most levels REST gives of a book.
    static let bookDepth = 1000

    private func endpoint(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .bookTicker, .depth, .partialDepth, .trade: venue.bookEndpoint
        default: 0
        }
    }

    /// The larger of what the venues charge (venue.md §3).
    private func fetchWeight(_ name: FuturesServiceStreamName) -> Int {
        let isAll = name.symbol == nil
        return switch name.channel {
        case .markPrice, .assetIndex: isAll ? 10 : 1
        case .bookTicker: isAll ? 5 : 2
        case .miniTicker, .ticker: isAll ? 40 : 1
        case .kline: history < 100 ? 1 : history < 500 ? 2 : 5
        case .trade: 5
        case .aggregateTrade, .depth: 20
        case .partialDepth: 2
        case .liquidation: 0
        }
    }

    private func limit(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .depth: Self.bookDepth
        case .aggregateTrade, .trade, .liquidation, .kline: history
        default: 100_000
        }
    }

    /// Streams that come by the clock are stale after five periods, tickers after half a minute; a thin book or tape may be silent for long.
    private func staleAfter(_ name: FuturesServiceStreamName) -> Duration? {
        switch name.channel {
        case .markPrice: .seconds(name.speed == .everySecond ? 5 : 15)
        case .assetIndex: .seconds(15)
        case .miniTicker, .ticker: .seconds(30)
        case .bookTicker, .aggregateTrade, .trade, .kline, .liquidation, .partialDepth, .depth: nil
        }
    }

    package var catalogue: [CatalogueEntry] {
        [
            entry("{symbol}@markPrice[@1s]", "mark price, index price and funding rate of one symbol, every 3 s or every second", .replace),
            entry("!markPrice@arr[@1s]", "mark prices of all symbols", .byKey, key: "symbol"),
            entry("{asset}usd@assetIndex", "asset index of one asset of multi-assets mode", .replace),
            entry("!assetIndex@arr", "asset indices of all assets", .byKey, key: "symbol"),
            entry("{symbol}@bookTicker", "best bid and ask of one symbol", .replace),
            entry("!bookTicker", "best bids and asks of all symbols", .byKey, key: "symbol"),
            entry("{symbol}@aggTrade", "aggregate trades of one symbol; a snapshot holds the last \(history)", .append, keep: history),
            entry("{symbol}@trade", "single trades of one symbol; a snapshot holds the last \(history)", .append, keep: history),
            entry("{symbol}@forceOrder", "liquidations of one symbol; a snapshot holds the last \(history)", .append, keep: history, refetch: false),
            entry("!forceOrder@arr", "liquidations of all symbols; a snapshot holds the last \(history)", .append, keep: history, refetch: false),
            entry("{symbol}@depth{5|10|20}[@100ms|@500ms]", "the best levels of one symbol's order book", .replace),
            entry("{symbol}@depth[@100ms|@500ms]", "one symbol's order book, \(Self.bookDepth) levels a side", .book, keep: Self.bookDepth),
            entry("{symbol}@kline_{interval}", "bars of one symbol; a snapshot holds the last \(history)", .byKey, key: "openTime", keep: history),
            entry("{symbol}@miniTicker", "24 h open, high, low, last and volume of one symbol", .replace),
            entry("!miniTicker@arr", "the same of all symbols", .byKey, key: "symbol"),
            entry("{symbol}@ticker", "24 h statistics of one symbol", .replace),
            entry("!ticker@arr", "the same of all symbols", .byKey, key: "symbol"),
        ]
    }

    private func entry(
        _ pattern: String, _ carries: String, _ rule: MergeRule, key: String? = nil, keep: Int? = nil, refetch: Bool = true
    ) -> CatalogueEntry {
        CatalogueEntry(pattern: pattern, carries: carries, rule: rule, key: key, keep: keep, hasSnapshotSource: refetch)
    }

    package func webSocketURL(endpoint: Int) -> String {
        venue.webSocketURL + (venue.combinedPaths.indices.contains(endpoint) ? venue.combinedPaths[endpoint] : venue.combinedPaths[0])
    }

    package func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String { control("SUBSCRIBE", names, request) }

    package func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String { control("UNSUBSCRIBE", names, request) }

    /// Names consist of letters, digits and `_ @ !` only, so they need no escaping.
    private func control(_ method: String, _ names: [FuturesServiceStreamName], _ request: UInt64) -> String {
        let quoted = names.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"method\":\"\(method)\",\"params\":[\(quoted)],\"id\":\(request)}"
    }
}
