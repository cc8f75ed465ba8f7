/// What a step has decided so far: the effects, in order, and when the next deadline is due.
struct Decisions: Sendable {
    var effects: [FeedEffect] = []
    /// When `step(.deadline)` is due next; nil if nothing is waited for.
    var nextDeadline: Instant?

    mutating func wake(at instant: Instant) { nextDeadline = nextDeadline.map { min($0, instant) } ?? instant }
}
