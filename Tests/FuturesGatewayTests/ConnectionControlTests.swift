import DemoExchange
import FeedCore
import FuturesFeed
import GatewayTestSupport
import Testing

@Suite struct ConnectionControlTests {
    @Test func aPausedStreamIsSilentAndResumesWithItsLatestValue() async throws {
        try await House.open { house in
            let stream = "btcusdt@bookTicker"
            let reader = try await house.client.events("streams=\(stream)")
            let witness = try await house.client.events("streams=\(stream)")
            _ = try await reader.next("update")
            let paused = try await house.client.post("/events/\(reader.client)/pause")
            #expect(paused.status == 200)
            #expect(try paused.json == .object(["client": .string(reader.client), "streams": [.string(stream)], "paused": [.string(stream)]]))

            let atPause = try await house.client.sequence(of: stream)
            var missed: [UInt64] = []
            for _ in 0..<4 { missed.append(try await witness.next("update") { $0.sequence > atPause }.sequence) }
            let resumed = try await house.client.post("/events/\(reader.client)/resume")
            #expect(try resumed.json["paused"]?.texts == [])

            let latest = try await reader.next("update") { $0.sequence > atPause }
            #expect(latest.kind == "full")
            #expect(latest.sequence >= missed[3])
            var live: [UInt64] = []
            for _ in 0..<3 { live.append(try await reader.next("update").sequence) }
            var seen: [UInt64] = []
            for _ in 0..<3 { seen.append(try await witness.next("update") { $0.sequence > latest.sequence }.sequence) }
            #expect(live == seen)
        }
    }

    @Test(arguments: [false, true]) func noTradeIsLostOrSeenTwiceOverAPause(completesContent: Bool) async throws {
        try await House.open { house in
            let stream = "btcusdt@aggTrade"
            let reader = try await house.client.events("streams=\(stream)")
            let witness = try await house.client.events("streams=\(stream)")
            let full = try await reader.next("fetch") { $0.rows.count > 400 }
            var last = try #require(full.rows.last?["id"]?.integer)
            _ = try await house.client.post("/events/\(reader.client)/pause?streams=\(stream)")
            let atPause = try await house.client.sequence(of: stream)
            for _ in 0..<4 { _ = try await witness.next("update") { $0.sequence > atPause } }
            // The hub sends readers a snapshot when the stream's content is complete again.
            if completesContent { await house.onHub { $0.receiveContent(of: .aggregateTrade(symbol: "BTCUSDT")) } }
            _ = try await house.client.post("/events/\(reader.client)/resume?streams=\(stream)")
            let atResume = try await house.client.sequence(of: stream)
            var read: UInt64 = 0
            while read <= atResume {
                let update = try await reader.next("update")
                #expect(update.kind == "delta")
                for trade in update.rows {
                    let id = try #require(trade["id"]?.integer)
                    #expect(id == last + 1)
                    last = id
                }
                read = update.sequence
            }
        }
    }

    @Test func streamsAreAddedAndTakenAwayOnALiveConnection() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let witness = try await house.client.events("streams=ethusdt@bookTicker,!assetIndex@arr")
            _ = try await witness.next("update", of: "ethusdt@bookTicker")
            _ = try await reader.next("update")

            let added = try await house.client.post("/events/\(reader.client)/subscribe?streams=ethusdt@bookTicker,!assetIndex@arr")
            #expect(try added.json["streams"]?.texts == ["btcusdt@bookTicker", "ethusdt@bookTicker", "!assetIndex@arr"])
            #expect(try await reader.next("update", of: "ethusdt@bookTicker").kind == "full")
            _ = try await reader.next("update", of: "!assetIndex@arr")
            #expect(house.exchange.statistics().subscribes["ethusdt@bookTicker"] == 1)

            let view = try await house.client.get("/events/\(reader.client)")
            #expect(try view.json == added.json)

            let fewer = try await house.client.post("/events/\(reader.client)/unsubscribe?streams=ethusdt@bookTicker")
            #expect(try fewer.json["streams"]?.texts == ["btcusdt@bookTicker", "!assetIndex@arr"])
            let after = try await house.client.sequence(of: "ethusdt@bookTicker")
            for _ in 0..<2 { _ = try await witness.next("update", of: "ethusdt@bookTicker") { $0.sequence > after } }

            let gone = try await house.client.request("DELETE", "/events/\(reader.client)")
            #expect(gone.status == 200)
            let (rest, end) = try await reader.rest()
            #expect(end == .orderly)
            #expect(!rest.contains { $0.stream == "ethusdt@bookTicker" && $0.sequence > after })
            let bye = try #require(rest.last)
            #expect(bye.name == "bye")
            #expect(bye.data["code"] == "closed")
            #expect(bye.data["retryMs"]?.integer == bye.retry.map(Int64.init))
            #expect(try await house.client.get("/events/\(reader.client)").status == 404)
        }
    }

    @Test func aConnectionNobodyHasCannotBeControlled() async throws {
        try await House.open { house in
            let unknown = String(repeating: "0", count: 32)
            for (method, path) in [
                ("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/subscribe?streams=btcusdt@bookTicker"),
                ("POST", "/unsubscribe?streams=btcusdt@bookTicker"),
            ] {
                let answer = try await house.client.request(method, "/events/\(unknown)\(path)")
                #expect(answer.status == 404, "\(method) \(path)")
                #expect(try answer.json["title"] == "Unknown client")
            }
            #expect(house.exchange.statistics().connectionsEver == 0)
        }
    }
}
