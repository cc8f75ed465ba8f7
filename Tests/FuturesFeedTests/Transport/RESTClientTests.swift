import GatewayTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct RESTClientTests {
    static func withClient(trust: TLSTrust = .system, tls: TestCertificates.Identity? = nil, _ body: (RESTClient, RawServer) async throws -> Void)
        async throws
    {
        let client = try RESTClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, trust: trust)
        do {
            try await RawServer.with(tls: try tls?.context()) { try await body(client, $0) }
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }

    static func get(
        _ client: RESTClient, _ server: RawServer, scheme: String = "http", host: String = "127.0.0.1", timeout: Duration = .seconds(10),
        maximumBodyBytes: Int = 8 << 20
    ) -> EventLoopFuture<RESTResponse> {
        let request = RESTRequest(
            url: "\(scheme)://\(host):\(server.port)/fapi/v1/depth?symbol=BTCUSDT", headers: [("X-MBX-APIKEY", "k")], timeout: timeout,
            maximumBodyBytes: maximumBodyBytes)
        return client.get(request, on: MultiThreadedEventLoopGroup.singleton.any())
    }

    @Test(arguments: [200, 204, 301, 400, 403, 418, 429, 451, 500, 503])
    func everyStatusIsAResponse(status: Int) async throws {
        try await Self.withClient { client, server in
            let future = Self.get(client, server)
            let peer = try await server.accept()
            let request = try await peer.readHead()
            #expect(request.first == "GET /fapi/v1/depth?symbol=BTCUSDT HTTP/1.1")
            #expect(header("X-MBX-APIKEY", in: request) == "k")
            #expect(header("Accept-Encoding", in: request) == "gzip, deflate")
            let body = status == 204 ? "" : "<html>ApolloX</html>"
            let length = status == 204 ? "" : "Content-Length: \(body.utf8.count)\r\n"
            peer.write("HTTP/1.1 \(status) x\r\nx-mbx-used-weight-1m: 40\r\nRetry-After: 5\r\nLocation: /else\r\n\(length)\r\n\(body)")
            let response = try await future.get()
            #expect(response.status == status)
            #expect(String(buffer: response.body) == body)
            #expect(response.headers.first(name: "X-MBX-USED-WEIGHT-1M") == "40")
            #expect(response.headers.first(name: "nothing") == nil)
            #expect(response.retryAfter == .seconds(5))
        }
    }

    @Test func theFutureBelongsToTheLoopAskedFor() async throws {
        try await Self.withClient { client, server in
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            let future = client.get(RESTRequest(url: "http://127.0.0.1:\(server.port)/"), on: loop)
            #expect(future.eventLoop === loop)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = try await future.get()
        }
    }

    @Test func aServerThatStallsTimesOut() async throws {
        try await Self.withClient { client, server in
            let silent = Self.get(client, server, timeout: .seconds(1))
            _ = try await server.accept().readHead()
            let first = await #expect(throws: TransportError.self) { try await silent.get() }
            #expect(first?.code == .timedOut)

            let slow = Self.get(client, server, timeout: .seconds(2))
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            let second = await #expect(throws: TransportError.self) { try await slow.get() }
            #expect(second?.code == .timedOut)
            _ = try await peer.readToEnd()
        }
    }

    @Test(arguments: ["Content-Length: 101\r\n", ""])
    func aBodyAboveTheLimitIsRefused(length: String) async throws {
        try await Self.withClient { client, server in
            let future = Self.get(client, server, maximumBodyBytes: 100)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n\(length)\r\n" + String(repeating: "x", count: 101))
            let error = await #expect(throws: TransportError.self) { try await future.get() }
            #expect(error?.code == .bodyTooLarge)
            #expect(error?.status == 200)
            _ = try await peer.readToEnd()
        }
    }

    @Test func aBodyAtTheLimitPasses() async throws {
        try await Self.withClient { client, server in
            let future = Self.get(client, server, maximumBodyBytes: 100)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + String(repeating: "x", count: 100))
            #expect(try await future.get().body.readableBytes == 100)
        }
    }

    @Test func gzipIsTakenOff() async throws {
        try await Self.withClient { client, server in
            let future = Self.get(client, server)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            let body = Gzip.hello
            peer.write(Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
            #expect(String(buffer: try await future.get().body) == "hello, hello, hello")
        }
    }

    @Test(arguments: [1 << 20, Int.max])
    func aGzipBombIsCapped(limit: Int) async throws {
        try await Self.withClient { client, server in
            let future = Self.get(client, server, maximumBodyBytes: limit)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write(Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8) + Gzip.bomb(inflatingTo: 80 << 20))
            let error = await #expect(throws: TransportError.self) { try await future.get() }
            #expect(error?.code == .bodyTooLarge, "\(String(describing: error))")
            _ = try await peer.readToEnd()
        }
    }

    @Test func brokenAnswersAreNamed() async throws {
        try await Self.withClient { client, server in
            let closed = Self.get(client, server)
            let first = try await server.accept()
            _ = try await first.readHead()
            first.close()
            let closedError = await #expect(throws: TransportError.self) { try await closed.get() }
            #expect(closedError?.code == .closed)

            let garbled = Self.get(client, server)
            let second = try await server.accept()
            _ = try await second.readHead()
            second.write("SSH-2.0-OpenSSH_9.2\r\n\r\n")
            let garbledError = await #expect(throws: TransportError.self) { try await garbled.get() }
            #expect(garbledError?.code == .protocolViolation)

            let halfGzip = Self.get(client, server)
            let third = try await server.accept()
            _ = try await third.readHead()
            third.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnot!")
            let gzipError = await #expect(throws: TransportError.self) { try await halfGzip.get() }
            #expect(gzipError?.code == .protocolViolation)
        }
    }

    @Test func nothingListeningIsConnectFailed() async throws {
        try await Self.withClient { client, server in
            await server.stop()
            let error = await #expect(throws: TransportError.self) { try await Self.get(client, server).get() }
            #expect(error?.code == .connectFailed)
        }
    }

    @Test(arguments: ["", "ftp://a.test/", "/fapi", "http://", "http+unix://a/b", "https://user:secret@a.test/x?y"])
    func addressesItCannotOpenAreNamed(url: String) async throws {
        try await Self.withClient { client, _ in
            let future = client.get(RESTRequest(url: url), on: MultiThreadedEventLoopGroup.singleton.any())
            let error = await #expect(throws: TransportError.self) { try await future.get() }
            #expect(error?.code == .invalidURL, "\(String(describing: error))")
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test func aHeaderWithALineBreakIsRefused() async throws {
        try await Self.withClient { client, server in
            let request = RESTRequest(url: "http://127.0.0.1:\(server.port)/", headers: [("X", "a\r\nY: b")])
            let error = await #expect(throws: TransportError.self) {
                try await client.get(request, on: MultiThreadedEventLoopGroup.singleton.any()).get()
            }
            #expect(error?.code == .invalidHeader)
        }
    }

    @Test func certificatesAreVerified() async throws {
        try await Self.withClient(trust: .roots(pem: TestCertificates.root), tls: TestCertificates.good) { client, server in
            let future = Self.get(client, server, scheme: "https", host: "localhost")
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await future.get().status == 200)
        }
        try await Self.withClient(tls: TestCertificates.good) { client, server in
            let error = await #expect(throws: TransportError.self) { try await Self.get(client, server, scheme: "https", host: "localhost").get() }
            #expect(error?.code == .tlsFailed)
        }
    }

    @Test func afterShutdownRequestsFail() async throws {
        let client = RESTClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
        await client.shutdown()
        let future = client.get(RESTRequest(url: "http://127.0.0.1:1/"), on: MultiThreadedEventLoopGroup.singleton.any())
        let error = await #expect(throws: TransportError.self) { try await future.get() }
        #expect(error?.code == .closed)
    }
}

/// Gzip streams (RFC 1952, RFC 1951).
enum Gzip {
    private static let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    /// "hello, hello, hello" in one stored block.
    static let hello: [UInt8] = head + [1, 19, 0, 236, 255] + Array("hello, hello, hello".utf8) + [159, 161, 202, 9] + [19, 0, 0, 0]

    /// A stream of zero bytes that never ends: fixed Huffman codes, each of 13 bits and worth 258 bytes.
    static func bomb(inflatingTo size: Int) -> [UInt8] {
        // Block header 011, then the literal 0 (00110000), least significant bit first.
        var bits = [1, 1, 0] + [0, 0, 1, 1, 0, 0, 0, 0]
        let longest = [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0]
        while bits.count % 8 != 0 { bits += longest }
        let pattern = pack((0..<8).flatMap { _ in longest })
        return head + pack(bits) + [[UInt8]](repeating: pattern, count: size / (8 * 258) + 1).joined()
    }

    private static func pack(_ bits: [Int]) -> [UInt8] {
        stride(from: 0, to: bits.count, by: 8).map { start in UInt8((0..<8).reduce(0) { $0 | bits[start + $1] << $1 }) }
    }
}
