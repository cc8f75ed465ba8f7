import NIOCore
import Testing

@testable import FeedDialects
@testable import FuturesFeed

struct TransportValueTests {
    @Test(arguments: [
        ("ws://a.test", "a.test", 80, "/", "a.test", false),
        ("WSS://Fstream.Example.com/stream", "fstream.example.com", 443, "/stream", "fstream.example.com", true),
        ("ws://a.test:8080/ws/btcusdt@depth?x=1&y=/", "a.test", 8080, "/ws/btcusdt@depth?x=1&y=/", "a.test:8080", false),
        ("ws://a.test?x=1", "a.test", 80, "/?x=1", "a.test", false),
        ("ws://a.test:80/", "a.test", 80, "/", "a.test", false),
        ("wss://a.test:80/", "a.test", 80, "/", "a.test:80", true),
        ("wss://[2001:DB8::1]:9443/x", "2001:db8::1", 9443, "/x", "[2001:db8::1]:9443", true),
        ("ws://[::1]", "::1", 80, "/", "[::1]", false),
        ("ws://127.0.0.1:1", "127.0.0.1", 1, "/", "127.0.0.1:1", false),
    ])
    func addressesAreTakenApart(_ text: String, host: String, port: Int, target: String, hostHeader: String, isSecure: Bool) throws {
        let url = try WebSocketURL(text)
        #expect(url.host == host)
        #expect(url.port == port)
        #expect(url.target == target)
        #expect(url.hostHeader == hostHeader)
        #expect(url.isSecure == isSecure)
    }

    @Test(arguments: [
        "", "ws:", "ws://", "http://a.test/", "a.test", "ws://a.test:0", "ws://a.test:65536", "ws://a.test:", "ws://a.test:+1", "ws://a.test:1:2",
        "ws://user:pass@a.test/", "ws://a.test/#x", "ws://a test/", "ws://a.test/\r\nX: y", "ws://bücher.test/", "ws://[::1", "ws://[::1]x",
        "ws://[]/",
        "ws://[a.test]/", "ws:///path", "ws://a.test:99999999999999999999/", "ws://a/" + String(repeating: "x", count: 9000),
    ])
    func addressesThatCannotBeOpenedAreRefused(_ text: String) {
        let error = #expect(throws: TransportError.self) { try WebSocketURL(text) }
        #expect(error?.code == .invalidURL)
    }

    @Test func passwordsInAnAddressAreNotRepeated() {
        let error = #expect(throws: TransportError.self) { try WebSocketURL("ws://user:secret@a.test/") }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }

    @Test func aCloseReasonIsCutAtACharacter() {
        let payload = ClosePayload.bytes(code: 1000, reason: String(repeating: "ü", count: 100))
        #expect(payload.readableBytes == 2 + 122)
        #expect(String(validating: payload.readableBytesView.dropFirst(2), as: UTF8.self) != nil)
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535] as [UInt16])
    func aCodeThatMayNotBeSentIsLeftOut(code: UInt16) {
        #expect(ClosePayload.bytes(code: code, reason: "x").readableBytes == 0)
    }

    @Test(
        arguments: [
            ("17", nil, 17), (" 17 ", nil, 17), ("0", nil, 0), ("99999999999999999999999", nil, 30 * 86_400), ("-1", nil, nil), ("soon", nil, nil),
            ("", nil, nil),
            ("Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 60),
            ("Tue, 01 Mar 2016 00:00:01 GMT", "Sun, 28 Feb 2016 23:59:59 GMT", 86_402),
            ("Wed, 01 Jan 2025 00:00:00 GMT", "Tue, 31 Dec 2024 23:59:30 GMT", 30),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT", 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT", nil, nil), ("Sun, 32 Nov 1994 08:50:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT", nil),
        ] as [(String, String?, Int?)])
    func retryAfterIsSecondsOrADate(_ value: String, date: String?, seconds: Int?) {
        #expect(parseRetryAfter(value, date: date) == seconds.map { .seconds($0) })
    }

    @Test func anExcerptIsPrintableAndShort() {
        #expect([0x41, 0x0A, 0x1B, 0x42, 0xFF].excerpt == "A  B\u{FFFD}")
        #expect([UInt8](repeating: 0xFF, count: 600).excerpt.utf8.count <= 512)
    }
}
