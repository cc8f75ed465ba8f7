/// A stream the simulated market can publish, named as the venues name it. Depth streams are to come.
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
    case miniTicker(symbol: Int)
    case allMiniTickers
    case ticker(symbol: Int)
    case allTickers

    /// Nil for a name that does not exist, which the venue acknowledges and never serves. Names are case-sensitive.
    init?(name: String, in market: Market) {
        switch name {
        case "!markPrice@arr": self = .allMarkPrices(everySecond: false)
        case "!markPrice@arr@1s": self = .allMarkPrices(everySecond: true)
        case "!assetIndex@arr": self = .allAssetIndexes
        case "!bookTicker": self = .allBookTickers
        case "!miniTicker@arr": self = .allMiniTickers
        case "!ticker@arr": self = .allTickers
        default:
            guard let at = name.firstIndex(of: "@") else { return nil }
            let (prefix, type) = (String(name[..<at]), String(name[name.index(after: at)...]))
            if type == "assetIndex" {
                guard let asset = market.assets.firstIndex(where: { asciiLowercased($0.symbol) == prefix }) else { return nil }
                self = .assetIndex(asset: asset)
                return
            }
            guard let symbol = market.position(ofLowercased: prefix), let stream = Self.of(symbol, type) else { return nil }
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
        default:
            guard type.hasPrefix("kline_"), let interval = Interval(rawValue: String(type.dropFirst(6))) else { return nil }
            return .kline(symbol: symbol, interval)
        }
    }
}
