import DemoExchange
import Testing

/// Runs `body` with a started exchange, and stops it in any case.
func withExchange(
    _ configuration: DemoExchangeConfiguration = DemoExchangeConfiguration(), _ body: (DemoExchange, Int) async throws -> Void
) async throws {
    let exchange = DemoExchange(configuration: configuration)
    let port = try await exchange.start()
    do {
        try await body(exchange, port)
    } catch {
        await exchange.stop()
        throw error
    }
    await exchange.stop()
}

private let markPrice: Set<String> = ["e", "E", "s", "p", "i", "P", "r", "T"]
private let ticker: Set<String> = ["e", "E", "s", "p", "P", "w", "c", "Q", "o", "h", "l", "v", "q", "O", "C", "F", "L", "n"]
private let miniTicker: Set<String> = ["e", "E", "s", "c", "o", "h", "l", "v", "q"]
private let bookTicker: Set<String> = ["e", "u", "s", "b", "B", "a", "A", "T", "E"]
private let assetIndex: Set<String> = ["e", "E", "s", "i", "b", "a", "B", "A", "q", "g", "Q", "G"]
private let kline: Set<String> = ["t", "T", "s", "i", "f", "L", "o", "c", "h", "l", "v", "n", "x", "q", "V", "Q", "B"]

private let shapes: [String: (event: String, letters: Set<String>, isArray: Bool)] = [
    "btcusdt@markPrice": ("markPriceUpdate", markPrice, false), "btcusdt@markPrice@1s": ("markPriceUpdate", markPrice, false),
    "!markPrice@arr@1s": ("markPriceUpdate", markPrice, true), "!markPrice@arr": ("markPriceUpdate", markPrice, true),
    "!assetIndex@arr": ("assetIndexUpdate", assetIndex, true), "btcusd@assetIndex": ("assetIndexUpdate", assetIndex, false),
    "btcusdt@bookTicker": ("bookTicker", bookTicker, false), "!bookTicker": ("bookTicker", bookTicker, false),
    "btcusdt@aggTrade": ("aggTrade", ["e", "E", "s", "a", "p", "q", "f", "l", "T", "m"], false),
    "btcusdt@trade": ("trade", ["e", "E", "T", "s", "t", "p", "q", "X", "m"], false),
    "btcusdt@miniTicker": ("24hrMiniTicker", miniTicker, false), "!miniTicker@arr": ("24hrMiniTicker", miniTicker, true),
    "btcusdt@ticker": ("24hrTicker", ticker, false), "!ticker@arr": ("24hrTicker", ticker, true),
    "btcusdt_261225@markPrice@1s": ("markPriceUpdate", markPrice, false), "币安人生usdt@markPrice@1s": ("markPriceUpdate", markPrice, false),
]

