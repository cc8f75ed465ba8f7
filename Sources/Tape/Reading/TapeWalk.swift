package import Replication

/// An item of a tape.
package enum TapeItem: Sendable, Equatable {
    /// Consecutive messages. If records are missing before them, the first one claims an epoch without a predecessor, or `isBroken` is true.
    case messages([LogMessage], isBroken: Bool)
    case damage(TapeDamage)
}

/// The result of checking every byte of a tape.
package struct TapeReport: Sendable, Equatable {
    package var segments = 0
    package var blocks = 0
    package var records: UInt64 = 0
    package var bytes = 0
    package var damages: [TapeDamage] = []
    package var gaps: [TapeGap] = []
    /// The gaps between segments that the list of gaps lacks.
    package var unlisted: [TapeGap] = []
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

    /// Checks every byte.
    package func verify() throws(TapeError) -> TapeReport {
        let decompressor = FrameDecompressor()
        var report = TapeReport()
        for segment in try segments() {
            report.segments += 1
            report.bytes += segment.bytes + segment.indexBytes
            let (blocks, damages) = try scan(segment)
            report.damages += damages
            for block in blocks {
                do throws(TapeDamage) {
                    _ = try messages(of: block, in: segment, decompressor)
                    report.blocks += 1
                    report.records += UInt64(block.header.records)
                } catch { report.damages.append(error) }
            }
        }
        report.unlisted = try unlistedGaps()
        report.gaps = try gaps()
        return report
    }
}
