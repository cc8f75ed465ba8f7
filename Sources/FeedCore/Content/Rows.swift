/// Mark price and funding of one symbol (`markPriceUpdate`, `GET premiumIndex`).
public struct MarkPrice: Equatable, Sendable {
    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// The mark price.
    public var markPrice: DecimalString
    /// The index price; frames of older venue versions lack it.
    public var indexPrice: DecimalString?
    /// The estimated settlement price, meaningful in the last hour before settlement.
    public var estimatedSettlePrice: DecimalString?
    /// The last funding rate; nil if no funding is scheduled.
    public var lastFundingRate: DecimalString?
    /// The time of the next funding payment, ms since 1970 UTC; nil if none is scheduled.
    public var nextFundingTime: Int64?
    /// The interest rate. Only REST returns it, and an update keeps it.
    public var interestRate: DecimalString?
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; times in ms since 1970 UTC.
    public init(
        symbol: String, markPrice: DecimalString, indexPrice: DecimalString? = nil, estimatedSettlePrice: DecimalString? = nil,
        lastFundingRate: DecimalString? = nil, nextFundingTime: Int64? = nil, interestRate: DecimalString? = nil, time: Int64
    ) {
        self.symbol = symbol
        self.markPrice = markPrice
        self.indexPrice = indexPrice
        self.estimatedSettlePrice = estimatedSettlePrice
        self.lastFundingRate = lastFundingRate
        self.nextFundingTime = nextFundingTime
        self.interestRate = interestRate
        self.time = time
    }
}

extension MarkPrice: FeedRow {
    /// Compares the members that change most first. It is inlined, because a call would copy both rows.
    @inline(__always)
    public static func == (one: MarkPrice, other: MarkPrice) -> Bool {
        one.time == other.time && one.markPrice == other.markPrice && one.indexPrice == other.indexPrice
            && one.estimatedSettlePrice == other.estimatedSettlePrice && one.lastFundingRate == other.lastFundingRate
            && one.nextFundingTime == other.nextFundingTime && one.interestRate == other.interestRate && one.symbol == other.symbol
    }
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: MarkPrice) -> Bool { time < other.time }
    @inline(__always)
    package func lacksFields(of replaced: MarkPrice) -> Bool { interestRate == nil && replaced.interestRate != nil }
    package func completed(by replaced: MarkPrice) -> MarkPrice {
        var row = self
        row.interestRate = interestRate ?? replaced.interestRate
        return row
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .markPrice(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .markPrice(rows) }
}

/// Index price and conversion buffers of one multi-assets-mode asset (`assetIndexUpdate`, `GET assetIndex`).
public struct AssetIndex: Equatable, Sendable {
    /// The asset-index symbol, `ADAUSD`.
    public var symbol: String
    /// The index price.
    public var index: DecimalString
    /// The bid buffer, a fraction.
    public var bidBuffer: DecimalString
    /// The ask buffer, a fraction.
    public var askBuffer: DecimalString
    /// index × (1 − bidBuffer).
    public var bidRate: DecimalString
    /// index × (1 + askBuffer).
    public var askRate: DecimalString
    /// The bid buffer of automatic exchange, a fraction.
    public var autoExchangeBidBuffer: DecimalString
    /// The ask buffer of automatic exchange, a fraction.
    public var autoExchangeAskBuffer: DecimalString
    /// index × (1 − autoExchangeBidBuffer).
    public var autoExchangeBidRate: DecimalString
    /// index × (1 + autoExchangeAskBuffer).
    public var autoExchangeAskRate: DecimalString
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(
        symbol: String, index: DecimalString, bidBuffer: DecimalString, askBuffer: DecimalString, bidRate: DecimalString,
        askRate: DecimalString, autoExchangeBidBuffer: DecimalString, autoExchangeAskBuffer: DecimalString,
        autoExchangeBidRate: DecimalString, autoExchangeAskRate: DecimalString, time: Int64
    ) {
        self.symbol = symbol
        self.index = index
        self.bidBuffer = bidBuffer
        self.askBuffer = askBuffer
        self.bidRate = bidRate
        self.askRate = askRate
        self.autoExchangeBidBuffer = autoExchangeBidBuffer
        self.autoExchangeAskBuffer = autoExchangeAskBuffer
        self.autoExchangeBidRate = autoExchangeBidRate
        self.autoExchangeAskRate = autoExchangeAskRate
        self.time = time
    }
}

