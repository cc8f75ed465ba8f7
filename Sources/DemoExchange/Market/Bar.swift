/// A bar of trades in integer units: prices in units of the symbol's price precision, volumes in units of its quantity precision, quote volumes in
/// units of both multiplied.
struct Bar: Equatable {
    let openTime: Int64
    /// The first millisecond after the bar.
    let end: Int64
    var open: Int64
    var high: Int64
    var low: Int64
    var close: Int64
    var volume: Int64 = 0
    var quoteVolume: Int64 = 0
    var takerVolume: Int64 = 0
    var takerQuoteVolume: Int64 = 0
    var trades: Int64 = 0
    /// -1 in a bar without trades, as on the venues.
    var firstTradeID: Int64 = -1
    var lastTradeID: Int64 = -1

    var closeTime: Int64 { end - 1 }

    /// A bar without any trade yet.
    init(openTime: Int64, end: Int64, price: Int64) {
        self.openTime = openTime
        self.end = end
        open = price
        high = price
        low = price
        close = price
    }

    mutating func add(_ trade: AggregateTrade) {
        if trades == 0 {
            (open, high, low) = (trade.price, trade.price, trade.price)
            firstTradeID = trade.firstTradeID
        }
        high = max(high, trade.price)
        low = min(low, trade.price)
        close = trade.price
        let quote = trade.price * trade.quantity
        volume += trade.quantity
        quoteVolume += quote
        if !trade.isBuyerMaker {
            takerVolume += trade.quantity
            takerQuoteVolume += quote
        }
        trades += trade.tradeCount
        lastTradeID = trade.lastTradeID
    }

    /// Adds a later bar to this one.
    mutating func add(_ later: Bar) {
        guard later.trades > 0 else { return }
        if trades == 0 {
            (open, high, low) = (later.open, later.high, later.low)
            firstTradeID = later.firstTradeID
        }
        high = max(high, later.high)
        low = min(low, later.low)
        close = later.close
        volume += later.volume
        quoteVolume += later.quoteVolume
        takerVolume += later.takerVolume
        takerQuoteVolume += later.takerQuoteVolume
        trades += later.trades
        lastTradeID = later.lastTradeID
    }
}

/// Trades of one taker order at one price.
struct AggregateTrade: Equatable {
    let id: Int64
    let price: Int64
    let quantity: Int64
    let firstTradeID: Int64
    let tradeCount: Int64
    let time: Int64
    /// The buyer was the maker, so the taker sold.
    let isBuyerMaker: Bool

    var lastTradeID: Int64 { firstTradeID + tradeCount - 1 }

    /// Quantity of the single trade at `offset`; together they give ``quantity``.
    func part(_ offset: Int64) -> Int64 {
        let even = quantity / tradeCount
        return offset == tradeCount - 1 ? quantity - even * (tradeCount - 1) : even
    }
}
