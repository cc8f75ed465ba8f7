import FeedCore

/// The check of a node that has read the log, or the claim of a new writer: does the log have more, and how old is its newest record?
struct CatchingUp: Sendable {
    /// When the next step is due: to serve without a new record, or to ask again.
    private(set) var deadline: Instant
    /// Where the log ended; nil until the leader has answered.
    private var end: UInt64?

    init(_ now: Instant) { deadline = now + Self.patience }

    /// Records the leader's answer to the last question: the log's end, or nil if it could not answer.
    mutating func answered(_ end: UInt64?, _ now: Instant) {
        self.end = end
        deadline = now + (end == nil ? Self.pause : Self.patience)
    }

    /// Whether the record at `place` was written after the leader answered.
    func isNew(_ place: UInt64) -> Bool { end.map { place > $0 } ?? false }

    /// Whether the node has read up to the end; `place` is its last record.
    func hasRead(_ place: UInt64) -> Bool { end.map { place >= $0 } ?? false }

    /// Asks the leader again.
    mutating func ask(_ now: Instant) {
        (end, deadline) = (nil, now + Self.patience)
    }
}
