/// A source of chance with a seed (xorshift64*; Vigna 2016), the simulation's own.
struct Dice {
    private var state: UInt64

    init(seed: UInt64) {
        state = (seed &+ 1) &* 0xD134_2543_DE82_EF95 | 1
        for _ in 0..<4 { _ = next() }
    }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    /// From 0 up to, without, `bound`.
    mutating func below(_ bound: Int) -> Int { bound < 2 ? 0 : Int((next() >> 1) % UInt64(bound)) }

    mutating func between(_ low: Int64, _ high: Int64) -> Int64 { low >= high ? low : low + Int64((next() >> 1) % UInt64(high - low + 1)) }

    mutating func between(_ low: Int, _ high: Int) -> Int { Int(between(Int64(low), Int64(high))) }

    mutating func chance(_ probability: Double) -> Bool {
        probability > 0 && Double(next() >> 11) < probability * 9_007_199_254_740_992
    }

    /// As far from one bound as from the other by ratio, so that small values come as often as large ones.
    mutating func spread(_ low: Int64, _ high: Int64) -> Int64 {
        var (bound, floor) = (high, low)
        while bound / 2 > floor, chance(0.5) { bound /= 2 }
        floor = max(floor, bound / 2)
        return between(min(floor, bound), bound)
    }

    mutating func pick<Item>(_ items: [Item]) -> Item? { items.isEmpty ? nil : items[below(items.count)] }

    mutating func pick<Item>(_ first: Item, _ others: Item...) -> Item { ([first] + others)[below(others.count + 1)] }
}
