/// An order by which the exchange closes a trader's position.
struct Liquidation: Equatable {
    /// Position in ``Market/symbols``.
    let symbol: Int
    let isSell: Bool
    let price: Int64
    let averagePrice: Int64
    let quantity: Int64
    let time: Int64

    /// Filled at the best price of the other side, with a limit 0.5 % away from it.
    init(of symbol: Int, in market: SymbolMarket, time: Int64, generator: inout SeededGenerator) {
        self.symbol = symbol
        self.time = time
        isSell = generator.chance(50)
        averagePrice = isSell ? market.bid : market.ask
        price = averagePrice + (isSell ? -1 : 1) * (averagePrice / 200)
        quantity = generator.integer(in: 1...market.listing.typicalQuantity * 20)
    }
}
