import ArgumentParser
import Foundation
import FuturesFeed
import FuturesGateway
import GatewayTestSupport
import MicroHTTP
import Testing

@testable import futures_gateway

@Suite struct ConfigurationTests {
    private func read(_ flags: [String: String] = [:], _ environment: [String: String] = [:], file text: String? = nil) throws -> ServeConfiguration {
        guard let text else { return try ServeConfiguration(flags: flags, environment: environment) }
        let file = try TemporaryFile(text)
        return try ServeConfiguration(flags: flags.merging(["config": file.path]) { $1 }, environment: environment)
    }

    private func mistakes(_ flags: [String: String] = [:], _ environment: [String: String] = [:], file: String? = nil) -> [String] {
        do { _ = try read(flags, environment, file: file) } catch {
            return (error as? Mistakes)?.sentences.map { $0.replacing(#/^\/.*\.yaml/#, with: "FILE") } ?? []
        }
        return []
    }

    @Test func aFlagWinsOverTheEnvironmentAndThatOverTheFile() throws {
        let file = "port: 1\nbars: 1\ntrades: 1\npinned: [btcusdt@markPrice, '!assetIndex@arr']\ndemo: true\n"
        let configuration = try read(["port": "3"], ["FUTURES_GATEWAY_PORT": "2", "FUTURES_GATEWAY_BARS": "2"], file: file)
        #expect(configuration.settings.port == 3)
        #expect(configuration.settings.bars == 2)
        #expect(configuration.settings.trades == 1)
        #expect(configuration.settings.linger == 60)
        #expect(configuration.settings.demo)
        #expect(configuration.gateway.pinned == [.markPrice(symbol: "BTCUSDT"), .assetIndex])
        #expect(configuration.gateway.http.port == 3)
    }

    @Test func whatIsEmptyIsNotGiven() throws {
        #expect(try read([:], ["FUTURES_GATEWAY_PORT": ""], file: "bars:\nhost: ~\n").settings.bars == 500)
        #expect(try read(file: "# nothing yet\n").settings.port == 8080)
    }

    @Test func everyMistakeIsNamedAtOnceWithItsPlace() throws {
        let file = "port: 70000\nvenue: nasdaq\nhost: {a: 1}\nprot: 1\nupstreams:\n  a: {kind: x}\n  b: {kind: bux, token: '${NONE}'}\n"
        let environment = ["FUTURES_GATEWAY_PORT": "http", "FUTURES_GATEWAY_REST_ULR": "x", "FUTURES_GATEWAY_URL": "http://x"]
        #expect(
            mistakes(["trades": "0", "pinned": "nope", "port": "1"], environment, file: file) == [
                "FILE:2: venue is \"nasdaq\"; it must be aster, apollox, binance or hyperliquid, separated by commas.",
                "FILE:3: host is a section; it must be an IPv4 or IPv6 address or localhost.",
                "FUTURES_GATEWAY_PORT is \"http\"; it must be 0 to 65535.",
                "FILE:1: port is \"70000\"; it must be 0 to 65535.",
                "--trades is \"0\"; it must be 1 to 1000.",
                "FILE:4: prot is not a setting. Did you mean port?",
                "FUTURES_GATEWAY_REST_ULR is not a setting. Did you mean FUTURES_GATEWAY_REST_URL?",
                "FILE:6: Upstream a: kind must be one of futures, graphql, intrinio, bux, hyperliquid.",
                "FILE:7: The upstreams file refers to ${NONE}, which is not set.",
                "--pinned: \"nope\" is not a stream. The kind of stream is missing, for example @markPrice. Did you mean nope@markPrice?",
            ])
    }

    @Test func everyMistakeWithinOneSettingIsNamedToo() throws {
        let file = """
            pinned: [btcusdt@markprice, btcusdt@kline, '!assetIndex@arr', 'a:b']
            cors-origins: [https://a.example, a.example, b.example]
            keys: {ann: {hash: x, stream: a}, bob: {hash: y, streams: ['*'], maxStreams: -1}}
            upstreams:
              a: {kind: bux, webSocket: 'http://x', http: 'ws://x', language: ''}
              b: {kind: bux, webSocket: '${A}', token: '${B}', http: '${A}'}
              c: {kind: intrinio, wire: x, tradesOnly: 1}
              d: {kind: graphql, transport: x, sub: 1, streams: {a: 1, b: {subscription: q}}}

            """
        #expect(
            mistakes(file: file) == [
                "FILE:2: cors-origins has \"a.example\"; it must be origins such as https://a.example, separated by commas; * for any page, without credentials.",
                "FILE:2: cors-origins has \"b.example\"; it must be origins such as https://a.example, separated by commas; * for any page, without credentials.",
                "FILE:5: Upstream a: webSocket must be an address, ws:// or wss://; http must be an address, http:// or https://; "
                    + "token must be the bearer token, printable characters of ASCII without space; language must be an Accept-Language value, such as nl-NL,en;q=0.8.",
                "FILE:6: The upstreams file refers to ${A}, ${B}, which are not set.",
                "FILE:7: Upstream c: wire must be equities or phoenix; apiKey must be the key; or give user and password; tradesOnly must be true or false.",
                "FILE:8: Upstream d: sub is unknown; transport must be websocket, multipart or sse; a must be an object; "
                    + "path must be the path of the content in data, such as priceUpdated or market.price.",
                "FILE:3: keys: Key ann: stream is not a member; use hash, streams, operations, maxStreams, maxConnections, expires.",
                "FILE:3: keys: Key ann: hash must be the 64 hexadecimal digits that futures-gateway hash-key prints.",
                "FILE:3: keys: Key ann: streams is missing; it must be a list of patterns, such as [\"btcusdt@*\"], or [\"*\"] for all streams.",
                "FILE:3: keys: Key bob: hash must be the 64 hexadecimal digits that futures-gateway hash-key prints.",
                "FILE:3: keys: Key bob: maxStreams must be 0 to 1000000.",
                "FILE:1: pinned: \"btcusdt@markprice\" is not a stream. The part after the @ is case-sensitive. Did you mean btcusdt@markPrice?",
                "FILE:1: pinned: \"btcusdt@kline\" is not a stream. The interval is missing. Available: 1m, 3m, 5m, 15m, 30m, 1h, 2h, 4h, 6h, 8h, 12h, 1d, "
                    + "3d, 1w, 1M. Did you mean btcusdt@kline_1m?",
                "FILE:1: pinned: a:b is a stream of the upstream a, which neither venue nor upstreams contains.",
            ])
    }

