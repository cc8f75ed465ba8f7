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

    /// Takes so many, or none and says in how many seconds, 1 or more, there are so many; where there never are, in how many all there can be.
    ///
    /// - Parameter now: monotonic nanoseconds.
    mutating func take(_ count: Int, _ rate: Rate, now: Int64) -> Int? {
        drain(rate, now)
        let wanted = Double(count)
        guard used + wanted <= rate.burst else {
            return max(1, Int(((used + min(wanted, rate.burst) - rate.burst) * rate.interval / 1e9).rounded(.up)))
        }
        used += wanted
        return nil
    }

    /// Undoes a `take`.
    mutating func giveBack(_ count: Int) { used = max(0, used - Double(count)) }

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
