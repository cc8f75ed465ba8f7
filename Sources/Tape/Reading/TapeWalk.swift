package import Replication

/// An item of a tape.
package enum TapeItem: Sendable, Equatable {
    /// Consecutive messages. If records are missing before them, the first one claims an epoch without a predecessor, or `isBroken` is true.
    case messages([LogMessage], isBroken: Bool)
    case damage(TapeDamage)
}

extension TapeReader {
    /// Reads the data received between two times, in blocks: a part of it may be outside.
    ///
    /// - Parameters:
    ///   - from: Ms since 1970 UTC; nil for the beginning.
    ///   - to: Ms since 1970 UTC; nil for the end.
    ///   - visit: Returns whether to continue.
    package func walk(from: Int64? = nil, to: Int64? = nil, _ visit: (TapeItem) -> Bool) throws(TapeError) {
        var cursor = TapeCursor(self, from: from, to: to)
        while let item = try cursor.next() { guard visit(item) else { return } }
    }
}
