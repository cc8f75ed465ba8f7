/// Counts times in buckets. Each time costs a search among a few bounds and two additions.
struct Histogram: Sendable {
    /// 50 µs to 10 s, in nanoseconds: for message delays.
    static let latencies: [Int64] = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000,
        1_000_000_000, 2_500_000_000, 10_000_000_000,
    ]
    /// 100 ms to 10 min, in nanoseconds: for outage durations.
    static let outages: [Int64] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600].map { Int64($0 * 1_000_000_000) }

    let bounds: [Int64]
    /// How many times are in each bucket: at or below its bound and above the previous one. The last number counts times above all bounds.
    private(set) var counts: [UInt64]
    /// The sum in nanoseconds.
    private(set) var sum: UInt64 = 0

    init(bounds: [Int64] = Self.latencies) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Counts a time; a negative one, which only different clocks cause, counts as zero.
    mutating func record(nanoseconds: Int64) {
        var place = 0
        while place < bounds.count, nanoseconds > bounds[place] { place += 1 }
        counts[place] &+= 1
        sum &+= UInt64(max(0, nanoseconds))
    }

    /// Adds the times of another histogram with the same bounds.
    mutating func add(_ other: Histogram) {
        for (place, count) in other.counts.enumerated() where place < counts.count { counts[place] &+= count }
        sum &+= other.sum
    }
}
