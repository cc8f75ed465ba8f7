/// A token bucket: it allows a burst of requests, then a steady rate.
package struct TokenBucket: Equatable, Sendable {
    /// The size of a bucket and how fast it fills.
    package struct Rate: Equatable, Sendable {
        let burst: Double
        /// Nanoseconds until one more token.
        let interval: Double

        /// A burst of twice `count`, then `count` per second.
        package static func perSecond(_ count: Int) -> Rate { Rate(burst: Double(count) * 2, interval: 1e9 / Double(max(count, 1))) }
        /// A burst of `count`, then `count` per minute.
        package static func perMinute(_ count: Int) -> Rate { Rate(burst: Double(count), interval: 60e9 / Double(max(count, 1))) }
    }

    private var used = 0.0
    private var countedAt: Int64 = 0

    /// Creates a full bucket.
    package init() {}

    /// Takes `count` tokens and returns nil. Otherwise takes none and returns the seconds, at least 1, until it has `count` tokens, or is full if
    /// `count` exceeds the burst.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    package mutating func take(_ count: Int, _ rate: Rate, now: Int64) -> Int? {
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

    /// The remaining tokens, and the seconds until the bucket is full again.
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
