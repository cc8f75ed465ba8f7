import CMicroHTTPD
import Glibc

/// Encrypts what is sent to one client: the sending half of the TLS session that libmicrohttpd made, once the stream has left libmicrohttpd. It sends
/// as many events in one record as fit, all records in one call, and keeps nothing but the key and the rest of a record that a full socket cut.
///
/// Sendable: the loop's thread uses it, once the thread that handed the stream over has let it go.
final class RecordSealer: @unchecked Sendable {
    /// What one thread needs to make records.
    final class Desk {
        fileprivate static let records = 4
        /// One record's bytes before they are encrypted, with room for the byte that TLS 1.3 adds.
        fileprivate let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 16384 + 1)
        fileprivate let sealed = UnsafeMutablePointer<UInt8>.allocate(capacity: records * longestRecord)
        /// The lengths of the records made: their bytes in the clear, and as they are sent.
        fileprivate let lengths = UnsafeMutablePointer<(clear: Int, sealed: Int)>.allocate(capacity: records)

        deinit {
            bytes.deallocate()
            sealed.deallocate()
            lengths.deallocate()
        }
    }

    fileprivate static let longestRecord = Int(cmhd_longest_record)

    private var half = cmhd_sending_half()
    /// What is left of a record that the kernel has begun.
    private var rest: [UInt8] = []
    private var restSent = 0
    private var saidGoodbye = false
    /// Whether the key has encrypted as much as it may, but for the end.
    private(set) var isSpent = false

    /// Nil if the connection's session cannot be taken over; it can if it is of TLS 1.2 or 1.3 with authenticated encryption, and if the kernel does not
    /// encrypt (`ktls = true` in GnuTLS's configuration): the records would be encrypted twice.
    ///
    /// - Parameter usesKernelTLS: a test has another one.
    init?(_ session: gnutls_session_t, usesKernelTLS: (gnutls_session_t) -> Bool = cmhd_uses_kernel_tls) {
        guard !usesKernelTLS(session), cmhd_take_sending_half(session, &half) else { return nil }
    }

    deinit {
        if half.cipher != nil { gnutls_aead_cipher_deinit(half.cipher) }
    }

    /// Sends bytes, as many as the kernel takes now. A record that the kernel has begun counts as taken; ``flush(to:)`` sends its rest.
    ///
    /// - Returns: the number of bytes taken, or nil if the connection is broken, or the key has encrypted as much as it may.
    func write(_ vectors: UnsafeBufferPointer<iovec>, to descriptor: Int32, _ desk: Desk) -> Int? {
        guard let isFlushed = flush(to: descriptor) else { return nil }
        guard isFlushed else { return 0 }
        var source = Source(vectors: vectors)
        var total = 0
        while true {
            let first = half.sequence
            guard let (count, size) = seal(&source, desk) else { return nil }
            guard count > 0 else { return total }
            guard let sent = Self.send(desk.sealed, size, to: descriptor) else { return nil }
            let (taken, begun, end) = Self.begun(desk.lengths, count, sent: sent)
            total &+= taken
            guard sent < size else { continue }
            // The records that the kernel has not begun never leave this process, so their numbers may be given to others.
            half.sequence = first &+ UInt64(begun)
            rest = Array(UnsafeBufferPointer(start: desk.sealed + sent, count: end - sent))
            return total
        }
    }

    /// Makes at most four records. Returns their number and their size; nil if the key may encrypt no more.
    private func seal(_ source: inout Source, _ desk: Desk) -> (count: Int, size: Int)? {
        guard !isSpent else { return nil }
        var (count, size) = (0, 0)
        while count < Desk.records, case let clear = source.copy(to: desk.bytes, atMost: half.record_limit), clear > 0 {
            let sealed = cmhd_seal(&half, UInt8(cmhd_application_data), desk.bytes, clear, desk.sealed + size)
            guard sealed > 0 else {
                isSpent = true
                return count > 0 ? (count, size) : nil
            }
            desk.lengths[count] = (clear, sealed)
            count += 1
            size += sealed
        }
        return (count, size)
    }

    /// Of the records that the kernel has begun: their bytes in the clear, their number, and where they end.
    private static func begun(_ lengths: UnsafeMutablePointer<(clear: Int, sealed: Int)>, _ count: Int, sent: Int) -> (Int, Int, Int) {
        var (taken, begun, end) = (0, 0, 0)
        while begun < count, end < sent {
            taken &+= lengths[begun].clear
            end &+= lengths[begun].sealed
            begun += 1
        }
        return (taken, begun, end)
    }

    /// Sends the rest of a record. True if nothing is left of it, false if the socket is full, nil if the connection is broken.
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

    /// Tells the client that the end is the end (`close_notify`, RFC 8446 §6.1), behind all that was written. Returns the same as ``flush(to:)``.
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

    /// How many bytes the kernel took; 0 if the socket is full; nil if the connection is broken.
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
