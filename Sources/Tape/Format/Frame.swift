import CZstd

/// Compresses and decompresses the text of blocks with zstd. Use it from one thread.
///
/// For blocks of 250 real events of 437 bytes each, zstd at level 12 needs 45.6 bytes per event at 23 MB/s. Gzip at its best level needs 55.3 bytes
/// at 27 MB/s. Reading zstd is 2.9 times as fast, and replays only read.
package final class FrameCompressor {
    /// The compression effort for a block.
    enum Effort: Int32 {
        case usual = 12
        /// Used while more than one block is waiting.
        case hurried = 3
    }

    private let context: OpaquePointer?

    package init() {
        context = ZSTD_createCCtx()
        // Other tools also detect damage with it.
        _ = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
    }

    deinit { ZSTD_freeCCtx(context) }

    /// Compresses a text to one frame; nil if memory is short.
    func frame(_ text: [UInt8], _ effort: Effort) -> [UInt8]? {
        guard let context, ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, effort.rawValue)) == 0 else { return nil }
        var failed = false
        let frame = [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(text.count)) { buffer, count in
            let size = ZSTD_compress2(context, buffer.baseAddress, buffer.count, text, text.count)
            failed = ZSTD_isError(size) != 0
            count = failed ? 0 : size
        }
        return failed ? nil : frame
    }
}

package final class FrameDecompressor {
    private let context: OpaquePointer?

    package init() { context = ZSTD_createDCtx() }

    deinit { ZSTD_freeDCtx(context) }

    /// Decompresses a frame; nil if it does not contain exactly `count` bytes.
    func text(_ frame: ArraySlice<UInt8>, count: Int) -> [UInt8]? {
        guard let context, count <= BlockHeader.mostBytes else { return nil }
        var failed = false
        let text = [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            let size = frame.withUnsafeBufferPointer { ZSTD_decompressDCtx(context, buffer.baseAddress, buffer.count, $0.baseAddress, $0.count) }
            failed = ZSTD_isError(size) != 0 || size != count
            written = failed ? 0 : size
        }
        return failed ? nil : text
    }
}
