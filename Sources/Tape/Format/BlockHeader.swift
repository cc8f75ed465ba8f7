import CZlib
import FeedDialects
import Replication

/// The header of a block in a segment: the block's content, and the checksums that reveal damage.
///
/// It is a skippable zstd frame (RFC 8878 §3.1.2), and the block after it is a zstd frame, so every zstd tool can read a segment.
package struct BlockHeader: Sendable, Equatable {
    /// The epoch of the block's events, and how many times the tape started over (`LogMessage.term`).
    package var epoch: UInt64
    package var term: UInt64
    /// The number of the first event, and one past the number of the last one. They are equal if the block has no event.
    package var first: UInt64
    package var next: UInt64
    /// When the oldest and the newest record were received, ms since 1970 UTC.
    package var firstAt: Int64
    package var lastAt: Int64
    /// The number of records in the block.
    package var records: UInt32
    /// The size of the frame and of the text in it, in bytes.
    package var storedBytes: UInt32
    package var plainBytes: UInt32
    /// The CRC-32 of the frame.
    package var checksum: UInt32

    /// The size of a header in bytes.
    package static let length = 80
    /// A block's first bytes: the skippable frame's number, its length, and the name of this format.
    static let magic: [UInt8] = [0x54, 0x2A, 0x4D, 0x18, 72, 0, 0, 0] + Array("fgt1".utf8)

    package init(
        epoch: UInt64, term: UInt64, first: UInt64, next: UInt64, firstAt: Int64, lastAt: Int64, records: UInt32, storedBytes: UInt32,
        plainBytes: UInt32, checksum: UInt32
    ) {
        (self.epoch, self.term, self.first, self.next) = (epoch, term, first, next)
        (self.firstAt, self.lastAt, self.records) = (firstAt, lastAt, records)
        (self.storedBytes, self.plainBytes, self.checksum) = (storedBytes, plainBytes, checksum)
    }

    /// Parses a header; nil if there is none, or if it is damaged.
    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.length, bytes.starts(with: Self.magic) else { return nil }
        var fields = LittleEndianReader(bytes[bytes.startIndex + Self.magic.count..<bytes.startIndex + Self.length])
        let own = UInt32(truncatingIfNeeded: fields.next(4))
        guard own == CRC.of(bytes[bytes.startIndex + Self.magic.count + 4..<bytes.startIndex + Self.length]) else { return nil }
        checksum = UInt32(truncatingIfNeeded: fields.next(4))
        storedBytes = UInt32(truncatingIfNeeded: fields.next(4))
        plainBytes = UInt32(truncatingIfNeeded: fields.next(4))
        records = UInt32(truncatingIfNeeded: fields.next(4))
        (epoch, term, first, next) = (fields.next(8), fields.next(8), fields.next(8), fields.next(8))
        (firstAt, lastAt) = (Int64(bitPattern: fields.next(8)), Int64(bitPattern: fields.next(8)))
        // Sums of header values must not overflow, whatever program wrote them.
        guard next >= first, next <= LogMessage.largestNumber, Int(plainBytes) <= Self.mostBytes, (0...UTCTime.latest).contains(firstAt),
            (0...UTCTime.latest).contains(lastAt)
        else { return nil }
    }

    /// The encoded header.
    package var bytes: [UInt8] {
        var fields: [UInt8] = []
        fields.reserveCapacity(Self.length)
        for number in [checksum, storedBytes, plainBytes, records] { fields.append(littleEndian: UInt64(number), 4) }
        for number in [epoch, term, first, next, UInt64(bitPattern: firstAt), UInt64(bitPattern: lastAt)] { fields.append(littleEndian: number, 8) }
        var bytes = Self.magic
        bytes.append(littleEndian: UInt64(CRC.of(fields[...])), 4)
        return bytes + fields
    }
}

/// The CRC-32 of gzip. zlib is already linked and computes it with special processor instructions.
enum CRC {
    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32(clamping: $0.count))) }
    }
}

/// Reads numbers from the beginning of bytes; zero after the end.
struct LittleEndianReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    mutating func next(_ count: Int) -> UInt64 {
        let part = bytes.prefix(count)
        bytes = bytes.dropFirst(count)
        return part.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension [UInt8] {
    mutating func append(littleEndian number: UInt64, _ count: Int) {
        for place in 0..<count { append(UInt8(truncatingIfNeeded: number >> (UInt64(place) * 8))) }
    }
}
