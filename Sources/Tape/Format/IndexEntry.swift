/// Where a block begins in its segment, and its header: what has to be known of a block without reading it.
///
/// Each segment has a file of them beside it. It can be made anew from the segment, so it needs no care.
package struct IndexEntry: Sendable, Equatable {
    package let offset: UInt64
    package let header: BlockHeader

    /// Bytes of an entry.
    static let length = 8 + BlockHeader.length

    init(offset: UInt64, header: BlockHeader) { (self.offset, self.header) = (offset, header) }

    init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.length, let header = BlockHeader(bytes.dropFirst(8)) else { return nil }
        var fields = LittleEndianReader(bytes)
        self.init(offset: fields.next(8), header: header)
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: offset, 8)
        return bytes + header.bytes
    }

    /// Where the frame begins, and where the block ends.
    var frameStart: UInt64 { offset &+ UInt64(BlockHeader.length) }
    var end: UInt64 { frameStart &+ UInt64(header.storedBytes) }
}
