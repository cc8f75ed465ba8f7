import CZlib
import Foundation

/// Reads gzip files (RFC 1952) with any number of members.
enum Gunzip {
    /// The decompressed text of a file; the bytes themselves if they are not gzip.
    static func text(_ data: Data, _ path: String) throws(DemoExchangeError) -> Data {
        guard data.starts(with: [0x1F, 0x8B]) else { return data }
        var (input, text) = ([UInt8](data), [UInt8]())
        var stream = z_stream()
        guard cz_gzip_inflate_init(&stream) == Z_OK else { throw DemoExchangeError(.recording, "\(path) cannot be read; there is not enough memory") }
        defer { inflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: 1 << 20)
        var result = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            (stream.next_in, stream.avail_in) = (input.baseAddress, UInt32(clamping: input.count))
            while result == Z_OK || result == Z_STREAM_END && stream.avail_in > 0 {
                if result == Z_STREAM_END { inflateReset(&stream) }
                output.withUnsafeMutableBufferPointer { output in
                    (stream.next_out, stream.avail_out) = (output.baseAddress, UInt32(output.count))
                    result = inflate(&stream, Z_NO_FLUSH)
                }
                text += output.prefix(output.count - Int(stream.avail_out))
            }
        }
        guard result == Z_STREAM_END else { throw DemoExchangeError(.recording, "\(path) is damaged or truncated gzip; give a complete file") }
        return Data(text)
    }
}
