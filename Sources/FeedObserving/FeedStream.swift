public import FeedCore

/// The name of a stream together with the type of its rows, so that its events have typed rows.
///
/// `FeedStream(name)` is a stream whose name is only known at run time; its rows are `FeedRows`.
public struct FeedStream<Row: Sendable>: Sendable {
    /// The stream's name.
    public let name: FuturesServiceStreamName
    let rows: @Sendable (FeedRows) -> [Row]
}

extension FeedStream where Row == FeedRows {
    /// Creates a stream from its name. A content is one element, which has all of its rows.
    public init(_ name: FuturesServiceStreamName) { self.init(name: name) { [$0] } }
}

extension FeedStream where Row: FeedRow {
    fileprivate init(_ name: FuturesServiceStreamName) { self.init(name: name) { Row.rows(in: $0) ?? [] } }
}

extension FeedStream where Row == MarkPrice {
    /// One mark price, every 3 s, or every second if `fast`.
    public static func markPrice(symbol: String, fast: Bool = false) -> Self { Self(.markPrice(symbol: symbol, fast: fast)) }
    /// All mark prices every 3 s.
    public static var markPrices: Self { Self(.markPrices) }
    /// All mark prices every second.
    public static var fastMarkPrices: Self { Self(.fastMarkPrices) }
}

extension FeedStream where Row == AssetIndex {
    /// All asset indices.
    public static var assetIndex: Self { Self(.assetIndex) }
    /// One asset index; `symbol` is the asset and `USD`.
    public static func assetIndex(symbol: String) -> Self { Self(.assetIndex(symbol: symbol)) }
}

extension FeedStream where Row == BookTicker {
    /// One symbol's best bid and ask.
    public static func bookTicker(symbol: String) -> Self { Self(.bookTicker(symbol: symbol)) }
    /// The best bids and asks of all symbols.
    public static var bookTickers: Self { Self(.bookTickers) }
}

extension FeedStream where Row == AggregateTrade {
    /// One symbol's aggregate trades.
    public static func aggregateTrade(symbol: String) -> Self { Self(.aggregateTrade(symbol: symbol)) }
}

extension FeedStream where Row == Trade {
    /// One symbol's single trades.
    public static func trade(symbol: String) -> Self { Self(.trade(symbol: symbol)) }
}

extension FeedStream where Row == Liquidation {
    /// All liquidations.
    public static var liquidations: Self { Self(.liquidations) }
    /// One symbol's liquidations.
    public static func liquidation(symbol: String) -> Self { Self(.liquidation(symbol: symbol)) }
}

extension FeedStream where Row == DepthLevels {
    /// The best levels of one symbol's book, complete each time.
    public static func partialDepth(symbol: String, levels: DepthLevelCount, speed: UpdateSpeed? = nil) -> Self {
        Self(.partialDepth(symbol: symbol, levels: levels, speed: speed))
    }
    /// One symbol's order book.
    public static func depth(symbol: String, speed: UpdateSpeed? = nil) -> Self { Self(.depth(symbol: symbol, speed: speed)) }
    /// One symbol's order book with retail price improvement orders (Binance).
    public static func rpiDepth(symbol: String) -> Self { Self(.rpiDepth(symbol: symbol)) }
}

extension FeedStream where Row == Kline {
    /// One symbol's bars.
    public static func kline(symbol: String, interval: KlineInterval) -> Self { Self(.kline(symbol: symbol, interval: interval)) }
    /// Bars of a pair's current contract (Binance).
    public static func continuousKline(pair: String, contract: ContinuousContract, interval: KlineInterval) -> Self {
        Self(.continuousKline(pair: pair, contract: contract, interval: interval))
    }
}

extension FeedStream where Row == EarlyBar {
    /// One symbol's bars, each closed as soon as all its trades are known.
    public static func earlyKline(symbol: String, interval: KlineInterval) -> Self { Self(.earlyKline(symbol: symbol, interval: interval)) }
}

extension FeedStream where Row == TradeBar {
    /// One symbol's bars of some seconds, built from its aggregate trades.
    public static func bar(symbol: String, length: BarLength) -> Self { Self(.bar(symbol: symbol, length: length)) }
}

extension FeedStream where Row == MiniTicker {
    /// One symbol's mini ticker.
    public static func miniTicker(symbol: String) -> Self { Self(.miniTicker(symbol: symbol)) }
    /// All mini tickers.
    public static var miniTickers: Self { Self(.miniTickers) }
}

extension FeedStream where Row == Ticker {
    /// One symbol's ticker.
    public static func ticker(symbol: String) -> Self { Self(.ticker(symbol: symbol)) }
    /// All tickers.
    public static var tickers: Self { Self(.tickers) }
}

extension FeedStream where Row == JSONRow {
    /// A stream of another upstream; nil if the arguments are invalid. See `FuturesServiceStreamName.init(upstream:stream:)`.
    public static func upstream(_ upstream: String, stream: String) -> Self? {
        FuturesServiceStreamName(upstream: upstream, stream: stream).map { Self($0) }
    }
    /// One symbol's open interest.
    public static func openInterest(symbol: String, speed: UpdateSpeed? = nil) -> Self { Self(.openInterest(symbol: symbol, speed: speed)) }
    /// Funding rates, intervals and next funding times of all symbols.
    public static var funding: Self { Self(.funding) }
}
