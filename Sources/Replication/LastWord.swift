package import FeedCore

/// The newest message of whoever wrote the log. A claim is none: who makes it has nothing to tell of the streams yet.
package struct LastWord: Sendable, Equatable {
    /// When it came here.
    package let cameAt: Instant
    /// When it was written, ms since 1970 UTC by the writer's clock.
    package let sentAt: Int64
    /// Whether it was read with all that the log had, and may have lain there for long. Then only the clocks of both machines tell how old it is.
    package let isOfThePast: Bool

    /// The last moment at which the writer is known to have been alive.
    package func moment(now: Moment) -> Instant {
        guard isOfThePast else { return cameAt }
        let (age, isAbsurd) = now.wallClock.subtractingReportingOverflow(sentAt)
        let (nanoseconds, overflows) = max(0, age).multipliedReportingOverflow(by: 1_000_000)
        guard !isAbsurd, !overflows else { return cameAt }
        return min(cameAt, Instant(nanoseconds: now.instant.nanoseconds &- nanoseconds))
    }
}
