import CMicroHTTPD
import Glibc

/// The bound, listening socket for the daemon. It is created here so that the reason of a failure is known.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16

    init(host: String, port: UInt16) throws(HTTPServerError) {
        var storage = sockaddr_storage()
        guard let length = Self.fill(&storage, host: host == "localhost" ? "127.0.0.1" : host, port: port) else {
            throw HTTPServerError(.invalidAddress, "\(host) is not an IP address. Use an IPv4 or IPv6 address or localhost.")
        }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(Int32(storage.ss_family), kind, 0)
        guard descriptor >= 0 else { throw Self.failure(host, port) }
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if Int32(storage.ss_family) == AF_INET6 { setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, host == "::" ? 0 : 1) }
        var bound = sockaddr_storage()
        var boundLength = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let listens = withUnsafeSocketAddress(&storage) { bind(descriptor, $0, length) == 0 } && listen(descriptor, 4096) == 0
        guard listens, withUnsafeSocketAddress(&bound, { getsockname(descriptor, $0, &boundLength) == 0 }) else {
            let error = Self.failure(host, port)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.port = Self.port(of: &bound)
    }

    /// Takes over a socket that already listens. It must listen at the configured address, because the configuration was checked for that one.
    init(inherited descriptor: Int32, host: String, port: UInt16) throws(HTTPServerError) {
        var (bound, wanted) = (sockaddr_storage(), sockaddr_storage())
        var boundLength = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var listens: Int32 = 0
        var listensLength = socklen_t(MemoryLayout<Int32>.size)
        guard withUnsafeSocketAddress(&bound, { getsockname(descriptor, $0, &boundLength) == 0 }),
            getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listensLength) == 0, listens == 1
        else {
            throw HTTPServerError(.invalidAddress, "The inherited descriptor \(descriptor) is not a listening socket. Use ListenStream.")
        }
        let boundPort = Self.port(of: &bound)
        let address = withUnsafeSocketAddress(&bound) { addressText($0) }
        let isWanted = Self.fill(&wanted, host: host == "localhost" ? "127.0.0.1" : host, port: port) != nil
        guard isWanted, address == withUnsafeSocketAddress(&wanted, { addressText($0) }), port == 0 || port == boundPort else {
            throw HTTPServerError(
                .invalidAddress, "The inherited socket listens on \(address) port \(boundPort). Set host and port to these.")
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        self.port = boundPort
    }

    /// `sin_port` and `sin6_port` share their offset.
    private static func port(of address: inout sockaddr_storage) -> UInt16 {
        withUnsafeBytes(of: &address) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }

    private static func fill(_ storage: inout sockaddr_storage, host: String, port: UInt16) -> socklen_t? {
        var four = sockaddr_in()
        if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: &four) { target.copyMemory(from: $0) } }
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        }
        var six = sockaddr_in6()
        guard inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { return nil }
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &storage) { target in withUnsafeBytes(of: &six) { target.copyMemory(from: $0) } }
        return socklen_t(MemoryLayout<sockaddr_in6>.size)
    }

    private static func failure(_ host: String, _ port: UInt16) -> HTTPServerError {
        let reason = errno
        switch reason {
        case EADDRINUSE:
            return HTTPServerError(
                .addressInUse, "Port \(port) on \(host) is in use. Stop the other process or choose another port (0 picks a free one).")
        case EADDRNOTAVAIL: return HTTPServerError(.addressNotAvailable, "No interface of this machine has the address \(host). Bind another one.")
        case EACCES: return HTTPServerError(.permissionDenied, "Port \(port) needs privileges. Choose one above 1023.")
        default: return HTTPServerError(.systemFailure, "Listening on \(host) port \(port) failed: \(String(cString: strerror(reason))).")
        }
    }
}

func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}

func withUnsafeSocketAddress<R>(_ storage: inout sockaddr_storage, _ body: (UnsafeMutablePointer<sockaddr>) -> R) -> R {
    withUnsafeMutablePointer(to: &storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
}

/// Flags for `send`, `recv` and `sendmsg`: never block, and raise no signal.
let neverWaiting = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)

/// An address as text, without port and scope; IPv4-mapped IPv6 as IPv4.
func addressText(_ address: UnsafePointer<sockaddr>?) -> String {
    guard let address else { return "" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
        let family = Int32(address.pointee.sa_family)
        guard let start = text.baseAddress else { return "" }
        let raw = UnsafeRawPointer(address)
        let written: UnsafePointer<CChar>? =
            switch family {
            case AF_INET: inet_ntop(family, raw + 4, start, socklen_t(INET_ADDRSTRLEN))
            case AF_INET6: inet_ntop(family, raw + 8, start, socklen_t(INET6_ADDRSTRLEN))
            default: nil
            }
        guard written != nil else { return "" }
        let name = String(cString: start)
        return name.hasPrefix("::ffff:") && name.contains(".") ? String(name.dropFirst(7)) : name
    }
}
