import DemoExchange
import Dispatch
import FuturesFeed
import GatewayAccess
import GatewayTestSupport
import NIOCore
import NIOPosix
import Rings
import Testing

@testable import FuturesGateway

/// A client of the gateway's sockets: the WebSocket client of the library, which shares little code with the server.
final class SocketClient: WebSocketReceiver {
    enum Event: Equatable, Sendable {
        case text(String)
        case closed(UInt16?)
    }

    let events = Mailbox<Event>()

    static func open(_ house: House, _ path: String, headers: [(String, String)] = []) async throws -> (SocketClient, WebSocketConnection) {
        try await open(port: house.client.port, path, headers: headers, isEncrypted: StreamRoute.current == .tls)
    }

    static func open(
        port: Int, _ path: String, headers: [(String, String)] = [], isEncrypted: Bool = false
    ) async throws -> (SocketClient, WebSocketConnection) {
        let client = SocketClient()
        let url = "\(isEncrypted ? "wss" : "ws")://\(isEncrypted ? "localhost" : "127.0.0.1"):\(port)\(path)"
        let connection = try await WebSocketConnection.connect(
            to: url, headers: headers, on: MultiThreadedEventLoopGroup.singleton.any(), receiver: client,
            trust: isEncrypted ? .roots(pem: TestCertificates.root) : .system
        ).get()
        return (client, connection)
    }

    func next() async throws -> Event { try await events.next() }

    /// The next text that passes this test.
    func text(_ isMeant: (String) -> Bool = { _ in true }) async throws -> String {
        while true {
            switch try await next() {
            case .text(let text) where isMeant(text): return text
            case .text: continue
            case .closed(let code): throw Unexpected("the socket was closed with \(code.map(String.init) ?? "no code")")
            }
        }
    }

    /// Skips texts, and returns the code of the close frame.
    func close() async throws -> UInt16? { while true { if case .closed(let code) = try await next() { return code } } }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) { events.post(.text(String(buffer: text))) }
    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) {}
    func webSocketDidHear(_ connection: WebSocketConnection) {}
    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) { events.post(.closed(reason.code)) }
}

