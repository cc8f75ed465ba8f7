/// The health of one of several lines to an upstream. It is measured by the line's copies of messages: how often its copy was first, how late it was
/// otherwise, and how many copies were missing.
struct LineHealth: Sendable {
    /// How many messages it delivered first.
    private(set) var wins: UInt64 = 0
    /// By how much its latest copies lagged, nanoseconds; zero if it was first.
    private(set) var lags: [Int64] = []
    private var next = 0
    private var points = 0
    /// The latest lag if it was late, otherwise zero.
    private(set) var lateness = Duration.zero

    var isFaulty: Bool { points >= Self.most }

    mutating func won() { wins &+= 1 }

    mutating func brought(_ lag: Duration) {
        if lags.count < Self.sampleLimit { lags.append(lag.nanoseconds) } else { lags[next] = lag.nanoseconds }
        next = (next + 1) % Self.sampleLimit
        let isLate = lag > Self.latenessBound
        lateness = isLate ? lag : .zero
        points = min(max(0, points + (isLate ? 1 : -1)), Self.most)
    }

    mutating func lacked() { points = min(points + 4, Self.most) }

    /// Resets the points for a new connection.
    mutating func begin() {
        points = 0
        lateness = .zero
    }

    /// The lag that this percentage of copies did not exceed, nanoseconds; nil before the first copy.
    func lag(percentile: Int) -> Int64? {
        guard !lags.isEmpty else { return nil }
        let sorted = lags.sorted()
        return sorted[min(sorted.count - 1, sorted.count * percentile / 100)]
    }
}

/// A message whose copies on other lines are awaited.
struct AwaitedCopy: Sendable {
    let number: UInt64
    let firstAt: Instant
    /// The lines that delivered it, and the lines on which the stream's subscription was active when it first arrived; one bit per line.
    var lines: UInt8
    let awaited: UInt8
}
