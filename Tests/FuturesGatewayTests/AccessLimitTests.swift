import DemoExchange
import Foundation
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Testing

/// How much one may have. The tests come from this machine, whose own addresses have no limit, so they say that a proxy does.
struct AccessLimitTests {
    private static func open(_ limits: CallerLimits, configure: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (House) async throws -> Void)
        async throws
    {
        try await House.open(configure: {
            $0.access.addressLimits = limits
            $0.access.proxies = AddressBlock("127.0.0.0/8").map { [$0] } ?? []
            configure(&$0)
        }) { house in
            try await house.awaitReadiness()
            try await body(house)
        }
    }

    private static func from(_ address: String, _ headers: [String: String] = [:]) -> [String: String] {
        headers.merging(["X-Forwarded-For": address]) { $1 }
    }

    @Test func requestsBeyondTheRateAre429AndOthersAreServed() async throws {
        try await Self.open(CallerLimits(requests: 2)) { house in
            let first = try await house.client.get("/streams", Self.from("203.0.113.1"))
            #expect(first.status == 200)
            #expect(first.header("RateLimit-Policy") == "\"requests\";q=2;w=1")
            #expect(first.header("RateLimit")?.hasPrefix("\"requests\";r=3;t=") == true)
            var refused: HTTPAnswer?
            for _ in 0..<100 where refused == nil {
                let answer = try await house.client.get("/streams/btcusdt@markPrice", Self.from("6.6.6.6, 203.0.113.1"))
                if answer.status == 429 { refused = answer }
            }
            let answer = try #require(refused)
            #expect(answer.header("Retry-After") == "1")
            #expect(answer.header("RateLimit") == "\"requests\";r=0;t=1")
            #expect(try answer.json["limit"] == "address-requests")
            #expect(try answer.json["detail"]?.text?.contains("The limit per address is 2 requests a second.") == true)
            #expect(try await house.client.get("/streams", Self.from("203.0.113.2")).status == 200)
            #expect(try await house.client.get("/streams").status == 200)
        }
    }

    @Test(arguments: ["/", "/client.js", "/openapi.yaml", "/web/client.js", "/metrics"])
    func routesWithoutCredentialsCountToo(_ target: String) async throws {
        try await Self.open(CallerLimits(requests: 2), configure: { $0.access.opensMetrics = true }) { house in
            var statuses: Set<Int> = []
            for _ in 0..<100 where !statuses.contains(429) {
                statuses.insert(try await house.client.get(target, Self.from("203.0.113.1")).status)
            }
            #expect(statuses == [200, 429])
            #expect(try await house.client.get(target, Self.from("203.0.113.2")).status == 200)
            // Whoever watches over the process may share the address.
            for _ in 0..<20 {
                #expect(try await house.client.get("/healthz", Self.from("203.0.113.1")).status == 200)
                #expect(try await house.client.get("/readyz", Self.from("203.0.113.1")).status == 200)
            }
        }
    }

    @Test func aBrowserIsToldInAStreamAndAScriptByTheStatus() async throws {
        try await Self.open(CallerLimits(connections: 2, streams: 3)) { house in
            let from = Self.from("2001:db8:0:1::1")
            let first = try await house.client.events("streams=btcusdt@markPrice", from)
            let second = try await house.client.events("streams=btcusdt@markPrice", Self.from("2001:db8:0:1:ffff::2"))
            let refused = try await house.client.get("/events?streams=btcusdt@markPrice", from)
            #expect(refused.status == 200 && refused.text.contains("event: bye") && refused.text.contains(#""code":"limited""#), "\(refused.text)")
            let strict = try await house.client.get("/events?streams=btcusdt@markPrice", Self.from("2001:db8:0:1::3", ["Prefer": "handling=strict"]))
            #expect(strict.status == 429)
            #expect(try strict.json["limit"] == "address-connections")
            let more = try await house.client.post("/events/\(first.client)/subscribe?streams=ethusdt@markPrice,ethusdt@bookTicker", from)
            #expect(more.status == 429)
            #expect(try more.json["limit"] == "address-streams")
            #expect(try await house.client.post("/events/\(first.client)/subscribe?streams=ethusdt@markPrice,btcusdt@markPrice", from).status == 200)
            #expect(try await house.client.post("/events/\(first.client)/unsubscribe?streams=ethusdt@markPrice", from).status == 200)
            #expect(try await house.client.post("/events/\(second.client)/subscribe?streams=ethusdt@markPrice", from).status == 200)
            #expect(try await house.client.request("DELETE", "/events/\(second.client)", from).status == 200)
            _ = try await second.rest()
            // Its place is free as soon as the gateway has noticed.
            let deadline = ContinuousClock.now + .seconds(20)
            while try await house.client.get("/events?streams=btcusdt@markPrice&count=1", Self.from("2001:db8:0:1::3", ["Prefer": "handling=strict"]))
                .status != 200
            {
                try #require(ContinuousClock.now < deadline)
            }
        }
    }

