import DemoExchange
import GatewayTestSupport
import Testing

/// Streams of symbols that the venue has settled.
struct EndedTests {
    @Test func aSettledSymbolIsGone() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            for (method, path) in [("GET", ""), ("GET", "/status"), ("POST", "/refetch")] {
                let answer = try await house.client.request(method, "/streams/sandusdt@bookTicker\(path)")
                #expect(answer.status == 410, "\(method) \(path)")
                #expect(try answer.json["code"] == "settled")
            }
            #expect(house.exchange.statistics().connectionsEver == 0)
        }
    }

    @Test func aBrowserIsToldToStopOnlyWhereAllItAskedForHasEnded() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            for method in ["GET", "HEAD"] {
                let gone = try await house.client.request(method, "/events?streams=sandusdt@bookTicker,sandusdt@markPrice")
                #expect(gone.status == 204)
                #expect(gone.body.isEmpty)
            }
            let reader = try await house.client.events("streams=sandusdt@bookTicker,btcusdt@bookTicker")
            _ = try await reader.next("update", of: "btcusdt@bookTicker")
        }
    }
}
