import DemoExchange
import Foundation
import FuturesFeed
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Logging
import MicroHTTP
import Testing

/// With a tape a gateway goes on where the one before it ended.
@Suite(.serialized) struct RestartTests {
    private static let (trades, book) = ("btcusdt@aggTrade", "ethusdt@depth@100ms")
    private static let both = "streams=\(trades),\(book)"

    /// A new directory, for the time of the call.
    private static func withDirectory(_ body: (String) async throws -> Void) async throws {
        let path = TapeFolder.new()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    /// A gateway with a tape in front of the house's exchange, for the time of the call.
    private static func gateway(_ house: House, _ path: String, _ body: (GatewayClient) async throws -> Void) async throws {
        var configuration = GatewayConfiguration()
        configuration.feed.venue = configuration.feed.venue.at(restURLs: [house.exchange.restURL], webSocketURLs: [house.exchange.webSocketURL])
        configuration.http.port = 0
        configuration.http.allowedHosts = []
        configuration.tape = TapeConfiguration(directory: path, streams: ["*@aggTrade", "*@depth@100ms"].compactMap { StreamPattern($0) })
        let gateway = Gateway(configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let client = GatewayClient(port: Int(try gateway.start()), tls: false)
        let result = await Result { try await body(client) }
        await gateway.stop()
        try result.get()
    }

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
        try await House.open { house in
            try await Self.withDirectory { path in
                var told: [ServerEvent] = []
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events(Self.both)
                    told = try await Self.changes(40, of: Self.trades, reader)
                    // What is told until the end is on the tape, too.
                    _ = try await Self.changes(5, of: Self.trades, reader)
                }
                let place = try #require(told.indices.dropLast(10).last { told[$0].id != nil })
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events(Self.both, ["Last-Event-ID": told[place].id ?? ""])
                    #expect(reader.session.data["resume"] == "exact")
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
                    while !isBack || lost.count < 2 || changes < 10 {
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
                }
            }
        }
    }

    @Test func whatAKillLostIsToldAsAReset() async throws {
        try await House.open { house in
            try await Self.withDirectory { path in
                let killed = path + "-killed"
                defer { try? FileManager.default.removeItem(atPath: killed) }
                var told: [ServerEvent] = []
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events("streams=\(Self.trades)")
                    told = try await Self.changes(10, of: Self.trades, reader)
                    // By now those are on the disk: this is how a kill would leave it.
                    let until = ContinuousClock.now + .seconds(2)
                    while ContinuousClock.now < until { told.append(try await reader.next()) }
                    try FileManager.default.copyItem(atPath: path, toPath: killed)
                    told += try await Self.changes(20, of: Self.trades, reader)
                }
                let (first, last) = (try #require(told.first { $0.id != nil }?.id), try #require(told.last { $0.id != nil }?.id))
                try await Self.gateway(house, killed) { client in
                    #expect(try await client.events("streams=\(Self.trades)", ["Last-Event-ID": first]).session.data["resume"] == "exact")
                    let lost = try await client.events("streams=\(Self.trades)", ["Last-Event-ID": last])
                    #expect(lost.session.data["resume"] == "reset")
                    #expect(try await lost.next("update", "fetch", of: Self.trades).kind == "full")
                }
            }
        }
    }

    @Test func aStreamThatIsNotRecordedBeginsAnew() async throws {
        try await House.open { house in
            try await Self.withDirectory { path in
                var id = ""
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events("streams=btcusdt@bookTicker,\(Self.trades)")
                    id = try await reader.next("update") { $0.kind == "delta" && $0.id != nil }.id ?? ""
                    _ = try await reader.next("update", of: "btcusdt@bookTicker")
                }
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events("streams=btcusdt@bookTicker,\(Self.trades)", ["Last-Event-ID": id])
                    #expect(reader.session.data["resume"] == "reset")
                }
            }
        }
    }

    @Test func whatWasKnownIsThereAtOnceAndCalledStale() async throws {
        try await House.open { house in
            try await Self.withDirectory { path in
                var before: JSON?
                try await Self.gateway(house, path) { client in
                    let reader = try await client.events(Self.both)
                    _ = try await Self.changes(10, of: Self.book, reader)
                    before = try JSON(try await client.get("/streams/\(Self.book)").text)["content"]
                }
                await house.exchange.stop()
                try await Self.gateway(house, path) { client in
                    let answer = try JSON(try await client.get("/streams/\(Self.book)").text)
                    #expect(answer["state"] != "live")
                    let (known, now) = (before?["lastUpdateId"]?.integer, answer["content"]?["lastUpdateId"]?.integer)
                    #expect(now != nil && known != nil && (now ?? 0) >= (known ?? 0))
                }
            }
        }
    }

    @Test func anotherVenuesTapeIsNotGoneOnWith() async throws {
        try await House.open { house in
            try await Self.withDirectory { path in
                try await Self.gateway(house, path) { client in
                    _ = try await Self.changes(2, of: Self.trades, try await client.events("streams=\(Self.trades)"))
                }
                try Data("another\n".utf8).write(to: URL(filePath: path + "/venue"))
                try await Self.gateway(house, path) { client in
                    // The tape's thread says so once it has looked.
                    let deadline = ContinuousClock.now + .seconds(30)
                    while try await !client.get("/readyz").text.contains("is a tape of another, not of") {
                        guard ContinuousClock.now < deadline else { throw Unexpected("another venue's tape is gone on with") }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
        }
    }
}
