import CMicroHTTPD
import Glibc

/// Encrypts the data sent to one client. It is the sending half of the TLS session that libmicrohttpd established, after the stream has left
/// libmicrohttpd. It puts as many events in one record as fit, sends all records in one call, and keeps only the key and the rest of a record that a
/// full socket cut.
///
/// Sendable: only the loop's thread uses it, after the thread that handed the stream over has released it.
final class RecordSealer: @unchecked Sendable {
    /// The buffers that one thread needs to create records.
    final class SealingBuffers {
        fileprivate static let records = 4
        /// One record's bytes before encryption, with room for the byte that TLS 1.3 adds.
        fileprivate let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 16384 + 1)
        fileprivate let sealed = UnsafeMutablePointer<UInt8>.allocate(capacity: records * longestRecord)
        /// The lengths of the created records: plain, and as sent.
        fileprivate let lengths = UnsafeMutablePointer<(clear: Int, sealed: Int)>.allocate(capacity: records)

        deinit {
            bytes.deallocate()
            sealed.deallocate()
            lengths.deallocate()
        }
    }

    fileprivate static let longestRecord = Int(cmhd_longest_record)

    private var half = cmhd_half()
    /// The rest of a record of which the kernel has accepted a part.
    private var rest: [UInt8] = []
    private var restSent = 0
    private var saidGoodbye = false
    /// Whether the key has encrypted as much as it may, except for the end.
    private(set) var isSpent = false
    /// Decrypts the bytes from the client of a WebSocket; nil for other streams.
    var opener: RecordOpener?

    /// Nil if the connection's session cannot be taken over. It can if it uses TLS 1.2 or 1.3 with authenticated encryption and the kernel does not
    /// encrypt (`ktls = true` in GnuTLS's configuration). Otherwise the records would be encrypted twice.
    ///
    /// - Parameter usesKernelTLS: Replaced in a test.
    init?(_ session: gnutls_session_t, usesKernelTLS: (gnutls_session_t) -> Bool = cmhd_uses_kernel_tls) {
        guard !usesKernelTLS(session), cmhd_take_sending_half(session, &half) else { return nil }
    }

    deinit {
        if half.cipher != nil { gnutls_aead_cipher_deinit(half.cipher) }
    }

    /// Sends as many bytes as the kernel accepts now. A record of which the kernel has accepted a part counts as accepted; ``flush(to:)`` sends its
    /// rest.
    ///
    /// - Returns: The number of accepted bytes, or nil if the connection is broken, or the key has encrypted as much as it may.
    func write(_ vectors: UnsafeBufferPointer<iovec>, to descriptor: Int32, _ sealing: SealingBuffers) -> Int? {
        guard let isFlushed = flush(to: descriptor) else { return nil }
        guard isFlushed else { return 0 }
        var source = Source(vectors: vectors)
        var total = 0
        while true {
            let first = half.sequence
            guard let (count, size) = seal(&source, sealing) else { return nil }
            guard count > 0 else { return total }
            guard let sent = Self.send(sealing.sealed, size, to: descriptor) else { return nil }
            let (taken, begun, end) = Self.begun(sealing.lengths, count, sent: sent)
            total &+= taken
            guard sent < size else { continue }
            // Records of which the kernel has accepted nothing never leave this process, so their numbers may be reused.
            half.sequence = first &+ UInt64(begun)
            rest = Array(UnsafeBufferPointer(start: sealing.sealed + sent, count: end - sent))
            return total
        }
    }

    /// Creates at most four records. Returns their number and their size; nil if the key has reached its limit.
    private func seal(_ source: inout Source, _ sealing: SealingBuffers) -> (count: Int, size: Int)? {
        guard !isSpent else { return nil }
        var (count, size) = (0, 0)
        while count < SealingBuffers.records, case let clear = source.copy(to: sealing.bytes, atMost: half.record_limit), clear > 0 {
            let sealed = cmhd_seal(&half, UInt8(cmhd_application_data), sealing.bytes, clear, sealing.sealed + size)
            guard sealed > 0 else {
                isSpent = true
                return count > 0 ? (count, size) : nil
            }
            sealing.lengths[count] = (clear, sealed)
            count += 1
            size += sealed
        }
        return (count, size)
    }

    /// For the records of which the kernel has accepted a part: their plain bytes, their number, and where they end.
    private static func begun(_ lengths: UnsafeMutablePointer<(clear: Int, sealed: Int)>, _ count: Int, sent: Int) -> (Int, Int, Int) {
        var (taken, begun, end) = (0, 0, 0)
        while begun < count, end < sent {
            taken &+= lengths[begun].clear
            end &+= lengths[begun].sealed
            begun += 1
        }
        return (taken, begun, end)
    }

    /// Sends the rest of a record. True if nothing remains, false if the socket is full, nil if the connection is broken.
    func flush(to descriptor: Int32) -> Bool? {
        guard !rest.isEmpty else { return true }
        let sent = rest.withUnsafeBufferPointer { rest in
            Self.send(rest.baseAddress.map { $0 + restSent }, rest.count - restSent, to: descriptor)
        }
        guard let sent else { return nil }
        restSent += sent
        guard restSent == rest.count else { return false }
        (rest, restSent) = ([], 0)
        return true
    }

    /// Sends `close_notify` (RFC 8446 §6.1) after everything that was written, which marks the end of the data. Returns the same as ``flush(to:)``.
    func close(_ descriptor: Int32) -> Bool? {
        if !saidGoodbye {
            saidGoodbye = true
            var goodbye: [UInt8] = [1, 0, 0]
            var record = [UInt8](repeating: 0, count: 64)
            let size = cmhd_seal(&half, UInt8(cmhd_alert), &goodbye, 2, &record)
            rest += record[..<size]
        }
        return flush(to: descriptor)
    }

    /// The number of bytes that the kernel accepted; 0 if the socket is full; nil if the connection is broken.
    private static func send(_ bytes: UnsafePointer<UInt8>?, _ count: Int, to descriptor: Int32) -> Int? {
        while true {
            let sent = Glibc.send(descriptor, bytes, count, neverWaiting)
            if sent >= 0 { return sent }
            if errno == EAGAIN { return 0 }
            guard errno == EINTR else { return nil }
        }
    }

    /// Reads vectors piece by piece.
    private struct Source {
        let vectors: UnsafeBufferPointer<iovec>
        var index = 0
        var offset = 0

        mutating func copy(to target: UnsafeMutablePointer<UInt8>, atMost limit: Int) -> Int {
            var count = 0
            while index < vectors.count, count < limit {
                let part = min(limit - count, vectors[index].iov_len - offset)
                if let base = vectors[index].iov_base { UnsafeMutableRawPointer(target + count).copyMemory(from: base + offset, byteCount: part) }
                count += part
                offset += part
                guard offset == vectors[index].iov_len else { break }
                (index, offset) = (index + 1, 0)
            }
            return count
        }
    }
}
