/// The source of REST replies: the simulated market, or the part of a replay played so far.
protocol RESTSource {
    /// `dated` says whether to list contracts with a delivery date.
    func exchangeInfo(now: Int64, weightLimit: Int, dated: Bool) -> String
    func hasSymbol(_ symbol: String) -> Bool
    /// The symbols of a reply that lists all rows; `dated` as above.
    func symbols(of row: RESTRow, dated: Bool) -> [String]
    /// The row's JSON object; nil if there is none for this symbol.
    func row(_ row: RESTRow, _ symbol: String, now: Int64) -> String?
    /// Oldest first, the open bar last.
    func klines(_ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)]
    /// Oldest first.
    func aggTrades(_ symbol: String) -> [(id: Int64, time: Int64, json: String)]
    /// Single trades, oldest first.
    func trades(_ symbol: String) -> [String]
    /// The whole reply with the best `limit` levels of each side; nil if there is no book.
    func depth(_ symbol: String, limit: Int) -> String?

    /// Whether a contract of this pair is listed.
    func hasPair(_ pair: String) -> Bool
    /// The contract of a pair and a type like `PERPETUAL` or `CURRENT_QUARTER`.
    func contract(_ pair: String, _ type: String) -> String?
    /// Bars of a price other than the trade price; oldest first, the open bar last.
    func priceKlines(_ kind: PriceKind, _ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)]
    /// Past funding payments between two times, of one symbol or of all: the first `limit` of them, or the last.
    func fundings(_ symbol: String?, from: Int64?, to: Int64?, limit: Int) -> [String]
    func fundingInfo() -> [String]
    /// Nil if the contract is not traded.
    func openInterest(_ symbol: String) -> String?
    /// The rows of an endpoint under `/futures/data` for one contract, oldest first, each with the end of its period.
    func records(_ kind: RecordKind, _ symbol: String, _ period: Interval) -> [(time: Int64, json: String)]
    /// The whole reply; nil if the symbol is unknown.
    func constituents(_ symbol: String) -> String?
    /// Composite indexes, by symbol.
    func compositeIndexes() -> [(symbol: String, json: String)]
    /// Past deliveries of a pair's dated contracts, latest first.
    func deliveries(_ pair: String) -> [String]
}

/// A recording of streams has none of these.
extension RESTSource {
    func hasPair(_ pair: String) -> Bool { hasSymbol(pair) }
    func contract(_ pair: String, _ type: String) -> String? { type == "PERPETUAL" && hasSymbol(pair) ? pair : nil }
    func priceKlines(_ kind: PriceKind, _ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)] { [] }
    func fundings(_ symbol: String?, from: Int64?, to: Int64?, limit: Int) -> [String] { [] }
    func fundingInfo() -> [String] { [] }
    func openInterest(_ symbol: String) -> String? { nil }
    func records(_ kind: RecordKind, _ symbol: String, _ period: Interval) -> [(time: Int64, json: String)] { [] }
    func constituents(_ symbol: String) -> String? { nil }
    func compositeIndexes() -> [(symbol: String, json: String)] { [] }
    func deliveries(_ pair: String) -> [String] { [] }
}

/// The endpoints that answer with one object if `symbol` is given, else with an array.
enum RESTRow: Equatable {
    case premiumIndex
    case assetIndex
    case ticker24hr
    case bookTicker
    case priceTicker
}

/// The endpoints under `/futures/data` that return a row for each past period.
enum RecordKind: String {
    case openInterestHist
    case globalLongShortAccountRatio
    case topLongShortAccountRatio
    case topLongShortPositionRatio
    case takerlongshortRatio
    case basis
}