@Suite struct MarketStreamTests {
    /// The first payload of each stream.
    private func firstPayloads(_ port: Int, _ names: some Collection<String>) async throws -> [String: VenueJSON] {
        let client = try await VenueClient(port: port, path: "/stream")
        client.send(#"{"method":"SUBSCRIBE","params":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))],"id":1}"#)
        var first: [String: VenueJSON] = [:]
        while first.count < names.count {
            let envelope = try await client.data()
            let name = try #require(envelope["stream"]?.string)
            #expect(names.contains(name))
            first[name] = first[name] ?? envelope["data"]
        }
        return first
    }

    @Test func everyStreamHasItsFieldLetters() async throws {
        try await withExchange { _, port async throws in
            for (name, payload) in try await firstPayloads(port, shapes.keys) {
                let shape = try #require(shapes[name])
                #expect(payload.isArray == shape.isArray, "\(name)")
                let rows = shape.isArray ? payload.rows : [payload]
                #expect(!rows.isEmpty, "\(name)")
                for row in rows {
                    #expect(row.keys == shape.letters, "\(name)")
                    #expect(row["e"]?.string == shape.event, "\(name)")
                }
            }
        }
    }

    @Test func everyKlineIntervalHasItsFieldLetters() async throws {
        try await withExchange { _, port async throws in
            let names = ["1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"].map { "ethusdt@kline_\($0)" }
            for (name, frame) in try await firstPayloads(port, names) {
                #expect(frame.keys == ["e", "E", "s", "k"], "\(name)")
                #expect(frame["k"]?.keys == kline, "\(name)")
                #expect(frame["k"]?["i"]?.string == name.split(separator: "_").last.map(String.init))
                #expect(frame["k"]?["x"]?.bool == false, "\(name)")
            }
        }
    }

    @Test func assetIndexRatesFollowFromIndexAndBuffers() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!assetIndex@arr")
            let rows = try await client.data().rows
            #expect(rows.count >= 8)
            let symbols = Set(rows.compactMap { $0["s"]?.string })
            #expect(symbols.isSuperset(of: ["USDTUSD", "BTCUSD"]))
            for row in rows {
                let index = try #require(row["i"]?.units8)
                for (buffer, rate, sign) in [("b", "B", -1), ("a", "A", 1), ("q", "Q", -1), ("g", "G", 1)] as [(String, String, Int64)] {
                    let share = try #require(row[buffer]?.units8)
                    let factor = 100_000_000 + sign * share
                    let product = index.multipliedFullWidth(by: factor)
                    let exact = Int64(100_000_000).dividingFullWidth(product)
                    let rounded = exact.quotient + (exact.remainder >= 50_000_000 ? 1 : 0)
                    #expect(row[rate]?.units8 == rounded, "\(row)")
                }
            }
        }
    }

    @Test func allMarkPricesComeInTwoFramesWithoutACommonSymbol() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!markPrice@arr@1s")
            let frames = [try await client.data().rows, try await client.data().rows]
            let symbols = frames.map { Set($0.compactMap { $0["s"]?.string }) }
            #expect(symbols[0].isDisjoint(with: symbols[1]))
            #expect(symbols[0].union(symbols[1]).count == 24)
            #expect(symbols.allSatisfy { !$0.isEmpty })
            #expect(frames[0].first?["E"]?.integer == frames[1].first?["E"]?.integer)
            let quarterly = try #require(frames[0].first { $0["s"]?.string == "BTCUSDT_261225" })
            #expect(quarterly["T"]?.integer == 0)
            #expect(quarterly["r"]?.string == "0.00000000")
            #expect(symbols[0].contains("币安人生USDT"))
        }
    }

    @Test func tradeIdsOnTheWireStepByOne() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt@aggTrade/btcusdt@trade/btcusdt@bookTicker")
            var last: [String: Int64] = [:]
            while last.count < 3 || last["frames", default: 0] < 30 {
                let frame = try await client.data()
                let name = try #require(frame["stream"]?.string)
                let data = try #require(frame["data"])
                let id = data["a"]?.integer ?? .min
                last["frames", default: 0] += 1
                switch name {
                case "btcusdt@aggTrade":
                    if let before = last[name] { #expect(id == before + 1) }
                    last[name] = id
                case "btcusdt@trade":
                    let id = try #require(data["t"]?.integer)
                    if let before = last[name] { #expect(id == before + 1) }
                    last[name] = id
                default:
                    let id = try #require(data["u"]?.integer)
                    if let before = last[name] { #expect(id > before) }
                    last[name] = id
                }
            }
        }
    }

    @Test func theOpenBarOfTheStreamAndTheLastRowOfTheReplyAreTheSame() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@kline_1h")
            let letters = ["t", "o", "h", "l", "c", "v", "T", "q", "n", "V", "Q"]
            var frames: [Int64: VenueJSON] = [:]
            var rows: [Int64: [VenueJSON]] = [:]
            for _ in 0..<400 {
                let bar = try #require(try await client.data()["k"])
                frames[bar["n"]?.integer ?? 0] = bar
                let row = try #require(try await get(port, "/fapi/v1/klines?symbol=BTCUSDT&interval=1h&limit=3").json.rows.last?.rows)
                rows[row[8].integer] = row
                guard let (trades, row) = rows.first(where: { frames[$0.key] != nil }) else { continue }
                for (position, letter) in letters.enumerated() { #expect(frames[trades]?[letter]?.description == row[position].description) }
                return
            }
            Issue.record("the stream never showed the bar of a reply")
        }
    }
}
