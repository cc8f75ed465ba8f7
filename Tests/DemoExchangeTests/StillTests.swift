import Testing

@testable import DemoExchange

/// 48 s into a minute.
private let opening: Int64 = 1_763_679_588_000

/// The times that go on in a still market. Everything else has to stay.
private func withoutTimes(_ json: String) -> String {
    json.replacing(/"(time|E|serverTime|nextFundingTime|T)":\d+/) { "\"\($0.output.1)\":0" }
}

@Suite struct StillTests {
    private var market: Market = {
        var market = Market(seed: 3, symbolCount: 24, now: opening)
        for _ in 1...100 { market.tick(now: market.now + Market.stepLength, length: Market.stepLength) }
        for symbol in 0..<2 { market.watchBook(symbol) }
        market.settleBook(2)
        return market
    }()

    private let values = [
        "/fapi/v1/premiumIndex", "/fapi/v1/assetIndex", "/fapi/v1/ticker/24hr", "/fapi/v1/ticker/bookTicker", "/fapi/v1/ticker/price",
        "/fapi/v1/depth?symbol=BTCUSDT&limit=1000", "/fapi/v1/depth?symbol=BNBUSDT&limit=1000", "/fapi/v1/aggTrades?symbol=BTCUSDT",
        "/fapi/v1/trades?symbol=BTCUSDT", "/fapi/v1/openInterest?symbol=BTCUSDT", "/fapi/v1/constituents?symbol=BTCUSDT", "/fapi/v1/indexInfo",
    ]
    private let bars = [
        "/fapi/v1/klines?symbol=BTCUSDT&interval=1h", "/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1h",
        "/fapi/v1/premiumIndexKlines?symbol=BTCUSDT&interval=1h",
    ]

    private func ask(_ uri: String, _ market: Market) -> String {
        withoutTimes(RESTService(source: market, now: market.now, weightLimit: 2_400).answer("GET", RESTTarget(uri)).body)
    }

    private func pass(_ steps: Int, _ market: inout Market) {
        for _ in 1...steps { market.tick(now: market.now + Market.stepLength, length: Market.stepLength) }
    }

    @Test func aStillMarketSaysTheSameForMinutesAndThenGoesOn() throws {
        var market = market
        market.isStill = true
        // The first tick still sends what came before it.
        pass(1, &market)
        let told = values.map { ask($0, market) }
        let toldBars = bars.map { ask($0, market) }
        pass(7, &market)
        #expect(bars.map { ask($0, market) } == toldBars)
        pass(1_500, &market)
        for (uri, body) in zip(values, told) { #expect(ask(uri, market) == body, "\(uri)") }
        market.isStill = false
        pass(200, &market)
        market.settleBook(2)
        for (uri, body) in zip(values, told) { #expect(ask(uri, market) != body, "\(uri)") }
    }

    @Test func aBarThatEndsInAStillMarketIsFollowedByOneWithoutTrades() throws {
        var market = market
        let close = decimal(market.symbols[0].lastPrice, 1)
        market.isStill = true
        pass(1_500, &market)
        #expect(market.now == 1_763_679_668_000)
        let rows = try VenueJSON(ask("/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=2", market)).rows
        #expect(
            "\(rows.map { $0.rows.map { $0.string.isEmpty ? "\($0.integer)" : $0.string } })"
                == #"[["1763679600000", "\#(close)", "\#(close)", "\#(close)", "\#(close)", "0.000", "1763679659999", "0.0000", "0", "0.000", "0.0000", "0"], "#
                + #"["1763679660000", "\#(close)", "\#(close)", "\#(close)", "\#(close)", "0.000", "1763679719999", "0.0000", "0", "0.000", "0.0000", "0"]]"#
        )
        let marks = try VenueJSON(ask("/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1m&limit=1", market)).rows
        let mark = decimal(market.symbols[0].mark, 8)
        #expect(marks.first?.rows[1...4].map(\.string) == [mark, mark, mark, mark])
    }

    @Test func onlyStreamsThatComeByTheClockGoOnInAStillMarket() throws {
        var market = market
        pass(1, &market)
        let names = [
            "!markPrice@arr@1s", "btcusdt@markPrice@1s", "!assetIndex@arr", "!bookTicker", "btcusdt@bookTicker", "btcusdt@aggTrade", "btcusdt@trade",
            "btcusdt@kline_1h", "!ticker@arr", "!miniTicker@arr", "btcusdt@ticker", "btcusdt@depth@100ms", "btcusdt@depth20", "!forceOrder@arr",
        ]
        var publishers = try names.map { StreamPublisher(try #require(MarketStream(name: $0, in: market)), in: market) }
        func run(_ steps: Int) -> [[String]] {
            var said = names.map { _ in [String]() }
            for _ in 1...steps {
                pass(1, &market)
                for stream in names.indices { said[stream] += publishers[stream].payloads(market).map(withoutTimes) }
            }
            return said
        }
        let moving = run(200)
        #expect(zip(names, moving).filter { $1.isEmpty }.map(\.0).allSatisfy { $0 == "!forceOrder@arr" })
        market.isStill = true
        // What came before it is still sent.
        _ = run(20)
        let still = run(100)
        #expect(still[0].count == 10 && Set(still[0]).count == 2)
        #expect(still[1].count == 5 && Set(still[1]).count == 1)
        #expect(still[2].count == 5 && Set(still[2]).count == 1)
        for (name, said) in zip(names, still).dropFirst(3) { #expect(said.isEmpty, "\(name)") }
    }

    @Test func theFaultIsAskedForOverHTTPAndEndsByItself() async throws {
        try await withExchange { _, port async throws in
            func quote() async throws -> String { try await get(port, "/fapi/v1/ticker/bookTicker").body }
            func still(_ parameters: String) async throws {
                #expect(try await get(port, "/control/fault", method: "POST", body: #"{"fault":"still"\#(parameters)}"#).status == 200)
            }
            try await still("")
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@markPrice@1s")
            let told = try await quote()
            let first = try await client.data()
            #expect(try await quote() == told)
            let second = try await client.data()
            try await still(#","forMs":100"#)
            for _ in 0..<20 where try await quote() == told { _ = try await client.data() }
            #expect(try await quote() != told)
            #expect(first["p"]?.string == second["p"]?.string && first["E"]?.integer != second["E"]?.integer)
        }
    }

    @Test func clearingTheFaultsLetsTheMarketMove() async throws {
        try await withExchange { exchange, port async throws in
            exchange.inflict(.still())
            let told = try await get(port, "/fapi/v1/ticker/bookTicker").body
            let clock = try await VenueClient(port: port, path: "/ws/btcusdt@markPrice@1s")
            _ = try await clock.data()
            #expect(try await get(port, "/fapi/v1/ticker/bookTicker").body == told)
            exchange.clearFaults()
            let client = try await VenueClient(port: port, path: "/ws/!bookTicker")
            _ = try await client.data()
            #expect(try await get(port, "/fapi/v1/ticker/bookTicker").body != told)
        }
    }
}
