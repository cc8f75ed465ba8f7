/// The bars from before the exchange opened: days, then hours, then minutes. They are built backwards from the opening price, so that this price
/// depends only on the seed.
struct History {
    static let dayCount: Int64 = 1_600
    static let hourCount: Int64 = 1_600
    static let minuteCount: Int64 = 1_560

    /// Oldest first, without gaps; shorter bars follow longer ones.
    private(set) var bars: [Bar] = []

    /// - Parameters:
    ///   - end: the minute before which the history ends.
    ///   - lastTradeID: id of its last trade.
    init(of listing: Listing, before end: Int64, lastTradeID: Int64, generator: SeededGenerator) {
        var walk = Walk(
            price: listing.anchor, anchor: listing.anchor, lastTradeID: lastTradeID,
            typicalQuantity: listing.typicalQuantity, generator: generator)
        let firstMinute = (end - Self.minuteCount * Interval.minute) / Interval.hour * Interval.hour
        let firstHour = (firstMinute - Self.hourCount * Interval.hour) / Interval.day * Interval.day
        let firstDay = firstHour - Self.dayCount * Interval.day
        let tiers: [(from: Int64, to: Int64, length: Int64, perMille: Int64)] = [
            (firstMinute, end, Interval.minute, 1), (firstHour, firstMinute, Interval.hour, 6), (firstDay, firstHour, Interval.day, 25),
        ]
        bars.reserveCapacity(Int(Self.dayCount + Self.hourCount + Self.minuteCount) + 100)
        for tier in tiers {
            for open in stride(from: tier.to - tier.length, through: tier.from, by: -Int(tier.length)) {
                bars.append(walk.previousBar(open: open, length: tier.length, perMille: tier.perMille))
            }
        }
        bars.reverse()
    }
}

/// A random walk backwards in time.
private struct Walk {
    var price: Int64
    let anchor: Int64
    var lastTradeID: Int64
    let typicalQuantity: Int64
    var generator: SeededGenerator

    mutating func previousBar(open openTime: Int64, length: Int64, perMille: Int64) -> Bar {
        let close = price
        let reach = max(2, close / 1_000 * perMille)
        let pull = (anchor - close) / 200
        var open = max(10, close + pull + generator.integer(in: -reach...reach))
        if open < anchor / 4 || open > anchor * 4 { open = close + pull }
        var bar = Bar(openTime: openTime, end: openTime + length, price: open)
        bar.close = close
        bar.high = max(open, close) + generator.integer(in: 0...reach / 2)
        bar.low = max(1, min(open, close) - generator.integer(in: 0...reach / 2))
        bar.trades = generator.integer(in: 60...240) * (length / Interval.minute)
        bar.volume = bar.trades * typicalQuantity + generator.integer(in: 0...bar.trades)
        bar.quoteVolume = bar.volume * ((open + close) / 2)
        let takerPercent = generator.integer(in: 42...58)
        bar.takerVolume = bar.volume / 100 * takerPercent
        bar.takerQuoteVolume = bar.quoteVolume / 100 * takerPercent
        bar.lastTradeID = lastTradeID
        bar.firstTradeID = lastTradeID - bar.trades + 1
        lastTradeID -= bar.trades
        price = open
        return bar
    }
}
