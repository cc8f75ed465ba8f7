/// The name of one stream of a futures venue.
///
/// Its `description` is the venue's own name, such as `btcusdt@markPrice@1s`. The initializer without a label parses such a name. The two are inverse:
/// a name that cannot be written cannot be created.
public struct FuturesServiceStreamName: Hashable, Sendable {
    /// The kind of data that a stream carries.
    public enum Channel: String, CaseIterable, Sendable {
        /// Mark price and funding.
        case markPrice
        /// Asset index of multi-assets mode.
        case assetIndex
        /// Best bid and ask.
        case bookTicker
        /// Aggregate trades.
        case aggregateTrade = "aggTrade"
        /// Single trades.
        case trade
        /// Bars.
        case kline
        /// Bars that are closed by their trades, before the venue closes them.
        case earlyKline
        /// Bars of a pair's current contract of a type.
        case continuousKline
        /// Bars of some seconds, built from aggregate trades.
        case bar
        /// 24-hour mini ticker.
        case miniTicker
        /// 24-hour ticker.
        case ticker
        /// Liquidations.
        case liquidation = "forceOrder"
        /// The top of the order book, complete each time.
        case partialDepth
        /// The order book, as changes.
        case depth
        /// The order book with retail price improvement orders, as changes.
        case rpiDepth
        /// A composite index and its components.
        case compositeIndex
        /// Listings, settlements and brackets of all contracts.
        case contractInfo
        /// The trading sessions of the markets behind contracts on stocks and commodities.
        case tradingSession
        /// One symbol's open interest, polled over REST.
        case openInterest
        /// One symbol's latest paid funding rate, polled over REST.
        case fundingRate
        /// Funding of all symbols, derived from polled REST data.
        case funding
        /// How many accounts are long and short, per period, polled over REST.
        case longShortRatio
        /// The contracts of all venues in one table, made by the gateway.
        case markets
        /// A stream of another upstream, by that upstream's own name.
        case upstream
    }

    /// The parts of a name. Every frame passes names around, so copying one costs only a reference.
    private final class Parts: Sendable {
        let channel: Channel
        let symbol: String?
        let interval: KlineInterval?
        let barLength: BarLength?
        let levels: DepthLevelCount?
        let speed: UpdateSpeed?
        let description: String
        /// The name without the prefix of the upstream.
        let local: String
        /// Whether the stream consists of the trades of an upstream that is not a futures venue.
        let isListOfTrades: Bool
        /// Whether the stream consists of the bars of such an upstream.
        let isListOfBars: Bool
        /// The hash of the description, computed once.
        let hash: Int

        init(
            _ channel: Channel, _ symbol: String?, _ interval: KlineInterval?, _ barLength: BarLength?, _ levels: DepthLevelCount?,
            _ speed: UpdateSpeed?, prefix: String?, _ local: String
        ) {
            self.channel = channel
            self.symbol = symbol
            self.interval = interval
            self.barLength = barLength
            self.levels = levels
            self.speed = speed
            self.local = local
            let isHyperliquid = channel == .upstream && FuturesServiceStreamName.isHyperliquid(prefix ?? "")
            isListOfTrades = isHyperliquid && local.hasSuffix("@trades")
            isListOfBars = isHyperliquid && local.split(separator: "@").last?.hasPrefix("candle_") == true
            description = prefix.map { $0 + ":" + local } ?? local
            var hasher = Hasher()
            hasher.combine(description)
            hash = hasher.finalize()
        }
    }

    private let parts: Parts

