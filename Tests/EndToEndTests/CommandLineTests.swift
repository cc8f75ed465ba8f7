import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

@Suite struct CommandLineTests {
    @Test func oneCommandServesLiveDemoDataAndTellsWhere() async throws {
        let program = try await Program("serve", "--demo", "--port", "0")
        let line = try await program.line()
        let match = try #require(line.wholeMatch(of: /FuturesGateway serves the embedded exchange at http:\/\/127\.0\.0\.1:(\d+)/), "\(line)")
        let client = GatewayClient(port: try #require(Int(match.1)))
        let snapshot = try await client.get("/streams/btcusdt@markPrice")
        #expect(snapshot.status == 200)
        #expect(try snapshot.json["content"]?["symbol"] == "BTCUSDT")
        let upstreams = try await client.get("/streams").json["upstreams"]?.array ?? []
        #expect(upstreams.compactMap { $0["name"]?.text } == ["demo", "binance", "prices", "stocks", "bux", "hyperliquid"])
        #expect(upstreams.allSatisfy { $0["simulated"] == true })
        #expect(try await program.error(containing: "simulated").contains("notice"))
        let reader = try await client.events("streams=btcusdt@markPrice,!assetIndex@arr")
        #expect(try await reader.next("update", of: "!assetIndex@arr") { $0.kind == "delta" }.rows.isEmpty == false)
        #expect(try await client.get("/readyz").status == 200)
    }

    @Test(arguments: [
        (["--trades", "0"], [:], "trades"), (["--bars", "many"], [:], "bars"), (["--port", "65536"], [:], "port"),
        (["--venue", "nasdaq"], [:], "venue"), (["--rest-url", "ftp://x"], [:], "rest-url"), (["--ws-url", "http://x"], [:], "ws-url"),
        (["--linger", "-1"], [:], "linger"), (["--max-connections", "0"], [:], "max-connections"), (["--replay-bytes", "4095"], [:], "replay-bytes"),
        (["--replay-events", "0"], [:], "replay-events"), (["--replay-seconds", "0"], [:], "replay-seconds"),
        (["--cors-origins", "a.example"], [:], "cors-origins"),
        ([], ["FUTURES_GATEWAY_CORS_ORIGINS": "https://a.example/x"], "FUTURES_GATEWAY_CORS_ORIGINS"),
        (["--log-level", "loud"], [:], "log-level"),
        (["--host", "nowhere"], [:], "nowhere"), ([], ["FUTURES_GATEWAY_PORT": "eighty"], "FUTURES_GATEWAY_PORT"),
        ([], ["FUTURES_GATEWAY_LINGER": "-5"], "FUTURES_GATEWAY_LINGER"), ([], ["FUTURES_GATEWAY_VENUE": "nasdaq"], "FUTURES_GATEWAY_VENUE"),
        ([], ["FUTURES_GATEWAY_DEMO": "maybe"], "FUTURES_GATEWAY_DEMO"),
    ])
    func aBadValueIsRefusedAtStartByName(arguments: [String], environment: [String: String], name: String) async throws {
        let program = try await Program(["serve"] + arguments, environment: environment)
        #expect(try await program.exitStatus() > 0)
        #expect(try await program.errorsToEnd().contains(name))
    }

    @Test func theEnvironmentSetsAnOptionAndAFlagWins() async throws {
        let taken = DemoExchange(configuration: DemoExchangeConfiguration())
        let port = try await taken.start()
        let environment = ["FUTURES_GATEWAY_PORT": String(port), "FUTURES_GATEWAY_DEMO": "true"]
        let refused = try await Program("serve", environment: environment)
        #expect(try await refused.exitStatus() > 0)
        #expect(try await refused.errorsToEnd().contains("Port \(port) on 127.0.0.1 is in use"))

        let served = try await Program("serve", "--port", "0", environment: environment)
        #expect(try await served.client().get("/healthz").status == 200)
        await taken.stop()
    }

    @Test func aConfigurationIsCheckedAndShownWithoutServing() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "port: 70000\nprot: 1\n".write(toFile: file, atomically: true, encoding: .utf8)
        for command in [["check-config"], ["serve"], ["serve", "--print-config"]] {
            let program = try await Program(command + ["--config", file, "--bars", "0"])
            #expect(try await program.exitStatus() == EX_CONFIG)
            let missing = try await Program(command + ["--config", file + ".none"])
            #expect(try await missing.exitStatus() == EX_CONFIG)
            let unknown = try await Program(command + ["--prot", "1"])
            #expect(try await unknown.exitStatus() == EX_USAGE)
            let errors = try await program.errorsToEnd()
            for place in ["\(file):1", "\(file):2", "--bars"] { #expect(errors.contains(place), "\(errors)") }
        }
        try "port: 1\n".write(toFile: file, atomically: true, encoding: .utf8)
        let checked = try await Program("check-config", environment: ["FUTURES_GATEWAY_CONFIG": file])
        #expect(try await checked.line() == "OK")
        #expect(try await checked.exitStatus() == 0)
        let shown = try await Program("serve", "--print-config", "--config", file)
        #expect(try await shown.line() == "# config: \(file) # --config")
        #expect(try await shown.exitStatus() == 0)
    }

    @Test func aGatewayThatIsNotThereIsSaidInPlainWords() async throws {
        let health = try await Program("health", "--url", "http://127.0.0.1:1")
        #expect(try await health.line() == "http://127.0.0.1:1/healthz: no process listens on this port")
        #expect(try await health.exitStatus() == 1)
        let unknown = try await Program("health", "--url", "http://nosuchhost.invalid:1")
        #expect(try await unknown.line().hasSuffix("the host name nosuchhost.invalid cannot be resolved"))
    }

    @Test func theVersionIsThatOfTheMetrics() async throws {
        let program = try await Program("--version")
        let version = try await program.line()
        #expect(try await program.exitStatus() == 0)
        let gateway = try await Program("serve", "--demo", "--port", "0")
        let metrics = try await gateway.client().get("/metrics")
        let words = try #require(version.wholeMatch(of: /(\S+) \(commit (\S+)\)/), "\(version)")
        #expect(metrics.text.contains("{commit=\"\(words.2)\",version=\"\(words.1)\"} 1"))
    }

    @Test func aKeyIsMadeServesAndIsRevokedByAReload() async throws {
        let maker = try await Program("hash-key", "--new")
        let key = try await maker.line().replacing("key: ", with: "")
        let hash = try await maker.line().replacing("hash: ", with: "")
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let refused = try await Program("serve", "--demo", "--host", "0.0.0.0", "--port", "0")
        #expect(try await refused.exitStatus() == EX_CONFIG)
        #expect(try await refused.errorsToEnd().contains("allow-anonymous"))

        try "demo: true\nport: 0\nhost: 0.0.0.0\nkeys:\n  ann: {hash: \(hash), streams: ['*']}\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let program = try await Program("serve", "--config", file)
        let client = try await program.client()
        #expect(try await client.get("/streams/btcusdt@markPrice").status == 401)
        #expect(try await client.get("/streams/btcusdt@markPrice", ["X-API-Key": key]).status == 200)
        let reader = try await client.events("streams=btcusdt@markPrice", ["X-API-Key": key])
        let watch = try await Program(
            "watch", "btcusdt@markPrice", "--json", "--url", "http://127.0.0.1:\(client.port)", environment: ["FUTURES_GATEWAY_KEY": key])
        #expect(try await watch.line().contains("session"))
        let other = String(repeating: "0a", count: 32)
        try "demo: true\nport: 0\nhost: 0.0.0.0\nkeys:\n  bob: {hash: \(other), streams: ['*']}\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        program.send(SIGHUP)
        #expect(try await reader.next("bye").data["code"] == "revoked")
        #expect(try await client.get("/streams/btcusdt@markPrice", ["X-API-Key": key]).status == 401)
        program.send(SIGTERM)
        let errors = try await program.errorsToEnd()
        #expect(errors.contains("keys: now ") && !errors.contains(key) && !errors.contains(hash), "\(errors)")
    }

    @Test func aReloadKeepsReadersAndSaysWhatNeedsARestart() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "demo: true\nport: 0\n".write(toFile: file, atomically: true, encoding: .utf8)
        let program = try await Program("serve", "--config", file)
        let client = try await program.client()
        let reader = try await client.events("streams=btcusdt@bookTicker")
        _ = try await reader.next("update")

        try "demo: true\nport: 1\nlog-level: debug\npinned: ethusdt@bookTicker\n".write(toFile: file, atomically: true, encoding: .utf8)
        program.send(SIGHUP)
        _ = try await program.error(containing: "pinned: now ethusdt@bookTicker")
        _ = try await program.error(containing: "port: needs a restart")
        _ = try await program.error(containing: "log-level: now debug")
        let deadline = ContinuousClock.now + .seconds(30)
        while try await client.get("/streams/ethusdt@bookTicker/status").json["state"] != "live" {
            guard ContinuousClock.now < deadline else { throw Unexpected("the pinned stream did not become live") }
            try await Task.sleep(for: .milliseconds(20))
        }

        try "demo: true\nport: x\npined: a\n".write(toFile: file, atomically: true, encoding: .utf8)
        program.send(SIGHUP)
        #expect(try await program.error(containing: "not reloaded").contains(#"port is \"x\""#))
        #expect(try await program.error(containing: "not reloaded").contains("Did you mean pinned?"))
        #expect(try await client.get("/streams/ethusdt@bookTicker/status").json["readers"] == 1)
        _ = try await reader.next("update")
        program.send(SIGINT)
        #expect(try await reader.rest().events.last?.name == "bye")
        #expect(try await program.exitStatus() == 0)
    }
}
