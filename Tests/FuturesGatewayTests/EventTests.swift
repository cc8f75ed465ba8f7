import DemoExchange
import GatewayTestSupport
import Testing

@Suite struct EventTests {
    @Test func theSessionComesFirstAndNamesTheConnection() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker,!assetIndex@arr&streams=btcusdt@bookTicker&heartbeat=20")
            #expect(reader.head.header("Cache-Control") == "no-store, no-transform")
            #expect(reader.head.header("X-Accel-Buffering") == "no")
            #expect(reader.head.header("Access-Control-Allow-Origin") == "*")
            let session = reader.session
            #expect(session.data.names == ["client", "streams", "resume", "replayed", "heartbeat"])
            #expect(session.data["streams"]?.texts == ["btcusdt@bookTicker", "!assetIndex@arr"])
            #expect(session.data["resume"] == "none")
            #expect(session.data["replayed"] == 0)
            #expect(session.data["heartbeat"] == 20)
            #expect(reader.client.wholeMatch(of: /([0-9a-f]{8})?[0-9a-f]{32}/) != nil)
            #expect((1500...2500).contains(session.retry ?? 0))
            #expect(try await house.client.events("streams=btcusdt@bookTicker").client != reader.client)
        }
    }

    @Test func cachedValuesComeFirstAndOnlyTheLastCarriesTheID() async throws {
        try await House.open { house in
            let names = ["btcusdt@bookTicker", "!assetIndex@arr", "btcusdt@aggTrade"]
            let first = try await house.client.events("streams=" + names.joined(separator: ","))
            for name in names { _ = try await first.next("update", of: name) }

            let second = try await house.client.events("streams=" + names.joined(separator: ","))
            var cached: [ServerEvent] = []
            for _ in names { cached.append(try await second.next()) }
            #expect(cached.map(\.name) == ["update", "update", "update"])
            #expect(cached.map(\.stream) == names)
            #expect(cached.allSatisfy { $0.kind == "full" })
            #expect(cached.map { $0.id == nil } == [true, true, false])
            let head = try #require(cached[2].id.flatMap(ServerEvent.sequence))
            #expect(cached.allSatisfy { $0.sequence <= head })

            var last = head
            for _ in 0..<10 {
                let live = try await second.next("update", "fetch")
                let id = try #require(live.id.flatMap(ServerEvent.sequence))
                #expect(id == live.sequence)
                #expect(id > last)
                last = id
            }
        }
    }

    @Test func anArrayStreamIsFullFirstAndThenTellsWhatChanged() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            let full = try await reader.next("fetch", "update")
            #expect(full.kind == "full")
            #expect(full.rows.count == 9)
            #expect(Set(full.rows.compactMap { $0["symbol"]?.text }).count == 9)
            let delta = try await reader.next("update") { $0.kind == "delta" }
            #expect(!delta.rows.isEmpty)
            for row in delta.rows {
                let before = try #require(full.rows.first { $0["symbol"] == row["symbol"] })
                #expect(try #require(row["time"]?.integer) > (try #require(before["time"]?.integer)))
            }
        }
    }

    @Test func aForcedFetchComesAfterTheCachedValue() async throws {
        try await House.open { house in
            _ = try await house.client.events("streams=!assetIndex@arr").next("update")
            let before = house.requests("assetIndex")
            let reader = try await house.client.events("streams=!assetIndex@arr&forceFetch=true")
            let cached = try await reader.next()
            #expect(cached.name == "update")
            #expect(cached.kind == "full")
            let fetched = try await reader.next("fetch")
            #expect(fetched.kind == "full")
            #expect(fetched.data["source"] == "rest")
            #expect(fetched.rows.count == 9)
            #expect(fetched.sequence > cached.sequence)
            #expect(house.requests("assetIndex") == before + 1)
        }
    }

    @Test func anIdleConnectionHearsAHeartbeat() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker&heartbeat=5")
            _ = try await house.client.post("/events/\(reader.client)/pause")
            let paused = ContinuousClock.now
            try await reader.heartbeat()
            #expect(ContinuousClock.now > paused + .seconds(4))
            try await reader.heartbeat()
            #expect(ContinuousClock.now > paused + .seconds(9))
        }
    }
}
