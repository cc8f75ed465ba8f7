import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// The venue and an upstream of every kind in one gateway, on one event stream, each killed in turn.
@Suite struct AllUpstreamsTests {
    static let tape = "btcusdt@aggTrade"
    static let streams = [tape, "prices:AAPL@quote", "stocks:AAPL", "cfd:sb26493"]

    private static let trouble: Set = ["connect", "disconnect", "recover", "gap", "fail"]

    private struct Servers {
        let prices: GraphQLServer
        let stocks: StockServer
        let products: BUXServer

        /// Tells everybody the same number, as a price.
        func publish(_ number: Int64) {
            prices.publish("AAPL", hundredths: number)
            stocks.publish("AAPL", .trade, hundredths: number)
            products.publish("sb26493", tenths: number)
        }
    }

    private static func open(_ body: (House, Servers) async throws -> Void) async throws {
        var (prices, stocks, products) = (GraphQLServer.Configuration(), StockServer.Configuration(), BUXServer.Configuration())
        (prices.interval, stocks.interval, products.interval) = (.zero, .zero, .zero)
        let servers = Servers(
            prices: GraphQLServer(configuration: prices), stocks: StockServer(configuration: stocks),
            products: BUXServer(configuration: products))
        let (pricesPort, stocksPort, productsPort) = (
            try await servers.prices.start(), try await servers.stocks.start(), try await servers.products.start()
        )
        let file = """
            {"prices":{"kind":"graphql","webSocket":"ws://127.0.0.1:\(pricesPort)/graphql","http":"http://127.0.0.1:\(pricesPort)/graphql","streams":
              {"quote":{"subscription":"subscription($symbol:String!){priceUpdated(symbol:$symbol){symbol last}}","variables":{"symbol":"{key}"},
               "path":"priceUpdated","snapshot":{"query":"query($symbol:String!){price(symbol:$symbol){symbol last}}","path":"price"}}}},
             "stocks":{"kind":"intrinio","url":"http://127.0.0.1:\(stocksPort)","restURL":"http://127.0.0.1:\(stocksPort)","apiKey":"demo"},
             "cfd":{"kind":"bux","webSocket":"ws://127.0.0.1:\(productsPort)/subscriptions/me","http":"http://127.0.0.1:\(productsPort)/core/21",
              "token":"demo"}}
            """
        let result = await Result {
            try await House.open(
                reconnectBase: .milliseconds(200),
                configure: { configuration in try? configuration.feed.readUpstreams(file) { _ in nil } },
                { house in try await body(house, servers) })
        }
        await servers.prices.stop()
        await servers.stocks.stop()
        await servers.products.stop()
        try result.get()
    }

    /// What an event says by number: the tape's ids, the numbers published.
    private static func numbers(_ event: ServerEvent) -> [Int64] {
        guard ["update", "fetch"].contains(event.name) else { return [] }
        if event.stream == tape { return event.rows.compactMap { $0["id"]?.integer } }
        let content = event.data["content"]
        let price = content?["last"] ?? content?["trade"]?["price"] ?? content?["currentPrice"]
        return price?.text.flatMap(Double.init).map { [Int64(($0 * (event.stream.hasPrefix("cfd") ? 10 : 100)).rounded())] } ?? []
    }

    @Test func oneLostServerIsNobodyElsesOutage() async throws {
        try await Self.open { house, servers in
            let reader = try await house.client.events("streams=" + Self.streams.joined(separator: ","))
            let publishing = Task {
                var number: Int64 = 20_000
                while !Task.isCancelled {
                    number += 1
                    servers.publish(number)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            defer { publishing.cancel() }
            var live: Set<String> = []
            while live != Set(Self.streams) {
                let event = try await reader.next("update")
                if event.stream == Self.tape || !Self.numbers(event).allSatisfy({ $0 <= 20_000 }) { live.insert(event.stream) }
            }
            var trades: Set<Int64> = []
            for killed in Self.streams {
                switch killed {
                case Self.tape: house.exchange.dropConnections()
                case "stocks:AAPL": servers.stocks.dropConnections()
                case "cfd:sb26493": servers.products.dropConnections()
                default: servers.prices.dropConnections()
                }
                var told: [String] = []
                var numbers: [String: [Int64]] = [:]
                var after = 0
                let others = Self.streams.filter { $0 != killed && $0 != Self.tape }
                while after < 3 || numbers[Self.tape]?.isEmpty != false || others.contains(where: { numbers[$0]?.count ?? 0 < 4 }) {
                    let event = try await reader.next()
                    numbers[event.stream, default: []] += Self.numbers(event)
                    if event.stream == killed {
                        if Self.trouble.contains(event.name) { told.append(event.name) }
                        if told.last == "recover", event.name == "update" { after += 1 }
                    } else {
                        #expect(!Self.trouble.contains(event.name), "\(killed) was lost, \(event.stream) said \(event.name)")
                    }
                }
                #expect(told == ["disconnect", "connect", "recover"], "\(killed)")
                for stream in others {
                    let seen = numbers[stream] ?? []
                    // Complete data may come between the messages, and say what the last or the next one says.
                    #expect(Set(seen).count == Int((seen.max() ?? 0) - (seen.min() ?? 0)) + 1, "\(stream) while \(killed) was lost: \(seen)")
                }
                trades.formUnion(numbers[Self.tape] ?? [])
            }
            // Its own outage was filled up over REST.
            #expect(trades.count == Int((trades.max() ?? 0) - (trades.min() ?? 0)) + 1, "\(trades.sorted())")
        }
    }
}
