@testable import FeedCore

/// Rows as the venue sends them, and whether a row is one the venue could have sent.
extension SimulatedSymbol {
    static func text(_ number: Int) -> DecimalString { DecimalString(checked: String(number)) }

    private static func levels(_ levels: some Sequence<Level>) -> [PriceLevel] {
        levels.map { PriceLevel(price: text($0.price), quantity: text($0.quantity)) }
    }

    /// The book as REST or a partial stream tells it.
    func depth(_ count: Int, id: UInt64) -> DepthLevels {
        DepthLevels(symbol: symbol, bids: Self.levels(bids.prefix(count)), asks: Self.levels(asks.prefix(count)), lastUpdateID: id, time: lastTime)
    }

    /// The book as it was when the update `id` was made.
    func depth(_ count: Int, at id: UInt64) -> DepthLevels {
        guard let book = book(at: id) else { return depth(count, id: lastID) }
        return DepthLevels(
            symbol: symbol, bids: Self.levels(book.bids.prefix(count)), asks: Self.levels(book.asks.prefix(count)), lastUpdateID: id, time: lastTime)
    }

    /// What changed since the change at `cursor` of the running life, as one event.
    func depthEvent(since cursor: Int, previous: UInt64) -> DepthLevels? {
        guard let life = lives.last, cursor < life.ids.count, let last = life.ids.last else { return nil }
        var (bidPrices, askPrices): ([Int], [Int]) = ([], [])
        for change in life.changes[cursor...] {
            if change.isBid {
                if !bidPrices.contains(change.price) { bidPrices.append(change.price) }
            } else if !askPrices.contains(change.price) {
                askPrices.append(change.price)
            }
        }
        func levels(_ prices: [Int], _ side: [Level]) -> [PriceLevel] {
            Self.levels(prices.map { price in Level(price: price, quantity: side.first { $0.price == price }?.quantity ?? 0) })
        }
        return DepthLevels(
            symbol: symbol, bids: levels(bidPrices, bids), asks: levels(askPrices, asks), firstUpdateID: life.ids[cursor], lastUpdateID: last,
            previousUpdateID: previous, time: lastTime)
    }

    func bookTicker(isREST: Bool) -> BookTicker? {
        guard let bid = bids.first, let ask = asks.first else { return nil }
        return BookTicker(
            symbol: symbol, bidPrice: Self.text(bid.price), bidQuantity: Self.text(bid.quantity), askPrice: Self.text(ask.price),
            askQuantity: Self.text(ask.quantity), updateID: isREST ? nil : lastID, time: lastTime)
    }

    func markPriceRow(_ time: Int64, isREST: Bool) -> MarkPrice {
        MarkPrice(symbol: symbol, markPrice: Self.text(markPrice(time)), interestRate: isREST ? Self.text(index) : nil, time: time)
    }

    func tradeRow(_ id: UInt64, time: Int64) -> AggregateTrade {
        AggregateTrade(
            id: id, price: Self.text(tradePrice(id)), quantity: Self.text(index + 1), firstTradeID: id, lastTradeID: id, time: time,
            isBuyerMaker: id % 2 == 0)
    }

    /// The last trades of the running life, oldest first; as they were `lag` trades ago.
    func lastTrades(_ count: Int, lag: Int = 0) -> [AggregateTrade] {
        guard let life = trades.last else { return [] }
        return life.times.indices.dropLast(lag).suffix(count).map { tradeRow(life.firstID + UInt64($0), time: life.times[$0]) }
    }

    /// Trades of the running life from an id on, oldest first; as they were `lag` trades ago.
    func trades(from id: UInt64, count: Int, lag: Int) -> [AggregateTrade] {
        guard let life = trades.last else { return [] }
        let first = id < life.firstID ? 0 : Int(clamping: id - life.firstID)
        return life.times.indices.dropLast(lag).dropFirst(first).prefix(count).map { tradeRow(life.firstID + UInt64($0), time: life.times[$0]) }
    }

    func liquidation(_ number: Int, time: Int64) -> Liquidation {
        Liquidation(
            symbol: symbol, side: "BUY", orderType: "LIMIT", timeInForce: "IOC", quantity: Self.text(number), price: Self.text((index + 1) * 1000),
            averagePrice: Self.text(1), status: "FILLED", lastFilledQuantity: Self.text(1), filledQuantity: Self.text(1), time: time)
    }

    func kline(_ bar: Bar) -> Kline? {
        guard let open = bar.prices.first, let high = bar.highs.last, let low = bar.lows.last, let close = bar.prices.last else { return nil }
        return Kline(
            openTime: bar.openTime, closeTime: bar.openTime + Self.barLength - 1, open: Self.text(open), high: Self.text(high), low: Self.text(low),
            close: Self.text(close), volume: Self.text(bar.prices.count), quoteVolume: Self.text(index), tradeCount: UInt64(bar.prices.count),
            takerBuyVolume: Self.text(1), takerBuyQuoteVolume: Self.text(1), isClosed: bar.isClosed)
    }

    func hasTraded(_ row: AggregateTrade) -> Bool {
        guard row.price == Self.text(tradePrice(row.id)), row.quantity == Self.text(index + 1) else { return false }
        return trades.contains { $0.firstID <= row.id && row.id < $0.next }
    }

    func hadBar(_ row: Kline, now: Int64) -> Bool {
        guard let bar = bars.last(where: { $0.openTime == row.openTime }), let count = Int(exactly: row.tradeCount),
            (1...max(1, bar.prices.count)).contains(count), row.quoteVolume == Self.text(index)
        else { return false }
        return row.close == Self.text(bar.prices[count - 1]) && row.high == Self.text(bar.highs[count - 1])
            && row.low == Self.text(bar.lows[count - 1]) && (!row.isClosed || bar.isClosed || now > row.closeTime)
    }

    func hadMark(_ row: MarkPrice) -> Bool { row.symbol == symbol && row.markPrice == Self.text(markPrice(row.time)) }

    func hadTicker(_ row: BookTicker) -> Bool {
        guard row.symbol == symbol else { return false }
        guard let id = row.updateID else { return true }
        guard let book = book(at: id), let bid = book.bids.first, let ask = book.asks.first else { return false }
        return row.bidPrice == Self.text(bid.price) && row.bidQuantity == Self.text(bid.quantity) && row.askPrice == Self.text(ask.price)
            && row.askQuantity == Self.text(ask.quantity)
    }
}
