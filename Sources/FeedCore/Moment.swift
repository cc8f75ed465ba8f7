/// One reading of both clocks. Ages and deadlines use `instant`; times shown to readers use `wallClock`.
package struct Moment: Sendable {
    /// The monotonic clock in nanoseconds.
    package let instant: Instant
    /// Milliseconds since 1970 UTC.
    package let wallClock: Int64

    package init(instant: Instant, wallClock: Int64) {
        self.instant = instant
        self.wallClock = wallClock
    }
}

/// A point in time of the monotonic clock, nanoseconds since an arbitrary start.
package struct Instant: Comparable, Hashable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    package static func + (a: Instant, b: Duration) -> Instant { Instant(nanoseconds: a.nanoseconds &+ b.nanoseconds) }
    /// Adds nanoseconds. A `Duration` has 128 bits, which is too slow for every message.
    func after(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: self.nanoseconds &+ nanoseconds) }
    /// Subtracts milliseconds, which come from outside: at least none, at most a hundred years.
    func before(milliseconds: Int64) -> Instant { after(-min(max(milliseconds, 0), 3_155_760_000_000) &* 1_000_000) }
    /// Milliseconds since `earlier`, never negative.
    package func milliseconds(since earlier: Instant) -> Int64 { max(0, nanoseconds &- earlier.nanoseconds) / 1_000_000 }
}
