import MicroHTTP
import Testing

extension MicroHTTPTests {
    @Suite struct Routing {
        static let host = "Host: localhost\r\n"

        static func routes(_ router: inout Router) {
            router.on("POST", "/streams/{name}/refetch") { request, responder in
                responder.respond(.text("refetch " + (request.parameters["name"] ?? "")))
            }
            router.on("GET", "/streams/all") { _, responder in responder.respond(.text("literal")) }
            router.on("GET", "/pairs/{base}/{quote}") { request, responder in
                responder.respond(.text("\(request.parameters["base"] ?? "")-\(request.parameters["quote"] ?? "")"))
            }
        }

        @Test func parametersAndLiteralsFindTheirRoute() async throws {
            try await withServer(routes: Self.routes) { _, port in
                let client = try RawClient(port: port)
                for (method, path, text) in [
                    ("POST", "/streams/a%40b/refetch", "refetch a@b"), ("GET", "/streams/all", "literal"), ("GET", "/pairs/btc/usdt", "btc-usdt"),
                    ("GET", "/", "root"),
                ] {
                    client.send("\(method) \(path) HTTP/1.1\r\n\(Self.host)\r\n")
                    #expect(client.response()?.text == text)
                }
            }
        }

        @Test func anUnknownPathIs404AndAWrongMethodIs405WithAllow() async throws {
            try await withServer(routes: Self.routes) { _, port in
                let client = try RawClient(port: port)
                client.get("/nothing")
                #expect(client.response()?.status == 404)
                client.get("/streams/a/refetch")
                let answer = try #require(client.response())
                #expect(answer.status == 405)
                #expect(answer.field("allow") == "OPTIONS, POST")
                client.send("BREW / HTTP/1.1\r\n\(Self.host)\r\n")
                let brewed = try #require(client.response())
                #expect(brewed.status == 405)
                #expect(brewed.field("allow") == "GET, HEAD, OPTIONS, POST")
                client.send("HEAD /streams/a/refetch HTTP/1.1\r\n\(Self.host)\r\n")
                #expect(client.response(toHead: true)?.status == 405)
            }
        }

        @Test func headHasTheHeadersOfGetAndNoBody() async throws {
            try await withServer { _, port in
                let client = try RawClient(port: port)
                client.get("/streams/abc")
                let get = try #require(client.response())
                client.send("HEAD /streams/abc HTTP/1.1\r\n\(Self.host)\r\n")
                let head = try #require(client.response(toHead: true))
                #expect(head.status == 200)
                #expect(head.fields.map(\.name) == get.fields.map(\.name))
                #expect(head.field("content-length") == "3")
                client.get("/")
                #expect(client.response()?.text == "root", "nothing of a body came in between")
            }
        }

        @Test func optionsAnswersThePreflight() async throws {
            var configuration = HTTPServerConfiguration()
            configuration.commonHeaders = [HTTPHeader("Access-Control-Allow-Origin", "*")]
            configuration.preflightHeaders = [HTTPHeader("Access-Control-Max-Age", "600")]
            try await withServer(configuration) { _, port in
                let client = try RawClient(port: port)
                client.send("OPTIONS /streams/abc HTTP/1.1\r\n\(Self.host)\r\n")
                let answer = try #require(client.response())
                #expect(answer.status == 204)
                #expect(answer.field("allow") == "GET, HEAD, OPTIONS")
                #expect(answer.field("access-control-allow-origin") == "*")
                #expect(answer.field("access-control-max-age") == "600")
                #expect(answer.field("content-length") == nil)
                client.send("OPTIONS /nothing HTTP/1.1\r\n\(Self.host)\r\n")
                #expect(client.response()?.status == 404)
            }
        }

        @Test func aNotModifiedAnswerStatesTheLengthAndSendsNoBody() async throws {
            let shared = SharedBytes(Array("shared body".utf8))
            try await withServer(routes: {
                $0.on("GET", "/cached") { request, responder in
                    let isKnown = request.header("If-None-Match") == "\"1\""
                    responder.respond(HTTPResponse(status: isKnown ? 304 : 200, headers: [HTTPHeader("ETag", "\"1\"")], content: shared))
                }
            }) { _, port in
                let client = try RawClient(port: port)
                for _ in 0..<3 {
                    client.get("/cached")
                    #expect(client.response()?.text == "shared body")
                    client.get("/cached", "If-None-Match: \"1\"")
                    let answer = try #require(client.response(toHead: true))
                    #expect(answer.status == 304)
                    #expect(answer.field("content-length") == "11")
                }
            }
        }

        @Test func anAnswerWithALineEndInAHeaderBecomes500() async throws {
            try await withServer(routes: {
                $0.on("GET", "/split") { _, responder in
                    responder.respond(HTTPResponse(status: 200, headers: [HTTPHeader("X-Split", "a\r\nX-Injected: b")]))
                }
            }) { _, port in
                let client = try RawClient(port: port)
                client.get("/split")
                let answer = try #require(client.response())
                #expect(answer.status == 500)
                #expect(answer.field("x-injected") == nil)
            }
        }
    }
}
