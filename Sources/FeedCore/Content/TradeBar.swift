/// A bar of some seconds, made of one symbol's aggregate trades.
public struct TradeBar: Equatable, Sendable {
    /// The first millisecond of the bar, a multiple of its length, ms since 1970 UTC.
    public var openTime: Int64
    /// The last millisecond of the bar, ms since 1970 UTC.
    public var closeTime: Int64
    /// The first trade's price.
    public var open: DecimalString
    /// The highest price.
    public var high: DecimalString
    /// The lowest price.
    public var low: DecimalString
    /// The last trade's price.
    public var close: DecimalString
    /// The volume in the base asset.
    public var volume: DecimalString
    /// The volume in the quote asset: the sum of price times quantity.
    public var quoteVolume: DecimalString
    /// The number of single trades.
    public var tradeCount: UInt64
    /// The volume that takers bought, in the base asset.
    public var takerBuyVolume: DecimalString
    /// The volume that takers bought, in the quote asset.
    public var takerBuyQuoteVolume: DecimalString
    /// The id of the first aggregate trade.
    public var firstAggregateID: UInt64
    /// The id of the last aggregate trade.
    public var lastAggregateID: UInt64
    /// Whether a trade of a later bar has come.
    public var isClosed: Bool
    /// Whether no trade of the bar's time is missing so far. False for the first bar that is known, and for those around a hole that could not be filled.
    public var isComplete: Bool

    /// Makes a row; times in ms since 1970 UTC.
    public init(
        openTime: Int64, closeTime: Int64, open: DecimalString, high: DecimalString, low: DecimalString, close: DecimalString,
        volume: DecimalString, quoteVolume: DecimalString, tradeCount: UInt64, takerBuyVolume: DecimalString,
        takerBuyQuoteVolume: DecimalString, firstAggregateID: UInt64, lastAggregateID: UInt64, isClosed: Bool, isComplete: Bool
    ) {
        self.openTime = openTime
        self.closeTime = closeTime
        self.open = open
        self.high = high
        self.low = low
        self.close = close
        self.volume = volume
        self.quoteVolume = quoteVolume
        self.tradeCount = tradeCount
        self.takerBuyVolume = takerBuyVolume
        self.takerBuyQuoteVolume = takerBuyQuoteVolume
        self.firstAggregateID = firstAggregateID
        self.lastAggregateID = lastAggregateID
        self.isClosed = isClosed
        self.isComplete = isComplete
    }
}

extension TradeBar: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: Int64 { openTime }
    package func isOlder(than other: TradeBar) -> Bool { tradeCount < other.tradeCount }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .bar(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .bar(rows) }
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
        self.init(
            openTime: openTime, closeTime: isAfterTime ? .max : end, open: trade.price, high: trade.price, low: trade.price, close: trade.price,
            volume: trade.quantity, quoteVolume: quoteVolume ?? Self.zero,
            tradeCount: trade.lastTradeID >= trade.firstTradeID ? (trade.lastTradeID - trade.firstTradeID) &+ 1 : 1,
            takerBuyVolume: trade.isBuyerMaker ? Self.zero : trade.quantity,
            takerBuyQuoteVolume: trade.isBuyerMaker ? Self.zero : quoteVolume ?? Self.zero, firstAggregateID: trade.id,
            lastAggregateID: trade.id, isClosed: false, isComplete: quoteVolume != nil)
    }

    /// Takes in a bar of the same time whose trades follow. Figures of more than 38 digits cannot be added; the bar is incomplete then.
    mutating func append(_ next: TradeBar) {
        isComplete = isComplete && next.isComplete
        func sum(_ own: DecimalString, _ other: DecimalString) -> DecimalString {
            guard let sum = own.plus(other) else {
                isComplete = false
                return own
            }
            return sum
        }
        if high.isLess(than: next.high) ?? false { high = next.high }
        if next.low.isLess(than: low) ?? false { low = next.low }
        close = next.close
        volume = sum(volume, next.volume)
        quoteVolume = sum(quoteVolume, next.quoteVolume)
        takerBuyVolume = sum(takerBuyVolume, next.takerBuyVolume)
        takerBuyQuoteVolume = sum(takerBuyQuoteVolume, next.takerBuyQuoteVolume)
        tradeCount &+= next.tradeCount
        lastAggregateID = next.lastAggregateID
    }
}
