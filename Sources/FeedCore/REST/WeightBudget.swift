/// The venue's request weight: so much per UTC clock minute and address (venues.md §6), of which a part stays in reserve for others behind the
/// same address.
struct WeightBudget: Sendable {
    /// What the venue allows in a minute.
    var limit: Int
    /// The share that is left alone.
    let reserve: Double
    /// More than any venue allows. What comes from outside is cut to it, so that sums cannot overflow.
    private static let most = 1 << 40
    private var minute: Int64 = 0
    private var used = 0

    init(limit: Int, reserve: Double) {
        self.limit = limit
        self.reserve = reserve
    }

    /// Takes the weight where that leaves a share of the minute's to others, or says how long to wait until a new minute begins.
    mutating func take(_ weight: Int, leaving share: Double, now: Moment) -> Duration? {
        enter(now)
        guard used == 0 || used &+ weight <= Int(Double(limit) * (1 - max(share, reserve))) else {
            return .milliseconds(60_000 - now.wallClock % 60_000)
        }
        used = used &+ weight
        return nil
    }

    /// Takes the weight where that leaves a share of the minute's to others; false where it does not.
    mutating func take(_ weight: Int, leaving share: Double, now: Moment) -> Bool {
        enter(now)
        guard used &+ weight <= Int(Double(limit) * (1 - max(share, reserve))) else { return false }
        used = used &+ weight
        return true
    }

    /// The venue says what was used; others may share the address.
    mutating func observe(used observed: Int, now: Moment) {
        enter(now)
        used = max(used, min(observed, Self.most))
    }

    /// What this minute has cost so far.
    func used(now: Moment) -> Int { now.wallClock / 60_000 == minute ? used : 0 }

    private mutating func enter(_ now: Moment) {
        let current = now.wallClock / 60_000
        if current != minute {
            minute = current
            used = 0
        }
    }
}
