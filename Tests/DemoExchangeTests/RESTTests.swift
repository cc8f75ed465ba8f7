import DemoExchange
import Testing

@Suite struct RESTTests {
    @Test(
        arguments: [
            (
                "premiumIndex",
                [
                    "symbol", "markPrice", "indexPrice", "estimatedSettlePrice", "lastFundingRate", "interestRate", "nextFundingTime", "time",
                ], "BTCUSDT", 24
            ),
            (
                "assetIndex",
                [
                    "symbol", "time", "index", "bidBuffer", "askBuffer", "bidRate", "askRate", "autoExchangeBidBuffer", "autoExchangeAskBuffer",
                    "autoExchangeBidRate", "autoExchangeAskRate",
                ], "BTCUSD", 9
            ),
            (
                "ticker/24hr",
                [
                    "symbol", "priceChange", "priceChangePercent", "weightedAvgPrice", "lastPrice", "lastQty", "openPrice", "highPrice", "lowPrice",
                    "volume", "quoteVolume", "openTime", "closeTime", "firstId", "lastId", "count",
                ], "BTCUSDT", 23
            ),
            ("ticker/bookTicker", ["symbol", "bidPrice", "bidQty", "askPrice", "askQty", "time"], "BTCUSDT", 23),
            ("ticker/price", ["symbol", "price", "time"], "BTCUSDT", 23),
        ] as [(String, Set<String>, String, Int)])
    func oneSymbolGivesAnObjectAndNoneAnArray(path: String, keys: Set<String>, symbol: String, count: Int) async throws {
        try await withExchange { _, port async throws in
            for version in ["v1", "v3"] {
                let one = try await get(port, "/fapi/\(version)/\(path)?symbol=\(symbol.lowercased())")
                #expect(one.status == 200)
                #expect(one.headers["content-type"] == "application/json")
                #expect(try one.json.keys == keys)
                #expect(try one.json["symbol"]?.string == symbol)
                let all = try await get(port, "/fapi/\(version)/\(path)")
                // Under v3, as at Aster, no dated contract is listed; there is one.
                #expect(try all.json.rows.count == (version == "v3" && path != "assetIndex" ? count - 1 : count))
                for row in try all.json.rows { #expect(row.keys == keys) }
            }
        }
    }

    @Test func exchangeInfoListsTheSymbolsAndLimits() async throws {
        try await withExchange { _, port async throws in
            let info = try await get(port, "/fapi/v1/exchangeInfo").json
            #expect(info.keys == ["timezone", "serverTime", "simulated", "futuresType", "rateLimits", "exchangeFilters", "assets", "symbols"])
            let symbols = info["symbols"]?.rows ?? []
            let names = symbols.compactMap { $0["symbol"]?.string }
            #expect(names.prefix(2) == ["BTCUSDT", "ETHUSDT"])
            #expect(names.contains("BTCUSDT_261225") && names.contains("币安人生USDT"))
            #expect(Set(symbols.compactMap { $0["status"]?.string }) == ["TRADING", "SETTLING"])
            let filters = Set(symbols[0]["filters"]?.rows.compactMap { $0["filterType"]?.string } ?? [])
            #expect(filters.isSuperset(of: ["PRICE_FILTER", "LOT_SIZE", "MIN_NOTIONAL", "PERCENT_PRICE"]))
            let weight = try #require(info["rateLimits"]?.rows.first)
            #expect(weight["rateLimitType"]?.string == "REQUEST_WEIGHT" && weight["limit"]?.integer == 2_400)
        }
    }

    @Test func theSettlingSymbolKeepsItsMarkPriceAndLosesItsTicker() async throws {
        try await withExchange { _, port async throws in
            #expect(try await get(port, "/fapi/v1/premiumIndex?symbol=SANDUSDT").json["nextFundingTime"]?.integer == 0)
            #expect(try await get(port, "/fapi/v1/ticker/24hr?symbol=SANDUSDT").status == 400)
        }
    }

    @Test func mistakesAreAnsweredWithTheVenuesCode() async throws {
        let mistakes: [(query: String, status: Int, code: Int64)] = [
            ("klines?symbol=NOPE&interval=1m", 400, -1121), ("klines?interval=1m", 400, -1102), ("klines?symbol=BTCUSDT", 400, -1102),
            ("klines?symbol=BTCUSDT&interval=1s", 400, -1120), ("klines?symbol=BTCUSDT&interval=1m&limit=1501", 400, -1130),
            ("klines?symbol=BTCUSDT&interval=1m&limit=x", 400, -1100), ("aggTrades?symbol=BTCUSDT&limit=1001", 400, -1130),
            ("aggTrades?symbol=BTCUSDT&startTime=0&endTime=9999999999", 400, -4166), ("premiumIndex?symbol=NOPE", 400, -1121),
            ("assetIndex?symbol=BTC", 400, -1121), ("ticker/price?symbol=NOPE", 400, -1121), ("trades", 400, -1102), ("depht", 404, -5000),
        ]
        try await withExchange { _, port async throws in
            for mistake in mistakes {
                let reply = try await get(port, "/fapi/v1/\(mistake.query)")
                #expect(reply.status == mistake.status, "\(mistake)")
                #expect(try reply.json.keys == ["code", "msg"], "\(mistake)")
                #expect(try reply.json["code"]?.integer == mistake.code, "\(mistake)")
            }
        }
    }

    @Test func everyIntervalHasBarsAndLimitsHold() async throws {
        try await withExchange { _, port async throws in
            let minutes = try await get(port, "/fapi/v1/klines?symbol=ETHUSDT&interval=1m&limit=1500").json.rows
            #expect(minutes.count == 1_500)
            #expect(minutes.allSatisfy { $0.rows.count == 12 })
            let start = minutes[700].rows[0].integer
            let some = try await get(port, "/fapi/v1/klines?symbol=ETHUSDT&interval=1m&limit=3&startTime=\(start)").json.rows
            #expect(some.map { $0.rows[0].integer } == [start, start + 60_000, start + 120_000])
            let until = try await get(port, "/fapi/v1/klines?symbol=ETHUSDT&interval=1m&limit=2&endTime=\(start)").json.rows
            #expect(until.map { $0.rows[0].integer } == [start - 60_000, start])
            for (interval, least) in [("5m", 300), ("30m", 50), ("1h", 1_500), ("12h", 130), ("1d", 1_500), ("1w", 230), ("1M", 50)] {
                let rows = try await get(port, "/fapi/v3/klines?symbol=ETHUSDT&interval=\(interval)&limit=1500").json.rows
                #expect(rows.count >= least, "\(interval): \(rows.count)")
            }
        }
    }

    @Test func aggTradesCanBeReadOnFromAnId() async throws {
        try await withExchange { _, port async throws in
            let last = try await get(port, "/fapi/v1/aggTrades?symbol=BTCUSDT&limit=1000").json.rows
            #expect(last.count == 1_000)
            #expect(last[0].keys == ["a", "p", "q", "f", "l", "T", "m"])
            let id = last[500]["a"]?.integer ?? 0
            let page = try await get(port, "/fapi/v1/aggTrades?symbol=BTCUSDT&fromId=\(id)&limit=10").json.rows
            #expect(page.compactMap { $0["a"]?.integer } == Array(id..<id + 10))
            let trades = try await get(port, "/fapi/v1/trades?symbol=BTCUSDT&limit=5").json.rows
            #expect(trades.count == 5)
            #expect(trades[0].keys == ["id", "price", "qty", "quoteQty", "time", "isBuyerMaker"])
        }
    }

    @Test func theUsedWeightIsToldAndItsEndRefused() async throws {
        try await withExchange { _, port async throws in
            let first = try await get(port, "/fapi/v1/ping")
            #expect(first.headers["x-mbx-used-weight-1m"] == "1")
            let bars = try await get(port, "/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=99")
            #expect(Int(bars.headers["x-mbx-used-weight-1m"] ?? "").map { [1, 2].contains($0) } == true)
            for _ in 0..<125 {
                let reply = try await get(port, "/fapi/v1/ticker/24hr")
                guard reply.status == 429 else { continue }
                #expect(try reply.json["code"]?.integer == -1003)
                #expect(Int(reply.headers["retry-after"] ?? "").map { (1...60).contains($0) } == true)
                #expect(Int(reply.headers["x-mbx-used-weight-1m"] ?? "") ?? 0 > 2_400)
                return
            }
            Issue.record("never refused")
        }
    }

    @Test func aReplyWithoutWeightTellsNoneAndCostsNone() async throws {
        try await withExchange { _, port async throws in
            for path in ["/fapi/v1/fundingInfo", "/fapi/v3/fundingRate?symbol=BTCUSDT", "/futures/data/basis?pair=NOPE", "/api/v3/exchangeInfo"] {
                #expect(try await get(port, path).headers["x-mbx-used-weight-1m"] == nil, "\(path)")
            }
            #expect(try await get(port, "/fapi/v1/constituents?symbol=BTCUSDT").headers["x-mbx-used-weight-1m"] == "2")
        }
    }

    @Test func theKeyOfARequestIsLookedAt() async throws {
        try await withExchange { _, port async throws in
            let path = "/fapi/v1/historicalTrades?symbol=BTCUSDT"
            #expect(try await get(port, path).body == #"{"code":-2014,"msg":"API-key format invalid."}"#)
            let reply = try await get(port, path, header: "x-mbx-apikey: abc")
            #expect(reply.status == 401)
            #expect(reply.body == #"{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}"#)
        }
    }

    @Test func faultsAreMetAndLifted() async throws {
        try await withExchange { exchange, port async throws in
            exchange.setRESTFault(.status(418, body: #"{"code":-1003,"msg":"banned"}"#, headers: ["Retry-After": "120"]))
            let banned = try await get(port, "/fapi/v1/time")
            #expect(banned.status == 418 && banned.headers["retry-after"] == "120")
            exchange.setRESTFault(.html500)
            let page = try await get(port, "/fapi/v1/time")
            #expect(page.status == 500 && page.body.hasPrefix("<html>") && page.headers["content-type"] == "text/html")
            exchange.setRESTFault(.delay(.milliseconds(300)))
            let start = ContinuousClock.now
            #expect(try await get(port, "/fapi/v1/time").status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(290))
            exchange.setRESTFault(.hang)
            let events = exchange.changes()
            let hung = Task { try await get(port, "/fapi/v1/ping") }
            for await event in events where event == .request("/fapi/v1/ping") { break }
            hung.cancel()
            _ = await hung.result
            exchange.setRESTFault(nil)
            #expect(try await get(port, "/fapi/v1/time").json["serverTime"]?.integer ?? 0 > 1_700_000_000_000)
            #expect(exchange.statistics().requests == ["/fapi/v1/time": 4, "/fapi/v1/ping": 1])
        }
    }

    @Test func aWebSocketPathWithoutUpgradeIsRefused() async throws {
        try await withExchange { _, port async throws in
            #expect(try await get(port, "/ws/btcusdt@trade").status == 400)
            await #expect(throws: (any Error).self) { try await VenueClient(port: port, path: "/elsewhere") }
        }
    }
}
