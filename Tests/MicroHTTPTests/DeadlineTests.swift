import Glibc
import MicroHTTP
import Testing

extension MicroHTTPTests {
    @Suite struct Deadlines {
        static func configuration() -> HTTPServerConfiguration {
            var configuration = HTTPServerConfiguration()
            configuration.headerDeadline = .milliseconds(300)
            configuration.bodyDeadline = .milliseconds(300)
            configuration.keepAliveIdle = .milliseconds(600)
            return configuration
        }

        /// A byte every 20 ms never lets an inactivity timeout fire.
        private func drip(_ text: String, into client: RawClient) -> Duration {
            let start = ContinuousClock.now
            for byte in text.utf8 {
                var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
                if poll(&entry, 1, 20) > 0 { break }
                client.send([byte])
            }
            return ContinuousClock.now - start
        }

        @Test func aClientThatDripsItsHeadIsCutWith408() async throws {
            try await withServer(Self.configuration()) { server, port in
                let client = try RawClient(port: port)
                client.send("GET / HTTP/1.1\r\n")
                let elapsed = drip("Host: localhost\r\nX-Slow: \(String(repeating: "a", count: 500))", into: client)
                print("cut after \(elapsed)")
                #expect(elapsed > .milliseconds(250) && elapsed < .seconds(3))
                let answer = try #require(client.response())
                #expect(answer.status == 408)
                #expect(answer.field("content-type") == "application/problem+json")
                #expect(answer.field("date")?.hasSuffix(" GMT") == true)
            }
        }

        @Test func aClientThatDripsItsRequestLineIsCut() async throws {
            try await withServer(Self.configuration()) { _, port in
                let client = try RawClient(port: port)
                #expect(drip("GET /\(String(repeating: "a", count: 500))", into: client) < .seconds(3))
                #expect(client.receive() == nil)
            }
        }

        @Test func aClientThatDripsItsBodyIsCutWith408() async throws {
            try await withServer(Self.configuration()) { _, port in
                let client = try RawClient(port: port)
                client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n")
                #expect(drip(String(repeating: "a", count: 400), into: client) < .seconds(3))
                #expect(client.response()?.status == 408)
            }
        }

        @Test func aSilentConnectionIsClosed() async throws {
            try await withServer(Self.configuration()) { server, port in
                let clients = try (0..<100).map { _ in try RawClient(port: port) }
                for client in clients { #expect(client.end() == 0) }
                let deadline = ContinuousClock.now + .seconds(5)
                while server.connectionCount > 0, .now < deadline { await Task.yield() }
                #expect(server.connectionCount == 0)
            }
        }

        @Test func aKeptConnectionIsClosedAfterItsIdleTimeAndNotBefore() async throws {
            try await withServer(Self.configuration()) { _, port in
                let client = try RawClient(port: port)
                client.get("/")
                #expect(client.response()?.status == 200)
                var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
                #expect(poll(&entry, 1, 400) == 0, "longer than the header deadline")
                client.get("/")
                #expect(client.response()?.status == 200)
                #expect(client.end() == 0)
            }
        }

        @Test func aHandlerMayTakeLongerThanTheDeadlines() async throws {
            let held = Inbox<HTTPResponder>()
            try await withServer(Self.configuration(), routes: { $0.on("GET", "/held") { _, responder in held.put(responder) } }) { _, port in
                let client = try RawClient(port: port)
                client.get("/held")
                let responder = try #require(held.next())
                var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
                #expect(poll(&entry, 1, 1000) == 0)
                responder.respond(.text("late"))
                #expect(client.response()?.text == "late")
            }
        }
    }