@Suite struct SocketTests {
    private static func number(_ name: String, in text: String) -> UInt64? {
        text.firstRange(of: "\"\(name)\":").flatMap { UInt64(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    @Test func aSocketIsSentTheVenuesMessagesAsTheVenueSentThem() async throws {
        try await House.open { house in
            let (own, _) = try await SocketClient.open(house, "/ws/btcusdt@aggTrade")
            _ = try await own.text()
            let venue = SocketClient()
            _ = try await WebSocketConnection.connect(
                to: house.exchange.webSocketURL + "/ws/btcusdt@aggTrade", on: MultiThreadedEventLoopGroup.singleton.any(), receiver: venue
            ).get()
            // The gateway's socket was open first, so it has everything that the venue's has.
            let first = try await venue.text()
            _ = try await own.text { $0 == first }
            for _ in 0..<20 {
                let sent = try await venue.text()
                #expect(try await own.text() == sent)
            }
        }
    }

    @Test func aCombinedSocketNamesTheStreamOfEachMessage() async throws {
        try await House.open { house in
            let (client, connection) = try await SocketClient.open(house, "/market/stream/4?streams=btcusdt@bookTicker")
            #expect(try await client.text().hasPrefix(#"{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","#))
            connection.send(text: #"{"method":"SUBSCRIBE","params":["nosuch@trade","ethusdt@markPrice@1s"],"id":"x"}"#)
            #expect(try await client.text { !$0.hasPrefix(#"{"stream""#) } == #"{"result":null,"id":"x"}"#)
            #expect(try await client.text { $0.contains("markPrice") }.hasPrefix(#"{"stream":"ethusdt@markPrice@1s","data":{"#))
            // Every message after the answer has the new form.
            for isCombined in [false, true, false, true, false, true, false] {
                connection.send(text: #"{"method":"SET_PROPERTY","params":["combined",\#(isCombined)],"id":2}"#)
                _ = try await client.text { $0.hasPrefix(#"{"result":null,"id":2}"#) }
                #expect(try await client.text().hasPrefix(isCombined ? #"{"stream":""# : #"{"e":""#))
            }
        }
    }

    /// The rule of the venue's documentation: the first update that is applied has `U <= lastUpdateId <= u`, and each further one continues it.
    @Test(arguments: ["", "@0ms", "@100ms", "@500ms"]) func aStrictClientJoinsItsBookWhenItStarts(_ speed: String) async throws {
        try await House.open { house in
            for _ in 0..<5 {
                let (client, connection) = try await SocketClient.open(house, "/public/ws/btcusdt@depth\(speed)")
                let book = try await house.client.get("/fapi/v1/depth?symbol=BTCUSDT&limit=1000")
                let id = try #require(Self.number("lastUpdateId", in: book.text), "\(book.text.prefix(200))")
                var last: UInt64?
                var seen: [String] = []
                while last == nil || last == id {
                    let text = try await client.text()
                    let (first, end) = (try #require(Self.number("U", in: text)), try #require(Self.number("u", in: text)))
                    if let last { #expect(Self.number("pu", in: text) == last) }
                    seen.append("\(first) to \(end)")
                    guard end >= id else { continue }
                    if last == nil {
                        #expect(first <= id && id <= end, "\(seen) do not join \(id), from \(book.header("X-Feed-Source") ?? "")")
                    }
                    last = end
                }
                connection.close(code: 1000, reason: "")
            }
        }
    }

    /// The notice comes first, because the venue's own library reconnects for nothing else.
    @Test func aSocketOfABookIsClosedIfChangesAreMissing() async throws {
        try await House.open { house in
            let (client, _) = try await SocketClient.open(house, "/ws/btcusdt@depth@100ms")
            var last = try #require(Self.number("u", in: try await client.text()))
            for _ in 0..<3 { last = Self.number("u", in: try await client.text()) ?? 0 }
            house.exchange.dropConnections()
            while true {
                let text = try await client.text()
                guard !text.hasPrefix(#"{"event":{"e":"serverShutdown""#) else { break }
                #expect(Self.number("pu", in: text) == last)
                last = Self.number("u", in: text) ?? 0
            }
            #expect(try await client.close() == 1012)
        }
    }

    @Test func aSocketOfTradesIsClosedIfTradesAreMissing() async throws {
        try await House.open { house in
            let (client, _) = try await SocketClient.open(house, "/ws/btcusdt@aggTrade")
            _ = try await client.text()
            house.exchange.dropConnections()
            #expect(try await client.close() == 1012)
        }
    }

    /// Its client would get the messages before and after the loss.
    @Test func aSocketThatIsNotOpenYetBeginsBehindALoss() async throws {
        try await House.open { house in
            let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
            let target = try #require(SocketTarget(["ws", name.description], streams: []))
            let start = try await house.onHub { hub in
                Result { () throws(EventHub.Refusal) -> (behind: UInt64?, last: UInt64) in
                    let number = try hub.prepare(target, for: Access.Caller(principal: .anonymous(.everything), address: nil))
                    for text in [Array("1".utf8), nil] { hub.receive(VenueMessage(stream: name, text: text)) }
                    defer { hub.closed(number) }
                    return (hub.state.value.readers[number]?.takeStart()?.behind, hub.state.value.lastMessage)
                }
            }.get()
            #expect(start.behind == start.last && start.last > 0)
        }
    }

    /// Its first messages are from before the loss.
    @Test func aSocketThatIsNotOpenYetCannotStartAfterALossOfTheLog() async throws {
        try await House.open { house in
            let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
            let target = try #require(SocketTarget(["ws", name.description], streams: []))
            let canStart = try await house.onHub { hub in
                Result { () throws(EventHub.Refusal) -> Bool in
                    let number = try hub.prepare(target, for: Access.Caller(principal: .anonymous(.everything), address: nil))
                    hub.beginAnew()
                    defer { hub.closed(number) }
                    return hub.rings.reach([hub.ring(of: name, .frames)], back: hub.state.value.readers[number]?.takeStart()?.behind ?? .max)
                }
            }.get()
            #expect(!canStart)
        }
    }

    /// Messages between its request and its opening are missing. The fan-out threads wait until then.
    @Test func aSocketWhoseRingDroppedMessagesBeforeItOpenedIsClosed() async throws {
        try await House.open(ringBytes: 4096) { house in
            let (inboxes, gate) = (house.gateway.hub.rings.inboxes, DispatchSemaphore(value: 0))
            func openGate() { for _ in inboxes { gate.signal() } }
            defer { openGate() }
            for inbox in inboxes {
                await withCheckedContinuation { waits in
                    inbox.post(
                        .measure { _ in
                            waits.resume()
                            gate.wait()
                        })
                }
            }
            let name = FuturesServiceStreamName.liquidation(symbol: "BTCUSDT")
            let connection = try await RawConnection(port: house.client.port)
            connection.send(
                "GET /ws/\(name) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            while await house.onHub({ hub in hub.state.value.readers.count }) == 0 { await Task.yield() }
            await house.onHub { hub in
                for _ in 0..<8 { hub.receive(VenueMessage(stream: name, text: [UInt8](repeating: UInt8(ascii: "x"), count: 1000))) }
            }
            openGate()
            var bytes: [UInt8] = []
            do { while true { bytes += try await connection.receive(by: .safetyNet, of: "the end") } } catch is ConnectionEnd {}
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 101 ") && text.contains("serverShutdown") && !text.contains("xxx"))
            let reason = "Messages were lost before the socket opened."
            #expect(text.hasSuffix(reason) && bytes.dropLast(reason.utf8.count).suffix(2) == [0x03, 0xF4], "the code 1012")
        }
    }

    /// A stream without messages and without another source is no outage.
    @Test func aSocketOfAQuietStreamStaysOpen() async throws {
        try await House.open { house in
            house.exchange.setStalled(true)
            let (client, connection) = try await SocketClient.open(house, "/ws/btcusdt@forceOrder")
            let name = try #require(FuturesServiceStreamName("btcusdt@forceOrder"))
            while await house.onHub({ hub in hub.status(of: name)?.feed.isConnected }) != true { await Task.yield() }
            for hours in [1, 2] { await house.onHub { hub in hub.watchSockets(at: Instant.current + .seconds(3600 * hours)) } }
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)
            #expect(try await client.text() == #"{"result":["btcusdt@forceOrder"],"id":1}"#)
        }
    }

    @Test func aSocketWhoseStreamsHaveNoCurrentDataIsClosed() async throws {
        try await House.open(configure: { $0.events.sockets.patience = .seconds(2) }) { house in
            let (client, _) = try await SocketClient.open(house, "/ws/btcusdt@bookTicker")
            _ = try await client.text()
            await house.exchange.stop()
            #expect(try await client.close() == 1013)
        }
    }

    @Test func aKeySubscribesToNothingThatItMayNotRead() async throws {
        let key = "a-key-of-more-than-128-bits-for-a-bot"
        let keys = try APIKeys(json: #"{"bot":{"hash":"\#(APIKeys.hash(of: key))","streams":["btcusdt@*"]}}"#)
        try await House.open(configure: { $0.access.keys = keys }) { house in
            try await house.awaitReadiness()
            let handshake = [
                "X-API-Key": key, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            ]
            #expect(try await house.client.get("/ws/ethusdt@trade", handshake).status == 403)
            let (client, connection) = try await SocketClient.open(house, "/public/ws/btcusdt@bookTicker", headers: [("X-API-Key", key)])
            connection.send(text: #"{"method":"SUBSCRIBE","params":["btcusdt@trade","ethusdt@trade"],"id":7}"#)
            let answer = try await client.text { !$0.hasPrefix(#"{"e":"#) }
            #expect(answer == #"{"error":{"code":2,"msg":"Invalid request: your key does not permit ethusdt@trade"},"id":7}"#)
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":8}"#)
            #expect(try await client.text { !$0.hasPrefix(#"{"e":"#) } == #"{"result":["btcusdt@bookTicker"],"id":8}"#)
        }
    }

    @Test func aKeyForBarsReadsThemAlsoWhereTheyAreClosedEarly() async throws {
        let key = "a-key-of-more-than-128-bits-for-a-bot"
        let keys = try APIKeys(json: #"{"bot":{"hash":"\#(APIKeys.hash(of: key))","streams":["btcusdt@kline_1m"]}}"#)
        func configure(_ configuration: inout GatewayConfiguration) {
            configuration.access.keys = keys
            configuration.closesBarsEarly = true
            configuration.events.sockets.closesBarsEarly = true
        }
        try await House.open(configure: configure) { house in
            try await house.awaitReadiness()
            let bars = try await house.client.get("/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=2", ["X-API-Key": key])
            #expect(bars.status == 200, "\(bars.text)")
            #expect(try await house.client.get("/fapi/v1/klines?symbol=ETHUSDT&interval=1m&limit=2", ["X-API-Key": key]).status == 403)
            let (client, connection) = try await SocketClient.open(house, "/stream?streams=btcusdt@kline_1m", headers: [("X-API-Key", key)])
            _ = try await client.text { $0.hasPrefix(#"{"stream":"btcusdt@kline_1m","data":{"e":"kline","#) }
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":8}"#)
            #expect(try await client.text { !$0.hasPrefix(#"{"stream":"#) } == #"{"result":["btcusdt@kline_1m"],"id":8}"#)
            house.gateway.replace(AccessRules(keys: keys))
            _ = try await client.text { $0.hasPrefix(#"{"stream":"btcusdt@kline_1m","#) }
        }
    }

    @Test func aGatewayThatStopsSaysSo() async throws {
        try await House.open { house in
            let (client, _) = try await SocketClient.open(house, "/ws")
            async let stopped: Void = house.gateway.stop()
            #expect(try await client.text().hasPrefix(#"{"event":{"e":"serverShutdown","#))
            #expect(try await client.close() == 1001)
            await stopped
        }
    }

    @Test func nothingIsAskedOfTheVenueForASecondSocket() async throws {
        try await House.open { house in
            let (first, _) = try await SocketClient.open(house, "/ws/btcusdt@depth@100ms/btcusdt@bookTicker")
            _ = try await first.text()
            _ = try await house.client.get("/fapi/v1/depth?symbol=BTCUSDT&limit=100")
            let before = house.requests("depth?symbol=BTCUSDT&limit=1000")
            for _ in 0..<20 {
                let (client, _) = try await SocketClient.open(house, "/stream?streams=btcusdt@depth@100ms/btcusdt@bookTicker")
                _ = try await client.text()
            }
            #expect(house.requests("depth?symbol=BTCUSDT&limit=1000") == before)
            #expect(house.exchange.statistics().activeSubscriptions["btcusdt@depth@100ms"] == 1)
        }
    }

    /// The venue has no such streams, and would stay silent, too.
    @Test(arguments: ["btcusdt@bar_1s", "btcusdt@openInterest"]) func aStreamThatTheVenueLacksIsSilent(_ name: String) async throws {
        try await House.open { house in
            let (client, connection) = try await SocketClient.open(house, "/ws/\(name)")
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)
            #expect(try await client.text() == #"{"result":["\#(name)"],"id":1}"#)
            let read = await house.onHub { hub in hub.state.value.streams.names.map(\.description) }
            #expect(!read.contains(name), "a stream that is read would send messages")
        }
    }

    @Test func aStreamWithoutSocketsKeepsNoMessages() async throws {
        try await House.open { house in
            let (client, connection) = try await SocketClient.open(house, "/ws/btcusdt@bookTicker")
            _ = try await client.text()
            let name = try #require(FuturesServiceStreamName("btcusdt@bookTicker"))
            let kept = await house.onHub { hub in hub.state.value.streams[name]?.rings[EventFormat.frames.rawValue] != nil }
            #expect(kept)
            connection.close(code: 1000, reason: "")
            #expect(try await client.close() == 1000)
            while await house.onHub({ hub in hub.state.value.streams[name]?.sockets ?? 0 }) == 1 { await Task.yield() }
            let left = await house.onHub { hub in hub.state.value.streams[name]?.rings.compactMap(\.self).count }
            #expect(left == 1, "the ring of events alone")
        }
    }

    @Test(arguments: ["/ws", "/ws/btcusdt@trade", "/stream", "/stream/1", "/public/ws", "/private/stream/2", "/market/ws/a@trade/2", "/fstream/ws"])
    func aRequestForASocketThatAsksForNoneIsToldHow(_ path: String) async throws {
        try await House.open { house in
            let answer = try await house.client.get(path)
            #expect(answer.status == 426 && answer.header("Sec-WebSocket-Version") == "13" && answer.header("Upgrade") == "websocket")
        }
    }
}