    /// The kind of data that the stream carries.
    public var channel: Channel { parts.channel }
    /// The symbol as in payloads, such as `BTCUSDT`. For `continuousKline`, a pair and a contract type, such as `BTCUSDT_PERPETUAL`. Nil for a stream
    /// of all symbols.
    public var symbol: String? { parts.symbol }
    /// The bars' interval, or the period of `longShortRatio`; nil for others.
    public var interval: KlineInterval? { parts.interval }
    /// The length of the bars of `bar`; nil for others.
    public var barLength: BarLength? { parts.barLength }
    /// The number of levels of `partialDepth`; nil for others.
    public var levels: DepthLevelCount? { parts.levels }
    /// The requested speed; nil for the venue's default.
    public var speed: UpdateSpeed? { parts.speed }
    /// The name: the venue's own, behind a prefix and a colon if another upstream than the first has the stream. Two names are equal if their
    /// descriptions are.
    public var description: String { parts.description }
    /// Calls back with the bytes of the description, without a copy of it.
    @inline(__always)
    func withUTF8(_ read: (UnsafeBufferPointer<UInt8>) -> Void) {
        guard parts.description.utf8.withContiguousStorageIfAvailable(read) == nil else { return }
        var copy = parts.description
        copy.withUTF8(read)
    }

    /// The upstream's own name of the stream.
    package var local: String { parts.local }
    /// The name of the upstream, which is the part before the colon; nil for a stream of the first one.
    public var prefix: Substring? {
        let length = parts.description.utf8.count - parts.local.utf8.count
        return length > 0 ? parts.description.prefix(upTo: parts.description.utf8.index(parts.description.startIndex, offsetBy: length - 1)) : nil
    }

    init(
        channel: Channel, symbol: String?, interval: KlineInterval? = nil, barLength: BarLength? = nil, levels: DepthLevelCount? = nil,
        speed: UpdateSpeed? = nil, venue: String? = nil
    ) {
        let symbol = symbol.map { String(decoding: $0.utf8.map(FuturesServiceStreamName.uppercased), as: UTF8.self) }
        parts = Parts(
            channel, symbol, interval, barLength, levels, speed, prefix: venue,
            Self.text(channel, symbol, period: interval?.rawValue ?? barLength?.rawValue, levels, speed))
    }

    /// The name of a stream of another kind of upstream, `name:stream`; nil if the arguments are invalid.
    ///
    /// - Parameters:
    ///   - upstream: 1 to 32 lower-case letters, digits and `-`; not a futures venue.
    ///   - stream: 1 to 100 printable ASCII characters without space, comma, quotes and backslash.
    public init?(upstream: String, stream: String) {
        guard Self.isUpstream(upstream), !Self.venues.contains(upstream), Self.isUpstreamStream(stream) else { return nil }
        parts = Parts(.upstream, nil, nil, nil, nil, nil, prefix: upstream, stream)
    }

    /// The upstream's name, and its own name for the stream; nil for a stream of a futures venue.
    public var upstream: (name: Substring, stream: Substring)? {
        guard channel == .upstream, let prefix else { return nil }
        return (prefix, parts.local[...])
    }

    /// The futures venues, whose names as prefixes are followed by a venue's name of a stream, such as `binance:btcusdt@markPrice`.
    package static let venues: Set<String> = ["aster", "apollox", "binance"]

    /// Whether an upstream with this name is Hyperliquid: `hyperliquid`, or a name that begins with `hyperliquid-`. All nodes and clients know by it
    /// how its streams merge.
    package static func isHyperliquid(_ name: some StringProtocol) -> Bool { name == "hyperliquid" || name.hasPrefix("hyperliquid-") }

    /// Whether the stream consists of the trades of an upstream that is not a futures venue.
    package var isListOfTrades: Bool { parts.isListOfTrades }

    /// Whether the stream consists of the bars of an upstream that is not a futures venue.
    package var isListOfBars: Bool { parts.isListOfBars }

    /// The same stream at another futures venue: one of `venues`, or nil for the first upstream. Nothing changes for a stream of another kind of
    /// upstream.
    package func at(venue: String?) -> Self {
        guard channel != .upstream, venue.map({ $0[...] }) != prefix, venue.map(Self.venues.contains) ?? true else { return self }
        return Self(channel: channel, symbol: symbol, interval: interval, barLength: barLength, levels: levels, speed: speed, venue: venue)
    }

