import FeedCore

/// The bandwidth of all replays together, in bytes sent. It does not depend on the number of replays, so live events are not delayed.
struct ReplayBudget {
    /// When the budget for everything sent so far is used up.
    private var paidUp = Instant(nanoseconds: 0)

    /// Charges the bytes, and returns when their reader may have the next ones.
    mutating func pay(_ bytes: Int, now: Instant) -> Instant {
        paidUp = max(paidUp, now) + .nanoseconds(Int64(bytes) * 1_000_000_000 / Self.bytesPerSecond)
        return paidUp
    }
}
