import GatewayTestSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct HandshakeTests {
    /// An answer to the upgrade, with `ACCEPT` standing for the right value.
    struct BadAnswer: Sendable, CustomStringConvertible {
        let description: String
        let head: String
        let code: TransportError.Code

        init(_ description: String, _ lines: [String], _ code: TransportError.Code = .protocolViolation) {
            self.description = description
            head = lines.joined(separator: "\r\n") + "\r\n\r\n"
            self.code = code
        }
    }

    static let switching = "HTTP/1.1 101 Switching Protocols"
    static let good = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: ACCEPT"]

    static let badAnswers: [BadAnswer] = [
        BadAnswer("no Upgrade", [switching, "Connection: Upgrade", "Sec-WebSocket-Accept: ACCEPT"]),
        BadAnswer("other Upgrade", [switching, "Upgrade: h2c", "Connection: Upgrade", "Sec-WebSocket-Accept: ACCEPT"]),
        BadAnswer("no Connection", [switching, "Upgrade: websocket", "Sec-WebSocket-Accept: ACCEPT"]),
        BadAnswer("Connection: close", [switching, "Upgrade: websocket", "Connection: close", "Sec-WebSocket-Accept: ACCEPT"]),
        BadAnswer("no accept", [switching, "Upgrade: websocket", "Connection: Upgrade"]),
        BadAnswer("wrong accept", [switching, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]),
        BadAnswer("two accepts", [switching] + good + ["Sec-WebSocket-Accept: ACCEPT"]),
        BadAnswer("extension not offered", [switching] + good + ["Sec-WebSocket-Extensions: permessage-deflate"]),
        BadAnswer("subprotocol not offered", [switching] + good + ["Sec-WebSocket-Protocol: chat"]),
        BadAnswer("subprotocol in other case", [switching] + good + ["Sec-WebSocket-Protocol: GRAPHQL-WS"]),
        BadAnswer("two subprotocols", [switching] + good + ["Sec-WebSocket-Protocol: graphql-ws", "Sec-WebSocket-Protocol: graphql-ws"]),
        BadAnswer("HTTP/1.0", ["HTTP/1.0 101 Switching Protocols"] + good),
        BadAnswer("not HTTP", ["SSH-2.0-OpenSSH_9.2"]),
        BadAnswer("endless head", [switching] + good + (0..<200).map { "X-\($0): \(String(repeating: "x", count: 1000))" }),
        BadAnswer("200", ["HTTP/1.1 200 OK", "Content-Length: 0"], .upgradeRefused),
        BadAnswer("redirect", ["HTTP/1.1 302 Found", "Location: ws://elsewhere.test/", "Content-Length: 0"], .upgradeRefused),
        BadAnswer("426", ["HTTP/1.1 426 Upgrade Required", "Sec-WebSocket-Version: 14", "Content-Length: 0"], .upgradeRefused),
    ]

    @Test(arguments: badAnswers)
    func aBadAnswerFailsTheAttempt(_ row: BadAnswer) async throws {
        try await RawServer.with { server in
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder, subprotocols: ["graphql-ws", "graphql-transport-ws"])
            let peer = try await server.accept()
            let accept = try acceptValue(await peer.readHead())
            peer.write(row.head.replacing("ACCEPT", with: accept))
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == row.code, "\(String(describing: error))")
            _ = try await peer.readToEnd()
            #expect(recorder.events.waiting.isEmpty)
            #expect(recorder.frames == 0)
        }
    }

    @Test func theRequestIsTheOneOfRFC6455() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(
                to: server, Recorder(), path: "/stream?streams=btcusdt@depth/ethusdt@trade",
                headers: [("Authorization", "Bearer x"), ("Origin", "https://a.test")],
                subprotocols: ["graphql-transport-ws", "graphql-ws"])
            let peer = try await server.accept()
            let request = try await peer.upgrade(headers: "Sec-WebSocket-Protocol: graphql-ws\r\n")
            #expect(request.first == "GET /stream?streams=btcusdt@depth/ethusdt@trade HTTP/1.1")
            #expect(header("Host", in: request) == "127.0.0.1:\(server.port)")
            #expect(header("Upgrade", in: request) == "websocket")
            #expect(header("Connection", in: request) == "Upgrade")
            #expect(header("Sec-WebSocket-Version", in: request) == "13")
            #expect(header("Sec-WebSocket-Protocol", in: request) == "graphql-transport-ws, graphql-ws")
            #expect(header("Sec-WebSocket-Extensions", in: request) == nil)
            #expect(header("Authorization", in: request) == "Bearer x")
            #expect(header("Origin", in: request) == "https://a.test")
            #expect(header("Sec-WebSocket-Key", in: request)?.count == 24)
            let connection = try await opening.get()
            #expect(connection.subprotocol == "graphql-ws")
        }
    }

    @Test func theSocketBeginsAtTheAddressThatIsAskedFor() async throws {
        try await RawServer.with { server in
            let loop = MultiThreadedEventLoopGroup.singleton.next()
            func connect(from address: String) -> EventLoopFuture<WebSocketConnection> {
                WebSocketConnection.connect(to: "ws://127.0.0.1:\(server.port)", on: loop, receiver: Recorder(), localAddress: address)
            }
            let opening = connect(from: "127.0.0.9")
            let peer = try await server.accept()
            #expect(peer.address == "127.0.0.9")
            peer.cut()
            await #expect(throws: TransportError.self) { try await opening.get() }
            for address in ["nowhere", "192.0.2.1"] {
                let error = await #expect(throws: TransportError.self) { try await connect(from: address).get() }
                #expect(error?.code == .connectFailed)
            }
        }
    }

    @Test func everyAttemptHasAKeyOfItsOwn() throws {
        let keys = try (0..<50).map { _ in
            try WebSocketRequest(url: "ws://a.test/", headers: [], subprotocols: []).head.headers.first(name: "Sec-WebSocket-Key")
        }
        #expect(Set(keys).count == 50)
    }

    @Test func theServerMayChooseNoSubprotocolAndAnswerInOtherCase() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder(), subprotocols: ["graphql-ws"])
            let peer = try await server.accept()
            let accept = try acceptValue(await peer.readHead())
            peer.write("HTTP/1.1 101 ok\r\nupgrade: WebSocket\r\nCONNECTION: keep-alive, upgrade\r\nsec-websocket-accept: \(accept)\r\n\r\n")
            let connection = try await opening.get()
            #expect(connection.subprotocol == nil)
        }
    }

    @Test func anInformationalAnswerBeforeThe101IsPassedOver() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder())
            let peer = try await server.accept()
            peer.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            try await peer.upgrade()
            _ = try await opening.get()
        }
    }

    @Test(arguments: [1, 7, 10_000])
    func framesThatFollowTheAnswerAreNotLostAndComeAfterTheFuture(pieces: Int) async throws {
        try await RawServer.with { server in
            let order = Mailbox<String>()
            let observed = Recorder { _, _ in order.post("text") }
            let opening = openWebSocket(to: server, observed)
            opening.whenSuccess { _ in order.post("open") }
            let peer = try await server.accept()
            let accept = try acceptValue(await peer.readHead())
            let head = (["HTTP/1.1 101 ok"] + Self.good + ["", ""]).joined(separator: "\r\n").replacing("ACCEPT", with: accept)
            let bytes = Array(head.utf8) + text("first") + frame(9, [1]) + text("second")
            for start in stride(from: 0, to: bytes.count, by: pieces) { peer.write(Array(bytes[start..<min(start + pieces, bytes.count)])) }
            #expect(try await observed.events.next() == .text("first"))
            #expect(try await observed.events.next() == .text("second"))
            #expect(try await peer.readFrame() == .sent(10, [1]))
            #expect(try await order.next() == "open")
            #expect(try await order.next() == "text")
        }
    }

    @Test func aMessageSentFromTheFuturesCallbackLeavesAsAFrame() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder())
            opening.whenSuccess { $0.send(text: "subscribe") }
            let peer = try await server.accept()
            try await peer.upgrade(following: frame(9, [5]))
            #expect(try await peer.readFrame() == .sent(1, Array("subscribe".utf8)))
            #expect(try await peer.readFrame() == .sent(10, [5]))
        }
    }

    @Test func aRefusalCarriesStatusBodyAndRetryAfter() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder())
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 17\r\nContent-Length: 12\r\n\r\n{\"code\":\u{1}3}\n")
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.status == 429)
            #expect(error?.bodyExcerpt == "{\"code\": 3} ")
            #expect(error?.retryAfter == .seconds(17))
            #expect(try await peer.readToEnd().isEmpty)
        }
    }

    @Test func aRefusalWithAnEndlessBodyIsCutAt512Bytes() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder())
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.write("HTTP/1.1 503 Service Unavailable\r\n\r\n" + String(repeating: "<html>", count: 10_000))
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.status == 503)
            #expect(error?.bodyExcerpt?.utf8.count == 512)
        }
    }

    @Test func aRefusalWhoseBodyStallsOrBreaksIsStillARefusal() async throws {
        try await RawServer.with { server in
            var limits = WebSocketLimits()
            limits.connectTimeout = .seconds(2)
            let stalled = openWebSocket(to: server, Recorder(), limits: limits)
            let first = try await server.accept()
            _ = try await first.readHead()
            first.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\nno")
            let error = await #expect(throws: TransportError.self) { try await stalled.get() }
            #expect(error?.status == 403)
            #expect(error?.bodyExcerpt == "no")

            let broken = openWebSocket(to: server, Recorder())
            let second = try await server.accept()
            _ = try await second.readHead()
            second.write("HTTP/1.1 451 Unavailable\r\nContent-Length: 100\r\n\r\nnot here")
            second.close()
            let other = await #expect(throws: TransportError.self) { try await broken.get() }
            #expect(other?.status == 451)
            #expect(other?.bodyExcerpt == "not here")
        }
    }

    @Test func anEndInsteadOfAnAnswerIsAnError() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder())
            let peer = try await server.accept()
            _ = try await peer.readHead()
            peer.close()
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .closed)
        }
    }

    @Test(arguments: [
        [("Host", "a")], [("Sec-WebSocket-Key", "a")], [("connection", "close")], [("X-A", "a\r\nX-B: b")], [("X A", "a")], [("", "a")],
        [("X", "\u{0}")],
    ])
    func headersThatWouldSpoilTheHandshakeAreRefused(headers: [(String, String)]) throws {
        let error = #expect(throws: TransportError.self) { try WebSocketRequest(url: "ws://a.test", headers: headers, subprotocols: []) }
        #expect(error?.code == .invalidHeader)
    }

    @Test(arguments: [["a b"], [""], ["a,b"], ["a", "a"]])
    func subprotocolsMustBeDifferentTokens(_ subprotocols: [String]) throws {
        let error = #expect(throws: TransportError.self) { try WebSocketRequest(url: "ws://a.test", headers: [], subprotocols: subprotocols) }
        #expect(error?.code == .invalidHeader)
    }
}
