import DemoExchange
import GatewayTestSupport
import Testing

/// Events for scripts, and the small wishes of browsers and proxies.
struct FormatTests {
    @Test func linesAreOneObjectEachAndTellWhatHappened() async throws {
        try await House.open { house in
            let answer = try await house.client.get(
                "/events?streams=btcusdt@bookTicker,btcusdt@aggTrade&count=8", ["Accept": "application/x-ndjson"])
            #expect(answer.header("Content-Type") == "application/x-ndjson")
            let lines = try answer.text.split(separator: "\n").map { try JSON(String($0)) }
            #expect(lines.first?["event"] == "session" && lines.last?["event"] == "bye")
            #expect(lines.last?["code"] == "count")
            let data = lines.filter { ["update", "fetch"].contains($0["event"]?.text ?? "") }
            #expect(data.count == 8)
            let ids = data.compactMap { $0["lastEventId"]?.text.flatMap(ServerEvent.sequence) }
            #expect(!ids.isEmpty && ids == ids.sorted() && Set(ids).count == ids.count)
        }
    }

    @Test func linesCanBeGoneOnFrom() async throws {
        try await House.open { house in
            let keeper = try await house.client.events("streams=btcusdt@aggTrade")
            _ = try await keeper.next("update", "fetch")
            let accept = ["Accept": "application/x-ndjson"]
            let first = try await house.client.get("/events?streams=btcusdt@aggTrade&count=4", accept)
            let lines = try first.text.split(separator: "\n").map { try JSON(String($0)) }
            let last = try #require(lines.last { $0["lastEventId"] != nil })
            // A polyfill of EventSource may append its id to the one that the page gave.
            let old = try #require(lines.first { $0["lastEventId"] != nil }?["lastEventId"]?.text)
            let resumed = "lastEventId=\(old)&lastEventId=\(last["lastEventId"]?.text ?? "")"
            let more = try await house.client.get("/events?streams=btcusdt@aggTrade&count=2&\(resumed)", accept)
            let following = try more.text.split(separator: "\n").map { try JSON(String($0)) }
            #expect(following.first?["resume"] == "exact")
            let next = following.first { $0["event"] == "update" }
            let trade = last["content"]?.array?.last?["id"]?.integer
            #expect(next?["content"]?.array?.first?["id"]?.integer == trade.map { $0 + 1 })
        }
    }

    @Test func exactlySoManyEventsComeAndThenAFarewell() async throws {
        try await House.open { house in
            for count in [1, 2, 5] {
                let reader = try await house.client.events("streams=btcusdt@bookTicker&count=\(count)")
                let (events, end) = try await reader.rest()
                #expect(events.filter { ["update", "fetch"].contains($0.name) }.count == count)
                #expect(events.last?.name == "bye" && events.last?.data["code"] == "count")
                #expect(end == .orderly)
            }
        }
    }

    @Test func aConnectionEndsAfterTheTimeAskedFor() async throws {
        try await House.open { house in
            let began = ContinuousClock.now
            let (events, _) = try await house.client.events("streams=btcusdt@bookTicker&timeout=1").rest()
            #expect(events.last?.data["code"] == "timeout")
            #expect(ContinuousClock.now - began >= .seconds(1))
        }
    }

    @Test func eventsCanBeNamedAfterTheirStream() async throws {
        try await House.open { house in
            let text = try await house.client.get("/events?streams=btcusdt@bookTicker&event=stream&count=2").text
            let blocks = text.split(separator: "\n\n").map { $0.split(separator: "\n").filter { !$0.hasPrefix("retry") && !$0.hasPrefix("id") } }
            #expect(blocks.first?.first == "event: session")
            let event = try #require(blocks.first { $0.first == "event: btcusdt@bookTicker" && $0.last?.contains("update") == true })
            let data = try JSON(String(event[1].dropFirst(6)))
            #expect(["update", "fetch"].contains(data["event"]?.text) && data["content"]?["symbol"] == "BTCUSDT")
        }
    }

    @Test func aHeartbeatCanBeAnEventAndTheBeginningPadded() async throws {
        try await House.open { house in
            let connection = try await RawConnection(port: house.client.port)
            connection.send(
                "GET /events?streams=!forceOrder@arr&heartbeat=5&heartbeatEvent=true&pad=true HTTP/1.1\r\nHost: 127.0.0.1:\(house.client.port)\r\n\r\n"
            )
            var text = ""
            while !text.contains("event: heartbeat\ndata: {}\n\n") {
                text += String(decoding: try await connection.receive(by: .safetyNet, of: "a heartbeat"), as: UTF8.self)
            }
            let body = text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
            #expect(body.hasPrefix(":" + String(repeating: " ", count: 2046) + "\n"))
        }
    }

    @Test(arguments: ["count=0", "count=x", "timeout=0", "timeout=90000", "event=name", "pad=2", "heartbeatEvent=5"])
    func aWishOutOfBoundsIsRefused(_ wish: String) async throws {
        try await House.open { house in
            let answer = try await house.client.get("/events?streams=btcusdt@ticker&\(wish)")
            #expect(answer.status == 400)
            #expect(answer.text.contains(String(wish.prefix { $0 != "=" })))
        }
    }
}
