import Crypto
import FoundationEssentials
import NIOCore
import Testing

@testable import NATS

@Suite struct ClientMessageTests {
    private static func written(_ message: ClientMessage) -> String {
        var buffer = ByteBuffer()
        message.write(into: &buffer)
        return String(buffer: buffer)
    }

    @Test func messagesAreWrittenAsTheProtocolHasThem() {
        #expect(Self.written(.ping) == "PING\r\n")
        #expect(Self.written(.pong) == "PONG\r\n")
        #expect(Self.written(.subscribe(subject: "a.*", id: 3)) == "SUB a.* 3\r\n")
        #expect(Self.written(.unsubscribe(id: 3)) == "UNSUB 3\r\n")
        #expect(Self.written(.publish(NATSPublication("a", payload: ByteBuffer(string: "xyz")))) == "PUB a 3\r\nxyz\r\n")
        #expect(Self.written(.publish(NATSPublication("a", reply: "b"))) == "PUB a b 0\r\n\r\n")
        let headers = [NATSPublication.Header(name: "A", value: "b"), .init(name: "Nats-Expected-Last-Sequence", value: "0")]
        let publication = NATSPublication("a", reply: "b", headers: headers, payload: ByteBuffer(string: "xyz"))
        let block = "NATS/1.0\r\nA: b\r\nNats-Expected-Last-Sequence: 0\r\n\r\n"
        #expect(Self.written(.publish(publication)) == "HPUB a b \(block.utf8.count) \(block.utf8.count + 3)\r\n\(block)xyz\r\n")
        #expect(publication.size == block.utf8.count + 3)
    }

    @Test func theGreetingNamesWhoThisIs() throws {
        let options = try ConnectOptions(name: "a", isEncrypted: false, credentials: .user(name: "u", password: "p\"w"), nonce: nil)
        let text = Self.written(.connect(options))
        #expect(text.hasPrefix("CONNECT {") && text.hasSuffix("}\r\n"))
        for part in [#""user":"u""#, #""pass":"p\"w""#, #""verbose":false"#, #""headers":true"#, #""no_responders":true"#, #""lang":"swift""#] {
            #expect(text.contains(part))
        }
        #expect(!text.contains("auth_token") && !text.contains("nkey"))
    }

    @Test(arguments: ["", ".", "a.", ".a", "a b", "a\r\nPING", "a\tb", "a.*", "a.>", String(repeating: "a", count: 1025)])
    func aSubjectThatWouldBreakItsLineIsRefused(subject: String) {
        #expect(throws: NATSError.self) { try NATSPublication(subject).check() }
        #expect(throws: NATSError.self) { try NATSPublication("a", reply: subject).check() }
    }

    @Test func aHeaderThatWouldBreakItsLineIsRefused() {
        for (name, value) in [("", "a"), ("a:", "b"), ("a b", "c"), ("a", "b\r\nc: d"), ("a\n", "b"), ("ä", "b")] {
            #expect(throws: NATSError.self) { try NATSPublication("a", headers: [.init(name: name, value: value)]).check() }
        }
        #expect(throws: Never.self) { try NATSPublication("a.b-c", headers: [.init(name: "a", value: "ä b")]).check() }
        #expect(throws: Never.self) { try NATSPublication.check(subject: "a.*.>", wildcards: true) }
    }

    @Test func addressesAreReadWithAndWithoutSchemeAndPort() throws {
        for (text, shown) in [
            ("a.test", "nats://a.test:4222"), ("nats://a.test:1", "nats://a.test:1"), ("tls://a.test/", "tls://a.test:4222"),
            ("nats://[::1]:9", "nats://[::1]:9"), ("[::1]", "nats://[::1]:4222"),
        ] { #expect(try ServerAddress(text).description == shown) }
        for text in ["", "nats://", "nats://a:b", "a:0", "a:65536", "http://a", "a:1:2", "[::1", "[::1]x", "nats://u:secret@a"] {
            let error = #expect(throws: NATSError.self) { try ServerAddress(text) }
            #expect(error?.message.contains("secret") == false)
        }
    }
}

@Suite struct NKeyTests {
    /// Made for this test with PyPI's `nkeys`; it opens nothing.
    private static let seed = "SUAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB6IC5CQ"
    private static let publicKey = "UB43KVROR7TFJ6KAPCYRF2FJROTZAH4FHLTJLPWX4DRZCC5NASLGJBFE"

    @Test func aSeedGivesThePublicKeyOfNATSOwnTool() throws {
        let key = try NKey(seed: " \(Self.seed)\n")
        #expect(key.publicKey == Self.publicKey)
    }

    @Test func aSignatureProvesTheKey() throws {
        let key = try NKey(seed: Self.seed)
        let signature = try key.signature(of: "nonce")
        #expect(signature.utf8.count == 86 && !signature.contains { "+/=".contains($0) })
        let bytes = try #require(NKey.decode(Self.publicKey.utf8))
        let shown = try Curve25519.Signing.PublicKey(rawRepresentation: bytes[1..<33])
        let padded = signature.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 } + "=="
        let raw = try #require(Data(base64Encoded: String(padded)))
        #expect(shown.isValidSignature(raw, for: Array("nonce".utf8)))
    }

    @Test func aSeedWithAnyOtherLetterIsRefused() throws {
        let letters = Array(Self.seed)
        for place in letters.indices {
            for other in "A7b1" where other != letters[place] {
                var changed = letters
                changed[place] = other
                let error = #expect(throws: NATSError.self) { try NKey(seed: String(changed)) }
                #expect(error?.message.contains(String(changed.prefix(10))) == false)
            }
        }
        for text in ["", "SU", Self.publicKey, String(Self.seed.dropLast()), Self.seed + "A"] {
            #expect(throws: NATSError.self) { try NKey(seed: text) }
        }
    }

    @Test func theChecksumIsTheOneOfXMODEM() { #expect(NKey.checksum("123456789".utf8) == 0x31C3) }

    @Test func nothingThatIsPrintedHoldsASecret() throws {
        let key = try NKey(seed: Self.seed)
        for credentials in [Credentials.user(name: "u", password: "hidden"), .token("hidden"), .key(key)] {
            let options = try ConnectOptions(name: "a", isEncrypted: true, credentials: credentials, nonce: "n")
            var dumped = "\(credentials) \(options) " + String(reflecting: credentials) + String(reflecting: options) + String(reflecting: key)
            dump((credentials, options), to: &dumped)
            dump(ClientMessage.connect(options), to: &dumped)
            #expect(!dumped.contains("hidden") && !dumped.contains(Self.seed))
            #expect(!dumped.contains(try key.signature(of: "n")))
        }
    }
}
