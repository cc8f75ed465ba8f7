/// The decisions of one step: its effects, in order, and the time of the next deadline.
struct Decisions: Sendable {
    var effects: [FeedEffect] = []
    /// When `step(.deadline)` is due next; nil if no deadline is set.
    var nextDeadline: Instant?

    mutating func wake(at instant: Instant) { nextDeadline = nextDeadline.map { min($0, instant) } ?? instant }
}
