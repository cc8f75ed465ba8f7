package import FeedCore

/// What the writer's clock says, as far as its messages tell: no machine's clock has to be right, nor two of them alike.
///
/// Of all that came lately, the message that was on its way for the shortest time tells the time best.
package struct WriterClock: Sendable, Equatable {
    private static let period: Int64 = 30_000
    /// From the writer's wall clock to this node's monotonic one, ms: the least of this period, and of the one before.
    private var offset: Int64?
    private var lastOffset: Int64?
    private var since: Int64 = 0
    private var lastSentAt: Int64 = .min
    /// The offset by this machine's wall clock, ms; nil if the messages alone count.
    private var assumed: Int64?

    package init() {}

    /// A message came that was sent at this time by the writer's wall clock.
    ///
    /// - Parameter isOfThePast: whether the message is an old record of the log, which may be read for the second time.
    mutating func hear(_ sentAt: Int64, _ now: Instant, isOfThePast: Bool = false) {
        let milliseconds = now.nanoseconds / 1_000_000
        let (difference, isAbsurd) = milliseconds.subtractingReportingOverflow(sentAt)
        guard !isAbsurd else { return }
        // Somebody has set the writer's clock back: what it said before is of no use.
        if sentAt < lastSentAt, !isOfThePast { (offset, lastOffset) = (nil, nil) }
        lastSentAt = isOfThePast ? max(lastSentAt, sentAt) : sentAt
        if offset == nil || milliseconds - since >= Self.period { (lastOffset, offset, since) = (offset, nil, milliseconds) }
        offset = min(offset ?? difference, difference)
    }

    /// Uses this machine's wall clock if it is ahead of the messages.
    mutating func assume(_ wallClock: Int64, _ now: Instant) {
        let (difference, isAbsurd) = (now.nanoseconds / 1_000_000).subtractingReportingOverflow(wallClock)
        assumed = isAbsurd ? nil : difference
    }

    /// Uses the messages alone.
    mutating func trustMessages() { assumed = nil }

    /// The writer's wall clock now, ms since 1970 UTC; nil before it said anything.
    package func time(at now: Instant) -> Int64? {
        guard let offset = [offset, lastOffset, assumed].compactMap(\.self).min() else { return nil }
        let (time, isAbsurd) = (now.nanoseconds / 1_000_000).subtractingReportingOverflow(offset)
        return isAbsurd ? nil : time
    }

    /// When something was by this node's monotonic clock, given the writer's wall clock, ms since 1970 UTC.
    func moment(of time: Int64, _ now: Instant) -> Instant {
        Instant(nanoseconds: now.nanoseconds &- min(age(of: time, now), 1 << 40) &* 1_000_000)
    }

    /// How long ago something was by the writer's wall clock, ms.
    package func age(of time: Int64, _ now: Instant) -> Int64 {
        guard let current = self.time(at: now) else { return 0 }
        let (age, isAbsurd) = current.subtractingReportingOverflow(time)
        return isAbsurd ? 0 : max(0, age)
    }
}
