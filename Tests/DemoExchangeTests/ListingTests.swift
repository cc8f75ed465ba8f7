import Testing

@testable import DemoExchange

private let opening: Int64 = 1_763_679_610_000

private func ask(_ uri: String, perpetualsOnly: Bool = false) -> RESTReply {
    let market = Market(seed: 1, symbolCount: 24, now: opening, perpetualsOnly: perpetualsOnly)
    return RESTService(source: market, now: opening, weightLimit: 2_400).answer("GET", RESTTarget(uri))
}

@Suite struct ListingTests {
    @Test func aDatedContractIsListedUnderVersion1AndNotUnderVersion3() {
        for path in ["exchangeInfo", "premiumIndex", "ticker/24hr", "ticker/price", "ticker/bookTicker"] {
            #expect(ask("/fapi/v1/\(path)").body.contains(#""BTCUSDT_261225""#))
            #expect(!ask("/fapi/v3/\(path)").body.contains(#""BTCUSDT_261225""#))
            #expect(ask("/fapi/v3/\(path)").body.contains(#""BTCUSDT""#))
        }
    }

    @Test func anExchangeOfPerpetualsListsNoDatedContractAnywhere() throws {
        for path in ["exchangeInfo", "premiumIndex", "ticker/24hr"] {
            let reply = ask("/fapi/v1/\(path)", perpetualsOnly: true)
            #expect(!reply.body.contains("_261225"))
            #expect(reply == ask("/fapi/v3/\(path)", perpetualsOnly: true))
        }
        #expect(try VenueJSON(ask("/fapi/v1/premiumIndex", perpetualsOnly: true).body).rows.count == 24)
        #expect(
            ask("/fapi/v1/ticker/price?symbol=BTCUSDT_261225", perpetualsOnly: true).body == #"{"code":-1121,"msg":"Invalid symbol."}"#)
        #expect(ask("/fapi/v1/continuousKlines?pair=BTCUSDT&contractType=CURRENT_QUARTER&interval=1m", perpetualsOnly: true).body == "[]")
    }

    /// Clients name a contract by base, quote and settlement asset, and by its delivery if it is no perpetual.
    @Test func noTwoContractsHaveTheSameNameForAClient() throws {
        let symbols = try #require(VenueJSON(ask("/fapi/v1/exchangeInfo").body)["symbols"]?.rows)
        let names = symbols.map { symbol in
            let delivery = symbol["contractType"]?.string == "PERPETUAL" ? "" : "-\(symbol["deliveryDate"]?.integer ?? 0)"
            return "\(symbol["baseAsset"]?.string ?? "")/\(symbol["quoteAsset"]?.string ?? ""):\(symbol["marginAsset"]?.string ?? "")\(delivery)"
        }
        #expect(names.count == 24 && Set(names).count == 24)
        let perpetuals = try #require(VenueJSON(ask("/fapi/v3/exchangeInfo").body)["symbols"]?.rows)
        #expect(perpetuals.count == 23 && Set(perpetuals.compactMap { $0["baseAsset"]?.string }).count == 23)
        #expect(Set(perpetuals.compactMap { $0["contractType"]?.string }) == ["PERPETUAL"])
    }
}
