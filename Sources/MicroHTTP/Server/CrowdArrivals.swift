/// Tells when a crowd of streams has come and been served what each gets at first: no more have come for a second.
struct CrowdArrivals {
    enum Stage { case few, coming, served }

    /// How many make a crowd.
    static let crowd = 1000
    private static let settlingNanoseconds: UInt64 = 1_000_000_000

    private var count = 0
    /// The count when a crowd had been served last.
    private var settled = 0
    private var lastAt: UInt64 = 0

    /// - Parameters:
    ///   - count: how many streams have ever come.
    ///   - now: monotonic nanoseconds.
    mutating func stage(_ count: Int, now: UInt64) -> Stage {
        if count != self.count { lastAt = now }
        self.count = count
        guard count - settled >= Self.crowd else { return .few }
        guard now &- lastAt >= Self.settlingNanoseconds else { return .coming }
        settled = count
        return .served
    }
}
