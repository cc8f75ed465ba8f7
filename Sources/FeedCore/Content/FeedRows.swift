/// Rows of one type: a stream's whole content, or the part of it that changed.
public enum FeedRows: Equatable, Sendable {
    /// Mark prices, by symbol.
    case markPrice([MarkPrice])
    /// Asset indices, by symbol.
    case assetIndex([AssetIndex])
    /// Best bids and asks, by symbol.
    case bookTicker([BookTicker])
    /// Aggregate trades, oldest first.
    case aggregateTrade([AggregateTrade])
    /// Single trades, oldest first.
    case trade([Trade])
    /// Liquidations, in order of arrival.
    case liquidation([Liquidation])
    /// Levels of one order book: one row.
    case depth([DepthLevels])
    /// Bars, oldest first.
    case kline([Kline])
    /// Bars that are closed by their trades, oldest first.
    case earlyBar([EarlyBar])
    /// Bars of some seconds, oldest first.
    case bar([TradeBar])
    /// 24-hour mini tickers, by symbol.
    case miniTicker([MiniTicker])
    /// 24-hour tickers, by symbol.
    case ticker([Ticker])
    /// Composite indices, by symbol.
    case compositeIndex([CompositeIndex])
    /// Contract information, by symbol.
    case contractInfo([ContractInfo])
    /// Trading sessions, by market.
    case tradingSession([TradingSession])
    /// A value as another upstream sent it: one row.
    case json([JSONRow])
    /// Trades as another upstream sent them, oldest first.
    case upstreamTrade([UpstreamTrade])
    /// Bars as another upstream sent them, oldest first.
    case upstreamBar([UpstreamBar])

    /// The number of rows.
    public var count: Int {
        switch self {
        case .markPrice(let rows): rows.count
        case .assetIndex(let rows): rows.count
        case .bookTicker(let rows): rows.count
        case .aggregateTrade(let rows): rows.count
        case .trade(let rows): rows.count
        case .liquidation(let rows): rows.count
        case .depth(let rows): rows.count
        case .kline(let rows): rows.count
        case .earlyBar(let rows): rows.count
        case .bar(let rows): rows.count
        case .miniTicker(let rows): rows.count
        case .ticker(let rows): rows.count
        case .compositeIndex(let rows): rows.count
        case .contractInfo(let rows): rows.count
        case .tradingSession(let rows): rows.count
        case .json(let rows): rows.count
        case .upstreamTrade(let rows): rows.count
        case .upstreamBar(let rows): rows.count
        }
    }
}

extension FeedRows {
    /// The first and the last id of rows with consecutive ids; nil for others.
    package var ids: ClosedRange<UInt64>? {
        switch self {
        case .aggregateTrade(let rows): range(rows.first?.messageID, rows.last?.messageID)
        case .trade(let rows): range(rows.first?.messageID, rows.last?.messageID)
        default: nil
        }
    }

    private func range(_ first: UInt64?, _ last: UInt64?) -> ClosedRange<UInt64>? {
        guard let first, let last, first <= last else { return nil }
        return first...last
    }
}

extension FeedRows {
    /// The newest time of the rows themselves, ms since 1970 UTC, if it differs from that of the message; nil for others.
    var ownTime: Int64? {
        switch self {
        case .ticker(let rows): rows.count == 1 ? rows[0].closeTime : nil
        case .kline(let rows): rows.last?.openTime
        case .earlyBar(let rows): rows.last?.kline.openTime
        case .aggregateTrade(let rows): rows.last?.time
        case .trade(let rows): rows.last?.time
        default: nil
        }
    }

    /// Removes the rows of a list whose own time cannot be true, and describes them; nil if there are none.
    mutating func removeRows(where isFalse: (Int64) -> Bool) -> LeftOutRows? {
        guard case .ticker(let rows) = self, rows.count > 1, rows.contains(where: { isFalse($0.closeTime) }) else { return nil }
        self = .ticker(rows.filter { !isFalse($0.closeTime) })
        var leftOut = LeftOutRows()
        for row in rows where isFalse(row.closeTime) { leftOut.add(row.mini.symbol, "its time (\(row.closeTime)) is more than a minute ahead") }
        return leftOut
    }

    /// Whether the rows have numbers that rise with each change.
    var areNumbered: Bool {
        switch self {
        case .bookTicker, .aggregateTrade, .trade, .depth: true
        case .markPrice, .assetIndex, .liquidation, .kline, .earlyBar, .bar, .miniTicker, .ticker, .compositeIndex, .contractInfo, .tradingSession,
            .json, .upstreamTrade, .upstreamBar:
            false
        }
    }

    /// Whether the values have neither numbers nor times that order them.
    var haveNoOrder: Bool { if case .json(let rows) = self { rows.allSatisfy { $0.venueTime == 0 } } else { false } }
}

/// How an update changes a reader's content.
public enum MergeRule: String, Sendable {
    /// The update is the complete new content.
    case replace
    /// Each row of the update replaces the row with the same key; other rows stay.
    case byKey
    /// The update's rows are appended; only the last ones are kept.
    case append
    /// The update's levels replace those with the same price; quantity zero removes one.
    case book
}
