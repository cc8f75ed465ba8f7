import DemoExchange
import FuturesFeed
import FuturesGateway
import GatewayTestSupport
import Testing

@Suite struct HubDemandTests {
    @Test func fiveHundredReadersCostOneSubscriptionAndNoneAfterTheLinger() async throws {
        let stream = "btcusdt@bookTicker"
        try await House.open(linger: .seconds(1)) { house in
            let other = try await house.client.events("streams=ethusdt@bookTicker")
            _ = try await other.next("update")
            var readers: [EventReader] = []
            for _ in 0..<10 {
                readers += try await withThrowingTaskGroup(of: EventReader.self) { group in
                    for _ in 0..<50 { group.addTask { try await house.client.events("streams=\(stream)") } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
            }
            let opened = try await house.client.sequence(of: stream)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for reader in readers { group.addTask { _ = try await reader.next("update") { $0.sequence > opened } } }
                try await group.waitForAll()
            }
            #expect(try await house.client.get("/streams/\(stream)/status").json["readers"] == 500)
            let crowded = house.exchange.statistics()
            #expect(crowded.subscribes[stream] == 1)
            #expect(crowded.activeSubscriptions[stream] == 1)
            #expect(crowded.connectionsEver == 1)

            let changes = house.exchange.changes()
            let left = ContinuousClock.now
            for reader in readers { await reader.connection.close() }
            try await house.awaitEvent(.unsubscribed([stream]), in: changes)
            #expect(ContinuousClock.now >= left + .seconds(1))
            let empty = house.exchange.statistics()
            #expect(empty.unsubscribes == [stream: 1])
            #expect(empty.activeSubscriptions[stream] == nil)
            #expect(empty.connectionsNow == 1)
            #expect(try await house.client.get("/streams/\(stream)/status").json["state"] == "idle")
        }
    }

    @Test func barsOfSecondsShareTheSubscriptionOfTheirTrades() async throws {
        try await House.open(linger: .zero) { house in
            let (trades, bars, quotes) = ("btcusdt@aggTrade", "btcusdt@bar_1s", "btcusdt@bookTicker")
            let other = try await house.client.events("streams=ethusdt@bookTicker")
            _ = try await other.next("update")
            let both = try await house.client.events("streams=\(trades),\(bars),\(quotes)")
            // The second is complete if its first trade came after the first value.
            var complete: JSON?
            while complete == nil {
                let event = try await both.next("update") { $0.stream == bars }
                complete = event.data["content"]?.array?.first { $0["isClosed"] == true && $0["isComplete"] == true }
            }
            let (first, last) = (try #require(complete?["firstId"]?.integer), try #require(complete?["lastId"]?.integer))
            let known = try await house.client.get("/streams/\(trades)").json["content"]?.array ?? []
            let own = known.filter { ($0["id"]?.integer).map { (first...last).contains($0) } ?? false }
            #expect(own.count == last - first + 1)
            #expect(complete?["open"] == own.first?["price"])
            #expect(complete?["close"] == own.last?["price"])
            #expect(house.exchange.statistics().activeSubscriptions == [trades: 1, quotes: 1, "ethusdt@bookTicker": 1])

            // Bars alone keep the subscription, and the last of them ends it.
            let second = try await house.client.events("streams=\(bars)")
            _ = try await second.next()
            let before = house.exchange.changes()
            await both.connection.close()
            // The trades lost their reader with the quotes, whose subscription ends alone.
            try await house.awaitEvent(.unsubscribed([quotes]), in: before)
            _ = try await second.next("update")
            #expect(house.exchange.statistics().unsubscribes == [quotes: 1])
            let changes = house.exchange.changes()
            await second.connection.close()
            try await house.awaitEvent(.unsubscribed([trades]), in: changes)
        }
    }

    @Test func aReaderWithinTheLingerFindsTheStreamStillThere() async throws {
        try await House.open { house in
            let stream = "btcusdt@bookTicker"
            let first = try await house.client.events("streams=\(stream)")
            _ = try await first.next("update")
            await first.connection.close()
            while try await house.client.get("/streams/\(stream)/status").json["readers"] != 0 { try await Task.sleep(for: .milliseconds(10)) }
            let second = try await house.client.events("streams=\(stream)")
            #expect(try await second.next().kind == "full")
            #expect(house.exchange.statistics().subscribes[stream] == 1)
        }
    }

    @Test func aPinnedStreamNeedsNoReaderAndGoesWhenItIsNoLongerPinned() async throws {
        let (first, second) = ("btcusdt@bookTicker", "ethusdt@bookTicker")
        try await House.open(linger: .zero, configure: { $0.pinned = [.bookTicker(symbol: "BTCUSDT")] }) { house in
            try await house.awaitSubscription(to: first)
            try await house.awaitReadiness()
            let reader = try await house.client.events("streams=\(first)")
            _ = try await reader.next("update")
            let changes = house.exchange.changes()
            house.gateway.pin([.bookTicker(symbol: "ETHUSDT"), .bookTicker(symbol: "NOSUCHUSDT")])
            try await house.awaitSubscription(to: second)
            _ = try await reader.next("update")
            #expect(house.exchange.statistics().unsubscribes[first] == nil)
            await reader.connection.close()
            try await house.awaitEvent(.unsubscribed([first]), in: changes)
            let statistics = house.exchange.statistics()
            #expect(statistics.activeSubscriptions[second] == 1 && statistics.subscribes[first] == 1)
            #expect(statistics.connectionsEver == 1)
        }
    }
}
