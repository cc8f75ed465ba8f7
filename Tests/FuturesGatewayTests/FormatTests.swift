import GatewayTestSupport
import Testing

/// The same events in other clothes, and connections that end by themselves.
struct FormatTests {
    @Test func linesAreTheSameObjectsEachWithItsEventAndItsID() async throws {
        try await House.open { house in
            let stream = "btcusdt@bookTicker"
            let reader = try await house.client.events("streams=\(stream)")
            let answer = try await house.client.get("/events?streams=\(stream)&count=6", ["Accept": "application/x-ndjson"])
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type") == "application/x-ndjson")
            let lines = try answer.text.split(separator: "\n").map { try JSON(String($0)) }
            #expect(lines.first?["event"] == "session")
            #expect(lines.first?["streams"]?.texts == [stream])
            #expect(lines.last?["event"] == "bye")
            #expect(lines.last?["code"] == "count")
            let changes = lines.filter { ["update", "fetch"].contains($0["event"]?.text) }
            #expect(changes.count == 6)
            let last = try #require(changes.last?["lastEventId"]?.text)
            let sequence = try #require(ServerEvent.sequence(last))
            let same = try await reader.next("update") { $0.id == last }
            #expect(changes.last?["content"] == same.data["content"])
            #expect(same.sequence == sequence)

            let again = try await house.client.get("/events?streams=\(stream)&count=1&lastEventId=\(last)", ["Accept": "application/x-ndjson"])
            let resumed = try again.text.split(separator: "\n").map { try JSON(String($0)) }
            #expect(resumed.first?["resume"] == "exact")
            #expect(resumed[1]["lastEventId"]?.text.flatMap(ServerEvent.sequence) ?? 0 > sequence)
        }
    }

    @Test func whoPrefersEventsGetsEvents() async throws {
        try await House.open { house in
            for (accept, type) in [
                ("*/*", "text/event-stream; charset=utf-8"), ("text/event-stream, application/x-ndjson", "text/event-stream; charset=utf-8"),
                ("application/x-ndjson, */*", "application/x-ndjson"), ("application/*", "application/x-ndjson"),
                ("text/event-stream;q=0, application/x-ndjson;q=0.5", "application/x-ndjson"),
            ] {
                let answer = try await house.client.get("/events?streams=btcusdt@bookTicker&count=1", ["Accept": accept])
                #expect(answer.header("Content-Type") == type, "\(accept)")
            }
            for accept in ["text/html", "text/event-stream;q=0", "*/*;q=0.0"] {
                #expect(try await house.client.get("/events?streams=btcusdt@bookTicker", ["Accept": accept]).status == 406, "\(accept)")
            }
        }
    }

    @Test func eventsMayBeNamedAfterTheirStream() async throws {
        try await House.open { house in
            let stream = "btcusdt@bookTicker"
            let reader = try await house.client.events("streams=\(stream)&event=stream")
            let update = try await reader.next(stream) { $0.data["event"] == "update" }
            #expect(update.data["stream"]?.text == stream)
            #expect(update.id != nil)
            #expect(try await house.client.get("/events?streams=\(stream)&event=other").status == 400)
        }
    }

    @Test func aConnectionEndsAfterTheEventsOrTheTimeAskedFor() async throws {
        try await House.open { house in
            let streams = "btcusdt@bookTicker,ethusdt@bookTicker,btcusdt@aggTrade"
            for count in [1, 3, 40] {
                let (events, end) = try await house.client.events("streams=\(streams)&count=\(count)").rest()
                #expect(end == .orderly)
                #expect(events.filter { ["update", "fetch"].contains($0.name) }.count == count)
                #expect(events.last?.data["code"] == "count")
            }
            let began = ContinuousClock.now
            let (events, end) = try await house.client.events("streams=\(streams)&timeout=1").rest()
            #expect(end == .orderly)
            #expect(events.last?.data["code"] == "timeout")
            #expect((Duration.milliseconds(990) ... .seconds(10)).contains(ContinuousClock.now - began))
            for bad in ["count=0", "count=-1", "count=x", "timeout=0", "timeout=86401"] {
                #expect(try await house.client.get("/events?streams=\(streams)&\(bad)").status == 400, "\(bad)")
            }
        }
    }

    @Test func aHeartbeatMayBeAnEventThatScriptsCanSee() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker&heartbeat=5&heartbeatEvent=1")
            _ = try await house.client.post("/events/\(reader.client)/pause")
            let beat = try await reader.next("heartbeat")
            #expect(beat.id == nil)
            #expect(beat.data == .object([:]))
        }
    }

    @Test func aConnectionMayBeginWithTwoKibibytesOfNothing() async throws {
        try await House.open { house in
            let bare = try await house.client.get("/events?streams=btcusdt@markPrice&count=1")
            let padded = try await house.client.get("/events?streams=btcusdt@markPrice&count=1&pad=1")
            #expect(!bare.text.hasPrefix(":"))
            #expect(padded.text.prefix { $0 != "\n" }.count >= 2047)
            #expect(padded.text.hasPrefix(": "))
        }
    }
}
