import Testing

@testable import GatewayAccess

@Suite struct StrictJSONTests {
    @Test(arguments: [
        "", " ", "{", "[1,]", #"{"a":1,}"#, #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":1}"#, "01", "+1", "1.", ".5", "NaN", "tru", "'a'", "\"a",
        "\"\u{1}\"",
        #""\x""#, #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, "1 2", "{a:1}",
        String(repeating: "[", count: 17) + String(repeating: "]", count: 17), "\"\\",
        #""\u12""#, "-", "--1", "-01", "[01]", "1e", "1e+", "1.e1", "1-2", "1.2.3", "1e2e3",
    ])
    func whatIsNoJSONIsRefused(text: String) { #expect(StrictJSON(text.utf8) == nil) }

    @Test func bytesThatAreNoUTF8AreRefused() { #expect(StrictJSON([0x22, 0xC3, 0x28, 0x22]) == nil) }

    @Test func whatIsJSONIsRead() {
        #expect(
            StrictJSON(#" {"a":[1,-2.5e3,true,false,null,"\u00e4\ud83d\ude00\n\/"],"b":{}} "#.utf8)?.object?["a"]
                == .array([
                    .number("1"), .number("-2.5e3"), .flag(true), .flag(false), .null, .string("ä😀\n/"),
                ]))
        #expect(StrictJSON("1e3".utf8)?.integer == 1000)
        #expect(StrictJSON("1.5".utf8)?.integer == nil)
        #expect(StrictJSON("-9223372036854775808".utf8)?.integer == .min)
        #expect(StrictJSON("-9223372036854775809".utf8)?.integer == nil)
        #expect(StrictJSON("1e400".utf8)?.seconds == nil)
    }

    @Test(arguments: ["0", "-0", "10", "-1.05", "0e0", "1E+2", "1.5e-10"]) func aNumberKeepsItsText(text: String) {
        #expect(StrictJSON(text.utf8) == .number(text))
    }

    /// Whatever bytes come, nothing traps.
    @Test func arbitraryBytesAreReadOrRefused() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        let alphabet = Array(#"{}[]",:\u0123456789abcdeEtrufalsn -+."#.utf8) + [0xC3, 0xA4, 0xFF, 0]
        for _ in 0..<20_000 {
            let bytes = (0..<(next() % 24)).map { _ in alphabet[Int(next() % UInt64(alphabet.count))] }
            _ = StrictJSON(bytes)
            _ = Base64URL.decode(bytes)
            _ = Address(String(decoding: bytes, as: UTF8.self))
        }
    }

    @Test func base64URLHasOneSpelling() {
        for length in 0..<40 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max) }
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
        for text in ["A", "AB", "AAB", "AA==", "+/", "A A", "AAAAA"] { #expect(Base64URL.decode(text.utf8) == nil, "\(text)") }
        #expect(Base64URL.decode("AA".utf8) == [0])
    }
}
