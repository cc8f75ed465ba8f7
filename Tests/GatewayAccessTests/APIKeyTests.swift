import Testing

@testable import GatewayAccess

@Suite struct APIKeyTests {
    private let hash = APIKeys.hash(of: "a key of more than 128 bits")

    private func refusal(_ json: String) -> String? {
        do throws(AccessError) { _ = try APIKeys(json: json) } catch { return error.message }
        return nil
    }

    @Test func aHashIsSHA256AndAKeyIs256RandomBits() {
        #expect(APIKeys.hash(of: "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let keys = (0..<1000).map { _ in APIKeys.random() }
        #expect(Set(keys).count == 1000)
        #expect(keys.allSatisfy { $0.hasPrefix("fgw_") && $0.utf8.count == 47 && Base64URL.decode($0.dropFirst(4).utf8)?.count == 32 })
    }

    @Test func aKeySaysWhatItPermits() throws {
        let json = #"{"a":{"hash":"\#(hash.uppercased())","streams":["x@*"],"operations":["read","metrics"],"maxStreams":3,"expires":"2027-01-31"}}"#
        let key = try #require(try APIKeys(json: json).key(withDigest: APIKeys.digest(of: "a key of more than 128 bits")))
        #expect(key.name == "a")
        #expect(key.permission.operations == [.read, .metrics])
        #expect(key.permission.maxStreams == 3)
        #expect(key.permission.expiresAt == 1_801_353_600)
    }

    @Test(arguments: [
        "[]", "{", "", #"{"a":1}"#, #"{"a":{"hash":"HASH"}}"#, #"{"a":{"streams":["*"]}}"#, #"{"a":{"hash":"HASH0","streams":["*"]}}"#,
        #"{"a":{"hash":"zz","streams":["*"]}}"#, #"{"a":{"key":"x","hash":"HASH","streams":["*"]}}"#, #"{"a":{"hash":"HASH","streams":["a b"]}}"#,
        #"{"a":{"hash":"HASH","streams":["*"],"operations":["all"]}}"#, #"{"a":{"hash":"HASH","streams":["*"],"expires":"tomorrow"}}"#,
        #"{"a":{"hash":"HASH","streams":["*"],"expires":"2027-02-29"}}"#, #"{"a":{"hash":"HASH","streams":["*"],"maxConnections":1.5}}"#,
        #"{"a":{"hash":"HASH","streams":["*"]},"b":{"hash":"HASH","streams":["*"]}}"#, #"{"a b":{"hash":"HASH","streams":["*"]}}"#,
        #"{"a":{"hash":"HASH","streams":["*"]},"a":{"hash":"HASH","streams":["*"]}}"#,
    ])
    func keysThatAreNoneSayWhyAndRepeatNoHash(json: String) throws {
        let message = try #require(refusal(json.replacing("HASH", with: hash)))
        #expect(!message.contains(hash))
    }

    @Test(arguments: [
        ("1970-01-01", 0), ("2000-02-29T00:00:00Z", 951_782_400), ("2026-11-21T12:30:08Z", 1_795_264_208), ("2100-03-01", 4_107_542_400),
    ])
    func aDateIsSecondsSince1970(text: String, seconds: Int64) { #expect(APIKeys.seconds(of: text) == seconds) }

    @Test(arguments: ["2100-02-29", "2026-13-01", "2026-00-01", "2026-01-01T24:00:00Z", "2026-1-1", "2026-01-01T00:00:00", "", "1969-12-31"])
    func whatIsNoDateIsNone(text: String) { #expect(APIKeys.seconds(of: text) == nil) }
}
