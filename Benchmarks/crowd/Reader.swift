import CEpoll
import Glibc

/// One connection to `/events` and what it was sent.
struct Reader {
    let descriptor: Int32
    /// By the stream's place in the list; nil before its first event.
    var last: [Int: UInt64] = [:]
    var lastID: UInt64 = 0
    var buffer: UnsafeMutablePointer<UInt8>
    var filled = 0
    static let capacity = 256 << 10

    init?(_ options: Options, streams: [Int]) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = options.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard connected == 0 else { return nil }
        let names = streams.map { options.streams[$0] }.joined(separator: ",")
        let request = Array("GET /events?streams=\(names) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, 0) == request.count else { return nil }
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { return nil }
        self.descriptor = descriptor
        buffer = .allocate(capacity: Self.capacity)
    }

    /// Reads what there is, event by event. False at the end.
    mutating func read(_ tally: inout Tally) -> Bool {
        while true {
            let count = recv(descriptor, buffer + filled, Self.capacity - filled, 0)
            guard count > 0 else { return count < 0 && errno == EAGAIN }
            tally.bytes += count
            filled += count
            var start = 0
            while let end = memmem(buffer + start, filled - start, "\n\n", 2) {
                let length = UnsafeMutableRawPointer(buffer + start).distance(to: end) + 2
                tally.take(UnsafeBufferPointer(start: buffer + start, count: length), &self)
                start += length
            }
            filled -= start
            memmove(buffer, buffer + start, filled)
            guard filled < Self.capacity else { return false }
        }
    }
}
