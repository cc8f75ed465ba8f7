/// Whose positions a long/short ratio counts.
enum RatioKind: Int64 {
    case allAccounts
    case topAccounts
    case topPositions
}

/// Figures about the open positions in one contract. All follow from the last price. So they move with the market, and the same past price always
/// gives the same figures.
struct Positioning {
    let listing: Listing
    let seed: UInt64

    private func noise(_ purpose: Int64, _ range: ClosedRange<Int64>) -> Int64 {
        var generator = SeededGenerator(seed: seed, purpose: UInt64(bitPattern: purpose))
        return generator.integer(in: range)
    }

    /// How far the price is above its usual one, in thousandths of that, clamped to ±500.
    private func excess(_ price: Int64) -> Int64 {
        min(max((price - listing.anchor) * 1_000 / max(1, listing.anchor), -500), 500)
    }

    /// In units of the quantity precision.
    func openInterest(at price: Int64) -> Int64 {
        let base = listing.typicalQuantity * noise(-1, 400_000...900_000)
        return base + base / 10_000 * (excess(price) * 4 + noise(price, -20...20))
    }

    /// The share of long accounts or positions, in ten-thousandths.
    func longShare(_ kind: RatioKind, at price: Int64) -> Int64 {
        noise(-2 - kind.rawValue, 5_000...6_500) - excess(price) * 3 + noise(price ^ kind.rawValue << 60, -30...30)
    }
}