extension AssetIndex: FeedRow {
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: AssetIndex) -> Bool { time < other.time }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .assetIndex(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .assetIndex(rows) }
}

/// Best bid and ask of one symbol (`bookTicker`, `GET ticker/bookTicker`).
public struct BookTicker: Equatable, Sendable {
    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// The best bid's price.
    public var bidPrice: DecimalString
    /// The best bid's quantity.
    public var bidQuantity: DecimalString
    /// The best ask's price.
    public var askPrice: DecimalString
    /// The best ask's quantity.
    public var askQuantity: DecimalString
    /// The update id of the book; nil over REST.
    public var updateID: UInt64?
    /// The venue's transaction time, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(
        symbol: String, bidPrice: DecimalString, bidQuantity: DecimalString, askPrice: DecimalString, askQuantity: DecimalString,
        updateID: UInt64? = nil, time: Int64
    ) {
        self.symbol = symbol
        self.bidPrice = bidPrice
        self.bidQuantity = bidQuantity
        self.askPrice = askPrice
        self.askQuantity = askQuantity
        self.updateID = updateID
        self.time = time
    }
}

extension BookTicker: FeedRow {
    /// Compares the members that change most first. It is inlined, because a call would copy both rows.
    @inline(__always)
    public static func == (one: BookTicker, other: BookTicker) -> Bool {
        one.updateID == other.updateID && one.time == other.time && one.bidPrice == other.bidPrice && one.bidQuantity == other.bidQuantity
            && one.askPrice == other.askPrice && one.askQuantity == other.askQuantity && one.symbol == other.symbol
    }
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: BookTicker) -> Bool {
        guard let otherID = other.updateID else { return time < other.time }
        guard let updateID else { return time <= other.time }
        // A row with a lower id but a later time is newer, because the venue restarted its numbering.
        return updateID <= otherID && time <= other.time
    }
    /// Compares without the update id, which REST does not return.
    package func compared(with known: BookTicker) -> Comparison {
        if time < known.time { return .older }
        let isSame =
            bidPrice == known.bidPrice && bidQuantity == known.bidQuantity && askPrice == known.askPrice && askQuantity == known.askQuantity
        return isSame ? .same : time > known.time ? .newer : .older
    }
    package var changeNumber: UInt64? { updateID }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .bookTicker(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .bookTicker(rows) }
}

/// One bar (`kline`, `GET klines`).
public struct Kline: Equatable, Sendable {
    /// The bar's first millisecond, ms since 1970 UTC.
    public var openTime: Int64
    /// The bar's last millisecond, ms since 1970 UTC.
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
    /// The volume in the quote asset.
    public var quoteVolume: DecimalString
    /// The number of trades.
    public var tradeCount: UInt64
    /// The volume bought by takers, in the base asset.
    public var takerBuyVolume: DecimalString
    /// The volume bought by takers, in the quote asset.
    public var takerBuyQuoteVolume: DecimalString
    /// Whether the bar is final.
    public var isClosed: Bool

    /// Creates a row; times in ms since 1970 UTC.
    public init(
        openTime: Int64, closeTime: Int64, open: DecimalString, high: DecimalString, low: DecimalString, close: DecimalString,
        volume: DecimalString, quoteVolume: DecimalString, tradeCount: UInt64, takerBuyVolume: DecimalString,
        takerBuyQuoteVolume: DecimalString, isClosed: Bool
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
        self.isClosed = isClosed
    }
}

extension Kline: FeedRow {
    /// Whether no bar and no message is missing between this bar and a later one.
    package func isFollowed(by next: Kline) -> Bool { isClosed && closeTime &+ 1 == next.openTime }
    package static var isOrdered: Bool { true }
    package var key: Int64 { openTime }
    package var venueTime: Int64 { openTime }
    package func isOlder(than other: Kline) -> Bool {
        tradeCount == other.tradeCount ? other.isClosed && !isClosed : tradeCount < other.tradeCount
    }
    package var saysNothing: Bool { tradeCount == 0 }
    package var bar: Kline? { self }
    /// Compares by the number of trades. The closing of a bar alone is no news.
    package func compared(with known: Kline) -> Comparison {
        tradeCount == known.tradeCount ? .same : tradeCount < known.tradeCount ? .older : .newer
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .kline(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .kline(rows) }
}

/// 24-hour open, high, low, close and volume of one symbol (`24hrMiniTicker`; over REST a part of `GET ticker/24hr`).
public struct MiniTicker: Equatable, Sendable {
    /// The symbol as in payloads, `BTCUSDT`.
    public var symbol: String
    /// The price 24 hours ago.
    public var openPrice: DecimalString
    /// The highest price of 24 hours.
    public var highPrice: DecimalString
    /// The lowest price of 24 hours.
    public var lowPrice: DecimalString
    /// The last price.
    public var lastPrice: DecimalString
    /// The volume in the base asset.
    public var volume: DecimalString
    /// The volume in the quote asset.
    public var quoteVolume: DecimalString
    /// The venue's time of this row, ms since 1970 UTC.
    public var time: Int64

