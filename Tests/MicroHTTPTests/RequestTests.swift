import MicroHTTP
import Testing

extension MicroHTTPTests {
    @Suite struct Requests {
        static let host = "Host: localhost\r\n"

        @Test(arguments: [
            ("/streams/btcusdt%40markPrice", 200, "btcusdt@markPrice"),
            ("/streams/btcusdt@markPrice", 200, "btcusdt@markPrice"),
            ("/streams/!markPrice@arr", 200, "!markPrice@arr"),
            ("/streams/%E5%B8%81", 200, "币"),
            ("/streams/%e5%b8%81", 200, "币"),
            ("/streams/币", 200, "币"),
            ("/streams/a%2Fb", 200, "a/b"),
            ("/streams/a%2fb%2F", 200, "a/b/"),
            ("/streams/a+b", 200, "a+b"),
            ("/streams/%2E%2E", 200, ".."),
            ("/streams/a%20b", 200, "a b"),
            ("/streams/a%00b", 400, ""),
            ("/streams/%0d%0aX", 400, ""),
            ("/streams/%7F", 400, ""),
            ("/streams/%C2%80", 400, ""),
            ("/streams/%C3%28", 400, ""),
            ("/streams/%ED%A0%80", 400, ""),
            ("/streams/%C0%AF", 400, ""),
            ("/streams/%", 400, ""),
            ("/streams/%4", 400, ""),
            ("/streams/%zz", 400, ""),
            ("/streams/%4%31", 400, ""),
            ("/streams/a?x=%00", 400, ""),
            ("/streams/a?%FF=1", 400, ""),
            ("/streams/a/b", 404, ""),
            ("/streams/", 404, ""),
            ("/streams", 404, ""),
            ("//streams/a", 404, ""),
        ]) func aPathIsDecodedSegmentBySegment(path: String, status: Int, name: String) async throws {
            try await withServer { _, port in
                let answer = try #require(try RawClient.answer(port: port, to: "GET \(path) HTTP/1.1\r\n\(Self.host)\r\n"))
                #expect(answer.status == status)
                if status == 200 { #expect(answer.text == name) }
            }
        }

        @Test func invalidUTF8InTheTargetIsRefused() async throws {
            try await withServer { _, port in
                let client = try RawClient(port: port)
                client.send(Array("GET /streams/".utf8) + [0xFF] + Array(" HTTP/1.1\r\n\(Self.host)\r\n".utf8))
                #expect(client.response()?.status == 400)
            }
        }

        @Test func queryAndHeadersReachTheHandlerDecodedAndInOrder() async throws {
            let requests = Inbox<HTTPRequest>()
            try await withServer(routes: {
                $0.on("GET", "/q") { request, responder in
                    requests.put(request)
                    responder.respond(.text(""))
                }
            }) { _, port in
                let client = try RawClient(port: port)
                client.get("/q?streams=a%40b,c%2Cd&x=1+1&x=2&empty=&flag&%6E=%26%3D", "X-One: 1", "x-one: 2", "Accept:  */*  ")
                #expect(client.response()?.status == 200)
                let request = try #require(requests.next())
                #expect(request.path == "/q")
                #expect(request.segments == ["q"])
                #expect(request.query("streams") == "a@b,c,d")
                #expect(request.queries("x") == ["1+1", "2"])
                #expect(request.query("empty")?.isEmpty == true && request.query("flag")?.isEmpty == true)
                #expect(request.query("n") == "&=")
                #expect(request.query("none") == nil)
                #expect(request.header("x-ONE") == "1, 2")
                #expect(request.header("accept") == "*/*")
                #expect(request.header("none") == nil)
                #expect(request.remoteAddress == "127.0.0.1")
                #expect(request.method == "GET")
            }
        }

        /// 200 names of 26 characters and Chromium's usual request headers.
        @Test func aRequestForTwoHundredStreamsFits() async throws {
            let chromium = """
                Connection: keep-alive\r
                sec-ch-ua-platform: "Linux"\r
                Cache-Control: no-store\r
                User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36\r
                Accept: text/event-stream\r
                sec-ch-ua: "Chromium";v="156", "Google Chrome";v="156", "Not_A Brand";v="99"\r
                sec-ch-ua-mobile: ?0\r
                Origin: http://localhost:3000\r
                Sec-Fetch-Site: same-site\r
                Sec-Fetch-Mode: cors\r
                Sec-Fetch-Dest: empty\r
                Referer: http://localhost:3000/dashboard\r
                Accept-Encoding: gzip, deflate, br, zstd\r
                Accept-Language: en-US,en;q=0.9\r
                Last-Event-ID: 0000000000000000.00000000000000\r
                """
            var configuration = HTTPServerConfiguration()
            configuration.commonHeaders = [
                HTTPHeader("Access-Control-Allow-Origin", "http://localhost:3000"),
                HTTPHeader(
                    "Access-Control-Expose-Headers",
                    "ETag, Last-Modified, Link, RateLimit, RateLimit-Policy, Retry-After, X-Stream-State, X-Request-Id"),
                HTTPHeader("X-Content-Type-Options", "nosniff"),
                HTTPHeader("Vary", "Accept, Accept-Encoding, Origin"),
            ]
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let names = (0..<200).map { String("\($0)1000shibusdt_261225@depth20@100ms".prefix(26)) }.joined(separator: ",")
                let client = try RawClient(port: port)
                client.send("GET /events?streams=\(names) HTTP/1.1\r\n\(Self.host)\(chromium)\n\r\n")
                #expect(client.receive(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 200") == true)
            }
        }

