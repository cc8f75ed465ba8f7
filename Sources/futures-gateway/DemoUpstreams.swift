import DemoExchange
import FuturesFeed
import ServiceLifecycle

/// The simulated servers that accompany the embedded exchange.
enum DemoUpstreams {
    static let names = ["binance", "prices", "stocks", "bux", "hyperliquid"]

    /// Starts them and adds them to a feed; returns the services that keep them running.
    static func start(for feed: inout FuturesFeedConfiguration) async throws -> [any Service] {
        let second = DemoExchange(configuration: DemoExchangeConfiguration(seed: 2))
        _ = try await second.start()
        try feed.readUpstreams(
            #"{"binance":{"kind":"futures","restURLs":["\#(second.restURL)"],"webSocketURLs":["\#(second.webSocketURL)"]}}"#, areSimulated: true
        ) { _ in nil }
        let prices = GraphQLServer()
        try feed.readUpstreams(graphQL(port: try await prices.start()), areSimulated: true) { _ in nil }
        let stocks = StockServer()
        let stocksURL = "http://127.0.0.1:\(try await stocks.start())"
        try feed.readUpstreams(
            #"{"stocks":{"kind":"intrinio","url":"\#(stocksURL)","restURL":"\#(stocksURL)","apiKey":"demo"}}"#, areSimulated: true
        ) { _ in nil }
        let products = BUXServer()
        try feed.readUpstreams(bux(port: try await products.start()), areSimulated: true) { _ in nil }
        let hyperliquid = HyperliquidServer()
        let socket = "ws://127.0.0.1:\(try await hyperliquid.start())/ws"
        try feed.readUpstreams(#"{"hyperliquid":{"kind":"hyperliquid","url":"\#(socket)"}}"#, areSimulated: true) { _ in nil }
        return [second.stop, prices.stop, stocks.stop, products.stop, hyperliquid.stop].map { RunningExchange(stop: $0) }
    }

    /// The configuration of the embedded BUX server.
    private static func bux(port: Int) -> String {
        let url = "127.0.0.1:\(port)"
        return #"{"bux":{"kind":"bux","webSocket":"ws://\#(url)/subscriptions/me","http":"http://\#(url)/core/21","token":"demo"}}"#
    }

    /// The configuration of the embedded GraphQL server.
    private static func graphQL(port: Int) -> String {
        let members = "{ symbol last bid ask seq ts }"
        return """
            {"prices":{"kind":"graphql","webSocket":"ws://127.0.0.1:\(port)/graphql","http":"http://127.0.0.1:\(port)/graphql","streams":{"quote":{
              "subscription":"subscription Quote($symbol: String!) { priceUpdated(symbol: $symbol) \(members) }","variables":{"symbol":"{key}"},
              "path":"priceUpdated","snapshot":{"query":"query Quote($symbol: String!) { price(symbol: $symbol) \(members) }","path":"price"}}}}}
            """
    }
}

/// Keeps a simulated server running until the program stops.
struct RunningExchange: Service {
    let stop: @Sendable () async -> Void

    func run() async throws {
        try? await gracefulShutdown()
        await stop()
    }
}
