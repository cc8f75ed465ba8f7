import DemoExchange
import GatewayTestSupport
import Testing

/// Going on where a reader had been, from the logs.
struct ResumeTests {
    private static let streams = ["btcusdt@bookTicker", "ethusdt@depth@100ms", "btcusdt@aggTrade", "!assetIndex@arr", "btcusdt@kline_1m"]

    @Test func readersCutAtAnyInstantGoOnExactly() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        try await House.open { house in
            let query = "streams=" + Self.streams.joined(separator: ",")
            let whole = try await house.client.events(query)
            _ = try await whole.next("update") { $0.id != nil }
            let ends = try await withThrowingTaskGroup(of: (ids: [UInt64], bodies: [JSON]).self) { group in
                for reader in 0..<8 {
                    group.addTask { try await Self.interrupted(house.client, query, seed: seed &+ UInt64(reader)) }
                }
                var ends: [(ids: [UInt64], bodies: [JSON])] = []
                for try await end in group { ends.append(end) }
                return ends
            }
            let last = ends.compactMap(\.ids.last).max() ?? 0
            let all = try await whole.all { $0.id.flatMap(ServerEvent.sequence) ?? 0 >= last }.filter { $0.id != nil }
            let ids = all.compactMap { $0.id.flatMap(ServerEvent.sequence) }
            for end in ends {
                // The first is the head of the cached values, which the uninterrupted reader had as events.
                let following = ids.drop { $0 <= end.ids[0] }.prefix(end.ids.count - 1)
                #expect(Array(following) == Array(end.ids.dropFirst()), "seed \(seed)")
                let bodies = all.filter { ServerEvent.sequence($0.id ?? "") ?? 0 > end.ids[0] }.prefix(end.ids.count - 1).map(\.data)
                #expect(bodies == Array(end.bodies.dropFirst()), "seed \(seed)")
            }
        }
    }

    /// The ids and data a reader gets over several connections, each cut after some events.
    private static func interrupted(_ client: GatewayClient, _ query: String, seed: UInt64) async throws -> (ids: [UInt64], bodies: [JSON]) {
        var random = Seeded(seed)
        var (ids, bodies): ([UInt64], [JSON]) = ([], [])
        var lastID: String?
        for round in 0..<5 {
            let reader = try await client.events(query, lastID.map { ["Last-Event-ID": $0] } ?? [:])
            #expect(reader.session.data["resume"] == (round == 0 ? "none" : "exact"))
            let count = Int.random(in: 1...25, using: &random)
            var events = 0
            while events < count {
                let event = try await reader.next()
                guard let id = event.id, let sequence = ServerEvent.sequence(id) else { continue }
                ids.append(sequence)
                bodies.append(event.data)
                lastID = id
                events += 1
            }
            await reader.connection.close()
        }
        return (ids, bodies)
    }

    @Test func whatIsReplayedIsCounted() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let first = try await reader.next("update") { $0.id != nil }
            for _ in 0..<5 { _ = try await reader.next("update") }
            house.exchange.setStalled(true)
            let again = try await house.client.events("streams=btcusdt@bookTicker", ["Last-Event-ID": first.id ?? ""])
            #expect(again.session.data["resume"] == "exact")
            #expect(again.session.data["replayed"]?.integer ?? 0 >= 5)
        }
    }

    @Test func whatHasLeftTheLogsIsReset() async throws {
        try await House.open(ringBytes: 4096) { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let first = try await reader.next("update") { $0.id != nil }
            for _ in 0..<60 { _ = try await reader.next("update") }
            let again = try await house.client.events("streams=btcusdt@bookTicker", ["Last-Event-ID": first.id ?? ""])
            #expect(again.session.data["resume"] == "reset")
            #expect(try await again.next("update").kind == "full")
        }
    }

    /// A browser sends its old id again if the connection ends before another one arrives. Its contents are forgotten by then.
    @Test func aResetForgetsTheReadersId() async throws {
        try await House.open { house in
            let target = "GET /events?streams=btcusdt@bookTicker HTTP/1.1\r\nHost: localhost\r\n"
            for (accept, end) in [("text/event-stream", "\nid: \n\n"), ("application/x-ndjson", ",\"lastEventId\":\"\"}\n")] {
                for (id, isReset) in [("Last-Event-ID: 1.5\r\n", true), ("", false)] {
                    let connection = try await RawConnection(port: house.client.port, tls: StreamRoute.current == .tls)
                    connection.send(target + "Accept: \(accept)\r\n\(id)\r\n")
                    var first = ""
                    while !first.contains("\"heartbeat\":15") || !first.hasSuffix("\n") {
                        first += String(decoding: try await connection.receive(by: .safetyNet, of: "the session"), as: UTF8.self)
                    }
                    await connection.close()
                    #expect(first.contains("\"resume\":\"\(isReset ? "reset" : "none")\""))
                    #expect(first.contains(end) == isReset)
                }
            }
        }
    }

    @Test func aStreamThatWasAwayInTheMeantimeIsReset() async throws {
        try await House.open(linger: .zero) { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let first = try await reader.next("update") { $0.id != nil }
            let changes = house.exchange.changes()
            await reader.connection.close()
            try await house.awaitEvent(.disconnected, in: changes)
            let again = try await house.client.events("streams=btcusdt@bookTicker", ["Last-Event-ID": first.id ?? ""])
            // An edge may read only then that the stream has ended.
            if StreamRoute.current == .edge, again.session.data["resume"] == "exact" {
                return #expect(try await again.next("bye").data["code"] == "reset")
            }
            #expect(again.session.data["resume"] == "reset")
        }
    }

    @Test func otherEpochsTheFutureAndForeignIDsAreReset() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let id = try #require(try await reader.next("update") { $0.id != nil }.id)
            let epoch = id.split(separator: ".")[0]
            for foreign in ["1.5", "\(epoch).zzzzzzzz", "garbage", "\(epoch).", "5", "é", String(repeating: "x", count: 200)] {
                let again = try await house.client.events("streams=btcusdt@bookTicker", ["Last-Event-ID": foreign])
                #expect(again.session.data["resume"] == "reset", "\(foreign)")
                #expect(try await again.next("update").kind == "full")
            }
        }
    }

    @Test func anUnreadableIDInTheQueryIsRefused() async throws {
        try await House.open { house in
            for spelling in ["lastEventId", "last_event_id", "lastEvent", "Last-Event-ID"] {
                let answer = try await house.client.get("/events?streams=btcusdt@bookTicker&\(spelling)=garbage")
                #expect(answer.status == 400)
                #expect(answer.text.contains(spelling))
            }
        }
    }

    @Test func theHeaderGoesBeforeTheQueryWhichStaysOld() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let old = try #require(try await reader.next("update") { $0.id != nil }.id)
            var new = old
            for _ in 0..<10 { new = try await reader.next("update").id ?? new }
            let query = "streams=btcusdt@bookTicker&lastEventId=\(old)"
            for (headers, from) in [([:], old), (["Last-Event-ID": new], new)] {
                let again = try await house.client.events(query, headers)
                #expect(again.session.data["resume"] == "exact")
                let next = try await again.next("update")
                #expect(next.id.flatMap(ServerEvent.sequence) ?? 0 > ServerEvent.sequence(from) ?? .max)
            }
        }
    }

    @Test func aSnapshotsLinkContinuesWithoutAHole() async throws {
        try await House.open { house in
            let keeper = try await house.client.events("streams=btcusdt@aggTrade")
            _ = try await keeper.next("update")
            let snapshot = try await house.client.get("/streams/btcusdt@aggTrade")
            let target = try #require(snapshot.header("Link")?.split(separator: ">").first?.dropFirst().split(separator: "?").last)
            let reader = try await house.client.events(String(target))
            #expect(reader.session.data["resume"] == "exact")
            let last = try snapshot.json["content"]?.array?.last?["id"]?.integer
            let next = try await reader.next("update", "fetch") { $0.kind == "delta" }
            #expect(next.rows.first?["id"]?.integer == last.map { $0 + 1 })
        }
    }

    @Test func anIDNeverSaysMoreThanWhatHasCome() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker,btcusdt@aggTrade")
            var last: ServerEvent?
            for stream in ["btcusdt@bookTicker", "btcusdt@aggTrade"] {
                last = try await reader.next("update") { $0.stream == stream && $0.id != nil }
            }
            let other = try await house.client.events("streams=btcusdt@aggTrade")
            #expect(try await house.client.post("/events/\(reader.client)/pause?streams=btcusdt@aggTrade").status == 200)
            var seen: UInt64 = 0
            var bare = 0
            while bare < 3 {
                let event = try await reader.next()
                if event.stream == "btcusdt@aggTrade", ["update", "fetch"].contains(event.name) { seen = event.sequence }
                if event.id != nil { last = event } else if event.name == "update" { bare += 1 }
            }
            let hidden = try await other.next("update", "fetch") { [seen] in $0.kind == "delta" && $0.sequence > seen }
            let id = try #require(last?.id)
            #expect(ServerEvent.sequence(id) ?? .max < hidden.sequence)
            await reader.connection.close()
            let again = try await house.client.events("streams=btcusdt@bookTicker,btcusdt@aggTrade", ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "exact")
            #expect(try await again.next("update", of: "btcusdt@aggTrade").sequence == hidden.sequence)
        }
    }

    /// The snapshot of a stream whose latest value is enough comes first. With an id it would say that the reader has the trades, too.
    @Test func anIDAfterAPauseComesBehindTheTradesOfThePause() async throws {
        let (quotes, trades) = ("btcusdt@bookTicker", "btcusdt@aggTrade")
        try await House.open { house in
            let reader = try await house.client.events("streams=\(quotes),\(trades)")
            let witness = try await house.client.events("streams=\(quotes),\(trades)")
            for stream in [quotes, trades] { _ = try await reader.next("update", of: stream) }
            #expect(try await house.client.post("/events/\(reader.client)/pause").status == 200)
            let atPause = try await house.client.sequence(of: trades)
            let missed = try await witness.next("update", of: trades) { $0.sequence > atPause }.sequence
            _ = try await witness.next("update", of: quotes) { $0.sequence > missed }
            #expect(try await house.client.post("/events/\(reader.client)/resume").status == 200)
            let told = try await reader.all { $0.id.flatMap(ServerEvent.sequence) ?? 0 >= missed }
            #expect(told.contains { $0.stream == trades && $0.sequence == missed }, "\(told)")
        }
    }

    @Test func aPacedReaderThatResumesGetsEveryEventThatIsCounted() async throws {
        let stream = "btcusdt@bookTicker"
        try await House.open { house in
            house.exchange.setStalled(true)
            let every = try await house.client.events("streams=\(stream)")
            _ = try await every.next("fetch", "update")
            try await house.awaitSubscription(to: stream)
            house.exchange.inject(PaceTests.ticker(1))
            let id = try #require(try await every.next("update").id)
            for round in 2...60 {
                house.exchange.inject(PaceTests.ticker(round))
                _ = try await every.next("update") { $0.content["bidPrice"]?.text == "\(round).00" }
            }
            let paced = try await house.client.events("streams=\(stream)&maxRate=0.02", ["Last-Event-ID": id])
            #expect(paced.session.data["resume"] == "exact")
            let count = try #require(paced.session.data["replayed"]?.integer)
            #expect(count >= 59)
            for _ in 0..<count { _ = try await paced.next() }
        }
    }
}

/// A small generator with a seed.
private struct Seeded: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let mixed = state ^ (state >> 33)
        return mixed &* 0xFF51_AFD7_ED55_8CCD
    }
}
