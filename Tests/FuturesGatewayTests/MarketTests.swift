import DemoExchange
import FeedDialects
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// `/markets`: one table of several venues.
@Suite struct MarketTests {
    /// The members of a row that a venue's own REST has, in the venue's digits.
    private static func table(of client: GatewayClient, _ base: String) async throws -> [String: [String: JSON]] {
        var rows: [String: [String: JSON]] = [:]
        func merge(_ path: String, _ members: [String: String]) async throws {
            for row in try await client.get(base + path).json.array ?? [] {
                guard let symbol = row["symbol"]?.text else { continue }
                for (own, name) in members { rows[symbol, default: [:]][name] = row[own] }
            }
        }
        try await merge(
            "/fapi/v1/premiumIndex",
            ["markPrice": "markPrice", "indexPrice": "indexPrice", "lastFundingRate": "fundingRate", "nextFundingTime": "nextFundingTime"])
        try await merge(
            "/fapi/v1/ticker/bookTicker", ["bidPrice": "bidPrice", "bidQty": "bidSize", "askPrice": "askPrice", "askQty": "askSize"])
        try await merge("/fapi/v1/ticker/24hr", ["quoteVolume": "quoteVolume"])
        return rows
    }

    @Test func theTableOfAStillMarketIsThatOfTheVenuesOwnREST() async throws {
        try await VenuesTests.open { house, second in
            let asked = try await house.client.get("/markets")
            #expect(asked.status == 200)
            for exchange in [house.exchange, second] { exchange.inflict(.still()) }
            let events = try await house.client.events("streams=!markPrice@arr@1s,binance:!markPrice@arr@1s")
            var differences = ["none compared"]
            var compared = 0
            // The exchanges still send messages from before. After these, their prices do not change.
            for _ in 0..<20 where !differences.isEmpty {
                _ = try await events.next("update")
                (differences, compared) = ([], 0)
                let rows = try await house.client.get("/markets").json["rows"]?.array ?? []
                for (venue, exchange) in [("aster", house.exchange), ("binance", second)] {
                    let truth = try await Self.table(
                        of: GatewayClient(port: try #require(Int(exchange.restURL.split(separator: ":").last ?? ""))), "")
                    for row in rows where row["venue"]?.text == venue {
                        let symbol = row["symbol"]?.text ?? ""
                        for (name, value) in truth[symbol] ?? ["": .null] where row[name] != value {
                            differences.append("\(venue) \(symbol) \(name): \(String(describing: row[name])), at the venue \(value)")
                        }
                        compared += truth[symbol]?.count ?? 0
                    }
                }
            }
            #expect(differences.isEmpty && compared > 300, "\(compared) values, \(differences.prefix(5))")
        }
    }

    @Test func theStreamOfMarketsHasTheRowsOfTheTable() async throws {
        try await VenuesTests.open { house, second in
            let events = try await house.client.events("streams=!markets")
            for exchange in [house.exchange, second] { exchange.inflict(.still()) }
            func rows(_ rows: JSON?) -> [String] {
                // The ages of two moments differ.
                (rows?.array ?? []).map { row in
                    ["venue", "symbol", "markPrice", "bidPrice", "askSize", "fundingPerHour", "nextFundingTime", "quoteVolume", "state"]
                        .map { "\(row[$0].map { "\($0)" } ?? "-")" }.joined(separator: " ")
                }
            }
            var (told, asked) = ([String](), ["none"])
            for _ in 0..<20 where told != asked || !told.contains(where: { $0.contains("live") }) {
                told = rows(try await events.next("update").data["content"]?["rows"])
                asked = rows(try await house.client.get("/markets").json["rows"])
            }
            #expect(told == asked && told.count > 40, "\(zip(told, asked).first { $0 != $1 }.map { "\($0)" } ?? "\(told.count), \(asked.count)")")
            await second.stop()
            var states: Set<String> = ["live"]
            for _ in 0..<20 where states.contains("live") {
                let last = try await events.next("update").data["content"]?["rows"]?.array ?? []
                states = Set(last.filter { $0["venue"]?.text == "binance" }.compactMap { $0["state"]?.text })
            }
            #expect(!states.contains("live"), "\(states)")
        }
    }

    @Test func aTableWithoutLiveRowsIsNotLiveAndItsVenueIsNotReady() async throws {
        try await VenuesTests.open { house, second in
            let events = try await house.client.events("streams=!markets")
            func states() async throws -> Set<String> {
                let update = try await events.next("update").data
                return Set((update["content"]?["rows"]?.array ?? []).compactMap { $0["state"]?.text })
            }
            let first = try await states()
            #expect(first.contains("live"), "the first table has a row that is live: \(first)")
            for venue in ["aster", "binance"] {
                while try await house.client.get("/readyz?venue=\(venue)").status != 200 {}
            }
            await second.stop()
            // The rows of the other venue are still live.
            while try await house.client.get("/readyz?venue=binance").status != 503 {}
            #expect(try await house.client.get("/readyz?venue=aster").status == 200)
            #expect(try await house.client.get("/streams/!markets").json["state"]?.text == "live")
            await house.exchange.stop()
            while try await house.client.get("/readyz?venue=aster").status != 503 {}
            var last: Set<String> = ["live"]
            while last.contains("live") { last = try await states() }
            #expect(try await events.next("status").data["state"]?.text == "stale")
            let answer = try await house.client.get("/streams/!markets?maxUnverified=1000&wait=0")
            #expect(try answer.status == 503 && answer.json["title"] == "Not verified", "\(answer.text.prefix(300))")
            #expect(try await house.client.get("/readyz").status == 503)
            withExtendedLifetime(events) {}
        }
    }

    @Test func theRowOfAHaltedContractSaysSoInTheTableOfAllContracts() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            house.exchange.inflict(.halt(symbols: ["ETHUSDT"]))
            let events = try await house.client.events("streams=!markets,ethusdt@bookTicker")
            /// The phases of two contracts' markets.
            func phases(_ rows: JSON?) -> [String?] {
                ["BTCUSDT", "ETHUSDT"].map { symbol in (rows?.array ?? []).first { $0["symbol"]?.text == symbol }?["market"]?.text }
            }
            while try await phases(house.client.get("/markets/ETH").json["rows"]).last != "halted" {
                await house.onHub { $0.feed.refreshListing(of: 0) }
            }
            #expect(try await phases(house.client.get("/markets").json["rows"]) == [nil, "halted"])
            while try await phases(events.next("update", of: "!markets").data["content"]?["rows"]) != [nil, "halted"] {}
        }
    }

