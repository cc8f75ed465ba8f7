import CEpoll
import CMicroHTTPD
import Glibc

/// One connection to `/events` or to the venue's `/stream`, and the events that it received.
struct Reader {
    let descriptor: Int32
    /// Nil in the clear.
    private var session: gnutls_session_t?
    private let notesArrivals: Bool
    /// Whether it looks at what it is sent.
    private let looks: Bool
    private let isSocket: Bool
    /// Whether the head of a socket's handshake was read.
    private var isUpgraded = false
    /// By the stream's place in the list; nil before its first event.
    var last: [Int: UInt64] = [:]
    var lastID: UInt64 = 0
    var buffer: UnsafeMutablePointer<UInt8>
    var filled = 0
    static let capacity = 256 << 10

    init?(_ options: Options, streams: [Int], looks: Bool) {
        self.looks = looks
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = options.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard connected == 0 else { return nil }
        isSocket = options.isSocket
        let names = streams.map { options.streams[$0] }.joined(separator: isSocket ? "/" : ",")
        let handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        let path = isSocket ? "/stream" : "/events"
        let request = Array("GET \(path)?streams=\(names) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(isSocket ? handshake : "")\r\n".utf8)
        if let priorities = options.tls {
            guard let made = Self.shakeHands(descriptor, priorities) else { return nil }
            session = made
        }
        let sent = session.map { gnutls_record_send($0, request, request.count) } ?? send(descriptor, request, request.count, 0)
        guard sent == request.count else { return nil }
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { return nil }
        if options.leave != nil, crowd_note_arrivals(descriptor) != 0 { return nil }
        notesArrivals = options.leave != nil
        self.descriptor = descriptor
        buffer = .allocate(capacity: Self.capacity)
    }

    /// A session on a descriptor that blocks; nil if there is none.
    private static func shakeHands(_ descriptor: Int32, _ priorities: String) -> gnutls_session_t? {
        var session: gnutls_session_t?
        gnutls_init(&session, UInt32(GNUTLS_CLIENT.rawValue) | UInt32(GNUTLS_NO_SIGNAL.rawValue))
        guard let session, gnutls_priority_set_direct(session, priorities, nil) == 0 else { return nil }
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials))
        gnutls_transport_set_int2(session, descriptor, descriptor)
        var result: Int32
        repeat { result = gnutls_handshake(session) } while result < 0 && gnutls_error_is_fatal(result) == 0
        return result == 0 ? session : nil
    }

    /// No certificate is checked.
    nonisolated(unsafe) private static let credentials: gnutls_certificate_credentials_t? = {
        var made: gnutls_certificate_credentials_t?
        gnutls_certificate_allocate_credentials(&made)
        return made
    }()

    /// The number of bytes; 0 if there are none now, less at the end.
    ///
    /// - Parameter arrivedAt: when the last of them arrived, nanoseconds since 1970 UTC; zero if that is not known.
    private func receive(_ arrivedAt: inout Int64) -> Int {
        if notesArrivals, session == nil {
            let count = crowd_receive(descriptor, buffer + filled, Self.capacity - filled, &arrivedAt)
            return count > 0 ? count : count < 0 && errno == EAGAIN ? 0 : -1
        }
        guard let session else {
            let count = recv(descriptor, buffer + filled, Self.capacity - filled, 0)
            return count > 0 ? count : count < 0 && errno == EAGAIN ? 0 : -1
        }
        let count = gnutls_record_recv(session, buffer + filled, Self.capacity - filled)
        return count > 0 ? count : count == Int(GNUTLS_E_AGAIN) ? 0 : -1
    }

    /// The bytes before the next event, and those of the event; nil if it has not arrived as a whole.
    private mutating func next(from start: Int) -> (skipped: Int, length: Int)? {
        guard isSocket else {
            return memmem(buffer + start, filled - start, "\n\n", 2).map {
                (0, UnsafeMutableRawPointer(buffer + start).distance(to: $0) + 2)
            }
        }
        guard isUpgraded else {
            guard let end = memmem(buffer + start, filled - start, "\r\n\r\n", 4) else { return nil }
            isUpgraded = true
            return (UnsafeMutableRawPointer(buffer + start).distance(to: end) + 4, 0)
        }
        guard filled - start >= 2 else { return nil }
        var (head, length) = (2, Int(buffer[start + 1] & 0x7F))
        if length == 126 {
            guard filled - start >= 4 else { return nil }
            (head, length) = (4, Int(buffer[start + 2]) << 8 | Int(buffer[start + 3]))
        }
        guard length < 127 || head == 4, filled - start >= head + length else { return nil }
        return (head, length)
    }

    /// Reads what there is, event by event. False at the end.
    mutating func read(_ tally: inout Tally) -> Bool {
        while !looks {
            let count = recv(descriptor, buffer, Self.capacity, 0)
            guard count > 0 else { return count < 0 && errno == EAGAIN }
            tally.bytes += count
        }
        while true {
            var arrivedAt: Int64 = 0
            let count = receive(&arrivedAt)
            guard count > 0 else { return count == 0 }
            tally.arrivedAt = arrivedAt
            tally.bytes += count
            filled += count
            var start = 0
            while let (skipped, length) = next(from: start) {
                if length > 0 { tally.take(UnsafeBufferPointer(start: buffer + start + skipped, count: length), &self) }
                start += skipped + length
            }
            filled -= start
            memmove(buffer, buffer + start, filled)
            guard filled < Self.capacity else { return false }
        }
    }
}
