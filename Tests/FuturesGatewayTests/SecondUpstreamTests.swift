import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// Another upstream beside the venue, by every transport, over the gateway's own interface.
@Suite struct SecondUpstreamTests {
    @Test func theUpstreamSaysWhetherItsDataAreSimulated() async throws {
        // A demo exchange at the address of a venue says so in its list of symbols.
        try await House.open { house in
            try await house.awaitReadiness()
            let list = try await house.client.get("/streams").json
            #expect(list["upstreams"] == .array([.object(["name": "aster", "venue": "aster", "simulated": true])]))
            #expect(try await house.client.get("/metrics").text.contains("futures_gateway_simulated{upstream=\"aster\"} 1"))
        }
        try await House.open(configure: { $0.feed.venue = $0.feed.venue.simulated(by: "demo") }) { house in
            let list = try await house.client.get("/streams").json
            #expect(list["upstreams"] == .array([.object(["name": "demo", "venue": "aster", "simulated": true])]))
            _ = try await house.client.events("streams=btcusdt@bookTicker").next("update")
            let metrics = try await house.client.get("/metrics").text
            #expect(metrics.contains("futures_gateway_simulated{upstream=\"demo\"} 1"))
            #expect(metrics.contains("upstream=\"demo\",kind=\"bookTicker\"") && !metrics.contains("upstream=\"aster\""))
        }
    }

    static let ways = ["websocket", "legacy", "multipart", "sse"]

    static func open(_ way: String, token: String? = nil, _ body: (House, GraphQLServer) async throws -> Void) async throws {
        var configuration = GraphQLServer.Configuration()
        configuration.interval = .milliseconds(20)
        configuration.token = "right"
        let prices = GraphQLServer(configuration: configuration)
        let port = try await prices.start()
        let members = "{ symbol last seq }"
        let file = """
            {"prices":{"kind":"graphql","webSocket":"ws://127.0.0.1:\(port)/graphql","http":"http://127.0.0.1:\(port)/graphql",
             "transport":"\(way == "legacy" ? "websocket" : way)","subprotocols":["\(way == "legacy" ? "graphql-ws" : "graphql-transport-ws")"],
             "connectingPayload":{"authToken":"${TOKEN}"},"headers":{"Authorization":"Bearer ${TOKEN}"},
             "streams":{"quote":{"subscription":"subscription($symbol:String!){priceUpdated(symbol:$symbol)\(members)}","variables":{"symbol":"{key}"},
              "path":"priceUpdated","snapshot":{"query":"query($symbol:String!){price(symbol:$symbol)\(members)}","path":"price"}},
              "finite":{"subscription":"subscription($symbol:String!){finite(symbol:$symbol)\(members)}","variables":{"symbol":"{key}"},"path":"finite"}}}}
            """
        let result = await Result {
            try await House.open(
                linger: .zero,
                configure: { configuration in try? configuration.feed.readUpstreams(file) { _ in token ?? "right" } },
                { house in try await body(house, prices) })
        }
        await prices.stop()
        try result.get()
    }

    @Test(arguments: ways)
    func itsStreamsStandBesideTheVenues(_ way: String) async throws {
        try await Self.open(way) { house, prices in
            let reader = try await house.client.events("streams=prices:AAPL@quote,btcusdt@markPrice@1s")
            let update = try await reader.next("update", of: "prices:AAPL@quote")
            #expect(update.data["content"]?["symbol"] == "AAPL")
            #expect(update.data["source"] == "websocket")
            _ = try await reader.next("update", of: "btcusdt@markPrice@1s")
            let snapshot = try await house.client.get("/streams/prices:MSFT@quote").json
            #expect(snapshot["content"]?["symbol"] == "MSFT")
            #expect(prices.statistics().activeSubscriptions["AAPL"] == 1)
        }
    }

    @Test func readinessIsAskedOfEveryUpstreamThatIsRead() async throws {
        try await Self.open("websocket") { house, prices in
            let venue = try await house.client.events("streams=btcusdt@markPrice@1s")
            _ = try await venue.next("update")
            let reader = try await house.client.events("streams=prices:AAPL@quote")
            _ = try await reader.next("update")
            #expect(try await house.client.get("/readyz").status == 200)
            await prices.stop()
            _ = try await reader.next("disconnect")
            let answer = try await house.client.get("/readyz")
            #expect(answer.status == 503)
            #expect(answer.text.wholeMatch(of: /no data flows from prices \(streams read: 1\); \d+ s ago: .+\n/) != nil, "\(answer.text)")
            await reader.connection.close()
            // Whose streams nobody reads is not asked for them.
            while try await house.client.get("/readyz").status != 200 {}
            withExtendedLifetime(venue) {}
        }
    }

    @Test(arguments: ways)
    func aLostServerIsToldAndRecovered(_ way: String) async throws {
        try await Self.open(way) { house, prices in
            let reader = try await house.client.events("streams=prices:AAPL@quote")
            _ = try await reader.next("update")
            prices.dropConnections(code: ["websocket", "legacy"].contains(way) ? 1012 : nil)
            _ = try await reader.next("disconnect")
            _ = try await reader.next("connect")
            #expect(try await reader.next("recover").data["result"] == "success")
            _ = try await reader.next("update")
            #expect(prices.statistics().activeSubscriptions["AAPL"] == 1)
        }
    }

    @Test(arguments: ways)
    func aServerThatRefusesIsAFailureThatSaysSo(_ way: String) async throws {
        try await Self.open(way, token: "wrong") { house, prices in
            let reader = try await house.client.events("streams=prices:AAPL@quote")
            let failure = try await reader.next("fail") { $0.data["error"]?["message"]?.text?.contains("credentials") == true || way == "legacy" }
            #expect(failure.data["error"]?["code"] == "venueRejected")
        }
    }

    @Test(arguments: ["websocket", "sse"])
    func aSubscriptionThatTheServerEndsIsAskedForAgain(_ way: String) async throws {
        try await Self.open(way) { house, prices in
            let reader = try await house.client.events("streams=prices:AAPL@finite")
            for _ in 0..<2 { _ = try await reader.next("recover") }
            #expect((prices.statistics().subscribes["AAPL"] ?? 0) >= 3)
        }
    }

    @Test func whatIsNoKeyIsNoStream() async throws {
        try await Self.open("websocket") { house, _ in
            for name in ["prices:A%7B@quote", "prices:A%22@quote", "prices:@quote", "prices:AAPL@other", "other:AAPL@quote"] {
                let status = try await house.client.get("/streams/\(name)").status
                #expect([400, 404].contains(status), "\(name)")
            }
        }
    }
}
