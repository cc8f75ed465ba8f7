import Foundation
import GatewayTestSupport
import Glibc
import Testing

@Suite struct OperationTests {
    @Test func aLogThatNobodyReadsNeverDelaysTheFeed() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).yaml").path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "demo: true\nport: 0\n".write(toFile: file, atomically: true, encoding: .utf8)
        let program = try await Program(["serve", "--config", file], readsErrors: false)
        let client = try await program.client()
        let reader = try await client.events("streams=btcusdt@bookTicker")
        _ = try await reader.next("update")
        // Every reload tells each mistake; together they are more than the pipe and the buffer hold.
        var dropped = 0
        var round = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while dropped == 0 {
            round += 1
            let mistakes = (0..<500).map { "mistake-\(round)-\($0)-\(String(repeating: "x", count: 100)): 1\n" }.joined()
            try ("demo: true\nport: 0\n" + mistakes).write(toFile: file, atomically: true, encoding: .utf8)
            program.send(SIGHUP)
            for _ in 0..<3 { _ = try await reader.next("update") }
            dropped = try await Self.droppedLines(client)
            guard ContinuousClock.now < deadline else { throw Unexpected("the log never filled up") }
        }
        let start = ContinuousClock.now
        for _ in 0..<20 { _ = try await reader.next("update") }
        print("\(dropped) lines left out after \(round) reloads; 20 events in \(ContinuousClock.now - start)")
        #expect(try await client.get("/healthz").status == 200)
        program.send(SIGTERM)
        #expect(try await reader.rest().events.last?.name == "bye")
        #expect(try await program.exitStatus() == 0)
    }

    private static func droppedLines(_ client: GatewayClient) async throws -> Int {
        let text = try await client.get("/metrics").text
        return text.firstMatch(of: /futures_gateway_log_lines_dropped_total\{reason="full"\} (\d+)/).flatMap { Int($0.1) } ?? 0
    }

    @Test func theLogIsJSONWhereNobodyLooksOnAndTextWhereItIsAskedFor() async throws {
        let json = try await Program("serve", "--demo", "--port", "0")
        #expect(try await json.error(containing: "listening").hasPrefix("{\"time\":\""))
        let text = try await Program("serve", "--demo", "--port", "0", "--log-format", "text")
        #expect(try await text.error(containing: "listening").contains("Z notice listening url=http://127.0.0.1:"))
    }

    @Test func healthTellsWhetherAGatewayAnswers() async throws {
        let program = try await Program("serve", "--demo", "--port", "0")
        let port = try await program.client().port
        let well = try await Program("health", "--port", "\(port)")
        #expect(try await well.line() == "http://127.0.0.1:\(port)/healthz: 200 ok")
        #expect(try await well.exitStatus() == 0)
        let environment = ["FUTURES_GATEWAY_PORT": "\(port)", "FUTURES_GATEWAY_HOST": "0.0.0.0"]
        let ready = try await Program(["health", "--ready", "--url", "http://localhost:\(port)"], environment: environment)
        #expect(try await ready.line().hasPrefix("http://localhost:\(port)/readyz: "))
        let beside = try await Program("health", environment: environment)
        #expect(try await beside.exitStatus() == 0)

        program.send(SIGTERM)
        #expect(try await program.exitStatus() == 0)
        let gone = try await Program("health", "--port", "\(port)")
        #expect(try await gone.exitStatus() == 1)
        #expect(try await gone.line().hasPrefix("http://127.0.0.1:\(port)/healthz: "))
    }

    @Test func healthWaitsNoLongerThanItIsTold() async throws {
        let stopped = try await Program("serve", "--demo", "--port", "0")
        let port = try await stopped.client().port
        stopped.send(SIGSTOP)
        let start = ContinuousClock.now
        let program = try await Program("health", "--port", "\(port)", "--timeout", "1")
        #expect(try await program.exitStatus() == 1)
        #expect(ContinuousClock.now - start < .seconds(8))
    }
}
