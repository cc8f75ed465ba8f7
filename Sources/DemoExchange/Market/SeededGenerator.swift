import Foundation

/// SplitMix64: the market's only source of randomness, a pure function of its seed.
struct SeededGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A separate generator for each `purpose`, so that one part of the market cannot shift another's sequence.
    init(seed: UInt64, purpose: UInt64) {
        var mixer = SeededGenerator(seed: seed ^ (purpose &* 0xD134_2543_DE82_EF95))
        state = mixer.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Uniform, except for a bias too small to notice in a market.
    mutating func integer(in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// A random waiting time with this mean, as between independent events; at most ten times the mean.
    mutating func exponential(mean: Int64) -> Int64 {
        let uniform = Double(next() >> 11) * 0x1p-53
        return Int64(min(Double(mean) * -log(1 - uniform), Double(mean) * 10, 1e18))
    }

    /// True with a probability of `percent` %.
    mutating func chance(_ percent: UInt64) -> Bool {
        next() % 100 < percent
    }
}
