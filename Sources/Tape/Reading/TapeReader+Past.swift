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
        var isBroken = false
        try walk(from: end.lastAt - milliseconds) { item in
            switch item {
            case .damage: isBroken = true
            case .messages(let messages, let isApart):
                for (place, message) in messages.enumerated() { past.take(message, isBroken: place == 0 && (isBroken || isApart)) }
                isBroken = false
            }
            return true
        }
        guard let current = past.epochs.current, current.id == end.position.epoch, past.epochs.head + 1 == end.position.next else { return nil }
        return end.position
    }
}
