import DemoExchange
import FuturesFeed
import GatewayAccess
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// Clients of sockets that ask for too much or read too little.
@Suite struct SocketLimitTests {
    @Test func aSocketThatSendsTooMuchIsClosedAsTheVenueDoes() async throws {
        try await House.open { house in
            let (client, connection) = try await SocketClient.open(house, "/ws")
            for id in 0..<30 { connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":\#(id)}"#) }
            #expect(try await client.close() == 1008)
        }
    }

    /// The answers would need more and more memory.
    @Test func aClientThatReadsNoAnswersIsClosed() async throws {
        try await House.open(configure: {
            $0.events.sockets.messagesPerSecond = 1_000_000
            $0.events.sockets.answerBytes = 16 << 10
        }) { house in
            let names = (0..<60).map { "\($0)" + String(repeating: "x", count: 80) + "@trade" }
            let connection = try await RawConnection(port: house.client.port, receiveBuffer: 4096)
            connection.send(
                "GET /stream?streams=\(names.joined(separator: "/")) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            let deadline = ContinuousClock.now + .seconds(60)
            var bytes = try await connection.receive(by: deadline, of: "the handshake")
            #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
            try await connection.setReading(false)
            let request = Array(#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#.utf8)
            let slow = #"futures_gateway_socket_closes_total{reason="slow"} 1"#
            while try await !house.client.get("/metrics").text.contains(slow) {
                for _ in 0..<20 { connection.send([0x81, 0x80 | UInt8(request.count), 0, 0, 0, 0] + request) }
            }
            try await connection.setReading(true)
            do { while true { bytes += try await connection.receive(by: deadline, of: "the end") } } catch is ConnectionEnd {}
            #expect(String(decoding: bytes.suffix(60), as: UTF8.self).hasSuffix("The client reads too slowly: it reads no answers."))
        }
    }

    @Test func aClientThatReadsNoFirstMessagesIsClosed() async throws {
        let book = "btcusdt@depth@100ms"
        try await House.open(configure: {
            $0.events.sockets.messagesPerSecond = 1_000_000
            $0.events.sockets.answerBytes = 1 << 30
            $0.events.sockets.firstBytes = 64 << 10
        }) { house in
            let reader = try await house.client.events("streams=\(book)")
            let connection = try await RawConnection(port: house.client.port, receiveBuffer: 4096)
            connection.send(
                "GET /ws/\(book) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            _ = try await connection.receive(by: .safetyNet, of: "the handshake")
            _ = try await reader.next("update") { $0.kind == "delta" }
            try await connection.setReading(false)
            let requests = ["UNSUBSCRIBE", "SUBSCRIBE"].map { Array(#"{"method":"\#($0)","params":["\#(book)"],"id":1}"#.utf8) }
            let slow = #"futures_gateway_socket_closes_total{reason="slow"} 1"#
            while try await !house.client.get("/metrics").text.contains(slow) {
                for _ in 0..<20 {
                    for request in requests { connection.send([0x81, 0x80 | UInt8(request.count), 0, 0, 0, 0] + request) }
                }
            }
            try await connection.setReading(true)
            var bytes: [UInt8] = []
            do { while true { bytes += try await connection.receive(by: .safetyNet, of: "the end") } } catch is ConnectionEnd {}
            #expect(String(decoding: bytes.suffix(60), as: UTF8.self).hasSuffix("The client reads too slowly for so many subscriptions."))
        }
    }

    @Test func aSocketsMessagesCountAsRequestsOfItsAddress() async throws {
        try await House.open(configure: {
            $0.access.addressLimits = CallerLimits(requests: 2)
            // This machine's own addresses have no limit.
            $0.access.proxies = AddressBlock("127.0.0.0/8").map { [$0] } ?? []
        }) { house in
            let (client, connection) = try await SocketClient.open(house, "/ws", headers: [("X-Forwarded-For", "203.0.113.1")])
            for id in 0..<9 { connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":\#(id)}"#) }
            #expect(try await client.close() == 1008)
            let (other, second) = try await SocketClient.open(house, "/ws", headers: [("X-Forwarded-For", "203.0.113.2")])
            second.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)
            #expect(try await other.text() == #"{"result":[],"id":1}"#)
        }
    }
}
