import DemoExchange
import Testing

private let letters: Set<String> = ["e", "E", "T", "s", "U", "u", "pu", "b", "a"]

@Suite struct DepthTests {
    private func expectTrue(_ book: RebuiltBook, _ exchange: DemoExchange, _ symbol: String) throws {
        let truth = try #require(exchange.trueLevels(symbol: symbol, at: UInt64(book.updateID)))
        #expect(truth.bids.count == 20 && truth.asks.count == 20)
        #expect(book.bestBids == truth.bids.map { [$0.0, $0.1] }, "bids at \(book.updateID)")
        #expect(book.bestAsks == truth.asks.map { [$0.0, $0.1] }, "asks at \(book.updateID)")
    }

    @Test(arguments: [("@depth", 40), ("@depth@100ms", 80), ("@depth@500ms", 25)])
    func aBookRebuiltByTheVenuesRuleIsTheTrueOneAtEveryUpdateID(stream: String, events: Int) async throws {
        try await withExchange(DemoExchangeConfiguration(seed: 11)) { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt\(stream)/btcusdt@bookTicker")
            var buffered: [VenueJSON] = []
            while buffered.isEmpty {
                let frame = try await client.data()
                if frame["stream"]?.string == "btcusdt\(stream)" { buffered.append(try #require(frame["data"])) }
            }
            var book = try RebuiltBook(reply: await get(port, "/fapi/v1/depth?symbol=BTCUSDT&limit=1000").json)
            try expectTrue(book, exchange, "BTCUSDT")
            var tickers: [Int64: [String]] = [:]
            var bests: [Int64: [String]] = [:]
            while bests.count < events {
                if buffered.isEmpty {
                    let frame = try await client.data()
                    let data = try #require(frame["data"])
                    if data["e"]?.string == "bookTicker" {
                        tickers[data["u"]?.integer ?? 0] = ["b", "B", "a", "A"].map { data[$0]?.string ?? "" }
                        continue
                    }
                    buffered.append(data)
                }
                let event = buffered.removeFirst()
                #expect(event.keys == letters)
                #expect(try #require(event["U"]?.integer) <= #require(event["u"]?.integer))
                guard try book.apply(event) else { continue }
                try expectTrue(book, exchange, "BTCUSDT")
                bests[book.updateID] = (book.bestBids.first ?? []) + (book.bestAsks.first ?? [])
            }
            let shared = bests.keys.filter { tickers[$0] != nil }
            for id in shared { #expect(bests[id] == tickers[id]) }
            #expect(!shared.isEmpty)
            #expect(book.unknownRemovals > 0)
        }
    }

    @Test func everySpeedHasItsOwnChainInOneIDSpace() async throws {
        try await withExchange { exchange, port async throws in
            let names = ["btcusdt@depth@100ms", "btcusdt@depth", "btcusdt@depth@500ms", "btcusdt@depth5@100ms", "ethusdt@depth@100ms"]
            let client = try await VenueClient(port: port, path: "/stream?streams=\(names.joined(separator: "/"))")
            var last: [String: Int64] = [:]
            var count: [String: Int] = [:]
            var ids: [String: Set<Int64>] = [:]
            while count["btcusdt@depth@500ms", default: 0] < 6 {
                let frame = try await client.data()
                let name = try #require(frame["stream"]?.string)
                let (id, previous) = (frame["data"]?["u"]?.integer ?? 0, frame["data"]?["pu"]?.integer ?? 0)
                #expect(id > 10_000_000_000_000 && previous < id)
                if let before = last[name] { #expect(previous == before, "\(name)") }
                last[name] = id
                count[name, default: 0] += 1
                ids[String(name.prefix(3)), default: []].insert(id)
            }
            #expect(count["btcusdt@depth@100ms", default: 0] > 18)
            #expect(count["btcusdt@depth", default: 0] > 8)
            #expect(ids["btc"]?.isDisjoint(with: ids["eth"] ?? []) == true)
        }
    }

    @Test(arguments: [5, 10, 20]) func aPartialBookIsTheBestOfTheTrueOne(levels: Int) async throws {
        try await withExchange { exchange, port async throws in
            let names = ["", "@100ms", "@500ms"].map { "币安人生usdt@depth\(levels)\($0)" }
            let client = try await VenueClient(port: port, path: "/stream")
            client.send(#"{"method":"SUBSCRIBE","params":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))],"id":1}"#)
            var seen: Set<String> = []
            while seen.count < 3 {
                let frame = try await client.data()
                seen.insert(frame["stream"]?.string ?? "")
                let data = try #require(frame["data"])
                #expect(data.keys == letters && data["s"]?.string == "币安人生USDT")
                let truth = try #require(exchange.trueLevels(symbol: "币安人生USDT", at: UInt64(data["u"]?.integer ?? 0)))
                #expect(data.levels("b") == truth.bids.prefix(levels).map { [$0.0, $0.1] })
                #expect(data.levels("a") == truth.asks.prefix(levels).map { [$0.0, $0.1] })
                #expect(data.levels("a").count == levels)
            }
            #expect(seen == Set(names))
        }
    }

    @Test func thereIsNoOtherSpeedAndNoOtherNumberOfLevels() async throws {
        try await withExchange { _, port async throws in
            let names = ["btcusdt@depth@250ms", "btcusdt@depth7", "btcusdt@depth20@1s", "btcusdt@depth@", "sandusdt@depth@100ms"]
            let client = try await VenueClient(port: port, path: "/stream?streams=\(names.joined(separator: "/"))/btcusdt@depth@500ms")
            for _ in 0..<3 { #expect(try await client.data()["stream"]?.string == "btcusdt@depth@500ms") }
        }
    }

    @Test func theReplyHasAsManyLevelsAsAskedForAtTheWeightOfTheVenue() async throws {
        try await withExchange { exchange, port async throws in
            func used(_ reply: HTTPReply) -> Int { Int(reply.headers["x-mbx-used-weight-1m"] ?? "") ?? 0 }
            var before = 0
            for (query, levels, weight) in [
                ("&limit=5", 5, 2), ("&limit=50", 50, 2), ("&limit=100", 100, 5), ("", 500, 10), ("&limit=1000", 1_000, 20),
            ] {
                let reply = try await get(port, "/fapi/v3/depth?symbol=ethusdt\(query)")
                #expect(used(reply) - before == weight || used(reply) == weight, "\(query)")
                let book = try reply.json
                #expect(book.keys == ["lastUpdateId", "E", "T", "bids", "asks"])
                #expect(book.levels("bids").count == levels && book.levels("asks").count == levels)
                let truth = try #require(exchange.trueLevels(symbol: "ETHUSDT", at: UInt64(book["lastUpdateId"]?.integer ?? 0)))
                #expect(book.levels("bids").prefix(5).elementsEqual(truth.bids.prefix(5).map { [$0.0, $0.1] }))
                let tickerReply = try await get(port, "/fapi/v3/ticker/bookTicker?symbol=ethusdt")
                // A new minute may have begun before it.
                before = used(tickerReply)
                let ticker = try tickerReply.json
                if ticker["time"]?.integer ?? 0 <= book["T"]?.integer ?? 0 {
                    #expect(book.levels("bids").first == [ticker["bidPrice"], ticker["bidQty"]].map { $0?.string ?? "" })
                }
            }
            for (query, code) in [
                ("symbol=BTCUSDT&limit=7", -4021), ("symbol=BTCUSDT&limit=1001", -4021), ("symbol=BTCUSDT&limit=0", -4021),
                ("symbol=BTCUSDT&limit=x", -1100), ("limit=5", -1102), ("symbol=NOPE", -1121), ("symbol=SANDUSDT", -1121),
            ] as [(String, Int64)] {
                let reply = try await get(port, "/fapi/v1/depth?\(query)")
                #expect(reply.status == 400, "\(query)")
                #expect(try reply.json["code"]?.integer == code, "\(query)")
            }
        }
    }

    @Test func aFastExchangeSendsFiftyEventsASecondPerSymbol() async throws {
        let configuration = DemoExchangeConfiguration(bookUpdatesPerSecond: 50, depthInterval: .milliseconds(20))
        try await withExchange(configuration) { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@depth@100ms")
            var times = [try #require(try await client.data()["E"]?.integer)]
            var book = try RebuiltBook(reply: await get(port, "/fapi/v1/depth?symbol=BTCUSDT&limit=1000").json)
            for _ in 0..<100 {
                let event = try await client.data()
                times.append(event["E"]?.integer ?? 0)
                if try book.apply(event) { try expectTrue(book, exchange, "BTCUSDT") }
            }
            // A busy machine delays some of them, and the exchange makes up for it afterwards.
            let spans = zip(times, times.dropFirst(50)).map { $1 - $0 }.sorted()
            let usual = spans[spans.count / 2]
            #expect((700...1_700).contains(usual), "\(usual) ms for 50 events: \(times)")
        }
    }

    @Test func liquidationsNameTheirSymbolInsideTheOrder() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=!forceOrder@arr/btcusdt@forceOrder/ethusdt@forceOrder")
            var (all, own) = ([VenueJSON](), [VenueJSON]())
            while all.count < 2 || own.isEmpty {
                let frame = try await client.data()
                let data = try #require(frame["data"])
                #expect(data.keys == ["e", "E", "o"] && data["e"]?.string == "forceOrder")
                let order = try #require(data["o"])
                #expect(order.keys == ["s", "S", "o", "f", "q", "p", "ap", "X", "l", "z", "T"])
                #expect(["BUY", "SELL"].contains(order["S"]?.string ?? ""))
                if frame["stream"]?.string == "!forceOrder@arr" { all.append(order) } else { own.append(order) }
                if let name = frame["stream"]?.string, name != "!forceOrder@arr" {
                    #expect(order["s"]?.string == name.split(separator: "@")[0].uppercased())
                }
            }
        }
    }
}
