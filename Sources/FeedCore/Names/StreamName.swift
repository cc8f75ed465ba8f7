/// The name of one stream of a futures venue.
///
/// Printed (`description`) it is the venue's own name, `btcusdt@markPrice@1s`; `init(_:)` reads such a name. Names that cannot be written
/// cannot be made: the two are inverse to each other.
public struct FuturesServiceStreamName: Hashable, Sendable {
    /// What a stream carries.
    public enum Channel: String, CaseIterable, Sendable {
        /// Mark price and funding.
        case markPrice
        /// Asset index of multi-assets mode.
        case assetIndex
        /// Best bid and ask.
        case bookTicker
        /// Aggregate trades.
        case aggregateTrade = "aggTrade"
        /// Bars.
        case kline
        /// 24-hour mini ticker.
        case miniTicker
        /// 24-hour ticker.
        case ticker
    }

    /// What the stream carries.
    public let channel: Channel
    /// The symbol as in payloads, `BTCUSDT`; nil for a stream of all symbols.
    public let symbol: String?
    /// The bars' interval; nil but for `kline`.
    public let interval: KlineInterval?
    /// Whether the faster of two speeds is asked for (`@1s` of mark prices).
    public let isFast: Bool

    init(channel: Channel, symbol: String?, interval: KlineInterval? = nil, isFast: Bool = false) {
        self.channel = channel
        self.symbol = symbol.map { String(decoding: $0.utf8.map(FuturesServiceStreamName.uppercased), as: UTF8.self) }
        self.interval = interval
        self.isFast = isFast
    }

    /// How an update changes the content.
    public var mergeRule: MergeRule {
        switch channel {
        case .aggregateTrade: .append
        case .kline: .byKey
        default: symbol == nil ? .byKey : .replace
        }
    }

    /// Whether the content is an array of rows, also where there is one row; else it is one object.
    public var isArray: Bool { mergeRule != .replace }
}

extension FuturesServiceStreamName {
    /// All asset indices, `!assetIndex@arr`.
    public static let assetIndex = Self(channel: .assetIndex, symbol: nil)
    /// All mark prices every 3 s, `!markPrice@arr`.
    public static let markPrices = Self(channel: .markPrice, symbol: nil)
    /// All mark prices every second, `!markPrice@arr@1s`.
    public static let fastMarkPrices = Self(channel: .markPrice, symbol: nil, isFast: true)
    /// All mini tickers, `!miniTicker@arr`.
    public static let miniTickers = Self(channel: .miniTicker, symbol: nil)
    /// All tickers, `!ticker@arr`.
    public static let tickers = Self(channel: .ticker, symbol: nil)
    /// All book tickers, `!bookTicker`.
    public static let bookTickers = Self(channel: .bookTicker, symbol: nil)

    /// One asset index, `btcusd@assetIndex`; `symbol` is the asset and `USD`.
    public static func assetIndex(symbol: String) -> Self { Self(channel: .assetIndex, symbol: symbol) }
    /// One mark price, every 3 s, or every second where `fast`.
    public static func markPrice(symbol: String, fast: Bool = false) -> Self { Self(channel: .markPrice, symbol: symbol, isFast: fast) }
    /// One symbol's best bid and ask.
    public static func bookTicker(symbol: String) -> Self { Self(channel: .bookTicker, symbol: symbol) }
    /// One symbol's aggregate trades.
    public static func aggregateTrade(symbol: String) -> Self { Self(channel: .aggregateTrade, symbol: symbol) }
    /// One symbol's bars.
    public static func kline(symbol: String, interval: KlineInterval) -> Self { Self(channel: .kline, symbol: symbol, interval: interval) }
    /// One symbol's mini ticker.
    public static func miniTicker(symbol: String) -> Self { Self(channel: .miniTicker, symbol: symbol) }
    /// One symbol's ticker.
    public static func ticker(symbol: String) -> Self { Self(channel: .ticker, symbol: symbol) }
}

/// The intervals of bars; case matters, `1m` is a minute and `1M` a month.
public enum KlineInterval: String, CaseIterable, Sendable {
    /// A number of minutes, hours, days, a week or a month.
    case minute1 = "1m", minute3 = "3m", minute5 = "5m", minute15 = "15m", minute30 = "30m"
    case hour1 = "1h", hour2 = "2h", hour4 = "4h", hour6 = "6h", hour8 = "8h", hour12 = "12h"
    case day1 = "1d", day3 = "3d", week1 = "1w", month1 = "1M"
}
