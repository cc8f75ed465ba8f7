import CZlib

/// Reads a gzip body as it comes.
package struct Inflater: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>
    /// The trailer came, and was right.
    package private(set) var isComplete = false

    package init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        cz_gzip_inflate_init(stream)
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// What more can be read now.
    package mutating func read(_ bytes: [UInt8]) throws -> [UInt8] {
        guard !isComplete else { throw Unexpected("bytes after the end of gzip") }
        var result: [UInt8] = []
        try bytes.withUnsafeBufferPointer { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            repeat {
                let part = [UInt8](unsafeUninitializedCapacity: 64 << 10) { output, count in
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(output.count)
                    let outcome = inflate(stream, Z_SYNC_FLUSH)
                    isComplete = outcome == Z_STREAM_END
                    count = outcome >= 0 ? output.count - Int(stream.pointee.avail_out) : 0
                }
                result += part
            } while stream.pointee.avail_out == 0
            guard stream.pointee.avail_in == 0 else { throw Unexpected("no gzip: \(stream.pointee.msg.map { String(cString: $0) } ?? "")") }
        }
        return result
    }
}
