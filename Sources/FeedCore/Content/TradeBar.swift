/// A bar of some seconds, made of one symbol's aggregate trades.
public struct TradeBar: Equatable, Sendable {
    /// Times, prices and volumes, as in any bar. It is closed when a trade of a later bar arrives.
    public var kline: Kline
    /// The id of the first aggregate trade.
    public var firstAggregateID: UInt64
    /// The id of the last aggregate trade.
    public var lastAggregateID: UInt64
    /// Whether no trade in the bar's time is missing so far. False for the first known bar and for bars around a gap that could not be filled.
    public var isComplete: Bool

    /// Creates a row.
    public init(kline: Kline, firstAggregateID: UInt64, lastAggregateID: UInt64, isComplete: Bool) {
        self.kline = kline
        self.firstAggregateID = firstAggregateID
        self.lastAggregateID = lastAggregateID
        self.isComplete = isComplete
    }
}

extension TradeBar: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: Int64 { kline.openTime }
    package var venueTime: Int64 { kline.openTime }
    package func isOlder(than other: TradeBar) -> Bool { kline.tradeCount < other.kline.tradeCount }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .bar(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .bar(rows) }
}

extension TradeBar {
    private static let zero = DecimalString(checked: "0")

    /// The bar of one trade.
    init(_ trade: AggregateTrade, length: Int64) {
        let remainder = trade.time % length
        let (floor, isBeforeTime) = trade.time.subtractingReportingOverflow(remainder < 0 ? remainder + length : remainder)
        let openTime = isBeforeTime ? .min : floor
        let (end, isAfterTime) = openTime.addingReportingOverflow(length - 1)
        let quoteVolume = trade.price.times(trade.quantity)
        let kline = Kline(
            openTime: openTime, closeTime: isAfterTime ? .max : end, open: trade.price, high: trade.price, low: trade.price, close: trade.price,
            volume: trade.quantity, quoteVolume: quoteVolume ?? Self.zero,
            tradeCount: trade.lastTradeID >= trade.firstTradeID ? (trade.lastTradeID - trade.firstTradeID) &+ 1 : 1,
            takerBuyVolume: trade.isBuyerMaker ? Self.zero : trade.quantity,
            takerBuyQuoteVolume: trade.isBuyerMaker ? Self.zero : quoteVolume ?? Self.zero, isClosed: false)
        self.init(kline: kline, firstAggregateID: trade.id, lastAggregateID: trade.id, isComplete: quoteVolume != nil)
    }

    /// Adds the trades of a following bar with the same time. If numbers are too long to be added or compared, the bar is marked incomplete.
    mutating func append(_ next: TradeBar) {
        isComplete = isComplete && next.isComplete
        func sum(_ own: DecimalString, _ other: DecimalString) -> DecimalString {
            guard let sum = own.plus(other) else {
                isComplete = false
                return own
            }
            return sum
        }
        func isLess(_ own: DecimalString, _ other: DecimalString) -> Bool {
            guard let own = own.scaled, let other = other.scaled else {
                isComplete = false
                return false
            }
            return own < other
        }
        if isLess(kline.high, next.kline.high) { kline.high = next.kline.high }
        if isLess(next.kline.low, kline.low) { kline.low = next.kline.low }
        kline.close = next.kline.close
        kline.volume = sum(kline.volume, next.kline.volume)
        kline.quoteVolume = sum(kline.quoteVolume, next.kline.quoteVolume)
        kline.takerBuyVolume = sum(kline.takerBuyVolume, next.kline.takerBuyVolume)
        kline.takerBuyQuoteVolume = sum(kline.takerBuyQuoteVolume, next.kline.takerBuyQuoteVolume)
        kline.tradeCount &+= next.kline.tradeCount
        lastAggregateID = next.lastAggregateID
    }
}
