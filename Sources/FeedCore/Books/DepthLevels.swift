/// A price and the quantity at it.
public struct PriceLevel: Equatable, Sendable {
    /// The price.
    public let price: DecimalString
    /// The absolute quantity; in an update, zero removes the level.
    public let quantity: DecimalString
    // Two halves of one number. `Int128` would align the level to 16 bytes, and memory with that alignment costs five times as much.
    private let high: Int64
    private let low: UInt64

    /// The price times 10^18, computed once; `.min` if it has more than 18 digits before or after the point.
    @inline(__always)
    var scaledPrice: ScaledNumber { ScaledNumber(high: high, low: low) }

    /// Creates a level.
    public init(price: DecimalString, quantity: DecimalString) {
        self.init(price: price, quantity: quantity, scaledPrice: price.scaled ?? .min)
    }

    private init(price: DecimalString, quantity: DecimalString, scaledPrice: ScaledNumber) {
        self.price = price
        self.quantity = quantity
        (high, low) = (scaledPrice.high, scaledPrice.low)
    }

    /// How many bytes must be readable at a level of `read(plainAt:)`.
    package static let plainRoom = 40

    /// Reads `["1.50","2"]` in exactly this notation, with numbers of at most 15 characters without a sign; nil for any other text.
    ///
    /// - Parameter start: `plainRoom` bytes must be readable.
    package static func read(plainAt start: UnsafePointer<UInt8>) -> (level: PriceLevel, length: Int)? {
        guard start[0] == UInt8(ascii: "["), start[1] == UInt8(ascii: "\"") else { return nil }
        var (length, secondLength, point) = (0, 0, 0)
        guard let price = DecimalString(quotedAt: start + 2, count: &length, point: &point) else { return nil }
        let behind = start + 3 + length
        guard behind[0] == UInt8(ascii: ","), behind[1] == UInt8(ascii: "\""),
            let quantity = DecimalString(quotedAt: behind + 2, count: &secondLength), behind[3 + secondLength] == UInt8(ascii: "]")
        else { return nil }
        let scaled = ScaledNumber(plainAt: start + 2, length, point: point) ?? price.scaled ?? .min
        return (PriceLevel(price: price, quantity: quantity, scaledPrice: scaled), 7 + length + secondLength)
    }

    /// Whether the price can be compared.
    package var isComparable: Bool { scaledPrice != .min }

    /// The same price with quantity zero.
    var emptied: PriceLevel { PriceLevel(price: price, quantity: DecimalString(checked: "0"), scaledPrice: scaledPrice) }
}

/// Levels of one symbol's order book: the whole book, its top, or a change (`depthUpdate`, `GET depth`).
public struct DepthLevels: Equatable, Sendable {
    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// Bids, best first.
    public var bids: [PriceLevel]
    /// Asks, best first.
    public var asks: [PriceLevel]
    /// The first update that the levels cover; nil for a whole book.
    public var firstUpdateID: UInt64?
    /// The last update that the levels cover.
    public var lastUpdateID: UInt64
    /// The last update of the previous message (`pu`); nil for a whole book.
    public var previousUpdateID: UInt64?
    /// The venue's transaction time, ms since 1970 UTC.
    public var time: Int64

    /// Creates levels; `time` in ms since 1970 UTC.
    public init(
        symbol: String, bids: [PriceLevel], asks: [PriceLevel], firstUpdateID: UInt64? = nil, lastUpdateID: UInt64,
        previousUpdateID: UInt64? = nil, time: Int64
    ) {
        self.symbol = symbol
        self.bids = bids
        self.asks = asks
        self.firstUpdateID = firstUpdateID
        self.lastUpdateID = lastUpdateID
        self.previousUpdateID = previousUpdateID
        self.time = time
    }
}

extension DepthLevels {
    /// The same levels, each side best first.
    package var sorted: DepthLevels {
        var levels = self
        levels.bids.sort { $0.scaledPrice > $1.scaledPrice }
        levels.asks.sort { $0.scaledPrice < $1.scaledPrice }
        return levels
    }
}

extension DepthLevels {
    /// Whether a bid is at or above an ask.
    var isCrossed: Bool {
        guard let bid = bids.lazy.filter(\.isComparable).map(\.scaledPrice).max(),
            let ask = asks.lazy.filter(\.isComparable).map(\.scaledPrice).min()
        else { return false }
        return bid >= ask
    }
}

extension DepthLevels: FeedRow {
    package var key: String { symbol }
    /// Whether the levels are older. Levels with a lower id but a later time are newer, because the venue restarted its numbering.
    package func isOlder(than other: DepthLevels) -> Bool { lastUpdateID <= other.lastUpdateID && time <= other.time }
    /// Compares REST's levels with the known ones, to the smaller of their depths. Update ids are shared between symbols, so a higher id alone means
    /// nothing (docs/reference/venues.md §5).
    package func compared(with known: DepthLevels) -> Comparison {
        if lastUpdateID < known.lastUpdateID { return .older }
        let isSame = Self.agree(bids, known.bids) && Self.agree(asks, known.asks)
        return isSame ? .same : lastUpdateID > known.lastUpdateID ? .newer : .older
    }
    private static func agree(_ some: [PriceLevel], _ others: [PriceLevel]) -> Bool {
        some.count >= others.count && zip(some, others).allSatisfy { $0.scaledPrice == $1.scaledPrice && $0.quantity.scaled == $1.quantity.scaled }
    }
    package var changeNumber: UInt64? { lastUpdateID }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .depth(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: [Self]) -> FeedRows { .depth(rows) }
}
