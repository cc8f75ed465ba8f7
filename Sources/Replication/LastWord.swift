package import FeedCore

/// The newest message of the log's writer. A claim does not count, because the claimant has no data about the streams yet.
package struct LastWord: Sendable, Equatable {
    /// When it was written, by the clock that the writer's fastest messages show. It may arrive much later: servers that elect a leader commit an
    /// append in flight seconds after it was sent.
    package let writtenAt: Instant
    /// When it was written, ms since 1970 UTC by the writer's clock.
    package let sentAt: Int64
    /// Whether it was read with the old records and may have been in the log for long. Then its age follows only from the clocks of both machines.
    package let isOfThePast: Bool

    /// The last moment at which the writer is known to have been alive.
    package func moment(now: Moment) -> Instant {
        guard isOfThePast else { return writtenAt }
        let (age, isAbsurd) = now.wallClock.subtractingReportingOverflow(sentAt)
        let (nanoseconds, overflows) = max(0, age).multipliedReportingOverflow(by: 1_000_000)
        guard !isAbsurd, !overflows else { return writtenAt }
        return min(writtenAt, Instant(nanoseconds: now.instant.nanoseconds &- nanoseconds))
    }
}
