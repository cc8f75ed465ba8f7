import DemoExchange
import Foundation
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Testing

/// What was recorded, over HTTP.
@Suite(.serialized) struct ExportTests {
    private static let trades = "btcusdt@aggTrade"

    /// A house whose gateway records trades and books, for the time of the call.
    private static func open(_ body: (House) async throws -> Void) async throws {
        let path = TapeFolder.new()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await House.open(configure: {
            $0.tape = TapeConfiguration(directory: path, streams: ["*@aggTrade", "*@depth@100ms"].compactMap { StreamPattern($0) })
        }) { try await body($0) }
    }

    /// Waits until the tape has what was received up to this time.
    private static func awaitTape(_ time: Int64, _ client: GatewayClient) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try JSON(try await client.get("/tape").text)["to"]?.integer ?? 0 < time {
            guard ContinuousClock.now < deadline else { throw Unexpected("the tape does not go on") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func whatReadersGotIsExportedInOrder() async throws {
        try await Self.open { house in
            let reader = try await house.client.events("streams=\(Self.trades)")
            var told: [JSON] = []
            while told.count < 30 {
                let event = try await reader.next("update", of: Self.trades)
                if event.kind == "delta" { told.append(event.data) }
            }
            try await Self.awaitTape(told.last?["receivedAt"]?.integer.map { $0 + 1 } ?? .max, house.client)
            let answer = try await house.client.get("/tape/\(Self.trades)")
            #expect(answer.status == 200)
            let lines = try answer.text.split(separator: "\n").map { try JSON(String($0)) }
            let exported = lines.filter { $0["event"] == "update" && $0["kind"] == "delta" }
            let first = try #require(exported.firstIndex { $0["id"] == told[0]["id"] })
            #expect(exported[first...].prefix(told.count).map { $0["content"] } == told.map { $0["content"] })
            #expect(exported[first...].prefix(told.count).map { $0["id"] } == told.map { $0["id"] })
            // Behind an id, and from a time on, come the rest.
            let (id, at) = (try #require(told[9]["id"]?.text), try #require(exported[first]["at"]?.integer))
            let rest = try await house.client.get("/tape/\(Self.trades)?from=\(at)&after=\(id)").text.split(separator: "\n")
            let next = try #require(rest.lazy.compactMap { try? JSON(String($0)) }.first { $0["event"] == "update" })
            #expect(next["id"] == told[10]["id"])
        }
    }

    @Test func aSnapshotOfThePastIsWhatReadersHadThen() async throws {
        try await Self.open { house in
            let book = "ethusdt@depth@100ms"
            let reader = try await house.client.events("streams=\(book)")
            for _ in 0..<5 { _ = try await reader.next("update", of: book) }
            let tag = try JSON(try await house.client.get("/streams/\(book)").text)
            let now = try #require(tag["receivedAt"]?.integer)
            for _ in 0..<10 { _ = try await reader.next("update", of: book) }
            try await Self.awaitTape(now + 200, house.client)
            let then = try JSON(try await house.client.get("/streams/\(book)?at=\(now)").text)
            #expect(then["id"] == tag["id"] && then["content"] == tag["content"])
            #expect(then["kind"] == "full" && then["state"] == "live")
        }
    }

    @Test func whatIsNotThereIsToldWithItsReason() async throws {
        try await Self.open { house in
            _ = try await (try await house.client.events("streams=\(Self.trades)")).next("update", of: Self.trades)
            try await Self.awaitTape(1, house.client)
            let cases: [(path: String, status: Int, code: String?)] = [
                ("/tape/btcusdt@bookTicker", 404, "notRecorded"), ("/streams/btcusdt@bookTicker?at=5", 404, "notRecorded"),
                ("/tape/\(Self.trades)?from=5", 410, "agedOut"), ("/streams/\(Self.trades)?at=2020-01-01T00:00:00Z", 410, "agedOut"),
                ("/streams/\(Self.trades)?at=2090-01-01T00:00:00Z", 404, "notYet"), ("/tape/\(Self.trades)?from=yesterday", 400, nil),
                ("/tape/\(Self.trades)?after=x", 400, nil), ("/streams/\(Self.trades)?at=5&wait=3", 400, nil), ("/tape/nothing@all", 404, nil),
            ]
            for (path, status, code) in cases {
                let answer = try await house.client.get(path)
                #expect(answer.status == status, "\(path)")
                let problem = try JSON(answer.text)
                if let code { #expect(problem["code"]?.text == code, "\(path)") }
            }
        }
        try await House.open { house in
            for path in ["/tape", "/tape/\(Self.trades)", "/streams/\(Self.trades)?at=5"] {
                let answer = try await house.client.get(path)
                let problem = try JSON(answer.text)
                #expect(answer.status == 404 && problem["code"] == "noTape", "\(path)")
            }
        }
    }
}
