import CZlib

/// The checksum in a gzip trailer: the CRC-32 and the number of uncompressed bytes (RFC 1952 §2.3.1).
package struct GzipChecksum {
    private(set) var crc: UInt = 0
    private(set) var length: UInt = 0

    /// The checksum of one block, with the operator that appends it to another checksum.
    package struct Part: Sendable {
        fileprivate let crc: UInt
        fileprivate let length: UInt
        fileprivate let combination: UInt
    }

    package init() {}

    package mutating func append(_ part: Part) {
        crc = crc32_combine_op(crc, part.crc, part.combination)
        length &+= part.length
    }

    /// The gzip header without name and time, for an unknown system.
    package static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    /// The final deflate block, which is empty, and the trailer.
    package var end: [UInt8] {
        [0x03, 0x00] + [crc, length].flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }
}

/// Compresses bytes into deflate blocks (RFC 1951). Each block ends with a full flush at a byte boundary and refers only to the history that the
/// caller passes. One block can therefore be part of any number of responses.
package final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 64 << 10)

    /// - Parameter level: zlib's level, 1 (fastest) to 9 (smallest).
    package init(level: Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        cz_raw_deflate_init(stream, level)
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// A complete gzip file of these bytes; nil if there are none, or if zlib runs out of memory. Concatenated files are a valid file.
    package func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        guard let block = bytes.withUnsafeBufferPointer({ block($0) }) else { return nil }
        var checksum = GzipChecksum()
        checksum.append(block.part)
        return GzipChecksum.header + block.bytes + checksum.end
    }

    /// A block of these bytes, which must not be empty; nil if zlib runs out of memory.
    ///
    /// - Parameter history: The end of the uncompressed bytes before the block, at most 32 KiB. The block may refer to them.
    package func block(_ bytes: UnsafeBufferPointer<UInt8>, after history: [UInt8] = []) -> (bytes: [UInt8], part: GzipChecksum.Part)? {
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
