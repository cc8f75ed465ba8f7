import CMicroHTTPD

/// Decrypts what one client sends after its connection has left libmicrohttpd: the receiving half of its TLS session.
///
/// Sendable: only the loop's thread uses it, after the thread that handed the stream over has released it.
final class RecordOpener: @unchecked Sendable {
    private static let headBytes = 5
    /// RFC 5246 §6.2.3: 2¹⁴ bytes, and 2,048 for the encryption.
    private static let mostBytes = 16384 + 2048

    private var half = cmhd_half()
    /// The beginning of a record whose rest has not arrived.
    private var part: [UInt8] = []

    /// Nil if the session's keys cannot be taken over (`RecordSealer`).
    init?(_ session: gnutls_session_t) {
        guard cmhd_take_receiving_half(session, &half) else { return nil }
    }

    deinit {
        if half.cipher != nil { gnutls_aead_cipher_deinit(half.cipher) }
    }

    /// Decrypts the records that are complete.
    ///
    /// - Parameter receive: Called for the data of each.
    /// - Returns: False if the session cannot go on: the client ended it, a record is forged, or the client changes its keys, which clients of a
    ///   server's feed do not do.
    func open(_ bytes: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) -> Void) -> Bool {
        part.append(contentsOf: bytes)
        var start = 0
        defer { if start == part.count { part = [] } else { part.removeFirst(start) } }
        while part.count - start >= Self.headBytes {
            let size = Self.headBytes + Int(part[start + 3]) << 8 + Int(part[start + 4])
            guard size <= Self.headBytes + Self.mostBytes else { return false }
            guard part.count - start >= size else { return true }
            defer { start += size }
            // TLS 1.3 lets a client send a change of cipher for the sake of old proxies (RFC 8446 §5).
            if half.is_tls13, part[start] == Self.changeCipherSpec { continue }
            guard openOne(from: start, size, receive) else { return false }
        }
        return true
    }

    private func openOne(from start: Int, _ size: Int, _ receive: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { clear in
            var type: UInt8 = 0
            let count = part.withUnsafeBufferPointer { part in
                part.baseAddress.map { cmhd_open(&half, $0 + start, size, clear.baseAddress, &type) } ?? -1
            }
            guard count >= 0, type == UInt8(cmhd_application_data) else { return false }
            if count > 0 { receive(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: clear[..<count]))) }
            return true
        }
    }

    private static let changeCipherSpec: UInt8 = 20
}
