/// A composite index and its components (`compositeIndex`, `GET indexInfo`; Binance).
public struct CompositeIndex: Equatable, Sendable {
    /// One component of the index.
    public struct Part: Equatable, Sendable {
        /// The base asset.
        public var baseAsset: String
        /// The quote asset.
        public var quoteAsset: String
        /// Its weight as a quantity.
        public var weightQuantity: DecimalString
        /// Its weight as a fraction.
        public var weightPercentage: DecimalString
        /// Its price index; nil over REST.
        public var indexPrice: DecimalString?

        /// Creates a component.
        public init(
            baseAsset: String, quoteAsset: String, weightQuantity: DecimalString, weightPercentage: DecimalString, indexPrice: DecimalString?
        ) {
            self.baseAsset = baseAsset
            self.quoteAsset = quoteAsset
            self.weightQuantity = weightQuantity
            self.weightPercentage = weightPercentage
            self.indexPrice = indexPrice
        }
    }

    /// The index's symbol, `DEFIUSDT`.
    public var symbol: String
    /// Its price; nil over REST, and an update without it removes it.
    public var price: DecimalString?
    /// The type of the components, such as `baseAsset`.
    public var component: String
    /// The components.
    public var composition: [Part]
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(symbol: String, price: DecimalString?, component: String, composition: [Part], time: Int64) {
        self.symbol = symbol
        self.price = price
        self.component = component
        self.composition = composition
        self.time = time
    }
}

extension CompositeIndex: FeedRow {
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: CompositeIndex) -> Bool { time < other.time }
    package func lacksFields(of replaced: CompositeIndex) -> Bool { true }
    package func completed(by replaced: CompositeIndex) -> CompositeIndex {
        var row = self
        row.price = price ?? replaced.price
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .compositeIndex(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .compositeIndex(rows) }
}

/// The venue's data of one contract (`contractInfo`, `GET exchangeInfo`; Binance).
public struct ContractInfo: Equatable, Sendable {
    /// One bracket of notional value and leverage.
    public struct Bracket: Equatable, Sendable {
        /// The bracket's number.
        public var number: Int64
        /// The lowest notional value.
        public var floor: DecimalString
        /// The highest notional value.
        public var cap: DecimalString
        /// The maintenance margin ratio, a fraction.
        public var maintenanceRatio: DecimalString
        /// The auxiliary number for quick calculation.
        public var auxiliary: DecimalString
        /// The lowest leverage.
        public var minimumLeverage: Int64
        /// The highest leverage.
        public var maximumLeverage: Int64

        /// Creates a bracket.
        public init(
            number: Int64, floor: DecimalString, cap: DecimalString, maintenanceRatio: DecimalString, auxiliary: DecimalString,
            minimumLeverage: Int64, maximumLeverage: Int64
        ) {
            self.number = number
            self.floor = floor
            self.cap = cap
            self.maintenanceRatio = maintenanceRatio
            self.auxiliary = auxiliary
            self.minimumLeverage = minimumLeverage
            self.maximumLeverage = maximumLeverage
        }
    }

    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// The pair, `BTCUSDT`; empty if the venue did not send it. An update without it keeps the previous value.
    public var pair: String
    /// The contract type, `PERPETUAL`.
    public var contractType: String
    /// The contract's state, `TRADING`.
    public var status: String
    /// The delivery time, ms since 1970 UTC.
    public var deliveryTime: Int64
    /// The listing time, ms since 1970 UTC.
    public var onboardTime: Int64
    /// The brackets, if the venue sent them. An update without them keeps the previous ones.
    public var brackets: [Bracket]?
    /// The venue's time of this row, ms since 1970 UTC; zero over REST.
    public var time: Int64

    /// Creates a row; times in ms since 1970 UTC.
    public init(
        symbol: String, pair: String, contractType: String, status: String, deliveryTime: Int64, onboardTime: Int64, brackets: [Bracket]?,
        time: Int64
    ) {
        self.symbol = symbol
        self.pair = pair
        self.contractType = contractType
        self.status = status
        self.deliveryTime = deliveryTime
        self.onboardTime = onboardTime
        self.brackets = brackets
        self.time = time
    }
}

extension ContractInfo: FeedRow {
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: ContractInfo) -> Bool { time < other.time }
    package func lacksFields(of replaced: ContractInfo) -> Bool { true }
    package func completed(by replaced: ContractInfo) -> ContractInfo {
        var row = self
        row.brackets = brackets ?? replaced.brackets
        if pair.isEmpty { row.pair = replaced.pair }
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .contractInfo(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .contractInfo(rows) }
}

/// The trading session of one market for contracts on stocks and commodities (`EquityUpdate`, `CommodityUpdate`, …; Binance).
public struct TradingSession: Equatable, Sendable {
    /// The market, as the venue names its events: `EquityUpdate`.
    public var market: String
    /// The session: `PRE_MARKET`, `REGULAR`, `AFTER_MARKET`, `OVERNIGHT`, `NO_TRADING`.
    public var session: String
    /// When the session began, ms since 1970 UTC.
    public var startTime: Int64
    /// When it ends, ms since 1970 UTC.
    public var endTime: Int64
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; times in ms since 1970 UTC.
    public init(market: String, session: String, startTime: Int64, endTime: Int64, time: Int64) {
        self.market = market
        self.session = session
        self.startTime = startTime
        self.endTime = endTime
        self.time = time
    }
}

extension TradingSession: FeedRow {
    package var key: String { market }
    package var venueTime: Int64 { time }
    package func isOlder(than other: TradingSession) -> Bool { time < other.time }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .tradingSession(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .tradingSession(rows) }
}
