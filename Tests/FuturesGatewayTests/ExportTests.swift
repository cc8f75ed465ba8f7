import Foundation
import GatewayTestSupport
import Testing

/// What was recorded, over HTTP.
@Suite(.serialized) struct ExportTests {
    private static let trades = "btcusdt@aggTrade"

    @Test func whatReadersGotIsExportedInOrder() async throws {
        try await RecordingHouse.open { house in
            var told: [JSON] = []
            try await house.gateway { client in
                let reader = try await client.events("streams=\(Self.trades)")
                while told.count < 30 { told.append(try await reader.next("update") { $0.kind == "delta" }.data) }
            }
            try await house.gateway { client in
                let answer = try await client.get("/tape/\(Self.trades)")
                #expect(answer.status == 200)
                let lines = try answer.text.split(separator: "\n").map { try JSON(String($0)) }
                let exported = lines.filter { $0["event"] == "update" && $0["kind"] == "delta" }
                let first = try #require(exported.firstIndex { $0["id"] == told[0]["id"] })
                #expect(exported[first...].prefix(told.count).map { $0["content"] } == told.map { $0["content"] })
                #expect(exported[first...].prefix(told.count).map { $0["id"] } == told.map { $0["id"] })
                // Behind an id, and from a time on, come the rest.
                let (id, at) = (try #require(told[9]["id"]?.text), try #require(exported[first]["at"]?.integer))
                let rest = try await client.get("/tape/\(Self.trades)?from=\(at)&after=\(id)").text.split(separator: "\n")
                let next = try #require(rest.lazy.compactMap { try? JSON(String($0)) }.first { $0["event"] == "update" })
                #expect(next["id"] == told[10]["id"])
            }
        }
    }

    @Test func aSnapshotOfThePastIsWhatReadersHadThen() async throws {
        try await RecordingHouse.open { house in
            let book = "ethusdt@depth@100ms"
            var snapshot = JSON.null
            try await house.gateway { client in
                let reader = try await client.events("streams=\(book)")
                for _ in 0..<5 { _ = try await reader.next("update", of: book) }
                snapshot = try JSON(try await client.get("/streams/\(book)").text)
                for _ in 0..<10 { _ = try await reader.next("update", of: book) }
            }
            let at = try #require(snapshot["receivedAt"]?.integer)
            try await house.gateway { client in
                let then = try JSON(try await client.get("/streams/\(book)?at=\(at)").text)
                #expect(then["id"] == snapshot["id"] && then["content"] == snapshot["content"], "\(then["title"] ?? .null)")
                #expect(then["kind"] == "full" && then["state"] == "live")
            }
        }
    }

    @Test(arguments: [false, true]) func aSnapshotFromAGapOfTheTapeIsNotLive(isListLost: Bool) async throws {
        try await RecordingHouse.open { house in
            for _ in 0..<2 {
                try await house.gateway { client in
                    let reader = try await client.events("streams=\(Self.trades)")
                    for _ in 0..<5 { _ = try await reader.next("update", of: Self.trades) }
                }
            }
            try await house.gateway { client in
                if isListLost { try FileManager.default.removeItem(atPath: house.directory + "/gaps.ndjson") }
                let gap = try #require(try await client.get("/tape").json["gaps"]?.array?.first)
                let (from, to) = (try #require(gap["from"]?.integer), try #require(gap["to"]?.integer))
                let before = try await client.get("/streams/\(Self.trades)?at=\(from)").json
                let within = try await client.get("/streams/\(Self.trades)?at=\(from + 1)").json
                #expect(from + 1 < to && before["state"]?.text == "live", "\(gap)")
                #expect(within["state"]?.text == "recovering" && within["id"] == before["id"] && within["content"] == before["content"])
                let replayed = try await client.events("streams=\(Self.trades)&from=\(from + 1)&to=\(to)")
                #expect(try await replayed.next("update").data["state"]?.text == "recovering")
            }
        }
    }

    @Test func whatIsNotThereIsToldWithItsReason() async throws {
        try await RecordingHouse.open { house in
            try await house.gateway { client in
                _ = try await (try await client.events("streams=\(Self.trades)")).next("update", of: Self.trades)
            }
            let cases: [(path: String, status: Int, code: String?)] = [
                ("/tape/btcusdt@bookTicker", 404, "notRecorded"), ("/streams/btcusdt@bookTicker?at=5", 404, "notRecorded"),
                ("/tape/\(Self.trades)?from=5", 410, "agedOut"), ("/streams/\(Self.trades)?at=2020-01-01T00:00:00Z", 410, "agedOut"),
                ("/streams/\(Self.trades)?at=2090-01-01T00:00:00Z", 404, "notYet"), ("/tape/\(Self.trades)?from=yesterday", 400, nil),
                ("/tape/\(Self.trades)?after=x", 400, nil), ("/streams/\(Self.trades)?at=5&wait=3", 400, nil), ("/tape/nothing@all", 404, nil),
            ]
            try await house.gateway { client in
                for (path, status, code) in cases {
                    let answer = try await client.get(path)
                    #expect(answer.status == status, "\(path)")
                    let problem = try JSON(answer.text)
                    if let code { #expect(problem["code"]?.text == code, "\(path)") }
                }
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
