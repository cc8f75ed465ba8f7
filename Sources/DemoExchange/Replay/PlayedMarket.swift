/// The REST view of the frames played so far. Prices keep their recorded text.
struct PlayedMarket: RESTSource {
    private let listed: [RecordedSymbol]
    private let names: Set<String>
    /// The last payload per event type and symbol.
    private var last: [String: [String: JSONValue]] = [:]
    /// Per symbol and interval, by open time in order of appearance.
    private var bars: [String: [(openTime: Int64, json: String)]] = [:]
    private var aggregates: [String: [(id: Int64, time: Int64, json: String)]] = [:]

    init(_ symbols: [RecordedSymbol]) {
        listed = symbols
        names = Set(symbols.map(\.name))
    }

    /// Applies a frame that has just been played.
    mutating func played(_ payload: String) {
        guard let value = try? JSONValue(parsing: payload) else { return }
        for row in value.array ?? [value] { take(row) }
    }

    private mutating func take(_ row: JSONValue) {
        guard let event = row["e"]?.string, let symbol = row["s"]?.string else { return }
        last[event, default: [:]][symbol] = row
        if event == "kline" { takeKline(row, symbol) }
        if event == "aggTrade", let id = row["a"]?.integer, let time = row["T"]?.integer {
            let json = object(row, ["a", "p", "q", "f", "l", "T", "m"].map { ($0, $0) })
            aggregates[symbol, default: []].append((id, time, json))
            if aggregates[symbol, default: []].count >= 2_000 { aggregates[symbol]?.removeFirst(1_000) }
        }
    }

    private mutating func takeKline(_ row: JSONValue, _ symbol: String) {
        guard let kline = row["k"], let interval = kline["i"]?.string, let open = kline["t"]?.integer else { return }
        let cells = ["t", "o", "h", "l", "c", "v", "T", "q", "n", "V", "Q", "B"].map { kline[$0]?.scalarText ?? "null" }
        let bar = (openTime: open, json: "[" + cells.joined(separator: ",") + "]")
        let key = "\(symbol) \(interval)"
        if let position = bars[key, default: []].lastIndex(where: { $0.openTime == open }) {
            bars[key]?[position] = bar
        } else {
            bars[key, default: []].append(bar)
            if bars[key, default: []].count > 1_500 { bars[key]?.removeFirst() }
        }
    }

    private func object(_ row: JSONValue, _ fields: [(name: String, letter: String)]) -> String {
        let members = fields.compactMap { field in
            row[field.letter]?.scalarText.map { "\"\(field.name)\":\($0)" }
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    func exchangeInfo(now: Int64, weightLimit: Int, dated: Bool) -> String {
        exchangeInfoReply(
            now: now, weightLimit: weightLimit, assets: [#"{"asset":"USDT","marginAvailable":true,"autoAssetExchange":"-10000"}"#],
            symbols: listed.map(\.exchangeInfoRow))
    }

    func hasSymbol(_ symbol: String) -> Bool { names.contains(symbol) }

    func symbols(of row: RESTRow, dated: Bool) -> [String] {
        (last[row.event] ?? [:]).keys.sorted()
    }

    func row(_ row: RESTRow, _ symbol: String, now: Int64) -> String? {
        last[row.event]?[symbol].map { object($0, row.fields) }
    }

    func klines(_ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)] {
        bars["\(symbol) \(interval.rawValue)"] ?? []
    }

    func aggTrades(_ symbol: String) -> [(id: Int64, time: Int64, json: String)] { aggregates[symbol] ?? [] }

    /// Single trades are not kept.
    func trades(_ symbol: String) -> [String] { [] }

    /// A recording of streams alone holds no complete book.
    func depth(_ symbol: String, limit: Int) -> String? { nil }
}

extension RESTRow {
    /// The stream event with the same content.
    fileprivate var event: String {
        switch self {
        case .premiumIndex: "markPriceUpdate"
        case .assetIndex: "assetIndexUpdate"
        case .ticker24hr: "24hrTicker"
        case .bookTicker: "bookTicker"
        case .priceTicker: "aggTrade"
        }
    }

    /// REST names with the letters of the stream's fields.
    fileprivate var fields: [(name: String, letter: String)] {
        switch self {
        case .premiumIndex:
            [
                ("symbol", "s"), ("markPrice", "p"), ("indexPrice", "i"), ("estimatedSettlePrice", "P"), ("lastFundingRate", "r"),
                ("nextFundingTime", "T"), ("time", "E"),
            ]
        case .assetIndex:
            [
                ("symbol", "s"), ("time", "E"), ("index", "i"), ("bidBuffer", "b"), ("askBuffer", "a"), ("bidRate", "B"), ("askRate", "A"),
                ("autoExchangeBidBuffer", "q"), ("autoExchangeAskBuffer", "g"), ("autoExchangeBidRate", "Q"), ("autoExchangeAskRate", "G"),
            ]
        case .ticker24hr:
            [
                ("symbol", "s"), ("priceChange", "p"), ("priceChangePercent", "P"), ("weightedAvgPrice", "w"), ("lastPrice", "c"),
                ("lastQty", "Q"), ("openPrice", "o"), ("highPrice", "h"), ("lowPrice", "l"), ("volume", "v"), ("quoteVolume", "q"),
                ("openTime", "O"), ("closeTime", "C"), ("firstId", "F"), ("lastId", "L"), ("count", "n"),
            ]
        case .bookTicker:
            [("symbol", "s"), ("bidPrice", "b"), ("bidQty", "B"), ("askPrice", "a"), ("askQty", "A"), ("time", "T")]
        case .priceTicker:
            [("symbol", "s"), ("price", "p"), ("time", "T")]
        }
    }
}