    @Test func booksTradesAndBarsOfAllVenuesHaveOneShape() async throws {
        try await VenuesTests.open { house, _ in
            try await house.awaitReadiness()
            for (path, stream, member) in [
                ("book?depth=3", "btcusdt@depth20@100ms", "bids"), ("trades?limit=3", "btcusdt@aggTrade", "trades"),
                ("bars?interval=5m&limit=3", "btcusdt@kline_5m", "bars"),
            ] {
                let rows = try await house.client.get("/markets/btc/\(path)").json["rows"]?.array ?? []
                #expect(rows.map { $0["venue"]?.text } == ["aster", "binance"] && rows.map { $0["stream"]?.text } == [stream, "binance:" + stream])
                #expect(
                    rows.allSatisfy { $0["symbol"]?.text == "BTCUSDT" && $0["quote"]?.text == "USDT" && $0[member]?.array?.count == 3 }, "\(rows)")
            }
            for path in ["book?depth=21", "trades?limit=0", "bars?interval=7m"] {
                #expect(try await house.client.get("/markets/BTC/\(path)").status == 400)
            }
            #expect(try await house.client.get("/markets/NOPE/book").status == 404)
        }
    }

    @Test func theRowsOfAVenueThatDiesAreNotLive() async throws {
        try await VenuesTests.open { house, second in
            let events = try await house.client.events("streams=btcusdt@markPrice@1s,binance:btcusdt@markPrice@1s")
            let before = try await house.client.get("/markets/btc").json["rows"]?.array ?? []
            #expect(before.map { $0["venue"]?.text } == ["aster", "binance"] && before.allSatisfy { $0["openInterest"] != nil })
            await second.stop()
            _ = try await events.next("disconnect", of: "binance:btcusdt@markPrice@1s")
            let after = try await house.client.get("/markets/BTC").json["rows"]?.array ?? []
            #expect(after.map { $0["venue"]?.text } == ["aster", "binance"])
            #expect(after.last?["state"]?.text != "live" && after.last?["markPrice"] != nil, "\(after)")
        }
    }

    @Test func anAssetThatNoVenueListsIsUnknown() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let answer = try await house.client.get("/markets/NOPE")
            #expect(try answer.status == 404 && answer.json["code"]?.text == "unknownAsset")
            #expect(try await house.client.get("/markets/BTC?wait=x").status == 400)
            #expect(try await house.client.get("/markets/%20").status == 404)
        }
    }

    @Test func aRowIsNeverFresherThanOneOfItsStreams() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var dice = SplitMix64(seed: seed)
        func pick(_ count: Int) -> Int { Int(dice.next() % UInt64(count)) }
        let order: [FeedState] = [.live, .connecting, .recovering, .stale, .failed, .ended]
        for _ in 0..<10_000 {
            let statuses: [StreamStatus?] = (0..<1 + pick(5)).map { _ in
                pick(8) == 0
                    ? nil
                    : StreamStatus(
                        name: .assetIndex, state: order[pick(pick(2) == 0 ? 1 : 6)], contentID: nil, isWhole: pick(9) > 0, ageMs: Int64(pick(1000)),
                        unverifiedMs: pick(20) == 0 ? nil : Int64(pick(1000)), source: .rest, isConnected: true, observers: 1)
            }
            let worst = WorstFreshness(statuses)
            let isFresher = statuses.contains { status in
                guard let status else { return worst.state == .live || worst.ageMs != nil || worst.unverifiedMs != nil }
                let ranks = [worst.state, status.state].map { order.firstIndex(of: $0) ?? order.count }
                return ranks[0] < ranks[1] || (worst.state == .live && !status.isWhole)
                    || worst.ageMs ?? .max < status.ageMs ?? .max || worst.unverifiedMs ?? .max < status.unverifiedMs ?? .max
            }
            guard isFresher else { continue }
            Issue.record("seed \(seed): \(worst) of \(statuses)")
            break
        }
    }
}