        @Test func aTargetBeyondTheLimitIs414AndAHeadBeyondThePoolIs431() async throws {
            try await withServer { _, port in
                let long = String(repeating: "a", count: 100_000)
                expectStatus(414, try RawClient.answer(port: port, to: "GET /\(long) HTTP/1.1\r\n\(Self.host)\r\n"))
                expectStatus(431, try RawClient.answer(port: port, to: "GET / HTTP/1.1\r\n\(Self.host)X-Long: \(long)\r\n\r\n"))
                let many = (0..<2000).map { "X-\($0): 1\r\n" }.joined()
                expectStatus(431, try RawClient.answer(port: port, to: "GET / HTTP/1.1\r\n\(Self.host)\(many)\r\n"))
            }
        }

        /// Around the sizes where the head still fits and the answer's head might not.
        @Test func aRequestOfAnySizeGetsAnAnswer() async throws {
            try await withServer { _, port in
                var statuses: [Int: Int] = [:]
                for size in stride(from: 5000, through: 18_000, by: 50) {
                    let filler = String(repeating: "a", count: size)
                    let fields = (0..<(size / 50)).map { "X-\($0): \(String(repeating: "v", count: 40))\r\n" }.joined()
                    let arguments = (0..<(size / 8)).map { "a\($0)=b" }.joined(separator: "&")
                    for request in [
                        "GET /\(filler) HTTP/1.1\r\n\(Self.host)\r\n", "GET / HTTP/1.1\r\n\(Self.host)X-Long: \(filler)\r\n\r\n",
                        "GET / HTTP/1.1\r\n\(Self.host)\(fields)\r\n", "GET /?\(arguments) HTTP/1.1\r\n\(Self.host)\r\n",
                        "GET / HTTP/1.1\r\n\(Self.host)Cookie: \(filler.prefix(15_000))\r\n\r\n",
                        "GET /?\(filler.prefix(6000)) HTTP/1.1\r\n\(Self.host)X-Long: \(filler)\r\n\r\n",
                    ] {
                        let status = try RawClient.answer(port: port, to: request)?.status
                        statuses[status ?? 0, default: 0] += 1
                        if ![200, 404, 414, 431].contains(status) {
                            Issue.record("\(size): \(status.map(String.init) ?? "no answer") to \(request.prefix(20))")
                        }
                    }
                }
                print("answers to requests of 5 to 18 kB: \(statuses.sorted { $0.key < $1.key })")
            }
        }

        @Test func largePipelinedRequestsAreAllAnswered() async throws {
            try await withServer { _, port in
                for size in [3000, 7000, 11_000] {
                    let client = try RawClient(port: port)
                    let request = "GET /streams/x HTTP/1.1\r\n\(Self.host)X-Long: \(String(repeating: "a", count: size))\r\n\r\n"
                    client.send(String(repeating: request, count: 10))
                    for _ in 0..<10 { #expect(client.response()?.status == 200, "\(size)") }
                }
            }
        }

        @Test func aKeptConnectionServesManyRequests() async throws {
            try await withServer { server, port in
                let client = try RawClient(port: port)
                for number in 0..<100 {
                    client.get("/streams/n\(number)")
                    #expect(client.response()?.text == "n\(number)")
                }
                #expect(server.connectionCount == 1)
            }
        }

        @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
            try await withServer { _, port in
                let client = try RawClient(port: port)
                client.send((0..<50).map { "GET /streams/p\($0) HTTP/1.1\r\n\(Self.host)\r\n" }.joined())
                for number in 0..<50 { #expect(client.response()?.text == "p\(number)") }
            }
        }

        @Test func aBodyArrivesWholeAndOnTheSameConnectionAgain() async throws {
            try await withServer { _, port in
                let client = try RawClient(port: port)
                for body in ["hello", String(repeating: "x", count: 4096), "", "last"] {
                    client.send("POST /echo HTTP/1.1\r\n\(Self.host)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                    #expect(client.response()?.text == body)
                }
                client.send("POST /echo HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
                #expect(client.response()?.text == "hello world")
            }
        }

        @Test func aBodyBeyondTheLimitIs413BeforeItIsRead() async throws {
            try await withServer { _, port in
                let declared = try RawClient(port: port)
                declared.send("POST /echo HTTP/1.1\r\n\(Self.host)Content-Length: 4097\r\n\r\n")
                #expect(declared.response()?.status == 413)
                #expect(declared.end() == 0)

                let sent = try RawClient(port: port)
                sent.send("POST /echo HTTP/1.1\r\n\(Self.host)Content-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000))
                #expect(sent.response()?.status == 413)
                #expect(sent.end() == 0, "no reset that could take the answer with it")

                let expecting = try RawClient(port: port)
                expecting.send("POST /echo HTTP/1.1\r\n\(Self.host)Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n")
                #expect(expecting.response()?.status == 413)

                let chunked = try RawClient(port: port)
                chunked.send("POST /echo HTTP/1.1\r\n\(Self.host)Transfer-Encoding: chunked\r\n\r\n")
                let chunk = "400\r\n" + String(repeating: "x", count: 1024) + "\r\n"
                chunked.send(String(repeating: chunk, count: 5))
                let answer = try #require(chunked.response())
                #expect(answer.status == 413)
                #expect(answer.field("content-type") == "application/problem+json")
                #expect(chunked.end() == 0)
            }
        }

        @Test func expectContinueGetsItsContinue() async throws {
            try await withServer { _, port in
                let client = try RawClient(port: port)
                client.send("POST /echo HTTP/1.1\r\n\(Self.host)Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                #expect(client.receive(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 100 ") == true)
                client.send("hello")
                #expect(client.response()?.text == "hello")
            }
        }
    }
}
