/// How one of several lines to a venue does, by its copies of messages: how often its copy came first, how late it was otherwise, and what it lacked.
struct LineHealth: Sendable {
    /// A copy that is later than this is late: the line shows what is old.
    static let latenessBound = Duration.milliseconds(250)
    /// How long a copy is waited for until it counts as lacking.
    static let copyPatience = Duration.seconds(1)
    /// For so long after it opened a line is not blamed: what the venue sent before it took the subscription may arrive on other lines after that.
    static let grace = Duration.seconds(3)
    private static let sampleLimit = 128
    /// With so many points a line is to be replaced: a late copy is one, a lacking one four, and one in time takes one away.
    private static let most = 16

    /// How many messages it brought first.
    private(set) var wins: UInt64 = 0
    /// How late its latest copies were, nanoseconds; zero where it was the first.
    private(set) var lags: [Int64] = []
    private var next = 0
    private var points = 0
    /// The latest lag, if it was late.
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

    /// A new connection has done nothing wrong yet.
    mutating func begin() {
        points = 0
        lateness = .zero
    }

    /// The lag that so many of a hundred copies did not exceed, nanoseconds; nil before the first.
    func lag(percentile: Int) -> Int64? {
        guard !lags.isEmpty else { return nil }
        let sorted = lags.sorted()
        return sorted[min(sorted.count - 1, sorted.count * percentile / 100)]
    }
}

/// A message of which the copies on other lines are waited for.
struct AwaitedCopy: Sendable {
    let number: UInt64
    let firstAt: Instant
    /// The lines that brought it, and those on which the stream's subscription stood when it first came; a bit for each.
    var lines: UInt8
    let awaited: UInt8
}
