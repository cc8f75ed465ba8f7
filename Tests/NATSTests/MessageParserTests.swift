import FeedCore
import NATS
import NIOCore
import Testing

@Suite struct MessageParserTests {
    private static func read(_ text: String, by size: Int = .max, maximumPayload: Int = 1 << 20) throws -> [ServerMessage] {
        var parser = MessageParser(maximumPayload: maximumPayload)
        var messages: [ServerMessage] = []
        var rest = ArraySlice(text.utf8)
        while !rest.isEmpty {
            parser.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let message = try parser.next() { messages.append(message) }
        }
        return messages
    }

    private static let conversation =
        #"INFO {"server_id":"A","version":"2.12.8","max_payload":1048576,"nonce":"n","tls_required":false}"# + "\r\n+OK\r\nPING\r\n"
        + "MSG a.b 9 0\r\n\r\nMSG a.b 9 reply.to 5\r\n\r\nx\r\n\r\nHMSG a.b 10 r 22 25\r\nNATS/1.0\r\nA: b  c \r\n\r\nxyz\r\nPONG\r\n"
        + "HMSG _INBOX.1.2 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n-ERR 'Authorization Violation'\r\n"

    private static let messages: [ServerMessage] = [
        .info(ServerInfo(version: "2.12.8", requiresTLS: false, nonce: "n", maximumPayload: 1_048_576)), .ok, .ping,
        .message(NATSMessage(subject: "a.b", subscription: 9)),
        .message(NATSMessage(subject: "a.b", subscription: 9, reply: "reply.to", payload: ByteBuffer(string: "\r\nx\r\n"))),
        .message(
            NATSMessage(
                subject: "a.b", subscription: 10, reply: "r", headers: HeaderBlock(ByteBuffer(string: "NATS/1.0\r\nA: b  c \r\n\r\n")),
                payload: ByteBuffer(string: "xyz"))), .pong,
        .message(NATSMessage(subject: "_INBOX.1.2", subscription: 1, headers: HeaderBlock(ByteBuffer(string: "NATS/1.0 503\r\n\r\n")))),
        .error("Authorization Violation"),
    ]

    @Test func everyMessageOfTheProtocolIsRead() throws {
        #expect(try Self.read(Self.conversation) == Self.messages)
    }

    @Test(arguments: 1...40) func messagesAreTheSameHoweverTheBytesAreCut(size: Int) throws {
        #expect(try Self.read(Self.conversation, by: size) == Self.messages)
    }

    @Test func messagesAreTheSameAtRandomCuts() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            var parser = MessageParser(maximumPayload: 100)
            var messages: [ServerMessage] = []
            var rest = ArraySlice(Self.conversation.utf8)
            while !rest.isEmpty {
                let size = Int.random(in: 1...60, using: &random)
                parser.append(ByteBuffer(bytes: rest.prefix(size)))
                rest = rest.dropFirst(size)
                while Bool.random(using: &random), let message = try parser.next() { messages.append(message) }
            }
            while let message = try parser.next() { messages.append(message) }
            #expect(messages == Self.messages, "seed \(seed)")
            #expect(parser.isEmpty)
        }
    }

    @Test(arguments: [
        "HELLO\r\n", "PING\n", "msg a 1 0\r\n", "MSG a 1\r\n", "MSG a 1 -1\r\n", "MSG a 1 b c 0\r\n", "MSG a x 0\r\n",
        "MSG a 1 99999999999999999999\r\n",
        "MSG a 9223372036854775808 0\r\n", "MSG a 1 9223372036854775808\r\n", "MSG a 1 9223372036854775806\r\n", "MSG a 1 101\r\n",
        "MSG a 1 1\r\nabc", "HMSG a 1 9 8\r\n", "HMSG a 1 8\r\n", "INFO {}\r\n", "INFO\r\n",
        "\r\n",
        "MSG a 1 0\r\n+OK",
    ]) func whatIsNotTheProtocolIsRefused(text: String) {
        let error = #expect(throws: NATSError.self) { try Self.read(text, maximumPayload: 100) }
        #expect(error?.code == .protocolViolation)
    }

    @Test func aLineThatNeverEndsIsRefused() {
        #expect(throws: NATSError.self) { try Self.read(String(repeating: "x", count: MessageParser.maximumLine + 1)) }
        #expect(throws: NATSError.self) { try Self.read("INFO " + String(repeating: "x", count: MessageParser.maximumInfo), by: 1000) }
        #expect(throws: Never.self) { try Self.read("MSG " + String(repeating: "x", count: MessageParser.maximumLine - 10)) }
        #expect(throws: NATSError.self) { try Self.read("HMSG a 1 \(MessageParser.maximumHeaders + 1) \(MessageParser.maximumHeaders + 1)\r\n") }
    }

    @Test func whatAServerComplainsOfIsReadAsPrintableText() throws {
        #expect(try Self.read("-ERR 'a\u{1B}[31mb\u{85}'\r\n") == [.error("a[31mb")])
    }

    @Test func aHeaderIsFoundByItsName() {
        let block = HeaderBlock(ByteBuffer(string: "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Stream: 17 \r\nNats-Last:18\r\nbad\r\nEmpty:\r\n\r\n"))
        #expect(block.status == 100)
        #expect(block["Nats-Last-Stream"] == "17")
        #expect(block["Nats-Last"] == "18")
        #expect(block["Empty"] == "")
        #expect(block["nats-last"] == nil)
        #expect(block["NATS/1.0 100 Idle Heartbeat"] == nil)
    }

    @Test(arguments: ["", "NATS/1.0", "NATS/2.0 503\r\nA: b\r\n\r\n", "NATS/1.0 5031\r\n\r\n", "NATS/1.0  503\r\n", "A: b\r\n"])
    func aMalformedBlockHasNoStatus(text: String) {
        let block = HeaderBlock(ByteBuffer(string: text))
        #expect(block.status == nil)
        #expect(block["A"] == nil)
    }

    @Test func versionsAreOrderedByTheirNumbers() {
        #expect(ServerVersion("2.9.10").map { $0 < .required } == true)
        #expect(ServerVersion("2.11.5") == .required)
        #expect(ServerVersion("2.14.0-beta.1").map { $0 > .advised } == true)
        for text in ["", "2", "2.1", "a.b.c", "2..1", "2.1.-3", "99999999.1.1"] { #expect(ServerVersion(text) == nil) }
    }
}
