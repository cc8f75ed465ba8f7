import Foundation
import FuturesGateway
import GatewayAccess
import Testing

@testable import futures_gateway

@Suite struct AccessConfigurationTests {
    private let hash = APIKeys.hash(of: "a key of more than 128 bits")

    private func read(_ flags: [String: String]) throws -> ServeConfiguration { try ServeConfiguration(flags: flags, environment: [:]) }

    private func mistakes(_ flags: [String: String]) -> [String] {
        do { _ = try read(flags) } catch { return (error as? Mistakes)?.sentences ?? [] }
        return []
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "2001:db8::1"])
    func whatOtherMachinesReachNeedsKeysOrLeave(host: String) throws {
        #expect(
            mistakes(["host": host]) == [
                "--host: other machines can reach \(host), but neither keys nor jwks is set; set one of them, or allow-anonymous."
            ])
        #expect(try read(["host": host, "allow-anonymous": "true"]).gateway.access.hasCredentials == false)
        let keys = try TemporaryFile("dashboard: {hash: \(hash), streams: ['*']}\n")
        #expect(try read(["host": host, "keys": keys.path]).gateway.access.keys != nil)
    }

    @Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    func loopbackNeedsNone(host: String) throws { #expect(try read(["host": host]).gateway.access.hasCredentials == false) }

    @Test func keysAreASectionOrAFile() throws {
        let file = try TemporaryFile("host: 0.0.0.0\nkeys:\n  dashboard:\n    hash: \(hash)\n    streams: ['btcusdt@*']\n    expires: 2027-01-31\n")
        let configuration = try read(["config": file.path])
        #expect(configuration.gateway.access.keys != nil)
        #expect(configuration.texts["keys"]?.hasPrefix("a section (") == true)
        #expect(!configuration.settings.yaml.contains(hash) && !configuration.texts.values.contains { $0.contains(hash) })
        let json = try TemporaryFile(#"{"dashboard":{"hash":"\#(hash)","streams":["*"]}}"#)
        let first = try read(["keys": json.path]).texts["keys"]
        try json.write(#"{"dashboard":{"hash":"\#(hash)","streams":["x"]}}"#)
        #expect(try read(["keys": json.path]).texts["keys"] != first)
    }

    @Test func whatIsWrongWithAKeyIsNamedWithItsPlaceAndNoHash() throws {
        let keys = try TemporaryFile("dashboard: {hash: \(hash), stream: ['*']}\n")
        let sentence = try #require(mistakes(["keys": keys.path]).first)
        #expect(sentence.hasPrefix("--keys: Key dashboard: stream is not a member"))
        #expect(!sentence.contains(hash))
        #expect(mistakes(["keys": "/nowhere"]) == ["--keys: /nowhere cannot be read; check the path and the permissions."])
        #expect(mistakes(["jwks": "/nowhere"]) == ["--jwks: /nowhere cannot be read; check the path and the permissions."])
        let set = try TemporaryFile(#"{"keys":[{"kty":"oct","k":"\#(String(repeating: "A", count: 43))"}]}"#)
        #expect(mistakes(["jwks": set.path]).first?.contains("jwt-shared-secrets") == true)
        #expect(mistakes(["jwks": set.path, "jwt-shared-secrets": "true"]).isEmpty)
    }

    @Test func whatHasNoEffectIsNamed() {
        for name in ["jwt-issuer", "jwt-audience", "jwt-shared-secrets"] {
            #expect(mistakes([name: "true"]) == ["--\(name) has no effect without jwks; set jwks to the key set that tokens are signed with."])
        }
    }

    @Test func limitsAndProxiesReachTheGateway() throws {
        let access = try read(["trusted-proxies": "10.0.0.0/8,::1", "key-streams": "7", "address-requests": "0", "open-metrics": "true"]).gateway
            .access
        #expect(access.proxies.count == 2 && access.keyLimits.streams == 7 && access.addressLimits.requests == 0 && access.opensMetrics)
        #expect(mistakes(["trusted-proxies": "10.0.0.0/33"]).count == 1)
    }

    @Test func oneKeyOrAddressHasHalfOfAllStreams() throws {
        let access = try read(["max-streams": "300"]).gateway.access
        #expect(access.keyLimits.streams == 150 && access.addressLimits.streams == 150)
        #expect(
            mistakes(["max-streams": "300", "address-streams": "300"]) == [
                "--address-streams: one client could use all streams, because 300 is not below max-streams, 300; set a lower value, or 0 to allow it."
            ])
        #expect(mistakes(["key-streams": "5000"]).count == 1)
        #expect(mistakes(["key-streams": "0", "address-streams": "1999"]).isEmpty)
    }

    @Test func aFileWithoutAKeyIsAMistake() throws {
        let keys = try TemporaryFile("")
        for text in ["", "{}\n"] {
            try keys.write(text)
            #expect(mistakes(["keys": keys.path]) == ["--keys contains no key; add one, or leave the setting out."])
        }
    }

    @Test func everySettingOfAccessIsReloaded() {
        let list = ServeSettings()
        let names = ServeSettings.all.map(\.name).filter { $0.hasPrefix("key") || $0.hasPrefix("jw") || $0.hasPrefix("address-") }
        #expect(Set(names).isSubset(of: list.access) && Set(list.access).isSubset(of: ServeSettings.all.map(\.name)))
    }
}