    /// Creates a row; `time` in ms since 1970 UTC.
    public init(
        symbol: String, openPrice: DecimalString, highPrice: DecimalString, lowPrice: DecimalString, lastPrice: DecimalString,
        volume: DecimalString, quoteVolume: DecimalString, time: Int64
    ) {
        self.symbol = symbol
        self.openPrice = openPrice
        self.highPrice = highPrice
        self.lowPrice = lowPrice
        self.lastPrice = lastPrice
        self.volume = volume
        self.quoteVolume = quoteVolume
        self.time = time
    }
}

extension MiniTicker: FeedRow {
    package var key: String { symbol }
    package var venueTime: Int64 { time }
    package func isOlder(than other: MiniTicker) -> Bool { time < other.time }
    /// Compares REST's row with the known one. The 24-hour window moves without news and then only loses volume; a trade is news. A message has the
    /// time at which it was sent, but REST has the earlier time of the last trade. An earlier time therefore means nothing if the values are equal.
    package func compared(with known: MiniTicker) -> Comparison {
        let isTraded = lastPrice != known.lastPrice || volume.scaled ?? 0 > known.volume.scaled ?? 0
        guard isTraded else { return .same }
        return time < known.time ? .older : .newer
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .miniTicker(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .miniTicker(rows) }
}

/// 24-hour statistics of one symbol (`24hrTicker`, `GET ticker/24hr`).
public struct Ticker: Equatable, Sendable {
    /// The symbol, prices and volumes a mini ticker has too.
    public var mini: MiniTicker
    /// The price's change over 24 hours.
    public var priceChange: DecimalString
    /// The price's change over 24 hours, in percent.
    public var priceChangePercent: DecimalString
    /// The volume-weighted average price.
    public var weightedAveragePrice: DecimalString
    /// The last trade's quantity.
    public var lastQuantity: DecimalString
    /// The window's first millisecond, ms since 1970 UTC.
    public var openTime: Int64
    /// The window's last millisecond, ms since 1970 UTC.
    public var closeTime: Int64
    /// The id of the window's first trade; nil if there was none.
    public var firstTradeID: UInt64?
    /// The id of the window's last trade; nil if there was none.
    public var lastTradeID: UInt64?
    /// The number of trades.
    public var tradeCount: UInt64

    /// Creates a row; times in ms since 1970 UTC.
    public init(
        mini: MiniTicker, priceChange: DecimalString, priceChangePercent: DecimalString, weightedAveragePrice: DecimalString,
        lastQuantity: DecimalString, openTime: Int64, closeTime: Int64, firstTradeID: UInt64?, lastTradeID: UInt64?, tradeCount: UInt64
    ) {
        self.mini = mini
        self.priceChange = priceChange
        self.priceChangePercent = priceChangePercent
        self.weightedAveragePrice = weightedAveragePrice
        self.lastQuantity = lastQuantity
        self.openTime = openTime
        self.closeTime = closeTime
        self.firstTradeID = firstTradeID
        self.lastTradeID = lastTradeID
        self.tradeCount = tradeCount
    }
}

extension Ticker: FeedRow {
    package var key: String { mini.symbol }
    package var venueTime: Int64 { closeTime }
    package func isOlder(than other: Ticker) -> Bool { closeTime < other.closeTime }
    /// Compares by the last trade. The movement of the 24-hour window alone is no news.
    package func compared(with known: Ticker) -> Comparison {
        guard let lastTradeID, let known = known.lastTradeID else { return mini.compared(with: known.mini) }
        return lastTradeID == known ? .same : lastTradeID < known ? .older : .newer
    }
    package static func rows(in rows: FeedRows) -> [Self]? { if case .ticker(let rows) = rows { rows } else { nil } }
    package static func feedRows(_ rows: consuming [Self]) -> FeedRows { .ticker(rows) }
}
