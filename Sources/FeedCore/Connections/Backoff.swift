/// Delays whose bound doubles with each attempt, up to a cap. Each delay is a random value between the floor and the current bound ("full jitter").
struct Backoff: Sendable {
    let floor: Duration
    let base: Duration
    let cap: Duration
    private(set) var attempts = 0

    init(floor: Duration = .milliseconds(100), base: Duration, cap: Duration) {
        self.floor = floor
        self.base = base
        self.cap = cap
    }

    /// The longest possible next delay.
    var bound: Duration { max(floor, min(cap, base * (1 << min(attempts, 20)))) }

    mutating func next(using random: inout SplitMix64) -> Duration {
        let bound = min(cap, base * (1 << min(attempts, 20)))
        attempts = min(attempts + 1, 1_000_000)
        guard bound > floor else { return floor }
        return .nanoseconds(Int64.random(in: floor.nanoseconds...bound.nanoseconds, using: &random))
    }

    mutating func reset() { attempts = 0 }
}

extension Duration {
    /// Whole nanoseconds, clamped to 64 bits (292 years).
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return product &+ attoseconds / 1_000_000_000
    }
}

/// A small seeded random generator (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
