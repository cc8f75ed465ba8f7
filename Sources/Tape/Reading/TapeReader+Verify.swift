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
        report.gaps = try listedGaps()
        return report
    }
}
