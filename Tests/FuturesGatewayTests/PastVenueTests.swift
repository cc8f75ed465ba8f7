import DemoExchange
import FuturesFeed
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Testing

/// A recorded tape that is served as a venue.
@Suite struct PastVenueTests {
    private static let book = "btcusdt@depth@100ms"

    /// Records until a reader of the sockets has this many messages of the book, which it returns, and replays that to `body`.
    private static func replay(
        _ count: Int = 20, _ pace: ReplayConfiguration.Pace = .steps, settle: Duration = .milliseconds(20),
        _ body: (GatewayClient, _ live: [String]) async throws -> Void
    ) async throws {
        try await RecordingHouse.open { house in
            var live: [String] = []
            try await house.gateway {
                $0.tape?.recordsMessages = true
                $0.pinned = ["btcusdt@depth@100ms", "btcusdt@aggTrade"].compactMap { FuturesServiceStreamName($0) }
            } _: { client in
                try await client.awaitReadiness()
                let (socket, connection) = try await SocketClient.open(port: client.port, "/ws/\(book)")
                while live.count < count { live.append(try await socket.text()) }
                connection.close(code: 1000, reason: "")
            }
            try await house.gateway {
                $0.tape = nil
                $0.replay = ReplayConfiguration(directory: house.directory, pace: pace, settle: settle)
            } _: { client in
                while try await state(client) == "reading" {}
                try await body(client, live)
            }
        }
    }

    private static func state(_ client: GatewayClient) async throws -> String? { try await client.get("/replay").json["state"]?.text }

    private static func step(_ client: GatewayClient, _ query: String) async throws -> JSON {
        let answer = try await client.post("/replay/step?\(query)")
        #expect(answer.status == 200)
        return try JSON(answer.text)
    }

    private static func time(_ client: GatewayClient, after query: String) async throws -> Int64? { try await step(client, query)["time"]?.integer }

    @Test func aSocketGetsTheVenuesMessagesAgainAndRESTTheBookBetweenThem() async throws {
        try await Self.replay { client, live in
            let (socket, connection) = try await SocketClient.open(port: client.port, "/ws/\(Self.book)")
            var again: [String] = []
            while again.last != live.last {
                _ = try await Self.step(client, "messages=1")
                // A message of the trades has no reader here.
                guard try await Self.state(client) == "playing" else { break }
                let depth = try await client.get("/fapi/v1/depth?symbol=BTCUSDT&limit=5")
                guard depth.status == 200, let id = try depth.json["lastUpdateId"]?.integer else { continue }
                while again.last.map({ !$0.contains("\"u\":\(id),") }) ?? true { again.append(try await socket.text()) }
            }
            let first = try #require(again.firstIndex(of: live[0]))
            #expect(Array(again[first...]) == live)
            connection.close(code: 1000, reason: "")
        }
    }

    @Test func timePassesInStepsOnly() async throws {
        try await Self.replay { client, _ in
            let before = try await client.get("/replay").json
            let begin = try #require(before["time"]?.integer)
            #expect(before["state"]?.text == "playing" && before["messages"]?.integer == 0)
            #expect(try await client.get("/streams/\(Self.book)").status != 200, "nothing has been played")
            #expect(try await Self.time(client, after: "ms=700") == begin + 700)
            let clock = try await client.get("/fapi/v1/time").json
            #expect(clock["serverTime"]?.integer == begin + 700)
            #expect(try await Self.time(client, after: "until=\(begin + 900)") == begin + 900)
            #expect(try await Self.time(client, after: "until=\(begin)") == begin + 900, "time does not go back")
            let messages = try await Self.step(client, "messages=3")
            let played = try #require(messages["messages"]?.integer)
            let more = try await Self.step(client, "messages=2")
            #expect(more["messages"]?.integer == played + 2)
            let end = try await Self.step(client, "ms=86400000")
            #expect(end["state"]?.text == "ended")
            #expect(try await Self.step(client, "ms=1") == end)
        }
    }

    @Test(arguments: ["", "ms=0", "ms=1&events=1", "until=soon", "messages=-1"]) func aStepThatIsNotOneIsRefused(_ query: String) async throws {
        try await Self.replay(1) { client, _ in
            let answer = try await client.post("/replay/step?\(query)")
            #expect(answer.status == 400)
        }
    }

    @Test func withAClockTimeBeginsWithTheFirstReaderAndReadersGetTheRecordedEvents() async throws {
        try await Self.replay(30, .speed(0)) { client, live in
            #expect(try await Self.state(client) == "waiting")
            #expect(try await client.post("/replay/step?ms=1").status == 409)
            let reader = try await client.events("streams=\(Self.book)")
            let last = try #require(live.last.flatMap { try? JSON($0) }?["u"]?.integer)
            var update: Int64 = 0
            while update < last {
                let event = try await reader.next()
                if event.name == "update" { update = try #require(event.data["content"]?["lastUpdateId"]?.integer) }
            }
            #expect(update == last || update > last)
        }
    }

    @Test func whatTheTapeLacksIsRefusedAndNotAwaited() async throws {
        try await Self.replay { client, _ in
            _ = try await Self.step(client, "ms=1000")
            let list = try await client.get("/fapi/v1/exchangeInfo")
            #expect(list.status == 200 && list.text.contains("BTCUSDT"))
            #expect(try await client.get("/fapi/v1/openInterest?symbol=BTCUSDT").status == 503)
            #expect(try await client.get("/fapi/v1/premiumIndex?symbol=BTCUSDT").status == 503)
            let refetch = try await client.post("/streams/\(Self.book)/refetch")
            #expect(refetch.status == 422 && refetch.text.contains("not recorded"))
        }
    }

    @Test func readersSeeThatItIsThePast() async throws {
        try await Self.replay(1) { client, _ in
            let upstream = try await client.get("/streams").json["upstreams"]?.array?.first
            #expect(upstream?["name"]?.text == "replay" && upstream?["simulated"]?.flag == true)
        }
    }

    @Test func aLiveGatewayHasNoReplay() async throws {
        try await House.open { house in
            let (view, step) = (try await house.client.get("/replay"), try await house.client.post("/replay/step?ms=1"))
            #expect(view.status == 404 && step.status == 404)
        }
    }

    @Test func aDirectoryWithoutATapeIsReportedByTheProbe() async throws {
        try await House.open(configure: { $0.replay = ReplayConfiguration(directory: "/nonexistent") }) { house in
            while try await Self.state(house.client) == "reading" {}
            #expect(try await Self.state(house.client) == "failed")
            let ready = try await house.client.get("/readyz")
            #expect(ready.status == 503 && ready.text.contains("/nonexistent"))
        }
    }
}
