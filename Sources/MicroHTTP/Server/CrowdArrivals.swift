/// Detects when a crowd of streams has arrived and received its first data: no more have arrived for a second.
struct CrowdArrivals {
    enum Stage { case few, coming, served }

    private var count = 0
    /// The value of `count` when the last crowd was complete.
    private var settled = 0
    private var lastAt: UInt64 = 0

    /// - Parameters:
    ///   - count: How many streams have ever arrived.
    ///   - now: Monotonic nanoseconds.
    mutating func stage(_ count: Int, now: UInt64) -> Stage {
        if count != self.count { lastAt = now }
        self.count = count
        guard count - settled >= Self.crowd else { return .few }
        guard now &- lastAt >= Self.settlingNanoseconds else { return .coming }
        settled = count
        return .served
    }
}
