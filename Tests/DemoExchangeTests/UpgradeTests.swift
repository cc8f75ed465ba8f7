import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

/// One TCP connection, on which HTTP may come first and a WebSocket after it.
final class Kept {
    let connection: RawConnection
    private var bytes: [UInt8] = []

    init(_ port: Int, tls: Bool = false) async throws { connection = try await RawConnection(port: port, tls: tls) }

    func get(_ path: String) { connection.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") }

    func upgrade(_ path: String, key: String = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") {
        connection.send(
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Version: 13\r\n\(key)\r\n")
    }

    /// Reads on until the text that came contains `end`; gives it up to there.
    func read(to end: String) async throws -> String {
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let range = text.range(of: end) {
                let read = String(text[..<range.upperBound])
                bytes.removeFirst(read.utf8.count)
                return read
            }
            bytes += try await connection.receive(by: .now + .seconds(20), of: "\(end) after \(text.suffix(300))")
        }
    }

    /// Everything up to the end of the connection.
    func rest() async -> (text: String, end: ConnectionEnd?) {
        while true {
            do {
                bytes += try await connection.receive(by: .now + .seconds(20), of: "the end")
            } catch {
                return (String(decoding: bytes, as: UTF8.self), error as? ConnectionEnd)
            }
        }
    }
}

@Suite struct UpgradeTests {
    @Test func aConnectionThatServedRequestsBecomesAWebSocket() async throws {
        try await withExchange { exchange, port async throws in
            let kept = try await Kept(port)
            for _ in 1...3 {
                kept.get("/fapi/v1/ping")
                #expect(try await kept.read(to: "\r\n\r\n{}").hasPrefix("HTTP/1.1 200 OK"))
            }
            kept.upgrade("/ws/btcusdt@markPrice@1s")
            let answer = try await kept.read(to: "\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 101 Switching Protocols"))
            #expect(answer.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
            _ = try await kept.read(to: #""e":"markPriceUpdate""#)
            #expect(exchange.statistics().connectionsEver == 1)
        }
    }

    @Test func anUpgradeMayBeSentBeforeTheAnswerToTheRequestBeforeIt() async throws {
        try await withExchange { exchange, port async throws in
            exchange.setRESTFault(.delay(.milliseconds(200)))
            let kept = try await Kept(port)
            kept.get("/fapi/v1/ping")
            kept.upgrade("/ws/btcusdt@markPrice@1s")
            #expect(try await kept.read(to: "\r\n\r\n{}").hasPrefix("HTTP/1.1 200 OK"))
            #expect(try await kept.read(to: "\r\n\r\n").hasPrefix("HTTP/1.1 101 Switching Protocols"))
            _ = try await kept.read(to: #""e":"markPriceUpdate""#)
        }
    }

    @Test(arguments: [
        ("/elsewhere", "404 Not Found", #"{"code":-5000,"msg":"Path /elsewhere, Method GET is invalid"}"#),
        ("/private/ws?listenKey=abc&events=ORDER_TRADE_UPDATE", "400 Bad Request", #"{"code":-1125,"msg":"This listenKey does not exist."}"#),
        ("/private/stream", "400 Bad Request", #"{"code":-1125,"msg":"This listenKey does not exist."}"#),
        ("/fapi/v1/ping", "200 OK", "{}"),
    ]) func aPathThatIsNoWebSocketIsAnswered(path: String, status: String, body: String) async throws {
        try await withExchange { exchange, port async throws in
            for isKept in [false, true] {
                let kept = try await Kept(port)
                if isKept {
                    kept.get("/fapi/v1/time")
                    _ = try await kept.read(to: "}")
                }
                kept.upgrade(path)
                let (text, end) = await kept.rest()
                #expect(text.hasPrefix("HTTP/1.1 \(status)\r\n"))
                #expect(text.hasSuffix("\r\n\r\n" + body))
                #expect(end == .orderly)
            }
            #expect(exchange.statistics().connectionsEver == 0)
        }
    }

    @Test func aHandshakeWithoutAKeyIsAnswered() async throws {
        try await withExchange { _, port async throws in
            let kept = try await Kept(port)
            kept.upgrade("/ws/btcusdt@trade", key: "")
            let (text, end) = await kept.rest()
            #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(text.hasSuffix(#"Can "Upgrade" only to "WebSocket"."#))
            #expect(end == .orderly)
        }
    }

    @Test func anyWebSocketPathOfTheVenueIsAccepted() async throws {
        try await withExchange { _, port async throws in
            for path in ["/market/ws/0", "/public/ws/1", "/market/stream", "/ws/x", "/stream"] {
                let kept = try await Kept(port)
                kept.upgrade(path)
                #expect(try await kept.read(to: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "), "\(path)")
            }
        }
    }
}

@Suite struct ExchangeTLSTests {
    private func withFiles(_ certificate: String, _ key: String, _ body: (TLSFiles) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = TLSFiles(certificate: folder.appending(path: "chain.pem").path(), key: folder.appending(path: "key.pem").path())
        try Data(certificate.utf8).write(to: URL(filePath: files.certificate))
        try Data(key.utf8).write(to: URL(filePath: files.key))
        try await body(files)
    }

    @Test func requestsAndWebSocketsAreServedOverTLS() async throws {
        try await withFiles(TestCertificates.good.certificate, TestCertificates.good.key) { files async throws in
            try await withExchange(DemoExchangeConfiguration(tls: files)) { exchange, port async throws in
                #expect(exchange.restURL == "https://127.0.0.1:\(port)" && exchange.webSocketURL == "wss://127.0.0.1:\(port)")
                let kept = try await Kept(port, tls: true)
                kept.get("/fapi/v1/ping")
                #expect(try await kept.read(to: "\r\n\r\n{}").hasPrefix("HTTP/1.1 200 OK"))
                kept.upgrade("/ws/btcusdt@markPrice@1s")
                _ = try await kept.read(to: #""e":"markPriceUpdate""#)
                exchange.dropConnections()
                #expect(await kept.rest().end == .reset)
                let plain = try await Kept(port)
                plain.get("/fapi/v1/ping")
                #expect(await !plain.rest().text.contains("200 OK"))
            }
        }
    }

    @Test func aCertificateThatCannotBeUsedIsNamed() async throws {
        try await withFiles(TestCertificates.good.certificate, TestCertificates.otherName.key) { files async throws in
            let absent = TLSFiles(certificate: "/nowhere/chain.pem", key: files.key)
            for tls in [files, absent] {
                let error = await #expect(throws: DemoExchangeError.self) {
                    try await DemoExchange(configuration: DemoExchangeConfiguration(tls: tls)).start()
                }
                #expect(error?.code == .certificate)
                #expect(error?.message.contains(tls.certificate) == true)
            }
        }
    }
}
