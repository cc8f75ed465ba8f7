/// A composite index and what it is made of (`compositeIndex`, `GET indexInfo`; Binance).
public struct CompositeIndex: Equatable, Sendable {
    /// One part of the index.
    public struct Part: Equatable, Sendable {
        /// The base asset.
        public var baseAsset: String
        /// The asset it is quoted in.
        public var quoteAsset: String
        /// Its weight as a quantity.
        public var weightQuantity: DecimalString
        /// Its weight as a fraction.
        public var weightPercentage: DecimalString
        /// Its price index; nil over REST.
        public var indexPrice: DecimalString?

        /// Makes a part.
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
    /// Its price; nil over REST, and an update keeps none.
    public var price: DecimalString?
    /// What the parts are, `baseAsset`.
    public var component: String
    /// The parts.
    public var composition: [Part]
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Makes a row; `time` in ms since 1970 UTC.
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
    package func isOlder(than other: CompositeIndex) -> Bool { time < other.time }
    package func completed(by replaced: CompositeIndex) -> CompositeIndex {
        var row = self
        row.price = price ?? replaced.price
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .compositeIndex(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .compositeIndex(rows) }
}

/// What the venue says of one contract (`contractInfo`, `GET exchangeInfo`; Binance).
public struct ContractInfo: Equatable, Sendable {
    /// One bracket of notional value and leverage.
    public struct Bracket: Equatable, Sendable {
        /// The bracket's number.
        public var number: Int64
        /// The notional value it begins at.
        public var floor: DecimalString
        /// The notional value it ends at.
        public var cap: DecimalString
        /// The maintenance margin ratio, a fraction.
        public var maintenanceRatio: DecimalString
        /// The auxiliary number for quick calculation.
        public var auxiliary: DecimalString
        /// The least leverage.
        public var minimumLeverage: Int64
        /// The most leverage.
        public var maximumLeverage: Int64

        /// Makes a bracket.
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
    /// The pair, `BTCUSDT`; empty where the venue did not tell it, and an update without it keeps it.
    public var pair: String
    /// The contract type, `PERPETUAL`.
    public var contractType: String
    /// The contract's state, `TRADING`.
    public var status: String
    /// When it is delivered, ms since 1970 UTC.
    public var deliveryTime: Int64
    /// When it was listed, ms since 1970 UTC.
    public var onboardTime: Int64
    /// The brackets, where the venue told them; an update without them keeps them.
    public var brackets: [Bracket]?
    /// The venue's time of this row, ms since 1970 UTC; zero over REST.
    public var time: Int64

    /// Makes a row; times in ms since 1970 UTC.
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
    package func isOlder(than other: ContractInfo) -> Bool { time < other.time }
    package func completed(by replaced: ContractInfo) -> ContractInfo {
        var row = self
        row.brackets = brackets ?? replaced.brackets
        if pair.isEmpty { row.pair = replaced.pair }
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .contractInfo(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .contractInfo(rows) }
}

/// The trading session of one market behind contracts on shares and commodities (`EquityUpdate`, `CommodityUpdate`, …; Binance).
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

    /// Makes a row; times in ms since 1970 UTC.
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
    package func isOlder(than other: TradingSession) -> Bool { time < other.time }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .tradingSession(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .tradingSession(rows) }
}
