import MicroHTTP
import Testing

extension MicroHTTPTests {
    /// RFC 9112 §3, §5, §6 and RFC 9110 §5.5, §5.6.2, §7.2, against the wire.
    @Suite struct Guard {
        struct Case: Sendable, CustomTestStringConvertible {
            let name: String
            let request: String
            let status: Int
            var testDescription: String { name }

            init(_ name: String, _ request: String, _ status: Int) {
                self.name = name
                self.request = request
                self.status = status
            }
        }

        static let good = "Host: localhost\r\n"

        static let requestLines = [
            Case("plain GET", "GET / HTTP/1.1\r\n\(good)\r\n", 200),
            Case("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 200),
            Case("empty line before the request line", "\r\nGET / HTTP/1.1\r\n\(good)\r\n", 200),
            Case("HTTP/1.2", "GET / HTTP/1.2\r\n\(good)\r\n", 400),
            Case("HTTP/2.0", "GET / HTTP/2.0\r\n\(good)\r\n", 505),
            Case("HTTP/9.9", "GET / HTTP/9.9\r\n\(good)\r\n", 505),
            Case("lower-case version", "GET / http/1.1\r\n\(good)\r\n", 400),
            Case("no version", "GET / \r\n\r\n", 400),
            Case("two spaces before the target", "GET  / HTTP/1.1\r\n\(good)\r\n", 400),
            Case("two spaces before the version", "GET /  HTTP/1.1\r\n\(good)\r\n", 400),
            Case("space after the version", "GET / HTTP/1.1 \r\n\(good)\r\n", 400),
            Case("space in the target", "GET /a b HTTP/1.1\r\n\(good)\r\n", 400),
            Case("tab in the target", "GET /a\tb HTTP/1.1\r\n\(good)\r\n", 400),
            Case("control character in the target", "GET /a\u{1}b HTTP/1.1\r\n\(good)\r\n", 400),
            Case("DEL in the target", "GET /a\u{7F}b HTTP/1.1\r\n\(good)\r\n", 400),
            Case("NUL in the target", "GET /\u{0}b HTTP/1.1\r\n\(good)\r\n", 400),
            Case("control character in the query", "GET /?a\u{2}b HTTP/1.1\r\n\(good)\r\n", 400),
            Case("absolute target with a foreign host", "GET http://evil.example/ HTTP/1.1\r\n\(good)\r\n", 400),
            Case("asterisk target", "OPTIONS * HTTP/1.1\r\n\(good)\r\n", 400),
            Case("authority target", "CONNECT localhost:80 HTTP/1.1\r\n\(good)\r\n", 400),
            Case("target without slash", "GET index HTTP/1.1\r\n\(good)\r\n", 400),
            Case("control character in the method", "G\u{1}ET / HTTP/1.1\r\n\(good)\r\n", 400),
            Case("parenthesis in the method", "GE(T / HTTP/1.1\r\n\(good)\r\n", 400),
            Case("NUL in the method", "GET\u{0}X / HTTP/1.1\r\n\(good)\r\n", 400),
            Case("garbage before the method", "Extra lineGET / HTTP/1.1\r\n\(good)\r\n", 400),
            Case("bare LF after the request line", "GET / HTTP/1.1\n\(good)\r\n", 400),
        ]

        static let fields = [
            Case("empty value", "GET / HTTP/1.1\r\n\(good)X-Empty:\r\n\r\n", 200),
            Case("value of spaces", "GET / HTTP/1.1\r\n\(good)X-Empty:   \r\n\r\n", 200),
            Case("tab before the value and odd case", "GET / HTTP/1.1\r\nhoSt:\tlocalhost\r\n\r\n", 200),
            Case("trailing white space in a value", "GET / HTTP/1.1\r\nHost: localhost \t\r\n\r\n", 200),
            Case("tab inside a value", "GET / HTTP/1.1\r\n\(good)X-Tab: a\tb\r\n\r\n", 200),
            Case("UTF-8 in a value", "GET / HTTP/1.1\r\n\(good)X-Name: 币安\r\n\r\n", 200),
            Case("brackets in a name", "GET / HTTP/1.1\r\n\(good)X-Invalid[]: a\r\n\r\n", 400),
            Case("space before the colon", "GET / HTTP/1.1\r\n\(good)X-Space : a\r\n\r\n", 400),
            Case("Content-Length with a space before the colon", "POST / HTTP/1.1\r\n\(good)Content-Length : 3\r\n\r\nabc", 400),
            Case("empty name", "GET / HTTP/1.1\r\n\(good): a\r\n\r\n", 400),
            Case("no colon", "GET / HTTP/1.1\r\n\(good)X-Nothing\r\n\r\n", 400),
            Case("leading space on the first field", "GET / HTTP/1.1\r\n X-First: a\r\n\(good)\r\n", 400),
            Case("control character in a value", "GET / HTTP/1.1\r\n\(good)X-Bell: a\u{7}b\r\n\r\n", 400),
            Case("DEL in a value", "GET / HTTP/1.1\r\n\(good)X-Del: a\u{7F}\r\n\r\n", 400),
            Case("NUL in a value", "GET / HTTP/1.1\r\n\(good)X-Nul: a\u{0}b\r\n\r\n", 400),
            Case("NUL in the last value's end", "GET / HTTP/1.1\r\nX-Nul: a\u{0}\r\n\(good)\r\n", 400),
            Case("bare CR in a value", "GET / HTTP/1.1\r\n\(good)X-CR: a\rb\r\n\r\n", 400),
            Case("bare CR before a name", "GET / HTTP/1.1\r\n\(good)\rX-CR: a\r\n\r\n", 400),
            Case("bare LF after a field", "GET / HTTP/1.1\r\nX-LF: a\n\(good)\r\n", 400),
            Case("bare LF as the empty line", "GET / HTTP/1.1\r\n\(good)\n", 400),
            Case("folded field", "GET / HTTP/1.1\r\n\(good)X-Fold: a\r\n b\r\n\r\n", 400),
        ]

        static let hosts = [
            Case("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
            Case("no Host, Content-Length", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
            Case("two Hosts", "GET / HTTP/1.1\r\n\(good)\(good)\r\n", 400),
            Case("two Hosts on HTTP/1.0", "GET / HTTP/1.0\r\n\(good)\(good)\r\n", 400),
            Case("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
            Case("Host with user information", "GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n", 400),
            Case("Host with a path", "GET / HTTP/1.1\r\nHost: localhost/x\r\n\r\n", 400),
            Case("Host list", "GET / HTTP/1.1\r\nHost: localhost, evil\r\n\r\n", 400),
            Case("Host with a bad port", "GET / HTTP/1.1\r\nHost: localhost:80a\r\n\r\n", 400),
            Case("Host with a port", "GET / HTTP/1.1\r\nHost: LOCALHOST:8080\r\n\r\n", 200),
            Case("Host IPv6", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 200),
            Case("configured Host", "GET / HTTP/1.1\r\nHost: gateway.example\r\n\r\n", 200),
            Case("foreign Host", "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
            Case("foreign Host that ends like an own one", "GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421),
        ]

        static let framing = [
            Case("body by length", "POST / HTTP/1.1\r\n\(good)Content-Length: 5\r\n\r\nhello", 200),
            Case("chunked body", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200),
            Case("length and chunked", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
            Case("chunked and length", "POST / HTTP/1.1\r\n\(good)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            Case("two different lengths", "POST / HTTP/1.1\r\n\(good)Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
            Case("two equal lengths", "POST / HTTP/1.1\r\n\(good)Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400),
            Case("list of lengths", "POST / HTTP/1.1\r\n\(good)Content-Length: 3, 3\r\n\r\nabc", 400),
            Case("signed length", "POST / HTTP/1.1\r\n\(good)Content-Length: +3\r\n\r\nabc", 400),
            Case("negative length", "POST / HTTP/1.1\r\n\(good)Content-Length: -1234\r\n\r\n", 400),
            Case("overflowing negative length", "POST / HTTP/1.1\r\n\(good)Content-Length: -123456789123456789123456789\r\n\r\n", 400),
            Case("length of letters", "POST / HTTP/1.1\r\n\(good)Content-Length: abc\r\n\r\n", 400),
            Case("hexadecimal length", "POST / HTTP/1.1\r\n\(good)Content-Length: 0x3\r\n\r\nabc", 400),
            Case("length beyond 64 bits", "POST / HTTP/1.1\r\n\(good)Content-Length: 99999999999999999999999\r\n\r\n", 413),
            Case("length beyond 63 bits", "POST / HTTP/1.1\r\n\(good)Content-Length: 9999999999999999999\r\n\r\n", 413),
            Case("identity coding", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: identity\r\n\r\n", 400),
            Case("unknown coding", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: xchunked\r\n\r\n", 400),
            Case("two codings", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: gzip, chunked\r\n\r\n", 400),
            Case("coding twice", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400),
            Case("chunked on HTTP/1.0", "POST / HTTP/1.0\r\n\(good)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            Case("body on GET", "GET / HTTP/1.1\r\n\(good)Content-Length: 3\r\n\r\nabc", 400),
            Case("chunked body on HEAD", "HEAD / HTTP/1.1\r\n\(good)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            Case("empty body on GET", "GET / HTTP/1.1\r\n\(good)Content-Length: 0\r\n\r\n", 200),
            Case("chunk size of letters", "POST / HTTP/1.1\r\n\(good)Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n0\r\n\r\n", 400),
        ]

        @Test func everyRequestOfTheCorpusGetsItsStatus() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.allowedHosts = ["gateway.example"]
            try await withServer(configuration) { _, port in
                let cases = Self.requestLines + Self.fields + Self.hosts + Self.framing
                for entry in cases {
                    let client = try RawClient(port: port)
                    client.send(entry.request)
                    let answer = client.response(toHead: entry.request.hasPrefix("HEAD"))
                    #expect(answer?.status == entry.status, "\(entry.name)")
                    guard let answer, answer.status == entry.status, answer.status >= 400 else { continue }
                    #expect(client.end() == 0, "\(entry.name): the connection ends in order")
                }
                print("\(cases.count) raw requests")
            }
        }

        /// A request that follows a refused one on the same connection must never run.
        @Test func nothingSmuggledBehindARefusedRequestRuns() async throws {
            let ran = Inbox<Void>()
            try await withServer(routes: {
                $0.on("GET", "/marker") { _, responder in
                    ran.put(())
                    responder.respond(.text("smuggled"))
                }
            }) { _, port in
                for entry in Self.requestLines + Self.fields + Self.framing where entry.status >= 400 {
                    let client = try RawClient(port: port)
                    client.send(entry.request + "GET /marker HTTP/1.1\r\n\(Self.good)\r\n")
                    _ = client.end()
                }
            }
            #expect(ran.next(within: 0) == nil)
        }

        @Test func aProblemIsAnRFC9457DocumentWithTheCommonHeaders() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.commonHeaders = [HTTPHeader("X-Content-Type-Options", "nosniff")]
            try await withServer(configuration) { _, port in
                for request in ["GET / HTTP/1.1\r\n\r\n", "GET /nothing HTTP/1.1\r\n\(Self.good)\r\n", "PUT / HTTP/1.1\r\n\(Self.good)\r\n"] {
                    let answer = try #require(try RawClient.answer(port: port, to: request))
                    #expect(answer.field("content-type") == "application/problem+json")
                    #expect(answer.field("x-content-type-options") == "nosniff")
                    #expect(answer.field("date") != nil)
                    #expect(answer.text.hasPrefix("{\"type\":\"about:blank\",\"title\":"))
                    #expect(answer.text.contains("\"status\":\(answer.status)"))
                }
            }
        }

        /// Field positions in libmicrohttpd's buffer stay exact however the head arrives.
        @Test(arguments: [64, 1500, 4000, 6000, 20000]) func aLongHeadInPiecesIsNotTakenForAMalformedOne(length: Int) async throws {
            try await withServer { _, port in
                for piece in [1, 7, 100, 1000] where length / piece < 5000 {
                    let client = try RawClient(port: port)
                    let fields = (0..<(length / 64)).map { "X-Field-\($0): \(String(repeating: "v", count: 44))\r\n" }.joined()
                    var rest = Array("GET /?\(String(repeating: "q", count: 40)) HTTP/1.1\r\n\(Self.good)\(fields)\r\n".utf8)[...]
                    while !rest.isEmpty {
                        client.send(Array(rest.prefix(piece)))
                        rest = rest.dropFirst(piece)
                    }
                    #expect(client.response()?.status == (length < 10_000 ? 200 : 431), "\(length) bytes in pieces of \(piece)")
                }
            }
        }
    }
}
