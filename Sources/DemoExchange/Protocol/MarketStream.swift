/// A stream of the simulated market, named as the venues name it.
enum MarketStream: Equatable {
    case markPrice(symbol: Int, everySecond: Bool)
    case allMarkPrices(everySecond: Bool)
    case assetIndex(asset: Int)
    case allAssetIndexes
    case bookTicker(symbol: Int)
    case allBookTickers
    case aggTrade(symbol: Int)
    case trade(symbol: Int)
    case kline(symbol: Int, Interval)
    /// The bars of whichever contract has this type now, such as the quarterly one.
    case continuousKline(symbol: Int, Interval)
    case compositeIndex(symbol: Int)
    case tradingSession
    case miniTicker(symbol: Int)
    case allMiniTickers
    case ticker(symbol: Int)
    case allTickers
    /// Changes of a book; `interval` in milliseconds.
    case depth(symbol: Int, interval: Int64)
    case partialDepth(symbol: Int, levels: Int, interval: Int64)
    case forceOrder(symbol: Int)
    case allForceOrders

    /// Nil for an unknown name, which the venue acknowledges but never serves. Names are case-sensitive.
    init?(name: String, in market: Market) {
        switch name {
        case "!markPrice@arr": self = .allMarkPrices(everySecond: false)
        case "!markPrice@arr@1s": self = .allMarkPrices(everySecond: true)
        case "!assetIndex@arr": self = .allAssetIndexes
        case "!bookTicker": self = .allBookTickers
        case "!miniTicker@arr": self = .allMiniTickers
        case "!ticker@arr": self = .allTickers
        case "!forceOrder@arr": self = .allForceOrders
        case "tradingSession": self = .tradingSession
        default:
            guard let at = name.firstIndex(of: "@") else { return nil }
            let (prefix, type) = (String(name[..<at]), String(name[name.index(after: at)...]))
            if type == "assetIndex" {
                guard let asset = market.assets.firstIndex(where: { asciiLowercased($0.symbol) == prefix }) else { return nil }
                self = .assetIndex(asset: asset)
                return
            }
            if type.hasPrefix("continuousKline_") {
                let words = prefix.split(separator: "_", maxSplits: 1).map { asciiUppercased(String($0)) }
                guard words.count == 2, prefix == asciiLowercased(prefix), let interval = Interval(rawValue: String(type.dropFirst(16))),
                    let symbol = market.symbols.firstIndex(where: { $0.listing.pair == words[0] && $0.listing.contractType == words[1] })
                else { return nil }
                self = .continuousKline(symbol: symbol, interval)
                return
            }
            guard let symbol = market.position(ofLowercased: prefix), let stream = Self.of(symbol, type) else { return nil }
            if case .compositeIndex = stream, market.symbols[symbol].listing.components.isEmpty { return nil }
            self = stream
        }
    }

    private static func of(_ symbol: Int, _ type: String) -> MarketStream? {
        switch type {
        case "markPrice": return .markPrice(symbol: symbol, everySecond: false)
        case "markPrice@1s": return .markPrice(symbol: symbol, everySecond: true)
        case "bookTicker": return .bookTicker(symbol: symbol)
        case "aggTrade": return .aggTrade(symbol: symbol)
        case "trade": return .trade(symbol: symbol)
        case "miniTicker": return .miniTicker(symbol: symbol)
        case "ticker": return .ticker(symbol: symbol)
        case "forceOrder": return .forceOrder(symbol: symbol)
        case "compositeIndex": return .compositeIndex(symbol: symbol)
        // RPI orders, which only retail users can trade against, are few; here there are none.
        case "rpiDepth@500ms": return .depth(symbol: symbol, interval: 500)
        default:
            if type.hasPrefix("depth") { return depth(symbol, type.dropFirst(5)) }
            guard type.hasPrefix("kline_"), let interval = Interval(rawValue: String(type.dropFirst(6))) else { return nil }
            return .kline(symbol: symbol, interval)
        }
    }

    /// `suffix` follows `depth` in the name: a number of levels or nothing, then the speed. 250 ms uses the bare name, never `@250ms`.
    private static func depth(_ symbol: Int, _ suffix: Substring) -> MarketStream? {
        let parts = suffix.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let intervals: [Substring: Int64] = ["0ms": 1, "100ms": 100, "500ms": 500]
        guard let interval = parts.count == 1 ? 250 : intervals[parts[1]], interval > 1 || parts[0].isEmpty else { return nil }
        switch parts[0] {
        case "": return .depth(symbol: symbol, interval: interval)
        case "5", "10", "20": return Int(parts[0]).map { .partialDepth(symbol: symbol, levels: $0, interval: interval) }
        default: return nil
        }
    }

    /// Position of the symbol whose book the stream carries.
    var bookSymbol: Int? {
        switch self {
        case .depth(let symbol, _), .partialDepth(let symbol, _, _): symbol
        default: nil
        }
    }
}
