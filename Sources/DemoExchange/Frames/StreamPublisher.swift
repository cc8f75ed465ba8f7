/// Decides at each step what one subscribed stream publishes.
struct StreamPublisher {
    let stream: MarketStream
    /// Identifies a state of the 24 h figures: the last trade, and where the day begins.
    private struct Day: Equatable {
        let lastTradeID: Int64?
        let openTime: Int64

        init(_ market: SymbolMarket) {
            lastTradeID = market.trades.last?.lastTradeID
            openTime = market.bars.day.openTime
        }
    }

    /// The state last published per symbol, for streams that publish only changes.
    private var published: [Int: Day] = [:]
    private var lastBar: Bar?
    private var depth: DepthPublisher?

    /// Array and depth streams publish only changes from now on.
    init(_ stream: MarketStream, in market: Market) {
        self.stream = stream
        switch stream {
        case .depth(let symbol, let interval):
            depth = DepthPublisher(symbol: symbol, levels: nil, interval: market.depthInterval ?? interval, in: market)
        case .partialDepth(let symbol, let levels, let interval):
            depth = DepthPublisher(symbol: symbol, levels: levels, interval: market.depthInterval ?? interval, in: market)
        default: break
        }
        guard stream == .allMiniTickers || stream == .allTickers else { return }
        for symbol in market.symbols.indices { published[symbol] = Day(market.symbols[symbol]) }
    }

    /// The payloads due after the market's latest tick; usually none.
    mutating func payloads(_ market: Market) -> [String] {
        if depth != nil { return depth?.payload(market).map { [$0] } ?? [] }
        return market.hasStepped ? stepPayloads(market) : []
    }

    private mutating func stepPayloads(_ market: Market) -> [String] {
        let now = market.now
        switch stream {
        case .depth, .partialDepth: return []
        case .forceOrder(let symbol):
            return market.liquidations.filter { $0.symbol == symbol }.map { $0.forceOrder(market.symbols[symbol], at: now) }
        case .allForceOrders:
            return market.liquidations.map { $0.forceOrder(market.symbols[$0.symbol], at: now) }
        case .markPrice(let symbol, let everySecond):
            return isDue(market, everySecond ? 1_000 : 3_000) ? [market.symbols[symbol].markPriceUpdate(at: now)] : []
        case .allMarkPrices(let everySecond):
            guard isDue(market, everySecond ? 1_000 : 3_000) else { return [] }
            let tradFi = market.symbols.filter { $0.listing.kind == .tradFi }
            let others = market.symbols.filter { $0.listing.kind != .tradFi }
            return [others, tradFi].map { rows in array(rows.map { $0.markPriceUpdate(at: now) }) }
        case .assetIndex(let asset):
            return isDue(market, 1_000) ? [market.assets[asset].assetIndexUpdate(at: now)] : []
        case .allAssetIndexes:
            return isDue(market, 1_000) ? [array(market.assets.map { $0.assetIndexUpdate(at: now) })] : []
        case .bookTicker(let symbol):
            return market.symbols[symbol].bookChanged ? [market.symbols[symbol].bookTicker(at: now)] : []
        case .allBookTickers:
            return market.symbols.filter(\.bookChanged).map { $0.bookTicker(at: now) }
        case .aggTrade(let symbol):
            let symbol = market.symbols[symbol]
            return symbol.newTrades.map { symbol.aggTrade($0, at: now) }
        case .trade(let symbol):
            let symbol = market.symbols[symbol]
            return symbol.newTrades.flatMap { symbol.tradeEvents($0, at: now) }
        case .kline(let symbol, let interval):
            guard isDue(market, 250) else { return [] }
            return klines(market.symbols[symbol], interval, at: now, closingDelay: market.closingDelay) {
                market.symbols[symbol].kline($0, interval, closed: $1, at: now)
            }
        case .continuousKline(let symbol, let interval):
            guard isDue(market, 250) else { return [] }
            return klines(market.symbols[symbol], interval, at: now, closingDelay: market.closingDelay) {
                market.symbols[symbol].continuousKline($0, interval, closed: $1, at: now)
            }
        case .compositeIndex(let symbol):
            return isDue(market, 1_000) ? [market.compositeIndex(market.symbols[symbol])] : []
        case .tradingSession:
            return isDue(market, 1_000) ? TradingSchedule.Market.allCases.map { TradingSchedule(now: now).event($0) } : []
        case .miniTicker(let symbol):
            return isDue(market, 500) && hasChanged(market, symbol) ? [market.symbols[symbol].miniTicker(at: now)] : []
        case .ticker(let symbol):
            return isDue(market, 500) && hasChanged(market, symbol) ? [market.symbols[symbol].ticker(at: now)] : []
        case .allMiniTickers:
            return changedRows(market) { $0.miniTicker(at: now) }
        case .allTickers:
            return changedRows(market) { $0.ticker(at: now) }
        }
    }

    private func isDue(_ market: Market, _ period: Int64) -> Bool {
        market.step.isMultiple(of: Int(period / Market.stepLength))
    }

    private mutating func hasChanged(_ market: Market, _ symbol: Int) -> Bool {
        let day = Day(market.symbols[symbol])
        guard day.lastTradeID != nil, published[symbol] != day else { return false }
        published[symbol] = day
        return true
    }

    private mutating func changedRows(_ market: Market, _ row: (SymbolMarket) -> String) -> [String] {
        guard isDue(market, 1_000) else { return [] }
        var rows: [String] = []
        for symbol in market.symbols.indices where market.symbols[symbol].listing.isTrading {
            if hasChanged(market, symbol) { rows.append(row(market.symbols[symbol])) }
        }
        return rows.isEmpty ? [] : [array(rows)]
    }

    /// The closing frame of the last published bar if it has closed in the meantime, and the open bar if it changed.
    ///
    /// - Parameter closingDelay: How long after its end a bar is closed, ms. No message about a later bar precedes that.
    private mutating func klines(
        _ market: SymbolMarket, _ interval: Interval, at now: Int64, closingDelay: Int64, _ write: (Bar, Bool) -> String
    ) -> [String] {
        let current = market.bars.current(interval)
        var payloads: [String] = []
        if let last = lastBar, last.openTime != current.openTime {
            guard now >= last.end + closingDelay else { return [] }
            if let closed = market.bars.previous(interval), closed.openTime == last.openTime { payloads.append(write(closed, true)) }
            lastBar = nil
        }
        if market.listing.isTrading, current.trades > 0, lastBar != current {
            payloads.append(write(current, false))
            lastBar = current
        }
        return payloads
    }

    private func array(_ rows: [String]) -> String { "[" + rows.joined(separator: ",") + "]" }
}
