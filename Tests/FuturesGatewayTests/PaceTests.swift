import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

/// `maxRate`: so many deliveries of one stream a second, the latest each time.
struct PaceTests {
    static func ticker(_ round: Int) -> String {
        // Newer than what REST says of the market, which goes on while its sockets are stalled.
        let time = Int64(Date().timeIntervalSince1970 * 1000) + 10_000
        return #"{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","u":\#(10_900_000_000_000 + round),"E":\#(time),"T":\#(time),"#
            + #""s":"BTCUSDT","b":"\#(round).00","B":"1.000","a":"\#(round + 1).00","A":"1.000"}}"#
    }

    @Test func aPacedReaderSkipsToTheNewestAndEndsOnTheLast() async throws {
        try await House.open { house in
            house.exchange.setStalled(true)
            let paced = try await house.client.events("streams=btcusdt@bookTicker&maxRate=4")
            let every = try await house.client.events("streams=btcusdt@bookTicker")
            for reader in [paced, every] { _ = try await reader.next("fetch", "update") }
            try await house.awaitSubscription(to: "btcusdt@bookTicker")
            let rounds = 200
            let began = ContinuousClock.now
            for round in 1...rounds {
                house.exchange.inject(Self.ticker(round))
                let update = try await every.next("update")
                #expect(update.content["bidPrice"]?.text == "\(round).00", "nobody else is paced")
            }
            let seen = try await paced.all { $0.content["bidPrice"]?.text == "\(rounds).00" }.filter { $0.name == "update" }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            #expect(Double(seen.count) <= seconds * 4 + 2, "\(seen.count) in \(seconds) s")
            #expect(seen.allSatisfy { $0.id != nil })
        }
    }

    @Test func aPacedBookIsGivenWholeAndStaysRight() async throws {
        try await House.open { house in
            let stream = "btcusdt@depth@100ms"
            let paced = try await house.client.events("streams=\(stream)&maxRate=2")
            let every = try await house.client.events("streams=\(stream)")
            var base: Int64?
            var fulls = 0
            while fulls < 4 {
                let event = try await paced.next("update", "fetch")
                if event.kind == "full" { fulls += 1 } else { #expect(event.content["previousUpdateId"]?.integer == base) }
                base = event.content["lastUpdateId"]?.integer
            }
            _ = try await every.next("update") { [base] in $0.content["lastUpdateId"]?.integer ?? 0 >= base ?? .max }
        }
    }

    @Test func ofAPacedTapeNothingIsSkipped() async throws {
        try await House.open { house in
            let paced = try await house.client.events("streams=btcusdt@aggTrade&maxRate=2")
            var last = try #require(try await paced.next("update", "fetch") { !$0.rows.isEmpty }.rows.last?["id"]?.integer)
            for _ in 0..<40 {
                let event = try await paced.next("update", "fetch")
                for row in event.rows {
                    let id = row["id"]?.integer ?? 0
                    if event.kind == "delta" { #expect(id == last + 1) }
                    last = id
                }
            }
        }
    }

    /// No event of the stream follows, so only room in the socket can cause the snapshot.
    @Test func aStreamThatWasHeldAndPausedIsSentWhenTheSocketHasRoomAgain() async throws {
        let (tickers, quotes) = ("!miniTicker@arr", "btcusdt@bookTicker")
        try await House.open { house in
            house.exchange.setStalled(true)
            let every = try await house.client.events("streams=\(tickers),\(quotes)")
            for stream in [tickers, quotes] { _ = try await every.next("fetch", "update", of: stream) }
            try await house.awaitSubscription(to: tickers, quotes)
            let paced = try await house.client.events("streams=\(tickers),\(quotes)&maxRate=0.01", receiveBuffer: 4096)
            for stream in [tickers, quotes] { _ = try await paced.next("update", of: stream) }
            for round in 1...2 {
                house.exchange.inject(Self.ticker(round))
                _ = try await every.next("update", of: quotes)
            }
            #expect(try await paced.next("update", of: quotes).content["bidPrice"]?.text == "1.00")
            #expect(try await house.client.post("/events/\(paced.client)/pause").status == 200)
            try await paced.connection.setReading(false)
            house.exchange.inject(SlowReaderTests.miniTickers(round: 1, symbols: 4_000))
            _ = try await every.next("update", of: tickers) { $0.rows.count == 4_000 }
            #expect(try await house.client.post("/events/\(paced.client)/resume").status == 200)
            try await paced.connection.setReading(true)
            let events = try await paced.all { $0.stream == quotes }
            #expect(events.last?.kind == "full" && events.last?.content["bidPrice"]?.text == "2.00", "\(events.map(\.name))")
        }
    }

    @Test func aPacedReaderIsToldOfAnOutageAtOnce() async throws {
        try await House.open { house in
            let paced = try await house.client.events("streams=btcusdt@bookTicker&maxRate=0.01")
            let every = try await house.client.events("streams=btcusdt@bookTicker")
            for reader in [paced, every] { _ = try await reader.next("fetch", "update") }
            for _ in 0..<3 { _ = try await every.next("update") { $0.data["source"] == "websocket" } }
            await house.exchange.stop()
            _ = try await paced.next("disconnect")
            _ = try await paced.next("status") { $0.data["state"] == "recovering" }
        }
    }

    @Test(arguments: ["0", "-1", "nan", "1e3", "101", "fast", ""])
    func aRateOutOfBoundsIsRefused(_ rate: String) async throws {
        try await House.open { house in
            let answer = try await house.client.get("/events?streams=btcusdt@ticker&maxRate=\(rate)")
            #expect(answer.status == 400)
        }
    }

    @Test func controlIsRateLimited() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            // Concurrent, because on a busy machine sequential requests may be slower than the limit.
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<200 { group.addTask { try await house.client.post("/events/\(reader.client)/pause") } }
                return try await group.reduce(into: [HTTPAnswer]()) { $0.append($1) }
            }
            let refused = answers.first { $0.status == 429 }
            #expect(answers.contains { $0.status == 200 } && answers.allSatisfy { [200, 429].contains($0.status) })
            #expect(refused?.header("Retry-After") == "1")
        }
    }
}
