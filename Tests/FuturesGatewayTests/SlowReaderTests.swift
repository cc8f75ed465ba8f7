import DemoExchange
import Foundation
import GatewayTestSupport
import Testing

@Suite struct SlowReaderTests {
    @Test func aReaderThatStopsSkipsToTheLatestFullValueAndDelaysNobody() async throws {
        let stream = "!miniTicker@arr"
        try await House.open(ringBytes: 256 << 10) { house in
            house.exchange.setStalled(true)
            let slow = try await house.client.events("streams=\(stream)", receiveBuffer: 4096)
            let fast = try await house.client.events("streams=\(stream)")
            for reader in [slow, fast] { _ = try await reader.next("fetch", "update") }
            try await house.awaitSubscription(to: stream)
            try await slow.connection.setReading(false)
            let rounds = 60
            for round in 1...rounds {
                house.exchange.inject(Self.miniTickers(round: round))
                let update = try await fast.next("update")
                #expect(update.kind == "delta")
                #expect(update.rows.last?["lastPrice"]?.text == "\(round).00")
            }
            try await slow.connection.setReading(true)
            let late = try await slow.all { $0.rows.contains { $0["lastPrice"]?.text == "\(rounds).00" } }
            // The exchange sends nothing by itself, so the stream may become stale.
            #expect(late.allSatisfy { ["update", "fetch", "connect", "status"].contains($0.name) }, "\(late.map(\.name))")
            #expect(late.count < rounds)
            let full = try #require(late.last { $0.kind == "full" })
            let symbols = Set(full.rows.compactMap { $0["symbol"]?.text })
            #expect((0..<200).allSatisfy { symbols.contains("X\($0)USDT") })
            house.exchange.inject(Self.miniTickers(round: rounds + 1))
            for reader in [slow, fast] { _ = try await reader.next("update") { $0.rows.last?["lastPrice"]?.text == "\(rounds + 1).00" } }
        }
    }

