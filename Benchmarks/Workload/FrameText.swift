package import FeedCore

/// Writes frames as a venue does: the fields, lengths and digits of recorded frames, with values that walk.
package struct FrameText {
    /// One symbol's market; prices are in ticks.
    private struct Market {
        var ticks: Int64
        let decimals: Int
        var update: UInt64 = 8_600_000_000_000
        /// The quantities at the ticks around the middle, best first; zero is nothing.
        var bids: [Int64]
        var asks: [Int64]
    }

    private var markets: [Market] = []
    private var dice: UInt64
    private var time: Int64 = 1_783_987_200_000
    package let symbols: [String]

    /// How many levels a side of a book has, and how many of them a frame changes.
    package static let depth = 1000
    package static let changes = 20

    package init(symbols count: Int, seed: UInt64 = 1) {
        dice = seed
        symbols = (0..<count).map(Self.symbol)
        for index in 0..<count {
            let quantities = (0..<Self.depth).map { Int64(1 + ($0 * 7919) % 90_000) }
            markets.append(Market(ticks: Int64(1_000_000 + index * 37_000), decimals: 1 + index % 5, bids: quantities, asks: quantities.reversed()))
        }
    }

    /// `BTCUSDT` and others as long as it.
    private static func symbol(_ index: Int) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        guard index > 0 else { return "BTCUSDT" }
        return "Q" + String([letters[index / 676 % 26], letters[index / 26 % 26], letters[index % 26]]) + (index % 3 == 0 ? "X" : "") + "USDT"
    }

    private mutating func roll(_ bound: Int) -> Int {
        dice = dice &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((dice >> 33) % UInt64(bound))
    }

    private static func decimal(_ value: Int64, _ decimals: Int, padding: Int = 0) -> String {
        let digits = String(value)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return padded.dropLast(decimals) + "." + padded.suffix(decimals) + String(repeating: "0", count: padding)
    }

    private func frame(_ stream: String, _ data: String) -> [UInt8] { Array(#"{"stream":"\#(stream)","data":\#(data)}"#.utf8) }

    package mutating func markPrice(_ index: Int) -> [UInt8] {
        time += 1
        return frame(symbols[index].lowercased() + "@markPrice@1s", markPriceRow(index))
    }

    package mutating func markPrices() -> [UInt8] {
        time += 1
        return frame("!markPrice@arr@1s", "[" + symbols.indices.map { markPriceRow($0) }.joined(separator: ",") + "]")
    }

    private mutating func markPriceRow(_ index: Int) -> String {
        markets[index].ticks += Int64(roll(21) - 10)
        let market = markets[index]
        let price = { (offset: Int64) in Self.decimal(market.ticks + offset, market.decimals, padding: 8 - market.decimals) }
        let funding = Self.decimal(Int64(1000 + roll(9000)), 8)
        return #"{"e":"markPriceUpdate","E":\#(time),"s":"\#(symbols[index])","p":"\#(price(0))","i":"\#(price(3))","P":"\#(price(-2))","#
            + #""r":"\#(funding)","T":1784016000000}"#
    }

    package mutating func bookTicker(_ index: Int) -> [UInt8] {
        time += 1
        markets[index].update += UInt64(1 + roll(3000))
        markets[index].ticks += Int64(roll(3) - 1)
        let market = markets[index]
        let data =
            #"{"e":"bookTicker","u":\#(market.update),"s":"\#(symbols[index])","b":"\#(Self.decimal(market.ticks, market.decimals))","#
            + #""B":"\#(Self.decimal(Int64(1 + roll(90_000)), 3))","a":"\#(Self.decimal(market.ticks + 1, market.decimals))","#
            + #""A":"\#(Self.decimal(Int64(1 + roll(90_000)), 3))","T":\#(time),"E":\#(time + 4)}"#
        return frame(symbols[index].lowercased() + "@bookTicker", data)
    }

    /// The book at this moment, as complete data.
    package func book(_ index: Int) -> DepthLevels {
        let market = markets[index]
        let side = { (quantities: [Int64], sign: Int64) in
            quantities.enumerated().filter { $0.element > 0 }.compactMap { offset, quantity -> PriceLevel? in
                guard let price = DecimalString(Self.decimal(market.ticks + sign * Int64(offset + 1), market.decimals)),
                    let quantity = DecimalString(Self.decimal(quantity, 3))
                else { return nil }
                return PriceLevel(price: price, quantity: quantity)
            }
        }
        return DepthLevels(symbol: symbols[index], bids: side(market.bids, -1), asks: side(market.asks, 1), lastUpdateID: market.update, time: time)
    }

    package mutating func depth(_ index: Int) -> [UInt8] {
        time += 1
        let previous = markets[index].update
        markets[index].update += UInt64(1 + roll(3000))
        let bids = change(\.bids, -1, index)
        let asks = change(\.asks, 1, index)
        let market = markets[index]
        let data =
            #"{"e":"depthUpdate","E":\#(time + 4),"T":\#(time),"s":"\#(symbols[index])","U":\#(previous + 1),"u":\#(market.update),"#
            + #""pu":\#(previous),"b":[\#(bids)],"a":[\#(asks)]}"#
        return frame(symbols[index].lowercased() + "@depth@100ms", data)
    }

    /// Three quarters of the changes are among the best fifty levels, and an eighth remove one. As in recorded frames, prices rise.
    private mutating func change(_ side: WritableKeyPath<Market, [Int64]>, _ sign: Int64, _ index: Int) -> String {
        var quantities: [Int64: Int64] = [:]
        while quantities.count < Self.changes {
            let offset = roll(4) > 0 ? roll(50) : roll(Self.depth)
            let quantity = roll(8) > 0 ? Int64(1 + roll(90_000)) : 0
            markets[index][keyPath: side][offset] = quantity
            quantities[markets[index].ticks + sign * Int64(offset + 1)] = quantity
        }
        let decimals = markets[index].decimals
        return quantities.sorted { $0.key < $1.key }.map { price, quantity in
            #"["\#(Self.decimal(price, decimals))","\#(quantity == 0 ? "0" : Self.decimal(quantity, 3))"]"#
        }.joined(separator: ",")
    }
}
