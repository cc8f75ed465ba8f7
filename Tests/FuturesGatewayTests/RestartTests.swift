import DemoExchange
import Foundation
import GatewayTestSupport
import Logging
import Tape
import Testing

/// With a tape a gateway goes on where the one before it ended.
@Suite(.serialized) struct RestartTests {
    private static let (trades, book) = ("btcusdt@aggTrade", "ethusdt@depth@100ms")
    private static let both = "streams=\(trades),\(book)"

    /// What a reader is told until it has had so many changes of a stream.
    private static func changes(_ count: Int, of stream: String, _ reader: EventReader) async throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        var changes = 0
        while changes < count {
            let event = try await reader.next()
            if event.stream == stream, event.name == "update", event.kind == "delta" { changes += 1 }
            events.append(event)
        }
        return events
    }

    @Test func whoComesBackAfterARestartMissesNothing() async throws {
        try await RecordingHouse.open { house in
            var told: [ServerEvent] = []
            try await house.gateway { client in
                let reader = try await client.events(Self.both)
                told = try await Self.changes(40, of: Self.trades, reader)
                // What is told until the end is on the tape, too.
                _ = try await Self.changes(5, of: Self.trades, reader)
            }
            let place = try #require(told.indices.dropLast(10).last { told[$0].id != nil })
            try await house.gateway { client in
                let reader = try await client.events(Self.both, ["Last-Event-ID": told[place].id ?? ""])
                try #require(reader.session.data["resume"] == "exact")
                let missed = told[(place + 1)...].filter { $0.name == "update" }
                var again: [ServerEvent] = []
                while again.count < missed.count {
                    let event = try await reader.next()
                    if event.name == "update" { again.append(event) }
                }
                #expect(again.map(\.data) == missed.map(\.data))
                var last = try #require((told[...place] + again).last { $0.stream == Self.trades }?.rows.last?["id"]?.integer)
                var lost: Set<String> = []
                var (isBack, changes) = (false, 0)
                for _ in 0..<10_000 where !isBack || lost.count < 2 || changes < 10 {
                    let event = try await reader.next()
                    if event.name == "disconnect" { #expect(lost.insert(event.stream).inserted, "told twice") }
                    guard event.stream == Self.trades else { continue }
                    if event.name == "recover" {
                        #expect(event.data["missed"]?.integer == 0)
                        isBack = true
                    }
                    guard event.name == "update" || event.name == "fetch" else { continue }
                    let ids = event.rows.compactMap { $0["id"]?.integer }
                    let (first, newest) = (try #require(ids.first), try #require(ids.last))
                    // A whole value goes back behind what was told, a change follows it.
                    #expect(event.kind == "full" ? first <= last + 1 && newest >= last : first == last + 1)
                    last = newest
                    if isBack, event.kind == "delta" { changes += 1 }
                }
                #expect(isBack && lost.count == 2 && changes == 10)
            }
        }
    }

    /// Leaves the tape as a kill would that came when half of it was written. Returns the number of the first event that is lost.
    private static func cut(_ directory: String) throws -> UInt64 {
        let reader = TapeReader(TapeDirectory(directory))
        let segment = try #require(try reader.segments().last)
        let blocks = try reader.blocks(of: segment).blocks
        let block = try #require(blocks.dropFirst(max(1, blocks.count / 2)).first)
        try FileHandle(forWritingTo: URL(filePath: "\(directory)/\(segment.name)")).truncate(atOffset: block.offset)
        return block.header.first
    }

    @Test func whatAKillLostIsToldAsAReset() async throws {
        try await RecordingHouse.open { house in
            var told: [ServerEvent] = []
            try await house.gateway { client in
                let reader = try await client.events("streams=\(Self.trades)")
                // A block is written every second.
                while told.last.flatMap(Self.received) ?? 0 < (told.first.flatMap(Self.received) ?? 0) + 4000 {
                    told.append(try await reader.next("update") { $0.kind == "delta" && $0.id != nil })
                }
            }
            let lost = try Self.cut(house.directory)
            let (kept, gone) = (told.last { $0.sequence < lost }?.id ?? "", told.first { $0.sequence >= lost }?.id ?? "")
            try await house.gateway { client in
                #expect(try await client.events("streams=\(Self.trades)", ["Last-Event-ID": kept]).session.data["resume"] == "exact")
                let reader = try await client.events("streams=\(Self.trades)", ["Last-Event-ID": gone])
                #expect(reader.session.data["resume"] == "reset")
                #expect(try await reader.next("update", "fetch", of: Self.trades).kind == "full")
            }
        }
    }

    private static func received(_ event: ServerEvent) -> Int64? { event.data["receivedAt"]?.integer }

    @Test func aStreamThatIsNotRecordedBeginsAnew() async throws {
        try await RecordingHouse.open { house in
            var id = ""
            try await house.gateway { client in
                let reader = try await client.events("streams=btcusdt@bookTicker,\(Self.trades)")
                id = try await reader.next("update") { $0.kind == "delta" && $0.id != nil }.id ?? ""
                _ = try await reader.next("update", of: "btcusdt@bookTicker")
            }
            try await house.gateway { client in
                let reader = try await client.events("streams=btcusdt@bookTicker,\(Self.trades)", ["Last-Event-ID": id])
                #expect(reader.session.data["resume"] == "reset")
            }
        }
    }

    @Test func whatWasKnownIsThereAtOnceAndCalledStale() async throws {
        try await RecordingHouse.open { house in
            var before: JSON?
            try await house.gateway { client in
                let reader = try await client.events(Self.both)
                _ = try await Self.changes(10, of: Self.book, reader)
                before = try JSON(try await client.get("/streams/\(Self.book)").text)["content"]
            }
            await house.exchange.stop()
            try await house.gateway { client in
                let answer = try JSON(try await client.get("/streams/\(Self.book)").text)
                #expect(answer["state"] != "live")
                let (known, now) = (before?["lastUpdateId"]?.integer, answer["content"]?["lastUpdateId"]?.integer)
                #expect(now != nil && known != nil && (now ?? 0) >= (known ?? 0))
            }
        }
    }

    @Test func anotherVenuesTapeIsNotGoneOnWith() async throws {
        try await RecordingHouse.open { house in
            try await house.gateway { client in
                _ = try await Self.changes(2, of: Self.trades, try await client.events("streams=\(Self.trades)"))
            }
            try Data("another\n".utf8).write(to: URL(filePath: house.directory + "/venue"))
            let log = LogLines()
            try await house.gateway(logger: Logger(label: "test") { _ in log }) { client in
                try await log.awaitLine("nothing is recorded")
                // Whoever is not ready says only why.
                try await client.awaitReadiness()
                #expect(try await client.get("/readyz").text.contains("is a tape of another, not of"))
            }
        }
    }
}