    /// Whether both names are equal byte for byte. A `String` would also equal another spelling of the same characters.
    public static func == (a: Self, b: Self) -> Bool {
        if a.parts === b.parts { return true }
        guard a.parts.hash == b.parts.hash else { return false }
        // Compares the buffers, because iterating over string views takes ten times as long.
        let areEqual = a.description.utf8.withContiguousStorageIfAvailable { a in
            b.description.utf8.withContiguousStorageIfAvailable { b in a.count == b.count && a.indices.allSatisfy { a[$0] == b[$0] } }
        }
        return (areEqual ?? nil) ?? a.description.utf8.elementsEqual(b.description.utf8)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(parts.hash) }

    /// Dictionaries and sets call this function. The hash is a good one already, and to hash it again would cost each frame some hundred instructions.
    public func _rawHashValue(seed: Int) -> Int { parts.hash ^ seed }

    /// How an update changes the content.
    public var mergeRule: MergeRule {
        switch channel {
        case .aggregateTrade, .trade, .liquidation: .append
        case .depth, .rpiDepth: .book
        case .kline, .earlyKline, .continuousKline, .bar: .byKey
        case .upstream: isListOfTrades ? .append : isListOfBars ? .byKey : .replace
        case .funding, .markets: .replace
        default: symbol == nil ? .byKey : .replace
        }
    }

    /// How a message of the upstream changes the content. Bars are built from trades, of which every one counts.
    package var messageRule: MergeRule { channel == .bar ? .append : mergeRule }

    /// The stream of the same bars that are closed by their trades; nil for other streams.
    package var early: Self? {
        guard channel == .kline, let symbol, let interval else { return nil }
        return .earlyKline(symbol: symbol, interval: interval).at(venue: prefix.map(String.init))
    }

    /// The name of the venue's own stream with the same content, which permissions of bots name.
    package var venueName: String { channel == .earlyKline ? String(description.dropLast(Self.earlySuffix.count)) : description }

    /// The name by which the venue's sockets know the stream.
    package var socketName: String { channel == .earlyKline ? String(local.dropLast(Self.earlySuffix.count)) : local }

    /// Whether the content is an array of rows, even of one row; otherwise it is one object.
    public var isArray: Bool { mergeRule == .byKey || mergeRule == .append }
}

extension FuturesServiceStreamName {
    /// All asset indices, `!assetIndex@arr`.
    public static let assetIndex = Self(channel: .assetIndex, symbol: nil)
    /// All mark prices every 3 s, `!markPrice@arr`.
    public static let markPrices = Self(channel: .markPrice, symbol: nil)
    /// All mark prices every second, `!markPrice@arr@1s`.
    public static let fastMarkPrices = Self(channel: .markPrice, symbol: nil, speed: .everySecond)
    /// All mini tickers, `!miniTicker@arr`.
    public static let miniTickers = Self(channel: .miniTicker, symbol: nil)
    /// All tickers, `!ticker@arr`.
    public static let tickers = Self(channel: .ticker, symbol: nil)
    /// All book tickers, `!bookTicker`.
    public static let bookTickers = Self(channel: .bookTicker, symbol: nil)

