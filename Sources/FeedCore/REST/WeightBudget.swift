/// The venue's request weight: a limit per UTC clock minute and IP address (docs/reference/venues.md §6). A part of it stays reserved for others behind the same
/// address.
struct WeightBudget: Sendable {
    /// The venue's limit per minute.
    var limit: Int
    /// The reserved share.
    let reserve: Double
    /// More than any venue allows. External numbers are clamped to it, so that sums cannot overflow.
    private static let most = 1 << 40
    private var minute: Int64 = 0
    private var used = 0

    init(limit: Int, reserve: Double) {
        self.limit = limit
        self.reserve = reserve
    }

    /// Reserves the weight if that leaves the given share of the minute's weight to others; otherwise returns the wait until the next minute. The
    /// first request of a minute is always admitted.
    mutating func take(_ weight: Int, leaving share: Double, now: Moment) -> Duration? {
        enter(now)
        guard used == 0 || used &+ weight <= Int(Double(limit) * (1 - max(share, reserve))) else {
            return .milliseconds(60_000 - now.wallClock % 60_000)
        }
        used = used &+ weight
        return nil
    }

    /// Reserves the weight if that leaves the given share of the minute's weight to others; otherwise returns false.
    mutating func take(_ weight: Int, leaving share: Double, now: Moment) -> Bool {
        enter(now)
        guard used &+ weight <= Int(Double(limit) * (1 - max(share, reserve))) else { return false }
        used = used &+ weight
        return true
    }

    /// Records the weight that the venue reported as used; other clients may share the address.
    mutating func observe(used observed: Int, now: Moment) {
        enter(now)
        used = max(used, min(observed, Self.most))
    }

    /// The weight used in this minute.
    func used(now: Moment) -> Int { now.wallClock / 60_000 == minute ? used : 0 }

    private mutating func enter(_ now: Moment) {
        let current = now.wallClock / 60_000
        if current != minute {
            minute = current
            used = 0
        }
    }
}