    @Suite struct Limits {
        @Test func aConnectionBeyondTheCapIs503AndTheCapRecovers() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.maximumConnections = 10
            try await withServer(configuration) { server, port in
                var clients = try (0..<10).map { _ in
                    let client = try RawClient(port: port)
                    client.get("/")
                    #expect(client.response()?.status == 200)
                    return client
                }
                for _ in 0..<50 {
                    let surplus = try RawClient(port: port)
                    surplus.get("/")
                    let answer = try #require(surplus.response())
                    #expect(answer.status == 503)
                    #expect(answer.field("retry-after") == "5")
                    #expect(answer.field("connection") == "close")
                    #expect(surplus.end() == 0)
                }
                for client in clients {
                    client.get("/")
                    #expect(client.response()?.status == 200, "those inside the cap are served on")
                }
                clients.removeAll()
                let deadline = ContinuousClock.now + .seconds(5)
                while server.connectionCount > 0, .now < deadline { await Task.yield() }
                expectStatus(200, try RawClient.answer(port: port, to: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            }
        }

        /// Silent connections can take the reserve, but not more, and not those inside the cap.
        @Test func clientsBeyondTheReserveAreTurnedAwayAtOnce() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.maximumConnections = 10
            try await withServer(configuration) { server, port in
                let inside = try RawClient(port: port)
                inside.get("/")
                #expect(inside.response()?.status == 200)
                let silent = try (0..<400).map { _ in try RawClient(port: port) }
                let deadline = ContinuousClock.now + .seconds(4)
                while server.connectionCount < 266, .now < deadline { await Task.yield() }
                // Each of the two threads checks before it accepts.
                #expect((266...267).contains(server.connectionCount))
                inside.get("/")
                #expect(inside.response()?.status == 200)
                let start = ContinuousClock.now
                _ = try RawClient(port: port).end()
                #expect(ContinuousClock.now - start < .seconds(2), "before the header deadline")
                for client in silent { client.send("") }
            }
        }

        @Test func theOverloadAnswerIsTheOneConfigured() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.maximumConnections = 1
            let shed: @Sendable (HTTPRequest) -> HTTPResponse = { request in
                HTTPResponse(
                    status: 200, headers: [HTTPHeader("Content-Type", "text/event-stream")], body: Array("retry: 1000\n\n\(request.path)".utf8))
            }
            try await withServer(configuration, overloaded: shed) { _, port in
                let inside = try RawClient(port: port)
                inside.get("/")
                _ = inside.response()
                let surplus = try RawClient(port: port)
                surplus.get("/events")
                #expect(surplus.response()?.text == "retry: 1000\n\n/events")
                #expect(surplus.end() == 0)
            }
        }

        @Test func aPortInUseIsReportedWithAdvice() async throws {
            try await withServer { server, port in
                var configuration = HTTPServerConfiguration()
                configuration.port = port
                let second = HTTPServer(configuration: configuration, router: Router())
                do throws(HTTPServerError) {
                    _ = try second.start()
                    Issue.record("the port was taken twice")
                } catch {
                    #expect(error.code == .addressInUse)
                    #expect(error.message.contains("\(port)") && error.message.contains("another port"))
                }
                do throws(HTTPServerError) {
                    _ = try server.start()
                    Issue.record("started twice")
                } catch {
                    #expect(error.code == .alreadyStarted)
                }
            }
            var nonsense = HTTPServerConfiguration()
            nonsense.host = "no such host"
            #expect(throws: HTTPServerError.self) { try HTTPServer(configuration: nonsense, router: Router()).start() }
            nonsense.host = "192.0.2.1"
            #expect(throws: HTTPServerError.self) { try HTTPServer(configuration: nonsense, router: Router()).start() }
        }

        @Test func aServerListensOnIPv6() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.host = "::1"
            configuration.allowedHosts = []
            try await withServer(configuration) { _, port in
                let client = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(client) }
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                inet_pton(AF_INET6, "::1", &address.sin6_addr)
                let connected = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
                }
                try #require(connected == 0)
                let request = Array("GET / HTTP/1.1\r\nHost: [::1]:\(port)\r\nConnection: close\r\n\r\n".utf8)
                #expect(send(client, request, request.count, 0) == request.count)
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = recv(client, &buffer, buffer.count, 0)
                #expect(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self).hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
        }
    }
}
