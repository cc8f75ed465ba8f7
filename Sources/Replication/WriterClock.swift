package import FeedCore

/// The writer's clock, derived from its messages. No machine's clock needs to be right, and no two need to agree.
///
/// Among the recent messages, the one with the shortest transit time shows the clock best. If every recent message was slow, the clock uses the
/// measured transit time instead.
package struct WriterClock: Sendable, Equatable {
    /// The offset from the writer's wall clock to this node's monotonic clock, ms: the smallest of this period, and of the previous one.
    private var offset: Int64?
    private var lastOffset: Int64?
    private var since: Int64 = 0
    private var lastSentAt: Int64 = .min
    /// When the newest message arrived, ms.
    private var heardAt: Int64 = 0
    /// The measured transit time of messages, ms; 0 if it is short enough to be ignored.
    package private(set) var transit: Int64 = 0
    /// The offset by this machine's wall clock, ms; nil if only the messages count.
    private var assumed: Int64?

    package init() {}

    /// Records a message with the given time by the writer's wall clock.
    ///
    /// - Parameter isOfThePast: Whether the message is an old record of the log, which may be read for the second time.
    mutating func hear(_ sentAt: Int64, _ now: Instant, isOfThePast: Bool = false) {
        let milliseconds = now.nanoseconds / 1_000_000
        let (difference, isAbsurd) = milliseconds.subtractingReportingOverflow(sentAt)
        guard !isAbsurd else { return }
        // The writer's clock was set back, so its earlier times are useless.
        if sentAt < lastSentAt, !isOfThePast { (offset, lastOffset) = (nil, nil) }
        // An old record that is read again says nothing about the newest one's arrival.
        if !isOfThePast || sentAt >= lastSentAt { (lastSentAt, heardAt) = (sentAt, milliseconds) }
        if offset == nil || milliseconds - since >= Self.period { (lastOffset, offset, since) = (offset, nil, milliseconds) }
        offset = min(offset ?? difference, difference)
    }

    /// Uses this machine's wall clock if it is ahead of the messages.
    mutating func assume(_ wallClock: Int64, _ now: Instant) {
        let (difference, isAbsurd) = (now.nanoseconds / 1_000_000).subtractingReportingOverflow(wallClock)
        assumed = isAbsurd ? nil : difference
    }

    /// Sets the measured transit time of messages, ms; 0 to ignore it.
    mutating func measure(transit: Int64) { self.transit = max(0, transit) }

    /// Uses only the messages.
    mutating func trustMessages() { assumed = nil }

    /// The writer's current wall clock time, ms since 1970 UTC; nil before its first message.
    package func time(at now: Instant) -> Int64? {
        guard let offset = [offset, lastOffset, assumed].compactMap(\.self).min() else { return nil }
        let milliseconds = now.nanoseconds / 1_000_000
        let (time, isAbsurd) = milliseconds.subtractingReportingOverflow(offset)
        guard transit > 0, !isAbsurd else { return isAbsurd ? nil : time }
        return max(time, lastSentAt.addingReportingOverflow(transit &+ milliseconds &- heardAt).partialValue)
    }

    /// Converts a time by the writer's wall clock, ms since 1970 UTC, to this node's monotonic clock.
    func moment(of time: Int64, _ now: Instant) -> Instant {
        Instant(nanoseconds: now.nanoseconds &- min(age(of: time, now), 1 << 40) &* 1_000_000)
    }

    /// The age of a time by the writer's wall clock, ms.
    package func age(of time: Int64, _ now: Instant) -> Int64 {
        guard let current = self.time(at: now) else { return 0 }
        let (age, isAbsurd) = current.subtractingReportingOverflow(time)
        return isAbsurd ? 0 : max(0, age)
    }
}
