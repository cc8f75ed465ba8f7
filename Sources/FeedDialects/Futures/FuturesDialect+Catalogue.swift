import FeedCore

/// The streams that a venue offers, as `GET /streams` lists them.
extension FuturesDialect {
    package var catalogue: [CatalogueEntry] {
        [
            entry("{symbol}@markPrice[@1s]", "mark price, index price and funding rate of one symbol, every 3 s or every second", .replace),
            entry("!markPrice@arr[@1s]", "mark prices of all symbols", .byKey, key: "symbol"),
            entry("{asset}usd@assetIndex", "asset index of one asset of multi-assets mode", .replace),
            entry("!assetIndex@arr", "asset indices of all assets", .byKey, key: "symbol"),
            entry("{symbol}@bookTicker", "best bid and ask of one symbol", .replace),
            entry("!bookTicker", "best bids and asks of all symbols", .byKey, key: "symbol"),
            entry("{symbol}@aggTrade", "aggregate trades of one symbol; a snapshot holds the last \(trades)", .append, keep: trades),
            entry("{symbol}@trade", "single trades of one symbol; a snapshot holds the last \(trades)", .append, keep: trades),
            entry("{symbol}@forceOrder", "liquidations of one symbol; a snapshot holds the last \(trades)", .append, keep: trades, refetch: false),
            entry("!forceOrder@arr", "liquidations of all symbols; a snapshot holds the last \(trades)", .append, keep: trades, refetch: false),
            entry("{symbol}@depth{5|10|20}[@100ms|@500ms]", "the best levels of one symbol's order book", .replace),
            entry("{symbol}@depth[@0ms|@100ms|@500ms]", "one symbol's order book, \(Self.bookDepth) levels a side", .book, keep: Self.bookDepth),
            entry("{symbol}@kline_{interval}", "bars of one symbol; a snapshot holds the last \(bars)", .byKey, key: "openTime", keep: bars),
            entry(
                "{symbol}@kline_{interval}_early",
                "the same bars, each closed as soon as all its trades are known, and confirmed or corrected by the venue later", .byKey,
                key: "openTime",
                keep: bars),
            entry(
                "{symbol}@bar_{1s|5s|15s|30s}", "bars of 1 to 30 s of one symbol, built from its aggregate trades; a snapshot holds the last \(bars)",
                .byKey,
                key: "openTime", keep: bars),
            entry("{symbol}@miniTicker", "24 h open, high, low, last and volume of one symbol", .replace),
            entry("!miniTicker@arr", "the same for all symbols", .byKey, key: "symbol"),
            entry("{symbol}@ticker", "24 h statistics of one symbol", .replace),
            entry("!ticker@arr", "the same for all symbols", .byKey, key: "symbol"),
            entry("{symbol}@openInterest[@10s|@1m]", "open interest of one symbol, polled over REST every 30 s, 10 s or minute", .replace),
            entry("{symbol}@fundingRate", "the last paid funding rate of one symbol, polled every minute", .replace),
            entry(
                "{symbol}@longShortRatio_{5m|15m|30m|1h|2h|4h|6h|12h|1d}", "long and short accounts of one symbol in the newest period", .replace),
        ] + (prefix == nil ? [entry("!markets", "the contracts of all venues in one table, every second", .replace, refetch: false)] : []) + additions
    }

    private var additions: [CatalogueEntry] {
        let all: [(FuturesServiceStreamName.Channel, CatalogueEntry)] = [
            (
                .rpiDepth,
                entry("{symbol}@rpiDepth@500ms", "one symbol's order book with retail price improvement orders", .book, keep: Self.bookDepth)
            ),
            (
                .continuousKline,
                entry(
                    "{pair}_{perpetual|current_quarter|next_quarter|tradifi_perpetual}@continuousKline_{interval}",
                    "bars of a pair's current contract; a snapshot holds the last \(bars)", .byKey, key: "openTime", keep: bars)
            ),
            (
                .funding,
                entry("!funding@arr", "rates, intervals and next times of funding, from mark prices and funding intervals", .replace, refetch: false)
            ),
            (.compositeIndex, entry("{symbol}@compositeIndex", "one composite index and its parts", .replace)),
            (.contractInfo, entry("!contractInfo", "listings, settlements and brackets of all contracts", .byKey, key: "symbol")),
            (
                .tradingSession,
                entry("tradingSession", "sessions of the markets behind contracts on shares and commodities", .byKey, key: "market", refetch: false)
            ),
        ]
        return all.filter { venue.has($0.0) }.map(\.1)
    }

    private func entry(
        _ pattern: String, _ carries: String, _ rule: MergeRule, key: String? = nil, keep: Int? = nil, refetch: Bool = true
    ) -> CatalogueEntry {
        CatalogueEntry(
            pattern: (prefix.map { $0 + ":" } ?? "") + pattern, carries: carries, rule: rule, key: key, keep: keep, hasSnapshotSource: refetch)
    }
}
