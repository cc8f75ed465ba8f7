import GatewayTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct ProxyTests {
    @Test(
        arguments: [
            (["HTTPS_PROXY": "http://proxy.test:3128"], "feed.test", 443, true, "proxy.test:3128"),
            (["https_proxy": "http://small.test:1", "HTTPS_PROXY": "http://large.test:2"], "feed.test", 443, true, "small.test:1"),
            (["HTTPS_PROXY": "", "ALL_PROXY": "proxy.test:3128"], "feed.test", 443, true, "proxy.test:3128"),
            (["HTTP_PROXY": "http://[::2]:8080/"], "feed.test", 80, false, "::2:8080"),
            (["HTTP_PROXY": "http://proxy.test"], "feed.test", 80, false, "proxy.test:80"),
            (["HTTP_PROXY": "http://proxy.test:3128"], "feed.test", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128"], "127.0.0.1", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128"], "localhost", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128"], "::1", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128"], "127.feed.test", 443, true, "proxy.test:3128"),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "other.test, FEED.test"], "a.feed.test", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": ".feed.test"], "feed.test", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "*.feed.test"], "a.feed.test", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "feed.test"], "notfeed.test", 443, true, "proxy.test:3128"),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "feed.test:8443"], "feed.test", 443, true, "proxy.test:3128"),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "feed.test:8443"], "feed.test", 8443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "2001:db8::1,10.0.0.1"], "2001:db8::1", 443, true, nil),
            (["HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "*"], "feed.test", 443, true, nil),
            ([:], "feed.test", 443, true, nil),
        ] as [([String: String], String, Int, Bool, String?)])
    func theEnvironmentNamesTheProxy(_ row: ([String: String], String, Int, Bool, String?)) throws {
        let server = try ProxySettings(environment: row.0).server(for: row.1, port: row.2, isSecure: row.3)
        #expect(server.map { "\($0.host):\($0.port)" } == row.4)
    }

    @Test(arguments: ["socks5://proxy.test:1080", "https://proxy.test", "http://", "http://proxy.test:0", "http://proxy.test:x", "http://a b:1"])
    func aProxyThatCannotBeUsedIsNamedByItsVariable(_ address: String) throws {
        let error = #expect(throws: TransportError.self) {
            try ProxySettings(environment: ["HTTPS_PROXY": address]).server(for: "feed.test", port: 443, isSecure: true)
        }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains("HTTPS_PROXY") == true)
    }

    static func settings(_ server: RawServer, credentials: String = "") -> ProxySettings {
        ProxySettings(environment: ["ALL_PROXY": "http://\(credentials)127.0.0.1:\(server.port)"])
    }

    static func open(_ url: String, through server: RawServer, _ recorder: Recorder, credentials: String = "") -> EventLoopFuture<WebSocketConnection>
    {
        WebSocketConnection.connect(
            to: url, on: MultiThreadedEventLoopGroup.singleton.any(), receiver: recorder, proxies: settings(server, credentials: credentials))
    }

    @Test func aSocketGoesThroughTheTunnel() async throws {
        try await RawServer.with { server in
            let recorder = Recorder()
            let opening = Self.open("ws://feed.test/stream", through: server, recorder, credentials: "me:p%40ss@")
            let peer = try await server.accept()
            let request = try await peer.readHead()
            #expect(request.first == "CONNECT feed.test:80 HTTP/1.1")
            #expect(header("Host", in: request) == "feed.test:80")
            #expect(header("Proxy-Authorization", in: request) == "Basic bWU6cEBzcw==")
            peer.write("HTTP/1.1 200 Connection established\r\n\r\n")
            let upgrade = try await peer.upgrade()
            #expect(upgrade.first == "GET /stream HTTP/1.1")
            #expect(header("Host", in: upgrade) == "feed.test")
            #expect(header("Proxy-Authorization", in: upgrade) == nil)
            let connection = try await opening.get()
            peer.write(text("through"))
            let heard = try await recorder.events.next("message")
            #expect(heard == .text("through"))
            connection.abort()
        }
    }

    @Test func aSecureSocketIsVerifiedThroughTheTunnel() async throws {
        try await RawServer.with { server in
            let opening = Self.open("wss://feed.test/", through: server, Recorder())
            let peer = try await server.accept()
            let request = try await peer.readHead()
            #expect(request.first == "CONNECT feed.test:443 HTTP/1.1")
            peer.write("HTTP/1.1 200 OK\r\n\r\n")
            let hello = try await peer.read(1)
            #expect(hello == [22])
            peer.write("this is no TLS\r\n\r\n")
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .tlsFailed)
        }
    }

    @Test func aRefusedTunnelSaysWhatTheProxySaid() async throws {
        try await RawServer.with { server in
            let opening = Self.open("ws://feed.test/", through: server, Recorder())
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 407 Proxy Authentication Required\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlogin")
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .proxyRefused)
            #expect(error?.status == 407)
            #expect(error?.retryAfter == .seconds(7))
            _ = try await peer.readToEnd()
        }
    }

    @Test(arguments: ["", "SSH-2.0-OpenSSH\r\n\r\n"])
    func aProxyThatDoesNotAnswerInHTTPFailsTheAttempt(_ answer: String) async throws {
        try await RawServer.with { server in
            let opening = Self.open("ws://feed.test/", through: server, Recorder())
            let peer = try await server.accept()
            _ = try await peer.readHead()
            if answer.isEmpty { peer.close() } else { peer.write(answer) }
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == (answer.isEmpty ? .closed : .protocolViolation))
        }
    }

    @Test func aRequestGoesThroughTheTunnel() async throws {
        try await RawServer.with { server in
            let client = RESTClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, proxies: Self.settings(server))
            let loop = MultiThreadedEventLoopGroup.singleton.any()
            let answer = client.get(RESTRequest(url: "http://feed.test/a", body: "{}"), on: loop)
            let peer = try await server.accept()
            let request = try await peer.readHead()
            #expect(request.first == "CONNECT feed.test:80 HTTP/1.1")
            peer.write("HTTP/1.1 200 OK\r\n\r\n")
            let post = try await peer.readHead()
            #expect(post.first == "POST /a HTTP/1.1")
            #expect(header("Content-Type", in: post) == "application/json")
            let body = try await peer.read(2)
            #expect(body == Array("{}".utf8))
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            let response = try await answer.get()
            #expect(String(buffer: response.body) == "ok")
            await client.shutdown()
        }
    }
}