    /// One asset index, `btcusd@assetIndex`; `symbol` is the asset and `USD`.
    public static func assetIndex(symbol: String) -> Self { Self(channel: .assetIndex, symbol: symbol) }
    /// One symbol's mark price, every 3 s, or every second if `fast`.
    public static func markPrice(symbol: String, fast: Bool = false) -> Self {
        Self(channel: .markPrice, symbol: symbol, speed: fast ? .everySecond : nil)
    }
    /// One symbol's best bid and ask.
    public static func bookTicker(symbol: String) -> Self { Self(channel: .bookTicker, symbol: symbol) }
    /// All liquidations, `!forceOrder@arr`.
    public static let liquidations = Self(channel: .liquidation, symbol: nil)
    /// One symbol's liquidations.
    public static func liquidation(symbol: String) -> Self { Self(channel: .liquidation, symbol: symbol) }
    /// One symbol's single trades.
    public static func trade(symbol: String) -> Self { Self(channel: .trade, symbol: symbol) }
    /// The best levels of one symbol's book; `speed` is 100 ms, 500 ms or the venue's default of 250 ms.
    public static func partialDepth(symbol: String, levels: DepthLevelCount, speed: UpdateSpeed? = nil) -> Self {
        Self(channel: .partialDepth, symbol: symbol, levels: levels, speed: speed?.ofBooks)
    }
    /// One symbol's order book; `speed` is 100 ms, 500 ms or the venue's default of 250 ms.
    public static func depth(symbol: String, speed: UpdateSpeed? = nil) -> Self {
        Self(channel: .depth, symbol: symbol, speed: speed?.ofBookChanges)
    }
    /// One symbol's order book with retail price improvement orders, every 500 ms (Binance).
    public static func rpiDepth(symbol: String) -> Self { Self(channel: .rpiDepth, symbol: symbol, speed: .milliseconds500) }
    /// Bars of a pair's current contract (Binance).
    public static func continuousKline(pair: String, contract: ContinuousContract, interval: KlineInterval) -> Self {
        Self(channel: .continuousKline, symbol: pair + "_" + contract.rawValue, interval: interval)
    }
    /// One composite index (Binance).
    public static func compositeIndex(symbol: String) -> Self { Self(channel: .compositeIndex, symbol: symbol) }
    /// Listings, settlements and brackets of all contracts, `!contractInfo` (Binance).
    public static let contractInfo = Self(channel: .contractInfo, symbol: nil)
    /// The contracts of all venues in one table, `!markets`, made by the gateway every second.
    public static let markets = Self(channel: .markets, symbol: nil)
    /// Trading sessions, `tradingSession` (Binance).
    public static let tradingSession = Self(channel: .tradingSession, symbol: nil)
    /// One symbol's open interest, polled every 10 s, every minute, or every 30 s if no speed is given.
    public static func openInterest(symbol: String, speed: UpdateSpeed? = nil) -> Self {
        Self(channel: .openInterest, symbol: symbol, speed: speed?.ofPolls)
    }
    /// One symbol's latest paid funding rate, polled every minute.
    public static func fundingRate(symbol: String) -> Self { Self(channel: .fundingRate, symbol: symbol) }
    /// Funding rates, intervals and next funding times of all symbols, `!funding@arr`, polled every 30 s.
    public static let funding = Self(channel: .funding, symbol: nil)
    /// How many accounts were long and short in the newest period; nil if the venue has no periods of that length.
    public static func longShortRatio(symbol: String, period: KlineInterval) -> Self? {
        guard period.isOfHistory else { return nil }
        return Self(channel: .longShortRatio, symbol: symbol, interval: period)
    }
    /// One symbol's aggregate trades.
    public static func aggregateTrade(symbol: String) -> Self { Self(channel: .aggregateTrade, symbol: symbol) }
    /// One symbol's bars.
    public static func kline(symbol: String, interval: KlineInterval) -> Self { Self(channel: .kline, symbol: symbol, interval: interval) }
    /// One symbol's bars, each closed as soon as all its trades are known.
    public static func earlyKline(symbol: String, interval: KlineInterval) -> Self { Self(channel: .earlyKline, symbol: symbol, interval: interval) }
    /// One symbol's bars of some seconds, built from its aggregate trades. A period without trades has no bar.
    public static func bar(symbol: String, length: BarLength) -> Self { Self(channel: .bar, symbol: symbol, barLength: length) }
    /// One symbol's mini ticker.
    public static func miniTicker(symbol: String) -> Self { Self(channel: .miniTicker, symbol: symbol) }
    /// One symbol's ticker.
    public static func ticker(symbol: String) -> Self { Self(channel: .ticker, symbol: symbol) }
}

