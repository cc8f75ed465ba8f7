import CZlib

/// What a gzip reader's trailer has to say of the bytes it was sent: their CRC-32 and their number (RFC 1952 §2.3.1).
struct GzipChecksum {
    private(set) var crc: UInt = 0
    private(set) var length: UInt = 0

    /// The checksum of some bytes, and what appending them to others does to theirs.
    struct Part {
        fileprivate let crc: UInt
        fileprivate let length: UInt
        fileprivate let combination: UInt
    }

    mutating func append(_ part: Part) {
        crc = crc32_combine_op(crc, part.crc, part.combination)
        length &+= part.length
    }

    /// The gzip header: no name, no time, an unknown system.
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    /// The last block, which is empty, and the trailer.
    var end: [UInt8] {
        [0x03, 0x00] + [crc, length].flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }
}

/// Compresses bytes into blocks of deflate (RFC 1951) that end at a byte and refer to nothing before them but what is given: each is ended by a
/// full flush, so that blocks made once can be put behind one another in any number of answers.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 << 10)

    /// - Parameter level: of effort, 1 to 9.
    init(level: Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        cz_raw_deflate_init(stream, level)
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// A whole gzip file of these bytes; nil where zlib could not be had.
    func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        guard let block = bytes.withUnsafeBufferPointer({ block($0) }) else { return nil }
        var checksum = GzipChecksum()
        checksum.append(block.part)
        return GzipChecksum.header + block.bytes + checksum.end
    }

    /// The block of these bytes; nil where zlib could not be had.
    /// - Parameter history: the end of what the answer has before the block, 32 KiB at most.
    func block(_ bytes: UnsafeBufferPointer<UInt8>, after history: [UInt8] = []) -> (bytes: [UInt8], part: GzipChecksum.Part)? {
        guard let start = bytes.baseAddress, history.isEmpty || deflateSetDictionary(stream, history, UInt32(clamping: history.count)) == Z_OK
        else { return nil }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        let bound = Int(deflateBound(stream, UInt(bytes.count))) + 64
        if output.count < bound {
            output.deallocate()
            output = .allocate(capacity: bound)
        }
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(clamping: output.count)
        guard deflate(stream, Z_FULL_FLUSH) == Z_OK, stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 else { return nil }
        let part = GzipChecksum.Part(
            crc: crc32(0, start, UInt32(clamping: bytes.count)), length: UInt(bytes.count), combination: crc32_combine_gen(bytes.count))
        return (Array(output[..<(output.count - Int(stream.pointee.avail_out))]), part)
    }
}
