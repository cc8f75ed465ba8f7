import DemoExchange
import GatewayTestSupport
import Testing

/// `exact` is said only where everything comes that the reader has not had; where it comes from other streams than it had, `reset`.
struct ExactTests {
    private static let (quotes, trades) = ("btcusdt@bookTicker", "btcusdt@aggTrade")
    private static let both = "streams=\(quotes),\(trades)"

    /// A reader of these streams, which has had the values of all of them.
    private static func begun(_ house: House, _ streams: String...) async throws -> EventReader {
        let reader = try await house.client.events("streams=\(streams.joined(separator: ","))")
        for stream in streams { _ = try await reader.next("update") { $0.stream == stream && $0.id != nil } }
        return reader
    }

    /// The id of the event after which the connection is cut, some trades having been made since `mark`.
    private static func cut(_ reader: EventReader, _ house: House, after mark: UInt64) async throws -> String {
        let witness = try await house.client.events("streams=\(trades)")
        let trade = try await witness.next("update") { $0.kind == "delta" && $0.sequence > mark }
        let id = try await reader.next("update") { $0.sequence > trade.sequence && $0.id != nil }.id ?? ""
        await reader.connection.close()
        return id
    }

    @Test func whoUnsubscribedAndComesBackWithTheOldAddressBeginsAnew() async throws {
        try await House.open { house in
            let reader = try await Self.begun(house, Self.quotes, Self.trades)
            #expect(try await house.client.post("/events/\(reader.client)/unsubscribe?streams=\(Self.trades)").status == 200)
            let id = try await Self.cut(reader, house, after: try await house.client.sequence(of: Self.trades))
            let again = try await house.client.events(Self.both, ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "reset")
            for stream in [Self.quotes, Self.trades] { #expect(try await again.next("update", "fetch", of: stream).kind == "full") }
            let fewer = try await house.client.events("streams=\(Self.quotes)", ["Last-Event-ID": id])
            #expect(fewer.session.data["resume"] == "exact")
        }
    }

    @Test func whoUnsubscribedButHadNothingSinceGoesOnExactly() async throws {
        try await House.open { house in
            let reader = try await Self.begun(house, Self.trades, "!forceOrder@arr")
            let last = try await reader.next("update") { $0.kind == "delta" && $0.id != nil }
            #expect(try await house.client.post("/events/\(reader.client)/unsubscribe?streams=\(Self.trades)").status == 200)
            await reader.connection.close()
            let again = try await house.client.events("streams=\(Self.trades),!forceOrder@arr", ["Last-Event-ID": last.id ?? ""])
            #expect(again.session.data["resume"] == "exact")
            let next = try await again.next("update", of: Self.trades)
            #expect(next.rows.first?["id"]?.integer == last.rows.last?["id"]?.integer.map { $0 + 1 })
        }
    }

    @Test func aStreamMoreBeginsWithItsFullValue() async throws {
        try await House.open { house in
            let keeper = try await Self.begun(house, Self.trades)
            let reader = try await Self.begun(house, Self.quotes)
            let id = try await Self.cut(reader, house, after: try await keeper.next("update").sequence)
            let again = try await house.client.events(Self.both, ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "reset")
            for stream in [Self.quotes, Self.trades] { #expect(try await again.next("update", "fetch", of: stream).kind == "full") }
        }
    }

    @Test func theOrderOfTheNamesDoesNotMatter() async throws {
        try await House.open { house in
            let reader = try await Self.begun(house, Self.quotes, Self.trades)
            let id = try #require(try await reader.next("update") { $0.id != nil }.id)
            let again = try await house.client.events("streams=\(Self.trades),\(Self.quotes),\(Self.trades)", ["Last-Event-ID": id])
            #expect(again.session.data["resume"] == "exact")
        }
    }

    @Test func whoSubscribedToMoreComesBackWithThemExactly() async throws {
        try await House.open { house in
            let reader = try await Self.begun(house, Self.quotes)
            #expect(try await house.client.post("/events/\(reader.client)/subscribe?streams=\(Self.trades)").status == 200)
            let last = try await reader.next("update", of: Self.trades) { $0.kind == "delta" && $0.id != nil }
            await reader.connection.close()
            let again = try await house.client.events(Self.both, ["Last-Event-ID": last.id ?? ""])
            #expect(again.session.data["resume"] == "exact")
            let next = try await again.next("update", of: Self.trades)
            #expect(next.rows.first?["id"]?.integer == last.rows.last?["id"]?.integer.map { $0 + 1 })
            let old = try await house.client.events("streams=\(Self.quotes)", ["Last-Event-ID": last.id ?? ""])
            #expect(old.session.data["resume"] == "reset")
        }
    }

    @Test func aReaderOfBlocksHearsAStreamThatHadNoValueWhenItWasAdded() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=\(Self.quotes)&gzip=true", ["Accept-Encoding": "gzip"])
            for _ in 0..<20 { _ = try await reader.next("update") }
            #expect(try await house.client.post("/events/\(reader.client)/subscribe?streams=!forceOrder@arr").status == 200)
            #expect(try await reader.next("update", of: "!forceOrder@arr").kind == "full")
            _ = try await reader.next("update", of: Self.quotes)
        }
    }