/// The intervals of bars. Case matters: `1m` is a minute, `1M` a month.
public enum KlineInterval: String, CaseIterable, Sendable {
    /// A number of minutes, hours, days or weeks, or a month.
    case minute1 = "1m", minute3 = "3m", minute5 = "5m", minute15 = "15m", minute30 = "30m"
    case hour1 = "1h", hour2 = "2h", hour4 = "4h", hour6 = "6h", hour8 = "8h", hour12 = "12h"
    case day1 = "1d", day3 = "3d", week1 = "1w", month1 = "1M"
}

extension KlineInterval {
    /// The length of a bar, ms; nil for months, whose lengths differ.
    package var milliseconds: Int64? {
        let unit: Int64? =
            switch rawValue.last {
            case "m": 60_000
            case "h": 3_600_000
            case "d": 86_400_000
            case "w": 604_800_000
            default: nil
            }
        guard let unit, let count = Int64(rawValue.dropLast()) else { return nil }
        return unit * count
    }

    /// Whether the venue has historical data in periods of this length.
    package var isOfHistory: Bool {
        switch self {
        case .minute5, .minute15, .minute30, .hour1, .hour2, .hour4, .hour6, .hour12, .day1: true
        case .minute1, .minute3, .hour8, .day3, .week1, .month1: false
        }
    }
}

/// The lengths of bars that are built from aggregate trades. Each bar starts at a multiple of its length since 1970 UTC.
public enum BarLength: String, CaseIterable, Sendable {
    /// A number of seconds.
    case second1 = "1s", seconds5 = "5s", seconds15 = "15s", seconds30 = "30s"

    /// The length, ms.
    public var milliseconds: Int64 {
        switch self {
        case .second1: 1000
        case .seconds5: 5000
        case .seconds15: 15_000
        case .seconds30: 30_000
        }
    }
}

/// The number of levels of a partial depth stream.
public enum DepthLevelCount: String, CaseIterable, Sendable {
    /// Levels per side.
    case five = "5", ten = "10", twenty = "20"
}

/// The speeds of streams. Each kind of stream supports some of them.
public enum UpdateSpeed: String, CaseIterable, Sendable {
    /// The time between two updates.
    case milliseconds0 = "0ms", milliseconds100 = "100ms", milliseconds500 = "500ms", everySecond = "1s", seconds10 = "10s", everyMinute = "1m"

    /// Nil if books are not available at this speed.
    fileprivate var ofBooks: UpdateSpeed? { self == .milliseconds100 || self == .milliseconds500 ? self : nil }
    /// Nil if changes of books are not available at this speed.
    fileprivate var ofBookChanges: UpdateSpeed? { self == .milliseconds0 ? self : ofBooks }
    /// Nil if polls are not available at this speed.
    fileprivate var ofPolls: UpdateSpeed? { self == .seconds10 || self == .everyMinute ? self : nil }
}

/// The contracts a continuous bar series can follow.
public enum ContinuousContract: String, CaseIterable, Sendable {
    /// The contract's type, as in payloads.
    case perpetual = "PERPETUAL", currentQuarter = "CURRENT_QUARTER", nextQuarter = "NEXT_QUARTER", tradifiPerpetual = "TRADIFI_PERPETUAL"
}

extension FuturesServiceStreamName {
    /// The pair and the contract type of a continuous bar series; nil for other streams.
    package var continuous: (pair: String, contract: ContinuousContract)? {
        guard channel == .continuousKline, let symbol else { return nil }
        for contract in ContinuousContract.allCases.sorted(by: { $0.rawValue.count > $1.rawValue.count })
        where symbol.hasSuffix("_" + contract.rawValue) && symbol.utf8.count > contract.rawValue.utf8.count + 1 {
            return (String(symbol.dropLast(contract.rawValue.count + 1)), contract)
        }
        return nil
    }
}
