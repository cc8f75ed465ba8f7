package import Replication

extension TapeReader {
    /// What the end of the tape tells of the feed that was recorded, so that another one can go on with it. What is missing or damaged makes everything
    /// before it worthless.
    ///
    /// - Parameters:
    ///   - milliseconds: how much of the tape is read.
    ///   - past: nothing yet.
    /// - Returns: where the tape ends; nil if there is nothing to go on with.
    package func read(last milliseconds: Int64, into past: inout PastFeed) throws(TapeError) -> TapePosition? {
        guard let end = end() else { return nil }
        try read(from: end.lastAt - milliseconds, into: &past)
        guard let current = past.epochs.current, current.id == end.position.epoch, past.epochs.head + 1 == end.position.next else { return nil }
        return end.position
    }

    /// What was received between two times, ms since 1970 UTC, in blocks.
    package func read(from: Int64, to: Int64? = nil, into past: inout PastFeed) throws(TapeError) {
        var isBroken = false
        try walk(from: from, to: to) { item in
            switch item {
            case .damage: isBroken = true
            case .messages(let messages, let isApart):
                for (place, message) in messages.enumerated() { past.take(message, isBroken: place == 0 && (isBroken || isApart)) }
                isBroken = false
            }
            return !past.isComplete
        }
    }
}
