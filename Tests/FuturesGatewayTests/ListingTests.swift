import DemoExchange
import FeedCore
import GatewayTestSupport
import NIOCore
import Testing

@testable import FuturesFeed
@testable import FuturesGateway

/// A symbol that the venue lists while the gateway runs.
struct ListingTests {
    private static let stream = "/streams/ethusdt@bookTicker"

    /// A venue that has not listed ETHUSDT yet, and a gateway that has read its list.
    private static func open(_ body: (House) async throws -> Void) async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let list = try await house.client.get("/fapi/v1/exchangeInfo?maxAge=0").text
            let without = list.replacing(#""ETHUSDT""#, with: #""ETHNONE""#)
            house.exchange.inflict(.rest(.status(200, body: without), path: "/fapi/v1/exchangeInfo"))
            // A symbol is gone after the second list that lacks it.
            for _ in 1...2 { #expect(try await house.client.get("/fapi/v1/exchangeInfo?maxAge=0").text == without) }
            let answer = try await house.client.get(stream)
            #expect(answer.status == 404)
            #expect(try answer.json["code"] == "unknownStream")
            house.exchange.clearFaults()
            try await body(house)
        }
    }

    @Test func aSymbolIsServedAsSoonAsAPassedOnListHasIt() async throws {
        try await Self.open { house in
            let list = try await house.client.get("/fapi/v1/exchangeInfo?maxAge=0")
            #expect(list.text.contains(#""ETHUSDT""#))
            #expect(try await house.client.get(Self.stream + "?wait=20").status == 200)
        }
    }

    @Test func aSocketIsServedAsSoonAsTheVenueListsItsSymbol() async throws {
        try await Self.open { house in
            let (client, connection) = try await SocketClient.open(house, "/ws/ethusdt@bookTicker")
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)
            #expect(try await client.text() == #"{"result":["ethusdt@bookTicker"],"id":1}"#)
            _ = try await house.client.get("/fapi/v1/exchangeInfo?maxAge=0")
            #expect(try await client.text().contains(#""s":"ETHUSDT""#))
        }
    }

    @Test(.enabled(if: StreamRoute.current != .edge, "at an edge the list is the ingest's"))
    func anUnknownSymbolHasTheListReadAnewIfItIsHalfAMinuteOld() async throws {
        try await Self.open { house in
            let engine = try #require(house.gateway.hub.feed as? FeedEngine)
            func asked() -> Int { house.exchange.statistics().requests["/fapi/v1/exchangeInfo"] ?? 0 }
            let before = asked()
            for _ in 1...5 { #expect(try await house.client.get(Self.stream).status == 404, "the list is new") }
            #expect(asked() == before)
            try await engine.loop.submit {
                engine.performer.value.listingReadAt[0] = Instant.current + (.zero - FeedEngine.listingRefresh)
            }.get()
            let deadline = ContinuousClock.now + .seconds(30)
            while try await house.client.get(Self.stream + "?wait=20").status == 404, ContinuousClock.now < deadline {}
            #expect(try await house.client.get(Self.stream + "?wait=20").status == 200)
            #expect(asked() == before + 1, "one request at a time")
        }
    }
}
