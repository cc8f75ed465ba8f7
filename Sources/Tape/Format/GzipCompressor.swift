import CZlib

/// Creates members of gzip files (RFC 1952 §2.2). Concatenated members are a valid file.
final class GzipCompressor {
    private var stream = z_stream()
    private let isReady: Bool

    init() { isReady = cz_gzip_deflate_init(&stream, 6) == Z_OK }

    deinit { deflateEnd(&stream) }

    /// A complete member; nil if memory is short.
    func member(_ text: [UInt8]) -> [UInt8]? {
        guard isReady, deflateReset(&stream) == Z_OK else { return nil }
        var text = text
        var isWhole = false
        let member = text.withUnsafeMutableBufferPointer { text in
            [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, UInt(text.count)))) { buffer, count in
                (stream.next_in, stream.avail_in) = (text.baseAddress, UInt32(text.count))
                (stream.next_out, stream.avail_out) = (buffer.baseAddress, UInt32(buffer.count))
                isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = buffer.count - Int(stream.avail_out)
            }
        }
        return isWhole ? member : nil
    }
}