    @Test func aVenueHasTwoLinesAndADemoOneAndWhatLinesHaveIsGivenForEach() throws {
        #expect(try read([:]).gateway.feed.lines == [UpstreamLine(), UpstreamLine()])
        #expect(try read(["demo": "true"]).gateway.feed.lines == [UpstreamLine()])
        let lines = try read(["lines": "2", "line-addresses": "127.0.0.2,127.0.0.3", "line-proxies": "http://a:1,http://b:2"]).gateway.feed.lines
        #expect(
            lines == [UpstreamLine(localAddress: "127.0.0.2", proxy: "http://a:1"), UpstreamLine(localAddress: "127.0.0.3", proxy: "http://b:2")])
        #expect(
            mistakes(["lines": "3", "line-addresses": "127.0.0.2"]) == [
                "--line-addresses: number of entries 1, number of lines 3; give one entry per line."
            ])
        #expect(mistakes(["lines": "5"]) == ["--lines is \"5\"; it must be 1 to 4."])
        #expect(mistakes(["lines": "1", "line-addresses": "example.com"]).count == 1)
    }

    @Test func venuesAreAListOfWhichTheFirstHasNoPrefix() throws {
        let feed = try read(["venue": "binance,aster, hyperliquid", "pinned": "btcusdt@trade,aster:btcusdt@trade,hyperliquid:BTC@book"]).gateway.feed
        #expect(feed.venue == .binance && feed.upstreamNames == ["aster", "hyperliquid"])
        #expect(feed.dialect.upstreams.map(\.venue) == ["binance", "aster", nil])
        // A section sets the addresses of a venue, and its place.
        let section = """
            venue: [aster, hyperliquid, binance]
            upstreams: {binance: {kind: futures, restURLs: ['http://a:1'], webSocketURLs: ['ws://a:2', 'ws://b:2'], lines: 2, bars: 1500, trades: 9}}

            """
        let configured = try read([:], file: section).gateway.feed
        #expect(configured.upstreamNames == ["binance", "hyperliquid"] && configured.dialect.upstreams.map(\.lines) == [1, 2, 1])
        #expect(configured.dialect.parts[1].hosts.webSocket == 2 && configured.dialect.parts[0].hosts.webSocket == 1)
    }

    @Test func aListOfVenuesHasNoVenueTwiceAndBeginsWithAFuturesVenue() {
        #expect(mistakes(["venue": "hyperliquid,aster"]) == ["--venue: the first venue must be aster, apollox or binance."])
        #expect(mistakes(["venue": "aster,binance,binance"]) == ["--venue has a venue twice."])
        #expect(mistakes(["venue": "aster,aster"]) == ["--venue has a venue twice."])
        let file = "upstreams: {aster: {kind: futures}}\n"
        #expect(mistakes(file: file) == ["aster is the first venue and also in upstreams; leave it out of one of them."])
        for (upstream, rule) in [
            ("binance: {kind: bux, webSocket: 'wss://x/y', token: t}", "Upstream binance: kind must be futures for this name."),
            ("other: {kind: futures}", "Upstream other: an upstream of the kind futures must have the name of its venue: aster, apollox, binance."),
            (
                "binance: {kind: futures, restURLs: ['http://a'], bars: 0, trades: x, lines: 1}",
                "Upstream binance: bars must be a number from 1 to 1500; trades must be a number from 1 to 1000; "
                    + "restURLs, webSocketURLs must be given together, or neither."
            ),
            (
                "binance: {kind: futures, restURLs: 'http://a', webSocketURLs: ['http://a/']}",
                "Upstream binance: restURLs must be a list of strings; "
                    + "webSocketURLs must be a list of addresses without a path, such as [\"wss://host\"]."
            ),
        ] {
            #expect(mistakes(file: "upstreams: {\(upstream)}\n") == ["FILE:1: " + rule])
        }
    }

    @Test func thereAreAtMostTwoHundredUpstreams() {
        let upstreams = (0..<201).map { "hyperliquid-\($0): {kind: hyperliquid}" }
        #expect(mistakes(file: "upstreams: {\(upstreams.dropLast().joined(separator: ", "))}\n").isEmpty)
        let sentences = mistakes(file: "upstreams: {\(upstreams.joined(separator: ", "))}\n")
        #expect(sentences == ["FILE:1: There are more than 200 upstreams; use several gateways."])
    }

    @Test func twoHalvesOfTwoVenuesAreRefusedAndADemoOfAVenueToo() throws {
        let half = ["rest-url": "http://127.0.0.1:1"], other = ["ws-url": "ws://127.0.0.1:1"]
        #expect(mistakes(half) == ["--rest-url needs ws-url too: otherwise REST and WebSocket would use different hosts, one of them aster's."])
        #expect(
            mistakes(other, ["FUTURES_GATEWAY_VENUE": "binance"]) == [
                "--ws-url needs rest-url too: otherwise REST and WebSocket would use different hosts, one of them binance's."
            ])
        #expect(mistakes(half, ["FUTURES_GATEWAY_WS_URL": "ws://127.0.0.1:1"]).isEmpty)
        #expect(
            mistakes(["demo": "true"], file: "venue: aster\n") == [
                "FILE:1: venue has no effect with demo, which runs its own exchange; leave one of them out."
            ])
    }

    @Test(arguments: [
        ("port: [", "FILE:2 is not valid YAML: did not find expected node content."),
        ("- port\n", "FILE:1 is not a mapping; write lines of NAME: VALUE."),
        ("port: 1\nport: 2\n", "FILE:1 has port twice in one section; use each key once."),
        ("config: other.yaml\n", "FILE:1: config is not a setting."),
    ])
    func aFileThatIsNoneSaysWhere(text: String, sentence: String) {
        #expect(mistakes(file: text) == [sentence])
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["x: *", "? *"])
    func anAliasBombIsRefusedAtOnce(use: String) {
        var lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        for level in 1..<30 { lines.append("a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ","))]") }
        lines.append("\(use)a29")
        #expect(
            mistakes(file: lines.joined(separator: "\n")) == [
                "FILE:1 has a YAML anchor (&), which is not supported. Repeat the value, or quote a text that starts with &."
            ])
    }

    @Test func anAmpersandElsewhereIsText() throws {
        let text = "a: 'x &y' # see &z\nb: https://h/?c=d&e=f\nc: \"q\\\" &r\"\nd: [x&y, '&z']\ne: *\n".replacing("e: *", with: "e: '*'")
        #expect(try ConfigurationFile(text, path: "x").entries.map(\.text) == ["x &y", "https://h/?c=d&e=f", "q\" &r", "x&y,&z", "*"])
    }

    @Test func whatContradictsItselfIsNamed() {
        let useless = mistakes(["demo": "true"], ["FUTURES_GATEWAY_REST_URL": "http://a"])
        #expect(useless.first?.hasPrefix("FUTURES_GATEWAY_REST_URL has no effect") == true)
        let sentences = mistakes(["pinned": "price:A", "demo": "true"])
        #expect(sentences.first?.hasSuffix("which neither venue nor upstreams contains. Did you mean prices?") == true, "\(sentences)")
    }

    @Test func upstreamsAreASectionOrAFileOfYAMLOrJSON() throws {
        let section = """
            a: {kind: bux, webSocket: "wss://x/y", token: "${TOKEN}", language: no}
            b:
              kind: intrinio
              apiKey: ${TOKEN}
            """
        let json = #"{"a":{"kind":"bux","webSocket":"wss://x/y","token":"${TOKEN}","language":"no"},"b":{"kind":"intrinio","apiKey":"${TOKEN}"}}"#
        let environment = ["TOKEN": "s3\"cret"]
        let indented = section.split(separator: "\n").map { "  \($0)\n" }.joined()
        #expect(try read([:], environment, file: "upstreams:\n\(indented)").gateway.feed.upstreamNames == ["a", "b"])
        for text in [section, json] {
            let file = try TemporaryFile(text)
            #expect(try read(["upstreams": file.path], environment).gateway.feed.upstreamNames == ["a", "b"])
            let overruled = try read(["upstreams": file.path], environment, file: "upstreams: {c: {kind: bux, webSocket: wss://x/y, token: t}}")
            #expect(overruled.gateway.feed.upstreamNames == ["a", "b"])
        }
    }

    @Test func aSectionBecomesTheJSONThatItWouldBe() throws {
        let text = "a: [1, -2.50, 1e3, 007, true, no, null, '1', \"\\u00e4\\n\"]\nb: {c: ~, d: {}, e: x y, f: 1:2}"
        let file = try ConfigurationFile(text, path: "x")
        #expect(file.entries.map(\.json) == [#"[1,-2.50,1e3,"007",true,"no",null,"1","ä\u000a"]"#, #"{"c":null,"d":{},"e":"x y","f":"1:2"}"#])
    }

    @Test func thePrintedConfigurationIsOneWhateverIsSet() throws {
        let (certificate, key) = (try TemporaryFile(TestCertificates.good.certificate), try TemporaryFile(TestCertificates.good.key))
        let jwks = try TemporaryFile(#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#)
        let keys = "{ann: {hash: \(String(repeating: "ab", count: 32)), streams: ['*', 'btcusdt@*'], maxStreams: 3, expires: 2099-01-31}}"
        let upstreams = """
            {prices: {kind: graphql, webSocket: 'wss://me:pa55@a.example/g', headers: {A: 'pa55', B: '${TOKEN}'}, connectingPayload: {a: {b: pa55}},
             streams: {q: {subscription: "subscription { a }", path: a}}}, stocks: {kind: intrinio, user: a, password: pa55, delayed: true},
             cfd: {kind: bux, webSocket: 'wss://x/y', token: "pa55"}}
            """
        let credentials = try TemporaryFile("me:pa55\n")
        let samples = [
            "cluster-role": "ingest", "cluster-servers": "nats://a.example:4222", "cluster-name": "a-1", "cluster-credentials": credentials.path,
            "cluster-trust": certificate.path, "cluster-hot-standby": "true", "tape-directory": "/tmp/tape", "tape-streams": "'btcusdt@*'",
            "tape-messages": "true",
            "venue": "binance", "rest-url": "https://me:pa55@a.example,http://[::1]:80", "ws-url": "wss://a.example", "upstreams": upstreams,
            "line-addresses": "127.0.0.2,127.0.0.3", "line-proxies": "http://me:pa55@a.example:3128,http://b.example",
            "pinned": "[btcusdt@markPrice, '!assetIndex@arr', 'prices:q']", "host": "'::1'", "allowed-hosts": "a.example,b.example",
            "cors-origins": "[https://a.example]", "tls-certificate": certificate.path, "tls-key": key.path, "keys": keys, "jwks": jwks.path,
            "jwt-issuer": "a text", "jwt-audience": "yes", "jwt-shared-secrets": "true", "trusted-proxies": "10.0.0.0/8,fe80::/10",
            "log-level": "debug", "early-bars": "rest",
            "log-format": "text", "max-replay-bytes": "\(1 << 20)", "allow-anonymous": "true", "open-metrics": "true",
        ]
        var lines = ""
        for setting in ServeSettings.all where !["config", "demo"].contains(setting.name) {
            let number = setting.takes.split(separator: " ").first.flatMap { Int($0) }.map { "\($0 + 1)" }
            lines += "\(setting.name): \(try #require(samples[setting.name] ?? number, "\(setting.name) has no sample"))\n"
        }
        for text in ["", "demo: true\n", lines] {
            let configuration = try read([:], ["TOKEN": "t"], file: text)
            let yaml = configuration.settings.yaml
            #expect(!yaml.contains("pa55"))
            let again = try read([:], ["TOKEN": "t"], file: yaml)
            for setting in ServeSettings.all where !["config", "upstreams", "keys", "rest-url", "line-proxies"].contains(setting.name) {
                #expect(again.texts[setting.name] == configuration.texts[setting.name], "\(setting.name)")
            }
            #expect(again.settings.yaml.replacing(#/#.*/#, with: "") == yaml.replacing(#/#.*/#, with: ""))
        }
    }

    @Test func thePrintedConfigurationHidesSecretsAndCanBeReadAgain() throws {
        let text =
            "rest-url: https://me:pa55@a.example\nws-url: wss://a.example\npinned: btcusdt@markPrice\nupstreams: {b: {kind: intrinio, apiKey: k3y}}\n"
        let yaml = try read(["port": "9090"], ["FUTURES_GATEWAY_LOG_LEVEL": "info"], file: text).settings.yaml
        #expect(!yaml.contains("pa55") && !yaml.contains("k3y"))
        #expect(yaml.contains("\nport: 9090 # --port\n") && yaml.contains("\nlog-level: info # FUTURES_GATEWAY_LOG_LEVEL\n"))
        #expect(yaml.contains("\nlinger: 60 # default\n") && yaml.contains(#/\npinned: btcusdt@markPrice # .*:3\n/#))
        #expect(yaml.contains("\n# jwt-issuer: not set (any)\n") && yaml.contains("\n# cors-origins: not set (*)\n"))
        #expect(try ConfigurationFile(yaml, path: "x").entries.first { $0.name == "port" }?.text == "9090")
    }

    private struct Secretive: SettingList {
        let key = Setting.secret("key", takes: "a key", "A key")
        let code = Setting.optional("code", takes: "a number", "A code") { Int($0) }
    }

    @Test func aSecretIsInNoOutput() {
        var mistakes: [String] = []
        let settings = Settings<Secretive>(flags: ["key": "canary"], environment: [:], mistakes: &mistakes)
        #expect(settings.key == "canary")
        #expect(settings.yaml == "key: \"(hidden)\" # --key\n# code: not set\n")
        #expect(settings.list.key.shown("canary") == "(hidden)")
        _ = Settings<Secretive>(flags: ["code": "x"], environment: [:], mistakes: &mistakes)
        #expect(mistakes == ["--code is \"x\"; it must be a number."])
    }

    @Test func everyDefaultIsWhatItsSettingTakesAndEveryNameIsThereOnce() throws {
        for setting in ServeSettings.all + ExchangeSettings.all + WatchSettings.all {
            // An optional setting has no default; its text says what applies then.
            guard let text = setting.standardText, !setting.isOptional else { continue }
            #expect(setting.accepts(text), "\(setting.name)")
        }
        let variables = ServeSettings.variables + ExchangeSettings.variables + WatchSettings.variables
        #expect(Set(variables).count == variables.count)
        #expect(ServeSettings.all.count == Mirror(reflecting: ServeSettings()).children.count)
    }

    @Test func flagsAreMadeFromTheDeclarations() throws {
        let flags = try Flags<ServeSettings>.parse(["--demo", "--port", "70000", "--rest-url=http://a"])
        #expect(flags.given == ["demo": "true", "port": "70000", "rest-url": "http://a"])
        #expect(try Flags<ServeSettings>.parse(["--demo", "false"]).given == ["demo": "false"])
        #expect(throws: (any Error).self) { try Flags<ServeSettings>.parse(["--prot", "1"]) }
        for setting in ServeSettings.all { #expect(Flags<ServeSettings>.helpMessage().contains("--\(setting.name)")) }
    }

    @Test func theTableOfSettingsIsTheDeclarations() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/reference/settings.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let isSame = text.contains("\n" + ServeSettings.table)
        #expect(isSame, "docs/reference/settings.md has another table than this:\n\(ServeSettings.table)")
    }
}

/// A file that goes with its last reference.
final class TemporaryFile {
    let path: String

    init(_ text: String) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path(percentEncoded: false)
        try write(text)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String) throws { try text.write(toFile: path, atomically: true, encoding: .utf8) }
}
