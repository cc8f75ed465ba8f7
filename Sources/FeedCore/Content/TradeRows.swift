/// One aggregate trade (`aggTrade`, `GET aggTrades`).
public struct AggregateTrade: Equatable, Sendable {
    /// The aggregate trade id; consecutive trades of a symbol differ by one.
    public var id: UInt64
    /// The price.
    public var price: DecimalString
    /// The quantity.
    public var quantity: DecimalString
    /// The quantity without retail price improvement orders (`nq`); nil if the venue does not send it. Binance does.
    public var normalQuantity: DecimalString?
    /// The first trade in the aggregate.
    public var firstTradeID: UInt64
    /// The last trade in the aggregate.
    public var lastTradeID: UInt64
    /// The trade's time, ms since 1970 UTC.
    public var time: Int64
    /// Whether the buyer was the maker, so that the taker sold.
    public var isBuyerMaker: Bool

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(
        id: UInt64, price: DecimalString, quantity: DecimalString, normalQuantity: DecimalString? = nil, firstTradeID: UInt64, lastTradeID: UInt64,
        time: Int64, isBuyerMaker: Bool
    ) {
        self.id = id
        self.price = price
        self.quantity = quantity
        self.normalQuantity = normalQuantity
        self.firstTradeID = firstTradeID
        self.lastTradeID = lastTradeID
        self.time = time
        self.isBuyerMaker = isBuyerMaker
    }
}

extension AggregateTrade: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: UInt64 { id }
    package func isOlder(than other: AggregateTrade) -> Bool { true }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .aggregateTrade(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .aggregateTrade(rows) }
    package var messageID: UInt64? { id }
    package var messageTime: Int64 { time }
}

/// One trade (`trade`, `GET trades`).
public struct Trade: Equatable, Sendable {
    /// The trade id; consecutive trades of a symbol differ by one.
    public var id: UInt64
    /// The price.
    public var price: DecimalString
    /// The quantity.
    public var quantity: DecimalString
    /// `MARKET`; any other value (`INSURANCE_FUND`, `ADL`, `NA`) is outside the book. Nil if the venue did not send it.
    public var type: String?
    /// The trade's time, ms since 1970 UTC.
    public var time: Int64
    /// Whether the buyer was the maker, so that the taker sold.
    public var isBuyerMaker: Bool

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(id: UInt64, price: DecimalString, quantity: DecimalString, type: String?, time: Int64, isBuyerMaker: Bool) {
        self.id = id
        self.price = price
        self.quantity = quantity
        self.type = type
        self.time = time
        self.isBuyerMaker = isBuyerMaker
    }
}

extension Trade: FeedRow {
    package static var isOrdered: Bool { true }
    package var key: UInt64 { id }
    package func isOlder(than other: Trade) -> Bool { true }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .trade(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .trade(rows) }
    package var messageID: UInt64? { id }
    package var messageTime: Int64 { time }
}

/// One liquidation order (`forceOrder`). The venue sends at most the latest one per symbol and second.
public struct Liquidation: Equatable, Sendable {
    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// `BUY` or `SELL`.
    public var side: String
    /// The order type.
    public var orderType: String
    /// How long the order is in force, `IOC`.
    public var timeInForce: String
    /// The original quantity.
    public var quantity: DecimalString
    /// The price.
    public var price: DecimalString
    /// The average price.
    public var averagePrice: DecimalString
    /// The order's status, `FILLED`.
    public var status: String
    /// The last fill's quantity.
    public var lastFilledQuantity: DecimalString
    /// The accumulated filled quantity.
    public var filledQuantity: DecimalString
    /// The trade's time, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(
        symbol: String, side: String, orderType: String, timeInForce: String, quantity: DecimalString, price: DecimalString,
        averagePrice: DecimalString, status: String, lastFilledQuantity: DecimalString, filledQuantity: DecimalString, time: Int64
    ) {
        self.symbol = symbol
        self.side = side
        self.orderType = orderType
        self.timeInForce = timeInForce
        self.quantity = quantity
        self.price = price
        self.averagePrice = averagePrice
        self.status = status
        self.lastFilledQuantity = lastFilledQuantity
        self.filledQuantity = filledQuantity
        self.time = time
    }
}

extension Liquidation: FeedRow {
    package static var hasIdentity: Bool { false }
    package var key: String { symbol }
    package func isOlder(than other: Liquidation) -> Bool { time < other.time }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .liquidation(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .liquidation(rows) }
}
