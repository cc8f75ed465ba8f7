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