    @Test func noIDSaysThatAValueCameWhichIsStillToCome() async throws {
        try await House.open { house in
            let reader = try await Self.begun(house, Self.quotes, Self.trades, "ethusdt@bookTicker")
            for round in 0..<9 {
                #expect(try await house.client.post("/events/\(reader.client)/pause?streams=\(Self.quotes)").status == 200)
                let atPause = try await house.client.sequence(of: Self.quotes)
                let witness = try await house.client.events("streams=\(Self.quotes)")
                let missed = try await witness.next("update") { $0.sequence > atPause }.sequence
                async let answer = house.client.post("/events/\(reader.client)/resume?streams=\(Self.quotes)")
                let events = try await reader.all { $0.stream == Self.quotes && $0.sequence >= missed }
                #expect(try await answer.status == 200)
                let early = events.dropLast().filter { $0.id.flatMap(ServerEvent.sequence) ?? 0 >= missed }
                #expect(early.isEmpty, "round \(round): \(early.compactMap(\.id)) before the value of \(missed)")
            }
        }
    }

    @Test func linesCutAnywhereLoseNoValue() async throws {
        try await House.open { house in
            let keeper = try await Self.begun(house, Self.quotes, Self.trades)
            house.exchange.setStalled(true)
            let accept = ["Accept": "application/x-ndjson"]
            for streams in [[Self.quotes, Self.trades], [Self.trades, Self.quotes]] {
                let address = "/events?streams=\(streams.joined(separator: ","))"
                for count in 1...2 {
                    let text = try await house.client.get("\(address)&count=\(count)", accept).text
                    let had = try text.split(separator: "\n").map { try JSON(String($0)) }.filter { $0["event"] == "update" }
                    // Whoever takes the content's id for the point to resume from is told.
                    for id in [had.last?["lastEventId"]?.text, had.last?["id"]?.text] {
                        guard let id else { continue }
                        let more = try await house.client.get("\(address)&timeout=1&lastEventId=\(id)", accept).text
                        let again = try more.split(separator: "\n").map { try JSON(String($0)) }
                        let all = Set((had + again.filter { $0["event"] == "update" }).compactMap { $0["stream"]?.text })
                        #expect(again.first?["resume"] == "reset" || all == Set(streams), "cut after \(count) of \(streams)")
                    }
                }
            }
            await keeper.connection.close()
        }
    }

    @Test(arguments: ["application/x-ndjson", "text/event-stream"])
    func theFirstWhoGoesOnFromASnapshotInItsFormatGoesOnExactly(_ accept: String) async throws {
        try await House.open { house in
            let keeper = try await Self.begun(house, Self.quotes, Self.trades)
            let link = try await house.client.get("/streams/\(Self.trades)").header("Link") ?? ""
            let address = try #require(link.split(separator: ">").first?.dropFirst())
            for stream in [Self.trades, Self.quotes] { for _ in 0..<3 { _ = try await keeper.next("update", of: stream) } }
            let text = try await house.client.get("\(address)&count=1&event=stream", ["Accept": accept]).text
            #expect(text.contains(#""resume":"exact""#), "\(text.prefix(300))")
        }
    }
}