    @Test func aReaderThatStopsIsToldHowManyTradesItMissed() async throws {
        let stream = "btcusdt@aggTrade"
        try await House.open(ringBytes: 256 << 10) { house in
            house.exchange.setStalled(true)
            let slow = try await house.client.events("streams=\(stream)", receiveBuffer: 4096)
            let fast = try await house.client.events("streams=\(stream)")
            var last: Int64 = 0
            for reader in [slow, fast] {
                let full = try await reader.next("fetch", "update") { $0.rows.count == 500 }
                last = try #require(full.rows.last?["id"]?.integer)
            }
            try await house.awaitSubscription(to: stream)
            try await slow.connection.setReading(false)
            let first = last + 1
            let batch: Int64 = 100
            for _ in 0..<50 {
                for id in last + 1...last + batch { house.exchange.inject(Self.trade(id)) }
                for id in last + 1...last + batch { #expect(try await fast.next("update").rows.first?["id"]?.integer == id) }
                last += batch
            }
            try await slow.connection.setReading(true)
            var next = first
            var gaps: Int64 = 0
            while next <= last {
                let event = try await slow.next("update", "gap")
                if event.name == "gap" {
                    let dropped = try #require(event.data["dropped"]?.integer)
                    gaps += dropped
                    next += dropped
                } else {
                    #expect(event.rows.count == 1)
                    #expect(event.rows.first?["id"]?.integer == next)
                    next += 1
                }
            }
            #expect(gaps > 0)
            #expect(next == last + 1)
        }
    }

    @Test func aReaderThatStopsMayAskForTradesAndGetsThemWholeOnceItReads() async throws {
        let (tickers, trades) = ("!miniTicker@arr", "btcusdt@aggTrade")
        try await House.open(ringBytes: 256 << 10) { house in
            house.exchange.setStalled(true)
            let slow = try await house.client.events("streams=\(tickers)", receiveBuffer: 4096)
            let fast = try await house.client.events("streams=\(tickers),\(trades)")
            try await house.awaitSubscription(to: tickers, trades)
            var last = try #require(try await fast.next("fetch", "update", of: trades) { $0.rows.count == 500 }.rows.last?["id"]?.integer)
            try await slow.connection.setReading(false)
            for round in 1...60 {
                house.exchange.inject(Self.miniTickers(round: round))
                _ = try await fast.next("update", of: tickers) { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
            }
            #expect(try await house.client.post("/events/\(slow.client)/subscribe?streams=\(trades)").status == 200)
            last += 1
            house.exchange.inject(Self.trade(last))
            _ = try await fast.next("update", of: trades)
            try await slow.connection.setReading(true)
            let begun = try await slow.next("update", "gap", of: trades)
            #expect(begun.kind == "full")
            #expect(begun.rows.last?["id"]?.integer == last)
            house.exchange.inject(Self.trade(last + 1))
            #expect(try await slow.next("update", "gap", of: trades).rows.map { $0["id"]?.integer } == [last + 1])
        }
    }

    @Test(arguments: ["", "&maxRate=20"]) func aStreamThatFellBehindDoesNotWaitForTheOthersOfASlowReader(_ pace: String) async throws {
        let (tickers, quotes) = ("!miniTicker@arr", "btcusdt@bookTicker")
        try await House.open(ringBytes: 2 << 20) { house in
            house.exchange.setStalled(true)
            let slow = try await house.client.events("streams=\(tickers),\(quotes)\(pace)", receiveBuffer: 4096)
            let fast = try await house.client.events("streams=\(tickers),\(quotes)")
            for reader in [slow, fast] {
                for stream in [tickers, quotes] { _ = try await reader.next("fetch", "update", of: stream) }
            }
            try await house.awaitSubscription(to: tickers, quotes)
            try await slow.connection.setReading(false)
            // The ring of the tickers has dropped most of them; that of the quotes has all.
            let (rounds, batch, batches) = (120, 500, 8)
            for round in 1...rounds {
                house.exchange.inject(Self.miniTickers(round: round))
                _ = try await fast.next("update", of: tickers) { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
            }
            for last in stride(from: batch, through: batches * batch, by: batch) {
                for round in last - batch + 1...last { house.exchange.inject(PaceTests.ticker(round)) }
                _ = try await fast.next("update", of: quotes) { $0.content["bidPrice"]?.text == "\(last).00" }
            }
            try await slow.connection.setReading(true)
            let told = try await slow.all { $0.kind == "full" && $0.rows.contains { $0["lastPrice"]?.text == "\(rounds).00" } }
            let before = told.count { $0.content["bidPrice"] != nil }
            #expect(before < batches * batch / 2, "the socket holds less than a quarter of the quotes")
            let isLast = { @Sendable (event: ServerEvent) in event.content["bidPrice"]?.text == "\(batches * batch).00" }
            if !told.contains(where: isLast) { _ = try await slow.next("update", of: quotes, where: isLast) }
        }
    }

    /// It counts the events that it has missed, and would wait for those that a snapshot replaced.
    @Test func aReaderThatIsTooSlowForWhatItMissedReconnects() async throws {
        let stream = "!miniTicker@arr"
        try await House.open { house in
            house.exchange.setStalled(true)
            let fast = try await house.client.events("streams=\(stream)")
            _ = try await fast.next("fetch", "update")
            try await house.awaitSubscription(to: stream)
            func inject(_ rounds: ClosedRange<Int>) async throws -> String? {
                var first: String?
                for round in rounds {
                    house.exchange.inject(Self.miniTickers(round: round, symbols: 2_000))
                    let id = try await fast.next("update") { $0.rows.last?["lastPrice"]?.text == "\(round).00" }.id
                    first = first ?? id
                }
                return first
            }
            let id = try #require(try await inject(1...21))
            let slow = try await house.client.events("streams=\(stream)", ["Last-Event-ID": id], receiveBuffer: 4096)
            try await slow.connection.setReading(false)
            #expect(slow.session.data["resume"] == "exact" && slow.session.data["replayed"]?.integer ?? 0 >= 20)
            _ = try await inject(22...80)
            try await slow.connection.setReading(true)
            let last = try await slow.next("bye", "update") { $0.name == "bye" || $0.rows.last?["lastPrice"]?.text == "80.00" }
            #expect(last.name == "bye" && last.data["code"] == "reset", "\(last.name)")
        }
    }

    @Test func aReaderThatStopsIsSentOffOnce() async throws {
        let stream = "!miniTicker@arr"
        try await House.open { house in
            let (slow, _) = try await Self.oneStopped(of: stream, in: house)
            for _ in 0..<5 { _ = try await house.client.request("DELETE", "/events/\(slow.client)") }
            try await slow.connection.setReading(true)
            #expect(try await slow.rest().events.filter { $0.name == "bye" }.count == 1)
        }
    }

    /// A reader that stopped at its first round of mini tickers, and one that has read all sixty.
    static func oneStopped(of stream: String, in house: House) async throws -> (slow: EventReader, fast: EventReader) {
        house.exchange.setStalled(true)
        let slow = try await house.client.events("streams=\(stream)", receiveBuffer: 4096)
        let fast = try await house.client.events("streams=\(stream)")
        try await house.awaitSubscription(to: stream)
        try await slow.connection.setReading(false)
        for round in 1...60 {
            house.exchange.inject(miniTickers(round: round))
            _ = try await fast.next("update") { $0.rows.last?["lastPrice"]?.text == "\(round).00" }
        }
        return (slow, fast)
    }

    static func miniTickers(round: Int, symbols: Int = 200) -> String {
        // Newer than what REST says of the market, which goes on while its sockets are stalled.
        let time = Int64(Date().timeIntervalSince1970 * 1000) + 10_000 + Int64(round)
        let rows = (0..<symbols).map { number in
            #"{"e":"24hrMiniTicker","E":\#(time),"s":"X\#(number)USDT","c":"\#(round).00","o":"1.00","h":"99.00","l":"0.10","#
                + #""v":"1000","q":"1000.00"}"#
        }
        return #"{"stream":"!miniTicker@arr","data":[\#(rows.joined(separator: ","))]}"#
    }

    static func trade(_ id: Int64) -> String {
        let time = Int64(Date().timeIntervalSince1970 * 1000)
        return #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":\#(time),"s":"BTCUSDT","a":\#(id),"p":"1.0","q":"1.000","#
            + #""f":\#(id),"l":\#(id),"T":\#(time),"m":true}}"#
    }
}
