import FeedCore
import Glibc
package import Rings

/// A part of a segment that cannot be read.
package struct TapeDamage: Error, Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// There is no block where one should start, or its header is damaged.
        case header
        /// A block's content differs from the written one.
        case content
        /// The segment ends within a block, as after a kill.
        case cut
        /// The operating system cannot read the file.
        case unreadable
    }

    package let segment: String
    package let kind: Kind
    /// The range of bytes.
    package let bytes: Range<UInt64>
    /// When the records there were received, ms since 1970 UTC; nil if unknown.
    package var times: ClosedRange<Int64>?

    /// The event that replaces the damaged records.
    package func event(_ format: EventFormat) -> [UInt8] {
        let members = EventEncoder.object { json in
            json.member("kind", kind.rawValue)
            json.member("file", segment)
            json.member("from", orNull: times?.lowerBound)
            json.member("to", orNull: times?.upperBound)
        }
        return format.body("tapeDamage", of: nil, members) + format.end(nil)
    }
}

/// Finds the blocks of a segment by their headers. Damage is skipped up to the next intact header.
enum SegmentScanner {
    enum Finding: Equatable {
        case block(IndexEntry)
        case damage(TapeDamage.Kind, Range<UInt64>)
    }

    /// - Parameters:
    ///   - bytes: The segment from `start` on, where a block should start.
    static func scan(_ bytes: [UInt8], from start: UInt64 = 0) -> [Finding] {
        var findings: [Finding] = []
        var place = 0
        while place < bytes.count {
            if let header = BlockHeader(bytes[place...]) {
                let entry = IndexEntry(offset: start + UInt64(place), header: header)
                if let end = Int(exactly: entry.end - start), end <= bytes.count {
                    findings.append(.block(entry))
                    place = end
                    continue
                }
            }
            let next = self.next(in: bytes, after: place)
            let isCut = next == nil && BlockHeader(bytes[place...]) != nil || bytes.count - place < BlockHeader.length
            findings.append(.damage(isCut ? .cut : .header, start + UInt64(place)..<start + UInt64(next ?? bytes.count)))
            place = next ?? bytes.count
        }
        return findings
    }

    /// The next position of an intact header.
    private static func next(in bytes: [UInt8], after place: Int) -> Int? {
        var start = place + 1
        while start < bytes.count {
            let found: Int? = bytes.withUnsafeBytes { all in
                guard let base = all.baseAddress, let hit = memchr(base + start, Int32(BlockHeader.magic[0]), all.count - start) else { return nil }
                return UnsafeRawPointer(hit) - base
            }
            guard let found else { return nil }
            if BlockHeader(bytes[found...]) != nil { return found }
            start = found + 1
        }
        return nil
    }
}
