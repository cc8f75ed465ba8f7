import CMicroHTTPD
import Glibc
import Testing

/// A blocking TCP client that sends raw bytes and reads answers, in the clear or over TLS. Every wait has a deadline.
final class RawClient {
    let descriptor: Int32
    private var unread: [UInt8] = []
    private var session: gnutls_session_t?
    private var credentials: gnutls_certificate_credentials_t?

    /// - Parameters:
    ///   - cipher: GnuTLS's priorities for TLS; nil in the clear.
    ///   - recordLimit: the most bytes that it takes in a record (RFC 8449).
    init(port: UInt16, receiveBuffer: Int32? = nil, source: String? = nil, cipher: String? = nil, recordLimit: Int? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if let source {
            inet_pton(AF_INET, source, &address.sin_addr)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
            try #require(bound == 0)
        }
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        try #require(connected == 0, "connect failed: \(String(cString: strerror(errno)))")
        if let cipher { try shakeHands(cipher, recordLimit: recordLimit) }
    }

    deinit {
        if let session { gnutls_deinit(session) }
        if let credentials { gnutls_certificate_free_credentials(credentials) }
        Glibc.close(descriptor)
    }

    private func shakeHands(_ cipher: String, recordLimit: Int?) throws {
        gnutls_init(&session, UInt32(GNUTLS_CLIENT.rawValue) | UInt32(GNUTLS_NO_SIGNAL.rawValue))
        gnutls_certificate_allocate_credentials(&credentials)
        try #require(gnutls_priority_set_direct(session, cipher, nil) == 0)
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials))
        if let recordLimit { try #require(gnutls_record_set_max_recv_size(session, recordLimit) == 0) }
        gnutls_transport_set_int2(session, descriptor, descriptor)
        var result: Int32
        repeat { result = gnutls_handshake(session) } while result < 0 && gnutls_error_is_fatal(result) == 0
        try #require(result == 0, "no handshake: \(String(cString: gnutls_strerror(result)))")
    }

    /// What `recv` returns. Over TLS 0 only if the server said that this is the end.
    private func receive(_ buffer: inout [UInt8]) -> Int {
        guard let session else { return recv(descriptor, &buffer, buffer.count, 0) }
        let count = gnutls_record_recv(session, &buffer, buffer.count)
        guard count < 0 else { return count }
        switch Int32(truncatingIfNeeded: count) {
        case GNUTLS_E_PREMATURE_TERMINATION: errno = EPIPE
        case GNUTLS_E_PULL_ERROR: break
        case let error where gnutls_error_is_fatal(error) != 0: errno = EPROTO
        default: break
        }
        return -1
    }

    /// From now on whatever comes is dropped before TCP sees it, as if the machine were gone: a socket filter (BPF) that takes nothing.
    func vanish() throws {
        var drop: UInt64 = 0x06  // BPF_RET | BPF_K, 0 bytes
        let result = withUnsafeMutablePointer(to: &drop) { instruction in
            var program: (length: UInt64, instructions: UnsafeMutableRawPointer) = (1, UnsafeMutableRawPointer(instruction))
            return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, 16)
        }
        try #require(result == 0, "no filter: \(String(cString: strerror(errno)))")
    }

    @discardableResult
    func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    /// False if the connection does not accept all of the bytes.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                session.map { gnutls_record_send($0, bytes.baseAddress, bytes.count) }
                    ?? Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Opens a WebSocket; false if the server refuses it.
    func openSocket(_ path: String) -> Bool {
        get(path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        return receive(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 101 ") == true
    }

    func get(_ path: String, _ fields: String...) {
        send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n")
    }

    /// Some bytes; `nil` at the end of the connection, a reset or after ten seconds.
    func receive(_ limit: Int = 65536) -> [UInt8]? {
        if !unread.isEmpty {
            defer { unread = [] }
            return unread
        }
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = receive(&buffer)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// What the connection ended with: 0 for an orderly end, EPIPE if TLS ended without one, EPROTO if a record was wrong, else the error.
    func end() -> Int32 {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = receive(&buffer)
            if count == 0 { return 0 }
            if count < 0 { return errno }
        }
    }

    /// Says over TLS that this is the end (`close_notify`). False if a reset answered.
    func sayGoodbye() -> Bool {
        guard let session, gnutls_bye(session, GNUTLS_SHUT_WR) == 0 else { return false }
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&state, 1, 1000)
        return state.revents & Int16(POLLERR | POLLHUP) == 0
    }

    /// Reads until `marker` has arrived, and returns everything up to and including it.
    func receive(until marker: String) -> String? {
        let wanted = Array(marker.utf8)
        var bytes: [UInt8] = []
        while let more = receive() {
            let start = max(0, bytes.count - wanted.count)
            bytes += more
            if bytes.count >= wanted.count {
                for index in start...(bytes.count - wanted.count) where bytes[index...].starts(with: wanted) {
                    unread = Array(bytes[(index + wanted.count)...])
                    return String(decoding: bytes[..<(index + wanted.count)], as: UTF8.self)
                }
            }
        }
        return nil
    }

    /// One answer, its body by Content-Length.
    func response(toHead: Bool = false) -> Answer? {
        guard let head = receive(until: "\r\n\r\n") else { return nil }
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: true).map(String.init)
        guard !lines.isEmpty else { return nil }
        let line = lines.removeFirst().split(separator: " ")
        guard line.count >= 2, line[0] == "HTTP/1.1", let status = Int(line[1]) else { return nil }
        var answer = Answer(status: status)
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            answer.fields.append((line[..<colon].lowercased(), line[line.index(after: colon)...].drop { $0 == " " }.description))
        }
        let length = answer.field("content-length").flatMap { Int($0) } ?? 0
        while !toHead, answer.body.count < length, let more = receive() { answer.body += more }
        if answer.body.count > length {
            unread = Array(answer.body[length...])
            answer.body = Array(answer.body[..<length])
        }
        return answer
    }

    /// The answer to a request on a connection of its own.
    static func answer(port: UInt16, to request: String) throws -> Answer? {
        let client = try RawClient(port: port)
        client.send(request)
        return client.response()
    }

    struct Answer {
        var status: Int
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []

        init(status: Int) {
            self.status = status
        }

        var text: String { String(decoding: body, as: UTF8.self) }

        func field(_ name: String) -> String? {
            fields.first { $0.name == name }?.value
        }
    }
}

func expectStatus(_ status: Int, _ answer: RawClient.Answer?, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer?.status == status, sourceLocation: sourceLocation)
}
