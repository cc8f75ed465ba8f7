/// Whether the process runs on time. After a suspension, unread messages may be as old as the suspension, and silence means nothing for a while.
struct Punctuality: Sendable {
    /// Silence is not judged before this moment, because messages that arrived during the suspension are still unread.
    private(set) var judgesFrom = Instant(nanoseconds: 0)
    /// The last moment before the suspension at which the process was on time, and the end of the suspension.
    private var punctualAt = Instant(nanoseconds: 0)
    private var resumedAt = Instant(nanoseconds: 0)

    /// Records whether the next deadline has been missed.
    mutating func check(_ due: Instant?, _ now: Instant) {
        guard let due else { return }
        let lateness = now.nanoseconds &- due.nanoseconds
        guard lateness > Self.tolerableLateness else { return }
        // Without a limit, a process that is always late would never have evidence again.
        if judgesFrom <= now || resumedAt.after(Self.longestBacklog) <= now { (punctualAt, resumedAt) = (due, now) }
        judgesFrom = now.after(min(lateness, Self.longestGrace))
    }

    /// The moment for which a message is evidence that arrived at `arrival`.
    func evidence(of arrival: Instant) -> Instant { punctualAt < arrival && arrival < judgesFrom ? punctualAt : arrival }
}
