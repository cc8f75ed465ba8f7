package import Replication

/// What a walk over a tape comes by.
package enum TapeItem: Sendable, Equatable {
    /// Messages that follow each other. If something is missing before them, the first one claims an epoch that follows nothing, or `isBroken`.
    case messages([LogMessage], isBroken: Bool)
    case damage(TapeDamage)
}

/// What a look at every byte of a tape shows.
package struct TapeReport: Sendable, Equatable {
    package var segments = 0
    package var blocks = 0
    package var records: UInt64 = 0
    package var bytes = 0
    package var damages: [TapeDamage] = []
    package var gaps: [TapeGap] = []
}

extension TapeReader {
    /// Reads what was received between two times, in blocks: a part of what comes may lie outside.
    ///
    /// - Parameters:
    ///   - from: ms since 1970 UTC; nil for the beginning.
    ///   - to: ms since 1970 UTC; nil for the end.
    ///   - visit: returns whether the walk goes on.
    package func walk(from: Int64? = nil, to: Int64? = nil, _ visit: (TapeItem) -> Bool) throws(TapeError) {
        var cursor = TapeCursor(self, from: from, to: to)
        while let item = try cursor.next() { guard visit(item) else { return } }
    }

    /// Looks at every byte.
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
        report.gaps = try gaps()
        return report
    }
}
