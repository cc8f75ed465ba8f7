import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// A gateway that is a node of a cluster, as readers see it.
@Suite struct ClusterTests {
    @Test func readersComeBackUntilTheLogWasRead() async throws {
        let port = try ReservedPort()
        try await House.open(configure: { $0.cluster = ClusterConfiguration(role: .edge, servers: ["nats://127.0.0.1:\(port.number)"]) }) { house in
            let events = try await house.client.get("/events?streams=btcusdt@markPrice")
            #expect(events.status == 200 && events.text.contains("event: bye") && events.text.contains(#""code":"starting""#), "\(events.text)")
            #expect(!events.text.contains("event: session"))
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice", ["Prefer": "handling=strict"]).status == 503)
            #expect(try await house.client.get("/readyz").status == 503)
        }
    }
}
