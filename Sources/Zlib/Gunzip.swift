import CZlib

/// Reads gzip files (RFC 1952) with any number of members.
package enum Gunzip {
    /// The decompressed bytes of a file; nil if it is damaged or truncated, or if memory is short.
    package static func bytes(_ file: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        guard let whole = read(file, { bytes += $0 }), whole > 0, whole == file.count else { return nil }
        return bytes
    }

    /// How many bytes at the beginning of a file are complete members; nil if memory is short. Examines at most the first 4 GiB.
    package static func wholeLength(_ file: [UInt8]) -> Int? { read(file) { _ in } }

    /// Calls `take` with the decompressed bytes, and returns how many bytes at the beginning are complete members; nil if memory is short.
    private static func read(_ file: [UInt8], _ take: (ArraySlice<UInt8>) -> Void) -> Int? {
        var (input, whole) = (file, 0)
        let given = UInt32(clamping: file.count)
        var stream = z_stream()
        guard cz_gzip_inflate_init(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: 1 << 20)
        var result = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            (stream.next_in, stream.avail_in) = (input.baseAddress, given)
            while result == Z_OK || result == Z_STREAM_END && stream.avail_in > 0 {
                if result == Z_STREAM_END { inflateReset(&stream) }
                output.withUnsafeMutableBufferPointer { output in
                    (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
                    result = inflate(&stream, Z_NO_FLUSH)
                }
                take(output.prefix(output.count - Int(stream.avail_out)))
                if result == Z_STREAM_END { whole = Int(given - stream.avail_in) }
            }
        }
        return result == Z_MEM_ERROR ? nil : whole
    }
}
