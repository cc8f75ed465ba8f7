import DemoExchange
import Dispatch
import FeedDialects
import FuturesFeed
import FuturesGateway
import GatewayAccess
import Glibc
import Logging
import Synchronization

@testable import MicroHTTP

/// Requests to a whole gateway in this process, with an exchange, a tape and open streams behind it: `METHOD target`, as a client would write it.
///
/// Nothing may end the process. No answer may be a 500, and none may come in less than a status line.
enum RoutesTarget {
    private static let methods = ["GET", "POST", "DELETE", "HEAD", "OPTIONS"]
    private static let port: UInt16 = {
        let started = DispatchSemaphore(value: 0)
        let port = Mutex<UInt16>(0)
        Task {
            do {
                let number = try await start()
                port.withLock { $0 = number }
            } catch {
                fatalError("the gateway does not start: \(error)")
            }
            started.signal()
        }
        started.wait()
        return port.withLock { $0 }
    }()

    private static func start() async throws -> UInt16 {
        let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
        _ = try await exchange.start()
        var template = Array("/tmp/fuzz-tape-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { fatalError("there is no room for a tape") }
        var configuration = GatewayConfiguration()
        configuration.feed.venue = configuration.feed.venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
        configuration.http.port = 0
        configuration.tape = TapeConfiguration(
            directory: String(cString: made), streams: ["*"].compactMap { StreamPattern($0) }, keep: .seconds(60), bytes: 64 << 20)
        let gateway = GatewayService(configuration: configuration, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        let port = UInt16(try gateway.start())
        kept.withLock { $0 = (exchange, gateway) }
        // Something has to be on the tape, and something live.
        let reader = connect(port)
        send(reader, "GET /events?streams=btcusdt@markPrice,btcusdt@depth@100ms,btcusdt@aggTrade HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        for _ in 1...20 where recv(reader, &bytes, bytes.count, 0) == 0 { fatalError("the gateway ended the first connection") }
        // It is read no more. The gateway ends it as too slow, and the streams linger.
        return port
    }

    private static let kept = Mutex<(DemoExchange, GatewayService)?>(nil)

    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        // What is no target is tried as one that is escaped, as a client library would.
        let target = rest.prefix(3_000).map { (byte: UInt8) -> String in
            0x21...0x7E ~= byte && byte != 0x23 ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let link = connect(port)
        defer { close(link) }
        send(link, "\(methods[Int(choice) % methods.count]) /\(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        var answer = [UInt8](repeating: 0, count: 4096)
        let count = recv(link, &answer, answer.count, 0)
        // None within the time: it waits for a value.
        guard count > 0 else { return promise(count < 0, "/\(target) got no answer") }
        let head = String(decoding: answer[..<count].prefix(12), as: UTF8.self)
        promise(head.hasPrefix("HTTP/1.1 ") && head.count == 12, "/\(target) is answered by \(head)")
        promise(!head.hasSuffix("500"), "/\(target) is a 500")
    }

    private static let links = Atomic<UInt32>(0)

    private static func connect(_ port: UInt16) -> CInt {
        let link = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // Connections that the server closed keep their ports for a minute, and one address has less of them than are used in that time.
        var source = sockaddr_in()
        source.sin_family = sa_family_t(AF_INET)
        source.sin_addr.s_addr = (0x7F00_0001 + links.add(1, ordering: .relaxed).newValue % 200).bigEndian
        _ = withUnsafePointer(to: &source) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(link, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(link, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        // A signal of the fuzzer interrupts the call, but not the connection.
        var waiting = pollfd(fd: link, events: Int16(POLLOUT), revents: 0)
        while connected != 0, errno == EINTR, poll(&waiting, 1, 1_000) < 1 {}
        promise(connected == 0 || waiting.revents == Int16(POLLOUT), "nobody listens any more (error \(errno))")
        // Closed without a wait for the other side: there are only so many ports.
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(link, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        var patience = timeval(tv_sec: 0, tv_usec: 100_000)
        setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout.size(ofValue: patience)))
        return link
    }

    private static func send(_ link: CInt, _ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.send(link, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    }
}
