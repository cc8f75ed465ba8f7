/// A token bucket: so many at once, and as many again over a time.
struct Bucket: Equatable {
    /// What a bucket is like.
    struct Rate: Equatable {
        let burst: Double
        /// Nanoseconds until one more.
        let interval: Double

        static func perSecond(_ count: Int) -> Rate { Rate(burst: Double(count) * 2, interval: 1e9 / Double(max(count, 1))) }
        static func perMinute(_ count: Int) -> Rate { Rate(burst: Double(count), interval: 60e9 / Double(max(count, 1))) }
    }

    private var used = 0.0
    private var countedAt: Int64 = 0

    /// Takes one, or says in how many seconds, 1 or more, there is one.
    ///
    /// - Parameter now: monotonic nanoseconds.
    mutating func take(_ rate: Rate, now: Int64) -> Int? {
        drain(rate, now)
        guard used + 1 <= rate.burst else { return max(1, Int(((used + 1 - rate.burst) * rate.interval / 1e9).rounded(.up))) }
        used += 1
        return nil
    }

    /// How many are left, and in how many seconds it is full again.
    func left(_ rate: Rate, now: Int64) -> (count: Int, full: Int) {
        var copy = self
        copy.drain(rate, now)
        return (Int(max(0, rate.burst - copy.used)), Int((copy.used * rate.interval / 1e9).rounded(.up)))
    }

    func isFull(_ rate: Rate, now: Int64) -> Bool {
        var copy = self
        copy.drain(rate, now)
        return copy.used == 0
    }

    private mutating func drain(_ rate: Rate, _ now: Int64) {
        used = max(0, used - Double(max(0, now &- countedAt)) / rate.interval)
        countedAt = now
    }
}
