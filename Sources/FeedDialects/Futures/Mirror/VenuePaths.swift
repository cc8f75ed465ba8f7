import FeedCore

/// One of the venue's REST paths.
struct VenuePath: Sendable {
    enum Parameter: Sendable, Equatable {
        case symbol, anySymbol, pair, contractType, interval, period, start, end, fromID
        case limit(_ usual: Int, most: Int)
        /// The number of a book's levels, which must be one of these.
        case levels(_ usual: Int, of: [Int64])
    }

    enum Weight: Sendable {
        case fixed(Int)
        /// One symbol, or all.
        case rows(one: Int, all: Int)
        case bars, levels
    }

    enum Source: Sendable {
        case clock, premiumIndex, ticker, price, bookTicker, assetIndex, depth, bars, continuousBars, trades, nothingListed, keyed
        /// The venue, and how long its answer is kept.
        case venue(VenueKeep)
        /// The venue; kept until the requested bar closes.
        case venueBars
        /// The venue; kept for the requested period.
        case venuePeriod
    }

    /// Without the version: `fapi/klines` is `/fapi/v1/klines`, and also v2 and v3.
    let path: String
    let parameters: [Parameter]
    let weight: Weight
    let source: Source

    private init(_ path: String, _ source: Source, _ parameters: [Parameter] = [], _ weight: Weight = .fixed(1)) {
        self.path = path
        self.parameters = parameters
        self.weight = weight
        self.source = source
    }

    /// Every supported path; the weights are the largest of any venue (docs/reference/venues.md §3).
    static let all: [String: VenuePath] = Dictionary(
        uniqueKeysWithValues: [
            VenuePath("fapi/ping", .clock),
            VenuePath("fapi/time", .clock),
            VenuePath("fapi/exchangeInfo", .venue(.milliseconds(60_000))),
            VenuePath("api/ping", .clock),
            VenuePath("api/time", .clock),
            VenuePath("api/exchangeInfo", .nothingListed),
            VenuePath("dapi/exchangeInfo", .nothingListed),
            VenuePath("fapi/klines", .bars, [.symbol, .interval] + range, .bars),
            VenuePath("fapi/continuousKlines", .continuousBars, [.pair, .contractType, .interval] + range, .bars),
            VenuePath("fapi/markPriceKlines", .venueBars, [.symbol, .interval] + range, .bars),
            VenuePath("fapi/indexPriceKlines", .venueBars, [.pair, .interval] + range, .bars),
            VenuePath("fapi/premiumIndexKlines", .venueBars, [.symbol, .interval] + range, .bars),
            VenuePath("fapi/depth", .depth, [.symbol, .levels(500, of: [5, 10, 20, 50, 100, 500, 1_000])], .levels),
            VenuePath("fapi/aggTrades", .trades, [.symbol, .fromID, .start, .end, .limit(500, most: 1_000)], .fixed(20)),
            VenuePath("fapi/rpiDepth", .venue(.milliseconds(1_000)), [.symbol, .levels(1_000, of: [1_000])], .fixed(20)),
            VenuePath("fapi/trades", .venue(.milliseconds(1_000)), [.symbol, .limit(500, most: 1_000)], .fixed(5)),
            VenuePath("fapi/historicalTrades", .keyed),
            VenuePath("fapi/ticker/24hr", .ticker, [.anySymbol], .rows(one: 1, all: 40)),
            VenuePath("fapi/ticker/price", .price, [.anySymbol], .rows(one: 1, all: 2)),
            VenuePath("fapi/ticker/bookTicker", .bookTicker, [.anySymbol], .rows(one: 2, all: 5)),
            VenuePath("fapi/premiumIndex", .premiumIndex, [.anySymbol], .rows(one: 1, all: 10)),
            VenuePath("fapi/assetIndex", .assetIndex, [.anySymbol], .rows(one: 1, all: 10)),
            VenuePath("fapi/indexInfo", .venue(.milliseconds(5_000)), [.anySymbol]),
            VenuePath("fapi/constituents", .venue(.milliseconds(5_000)), [.symbol], .fixed(2)),
            VenuePath("fapi/fundingRate", .venue(.period(3_600_000)), [.anySymbol, .start, .end, .limit(100, most: 1_000)]),
            VenuePath("fapi/fundingInfo", .venue(.period(3_600_000))),
            VenuePath("fapi/symbolAdlRisk", .venue(.milliseconds(60_000)), [.anySymbol]),
            VenuePath("fapi/openInterest", .venue(.milliseconds(10_000)), [.symbol]),
            VenuePath("fapi/insuranceBalance", .venue(.milliseconds(60_000)), [.anySymbol]),
            VenuePath("fapi/tradingSchedule", .venue(.milliseconds(60_000)), [], .fixed(5)),
            VenuePath("futures/data/openInterestHist", .venuePeriod, [.symbol, .period] + history),
            VenuePath("futures/data/globalLongShortAccountRatio", .venuePeriod, [.symbol, .period] + history),
            VenuePath("futures/data/topLongShortAccountRatio", .venuePeriod, [.symbol, .period] + history),
            VenuePath("futures/data/topLongShortPositionRatio", .venuePeriod, [.symbol, .period] + history),
            VenuePath("futures/data/takerlongshortRatio", .venuePeriod, [.symbol, .period] + history),
            VenuePath("futures/data/basis", .venuePeriod, [.pair, .contractType, .period] + history),
            VenuePath("futures/data/delivery-price", .venue(.milliseconds(60_000)), [.pair]),
        ].map { ($0.path, $0) })

    private static let range: [Parameter] = [.start, .end, .limit(500, most: 1_500)]
    private static let history: [Parameter] = [.limit(30, most: 500), .start, .end]

    /// The names of the paths, for metrics.
    static let names = all.keys.sorted()

    /// Whether only an account can answer: orders, positions, user streams.
    static func needsAccount(_ segments: [String]) -> Bool { segments.count >= 3 && ofAccounts.contains(segments[2]) }

    private static let ofAccounts: Set<String> = [
        "account", "accountConfig", "adlQuantile", "algoOpenOrders", "algoOrder", "allAlgoOrders", "allOpenOrders", "allOrders", "apiReferral",
        "apiTradingStatus", "balance", "batchOrders", "commissionRate", "countdownCancelAll", "feeBurn", "forceOrders", "income", "leverage",
        "leverageBracket", "listenKey", "marginType", "multiAssetsMargin", "openAlgoOrders", "openOrder", "openOrders", "order", "orderAmendment",
        "pmAccountInfo", "positionMargin", "positionRisk", "positionSide", "rateLimit", "symbolConfig", "userTrades",
    ]

    /// Finds the path of a request. A client that also loads the spot market's list may request that under any base.
    ///
    /// - Returns: The path, the venue's target, and the target of a list of all symbols in the requested version. The versions list different
    ///   contracts; the entry of a symbol is the same in each.
    static func find(_ segments: [String]) -> (path: VenuePath, target: String, listTarget: String)? {
        if segments.suffix(3) == ["api", "v3", "exchangeInfo"] { return all["api/exchangeInfo"].map { ($0, "", "") } }
        guard segments.count >= 3 else { return nil }
        if segments[0] == "futures" { return all[segments.joined(separator: "/")].map { ($0, "/" + $0.path, "/" + $0.path) } }
        guard ["v1", "v2", "v3"].contains(segments[1]) else { return nil }
        let rest = segments[2...].joined(separator: "/")
        guard let path = all[segments[0] + "/" + rest] else { return nil }
        return (path, "/\(segments[0])/v1/\(rest)", "/\(segments[0])/\(segments[1])/\(rest)")
    }
}
