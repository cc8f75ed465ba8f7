/// Counts the request weight that all clients together have used in the current UTC minute.
struct WeightMeter {
    /// Weight per minute; requests beyond it are refused.
    let limit: Int

    private var minute: Int64 = 0
    private(set) var used = 0

    init(limit: Int) { self.limit = limit }

    /// Charges a request made at `now`; returns the seconds to wait if it exceeds the limit. A refused request counts too.
    mutating func charge(_ weight: Int, at now: Int64) -> Int64? {
        if now / Interval.minute != minute {
            minute = now / Interval.minute
            used = 0
        }
        used = min(used + weight, 1_000_000_000)
        return used > limit ? max(1, (Interval.minute - now % Interval.minute + 999) / 1_000) : nil
    }
}
