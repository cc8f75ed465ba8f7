import Testing

@testable import DemoExchange

private let opening: Int64 = 1_763_679_610_000

/// What streams say in ten seconds of a market that is known to the last digit.
private func sayings(_ names: [String]) throws -> [[String]] {
    var market = Market(seed: 1, symbolCount: 24, now: opening)
    var publishers = try names.map { StreamPublisher(try #require(MarketStream(name: $0, in: market)), in: market) }
    for name in names { if let symbol = MarketStream(name: name, in: market)?.bookSymbol { market.watchBook(symbol) } }
    var said = names.map { _ in [String]() }
    for _ in 1...200 {
        market.tick(now: market.now + Market.stepLength, length: Market.stepLength)
        for stream in names.indices { said[stream] += publishers[stream].payloads(market) }
    }
    return said
}

@Suite struct BinanceStreamTests {
    @Test func aContinuousKlineIsThatOfTheContractOfThePair() throws {
        let said = try sayings([
            "btcusdt_perpetual@continuousKline_1m", "btcusdt@kline_1m", "btcusdt_current_quarter@continuousKline_1h", "btcusdt_261225@kline_1h",
        ])
        #expect(said[0].count > 10 && said[0].count == said[1].count && said[2].count == said[3].count)
        #expect(
            said[0].first
                == #"{"e":"continuous_kline","E":1763679610250,"ps":"BTCUSDT","ct":"PERPETUAL","k":{"t":1763679600000,"#
                + #""T":1763679659999,"i":"1m","f":8000001943,"L":8000002004,"o":"108365.7","c":"108374.8","h":"108374.8","#
                + #""l":"108346.8","v":"0.169","n":62,"x":false,"q":"18313.0181","V":"0.100","Q":"10835.9475","B":"0"}}"#)
        #expect(
            said[2].first
                == #"{"e":"continuous_kline","E":1763679610250,"ps":"BTCUSDT","ct":"CURRENT_QUARTER","k":{"t":1763679600000,"#
                + #""T":1763683199999,"i":"1h","f":8000001969,"L":8000002026,"o":"108929.4","c":"108913.2","h":"108936.4","#
                + #""l":"108913.2","v":"0.178","n":58,"x":false,"q":"19388.7625","V":"0.069","Q":"7516.0100","B":"0"}}"#)
        for (continuous, plain) in [(0, 1), (2, 3)] {
            for (bar, of) in zip(said[continuous], said[plain]) {
                let bar = try #require(VenueJSON(bar)["k"])
                let of = try #require(VenueJSON(of)["k"])
                #expect(bar.keys == of.keys.subtracting(["s"]))
                for key in bar.keys { #expect("\(bar[key]?.description ?? "")" == "\(of[key]?.description ?? "-")") }
            }
        }
    }

    @Test func theCompositeIndexAndTheTradingSessionComeEverySecond() throws {
        let said = try sayings(["defiusdt@compositeIndex", "tradingSession"])
        #expect(said[0].count == 10)
        #expect(
            said[0].first
                == #"{"e":"compositeIndex","E":1763679611000,"s":"DEFIUSDT","p":"643.04348780","C":"baseAsset","c":[{"b":"ETH","#
                + #""q":"USDT","w":"0.07525384","W":"0.45000000","i":"3845.24608356"},{"b":"LINK","q":"USDT","w":"11.95104419","#
                + #""W":"0.32500000","i":"17.48717068"},{"b":"SOL","q":"USDT","w":"0.78328267","W":"0.22500000","#
                + #""i":"184.71592206"}]}"#)
        #expect(said[1].count == 20)
        #expect(
            said[1].prefix(2)
                == [
                    #"{"e":"EquityUpdate","E":1763679611000,"t":1763672400000,"T":1763683200000,"S":"AFTER_MARKET"}"#,
                    #"{"e":"CommodityUpdate","E":1763679611000,"t":1763676000000,"T":1763683200000,"S":"NO_TRADING"}"#,
                ])
    }

    @Test func theBookWithRetailOrdersIsTheBookEveryHalfSecond() throws {
        let said = try sayings(["btcusdt@rpiDepth@500ms", "btcusdt@depth@500ms"])
        #expect(said[0].count > 15 && said[0] == said[1])
    }

    @Test func aWrongNameIsNeverServed() {
        let market = Market(seed: 1, symbolCount: 24, now: opening)
        for name in [
            "btcusdt_next_quarter@continuousKline_1m", "BTCUSDT_perpetual@continuousKline_1m", "btcusdt_PERPETUAL@continuousKline_1m",
            "btcusdt_perpetual@continuousKline_1s", "btcusdt@continuousKline_1m", "btcusdt@compositeIndex", "btcusdt@rpiDepth", "tradingsession",
        ] {
            #expect(MarketStream(name: name, in: market) == nil, "\(name)")
        }
    }

    @Test func eachComesOnItsPathOnly() async throws {
        try await withExchange { _, port async throws in
            let market = try await VenueClient(port: port, path: "/market/stream?streams=tradingSession/btcusdt@rpiDepth@500ms")
            let book = try await VenueClient(port: port, path: "/public/stream?streams=tradingSession/btcusdt@rpiDepth@500ms")
            for _ in 1...4 {
                #expect(try await market.data()["stream"]?.string == "tradingSession")
                #expect(try await book.data()["stream"]?.string == "btcusdt@rpiDepth@500ms")
            }
        }
    }
}
