package import Replication

/// Reads a tape's files, also while another process writes them.
package struct TapeReader: Sendable {
    /// A file of blocks.
    package struct Segment: Sendable, Equatable {
        package let number: UInt64
        package let name: String
        package let bytes: Int
        package let indexBytes: Int
    }

    /// The end of a tape.
    package struct End: Sendable, Equatable {
        package let position: TapePosition
        /// When the newest record was received, ms since 1970 UTC.
        package let lastAt: Int64
        /// Whether the writer has announced its end.
        package let isOrderly: Bool
    }

    static let gapLog = "gaps.ndjson"
    private let storage: any TapeStorage
    private let summaries = SegmentSummaries()

    package init(_ storage: any TapeStorage) { self.storage = storage }

    static func segmentName(_ number: UInt64) -> String { "\(padded(number)).zst" }
    static func indexName(_ number: UInt64) -> String { "\(padded(number)).index" }
    static func indexName(ofSegment name: String) -> String { "\(name.dropLast(4)).index" }

    private static func padded(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }

    /// The segments, oldest first.
    package func segments() throws(TapeError) -> [Segment] {
        let files = try storage.files()
        let sizes = Dictionary(files.map { ($0.name, $0.bytes) }) { first, _ in first }
        return files.compactMap { file -> Segment? in
            guard file.name.hasSuffix(".zst"), let number = UInt64(file.name.dropLast(4)), Self.segmentName(number) == file.name else { return nil }
            return Segment(number: number, name: file.name, bytes: file.bytes, indexBytes: sizes[Self.indexName(number)] ?? 0)
        }.sorted { $0.number < $1.number }
    }

    /// The blocks of a segment, and the damage between them. The index gives the blocks; after its end or damage, the segment itself is scanned.
    package func blocks(of segment: Segment) throws(TapeError) -> (blocks: [IndexEntry], damages: [TapeDamage]) {
        var blocks = indexed(segment)
        let (more, damages) = try scan(segment, from: blocks.last?.end ?? 0)
        blocks += more
        return (blocks, damages)
    }

    private func indexed(_ segment: Segment) -> [IndexEntry] {
        let name = Self.indexName(segment.number)
        guard segment.indexBytes > 0, let bytes = try? storage.read(name, at: 0, count: segment.indexBytes) else { return [] }
        var entries: [IndexEntry] = []
        entries.reserveCapacity(bytes.count / IndexEntry.length)
        var end: UInt64 = 0
        for place in stride(from: 0, to: bytes.count, by: IndexEntry.length) {
            guard let entry = IndexEntry(bytes[place...]), entry.offset == end, entry.end <= UInt64(segment.bytes) else { break }
            entries.append(entry)
            end = entry.end
        }
        return entries
    }

    /// The blocks found by scanning the segment itself, without its index.
    package func scan(_ segment: Segment, from start: UInt64 = 0) throws(TapeError) -> (blocks: [IndexEntry], damages: [TapeDamage]) {
        guard start < UInt64(segment.bytes) else { return ([], []) }
        let bytes = try storage.read(segment.name, at: Int(start), count: segment.bytes - Int(start))
        var (blocks, damages): ([IndexEntry], [TapeDamage]) = ([], [])
        for finding in SegmentScanner.scan(bytes, from: start) {
            switch finding {
            case .block(let entry): blocks.append(entry)
            case .damage(let kind, let range): damages.append(TapeDamage(segment: segment.name, kind: kind, bytes: range))
            }
        }
        return (blocks, damages)
    }

    /// The messages of a block.
    ///
    /// - Throws: The damage, if the content differs from the written one.
    package func messages(
        of block: IndexEntry, in segment: Segment, _ decompressor: FrameDecompressor
    ) throws(TapeDamage) -> [LogMessage] {
        let header = block.header
        var damage = TapeDamage(
            segment: segment.name, kind: .content, bytes: block.offset..<block.end, times: min(header.firstAt, header.lastAt)...header.lastAt)
        guard let frame = try? storage.read(segment.name, at: Int(clamping: block.frameStart), count: Int(header.storedBytes)) else {
            damage = TapeDamage(segment: segment.name, kind: .unreadable, bytes: block.offset..<block.end, times: damage.times)
            throw damage
        }
        guard frame.count == Int(header.storedBytes), CRC.of(frame[...]) == header.checksum,
            let text = decompressor.text(frame[...], count: Int(header.plainBytes)), let messages = BlockText.messages(text)
        else { throw damage }
        return messages
    }

    /// The extent of a segment; nil if it has no intact block.
    func whole(of segment: Segment) throws(TapeError) -> SegmentExtent? {
        try summary(of: segment).extent
    }

    func summary(of segment: Segment) throws(TapeError) -> SegmentSummary {
        try summaries.summary(of: segment) { () throws(TapeError) in
            let (blocks, damages) = try blocks(of: segment)
            return SegmentSummary(extent: SegmentExtent(blocks), ends: ends(of: segment, blocks, damages))
        }
    }

    /// When the oldest and the newest record of a segment were received, ms since 1970 UTC; nil if it has no intact block.
    package func extent(of segment: Segment) -> (firstAt: Int64, lastAt: Int64)? {
        (try? whole(of: segment)).flatMap { ($0.firstAt, $0.lastAt) }
    }

    /// When the oldest and the newest record of the tape were received, ms since 1970 UTC; nil if it is empty. If the clock was set back, they need
    /// not be in the first and the last segment.
    package func extent() -> (firstAt: Int64, lastAt: Int64)? {
        let extents = ((try? segments()) ?? []).compactMap { extent(of: $0) }
        guard let first = extents.map(\.firstAt).min(), let last = extents.map(\.lastAt).max() else { return nil }
        return (first, last)
    }

    /// The end of the tape: after the newest intact block. Nil if there is none.
    package func end() -> End? {
        guard let segments = try? segments() else { return nil }
        let decompressor = FrameDecompressor()
        for segment in segments.reversed() {
            guard let (blocks, damages) = try? blocks(of: segment) else { continue }
            for block in blocks.reversed() {
                guard let messages = try? messages(of: block, in: segment, decompressor) else { continue }
                let header = block.header
                let isLast = segment == segments.last && block == blocks.last && damages.isEmpty
                return End(
                    position: TapePosition(epoch: header.epoch, term: header.term, next: header.next), lastAt: header.lastAt,
                    isOrderly: isLast && messages.last?.records.last?.kind == .resigned)
            }
        }
        return nil
    }

    /// The gaps that the recorder has listed, oldest first.
    func listedGaps() throws(TapeError) -> [TapeGap] {
        guard let file = try storage.files().first(where: { $0.name == Self.gapLog }) else { return [] }
        return try storage.read(Self.gapLog, at: 0, count: file.bytes).split(separator: UInt8(ascii: "\n")).compactMap { TapeGap($0) }
    }
}
