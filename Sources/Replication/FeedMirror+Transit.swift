package import FeedCore

/// A question to the writer and its answer, with which a node measures the transit time of records.
///
/// The answer has the writer's newest event. The time from the question until the node has that event is an upper bound of the transit time. The times
/// in the records cannot show it if every record is equally slow.
struct TransitCheck: Sendable {
    let epoch: UInt64
    let head: UInt64
    let askedAt: Instant
    let answeredAt: Instant

    /// When the node counts as behind if it does not have the event yet.
    func deadline(_ patience: Duration) -> Instant { answeredAt + patience }
}

extension FeedMirror {
    /// Records the writer's answer to a question.
    ///
    /// - Parameters:
    ///   - head: The number of the writer's newest event at that time.
    ///   - askedAt: When the question was sent.
    package mutating func answered(_ head: UInt64, askedAt: Instant, now: Moment) -> [Effect] {
        note(now)
        guard let epoch = epochs.current?.id, answeredSince.map({ $0 < askedAt }) ?? true else { return [] }
        answeredSince = askedAt
        passTransitCheck()
        // A pending measurement continues, because a later one would only show a part of the transit time.
        if transitCheck == nil {
            transitCheck = TransitCheck(epoch: epoch, head: head, askedAt: askedAt, answeredAt: now.instant)
            passTransitCheck()
        }
        return take()
    }

    /// Records that the writer did not answer a question in time.
    package mutating func unanswered(askedAt: Instant, now: Moment) -> [Effect] {
        note(now)
        guard answeredSince.map({ $0 < askedAt }) ?? true else { return [] }
        setTransit(self.now.milliseconds(since: askedAt))
        return take()
    }

    /// Ends the pending measurement if this node has the event, and counts as behind if it should have it.
    mutating func passTransitCheck() {
        guard let check = transitCheck else { return }
        guard check.epoch == epochs.current?.id else { return transitCheck = nil }
        if epochs.head >= check.head {
            transitCheck = nil
            setTransit(now.milliseconds(since: check.askedAt))
        } else if check.deadline(patience) <= now {
            setTransit(now.milliseconds(since: check.answeredAt))
        }
    }

    /// Below `patience`, the transit time is ignored, because an outage of the log is not reported earlier either.
    private mutating func setTransit(_ milliseconds: Int64) {
        view.clock.measure(transit: milliseconds < patience.nanoseconds / 1_000_000 ? 0 : milliseconds)
        guard view.clock.transit > 0, let lastWord, let heardAt else { return }
        self.heardAt = min(heardAt, view.clock.moment(of: lastWord.sentAt, now))
        lagMs = max(lagMs, view.clock.transit)
        if let silentAt, silentAt <= now { goAway() }
    }
}
