/// The offset of a block in its segment, and its header, so that the block itself need not be read.
///
/// Each segment has a file of these entries. It can be rebuilt from the segment, so its loss does no harm.
package struct IndexEntry: Sendable, Equatable {
    package let offset: UInt64
    package let header: BlockHeader

    /// The size of an entry in bytes.
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

    /// Where the frame starts, and where the block ends.
    var frameStart: UInt64 { offset &+ UInt64(BlockHeader.length) }
    var end: UInt64 { frameStart &+ UInt64(header.storedBytes) }
}