    @Test func refetchesAreLimitedByTheMinute() async throws {
        try await Self.open(CallerLimits(refetches: 1)) { house in
            let target = "/streams/btcusdt@markPrice/refetch"
            #expect(try await house.client.post(target, Self.from("203.0.113.1")).status == 200)
            let refused = try await house.client.post(target, Self.from("203.0.113.1"))
            #expect(refused.status == 429 && refused.header("Retry-After") == "60")
            #expect(try refused.json["limit"] == "address-refetches")
            #expect(try await house.client.post(target, Self.from("203.0.113.2")).status == 200)
        }
    }

    @Test func forceFetchCostsARefetchForEveryStreamItFetches() async throws {
        try await Self.open(CallerLimits(refetches: 3)) { house in
            let from = Self.from("203.0.113.1", ["Prefer": "handling=strict"])
            let three = "btcusdt@markPrice,ethusdt@markPrice,btcusdt@bookTicker,ethusdt@bookTicker"
            let never = try await house.client.get("/events?streams=\(three)&forceFetch=true", Self.from("203.0.113.1"))
            #expect(never.status == 400)
            #expect(
                try never.json["detail"]
                    == "forceFetch would cost 4 refetches; the limit per address is 3 a minute. Name fewer streams, or leave forceFetch out: a new stream is fetched anyway."
            )
            // Liquidations have no REST source, so they cost none.
            let reader = try await house.client.events("streams=btcusdt@markPrice,ethusdt@markPrice,!forceOrder@arr&forceFetch=true", from)
            let refused = try await house.client.get("/events?streams=btcusdt@markPrice,ethusdt@markPrice&forceFetch=true", from)
            #expect(refused.status == 429)
            #expect(try refused.json["limit"] == "address-refetches")
            let told = try await house.client.get("/events?streams=btcusdt@markPrice,ethusdt@markPrice&forceFetch=true", Self.from("203.0.113.1"))
            #expect(told.status == 200 && told.text.contains(#""code":"limited""#), "\(told.text)")
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice&forceFetch=true&count=1", from).status == 200)
            #expect(try await house.client.post("/streams/btcusdt@markPrice/refetch", from).status == 429)
            withExtendedLifetime(reader) {}
        }
    }

    @Test func oneAddressBeginsItsShareOfTheStreamsAlone() async throws {
        try await Self.open(CallerLimits(streams: 2)) { house in
            for stream in ["btcusdt@markPrice", "ethusdt@markPrice", "btcusdt@markPrice"] {
                #expect(try await house.client.get("/streams/\(stream)", Self.from("203.0.113.1")).status == 200)
            }
            for target in ["/streams/btcusdt@bookTicker", "/events?streams=btcusdt@bookTicker"] {
                let answer = try await house.client.get(target, Self.from("203.0.113.1", ["Prefer": "handling=strict"]))
                #expect(answer.status == 429)
                #expect(try answer.json["limit"] == "address-streams")
            }
            #expect(try await house.client.get("/streams/btcusdt@bookTicker", Self.from("203.0.113.2")).status == 200)
            #expect(try await house.client.get("/streams/btcusdt@bookTicker", Self.from("203.0.113.1")).status == 200, "what others began")
        }
    }

    @Test func whoWaitsForAnAnswerHasAConnection() async throws {
        try await Self.open(CallerLimits(connections: 1)) { house in
            let (from, stream) = (Self.from("203.0.113.1"), "btcusdt@kline_1d")
            _ = try await house.client.events("streams=\(stream)").next("fetch")
            house.exchange.setStalled(true)
            let tag = try await LongPollTests.settled(house, stream)
            let poll = ["If-None-Match": tag, "Prefer": "wait=60"]
            let waiting = try await RawConnection(port: house.client.port)
            waiting.send(
                "GET /streams/\(stream) HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.1\r\nIf-None-Match: \(tag)\r\nPrefer: wait=60\r\n\r\n"
            )
            try await LongPollTests.readers(house, stream) { $0 == 1 }
            let refused = try await house.client.get("/streams/\(stream)", from.merging(poll) { $1 })
            #expect(refused.status == 429)
            #expect(try refused.json["limit"] == "address-connections")
            #expect(try await house.client.get("/streams/\(stream)", from).status == 200, "what is there needs no waiting")
            await waiting.close()
            try await LongPollTests.readers(house, stream) { $0 == 0 }
            _ = try await house.client.events("streams=\(stream)", from)
        }
    }

    @Test func theGatewayAsAWholeHasSoManyReadersAndStreams() async throws {
        try await Self.open(
            CallerLimits(),
            configure: {
                $0.events.maximumReaders = 2
                $0.events.maximumStreams = 2
            }
        ) { house in
            let strict = ["Prefer": "handling=strict"]
            let first = try await house.client.events("streams=btcusdt@markPrice")
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice,ethusdt@markPrice,btcusdt@bookTicker", strict).status == 503)
            let second = try await house.client.events("streams=ethusdt@markPrice")
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice", strict).status == 503)
            #expect(try await house.client.get("/events?streams=btcusdt@markPrice").text.contains(#""code":"overloaded""#))
            #expect(try await house.client.get("/streams/btcusdt@bookTicker").status == 503)
            #expect(try await house.client.post("/events/\(first.client)/subscribe?streams=btcusdt@bookTicker").status == 503)
            #expect(try await house.client.get("/streams/btcusdt@markPrice").status == 200)
            #expect(try await house.client.request("DELETE", "/events/\(second.client)").status == 200)
        }
    }
}
