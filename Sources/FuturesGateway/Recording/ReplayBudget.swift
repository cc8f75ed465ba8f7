import FeedCore

/// How much of the machine all replays may take together, in bytes that they are sent: it is the same for one as for many, so what is live comes no later.
struct ReplayBudget {
    /// 200,000 events of 335 bytes a second. As fast as two processors can, it would be four times as much, and nothing would be left for who reads live.
    static let bytesPerSecond: Int64 = 64 << 20

    /// When everything sent so far is paid for.
    private var paidUp = Instant(nanoseconds: 0)

    /// Books so many bytes, and returns when their reader may have the next ones.
    mutating func pay(_ bytes: Int, now: Instant) -> Instant {
        paidUp = max(paidUp, now) + .nanoseconds(Int64(bytes) * 1_000_000_000 / Self.bytesPerSecond)
        return paidUp
    }
}
