import ArgumentParser
import DemoExchange
import FuturesFeed
import FuturesGateway
import Logging
import MicroHTTP
import ServiceLifecycle
import UnixSignals

/// `futures-gateway serve`
struct ServeCommand: AsyncParsableCommand {
    enum Venue: String, CaseIterable, ExpressibleByArgument {
        case aster, apollox, binance

        var venue: FuturesVenue {
            switch self {
            case .aster: .aster
            case .apollox: .apollox
            case .binance: .binance
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve a venue's streams over HTTP.",
        discussion: "Every option is also FUTURES_GATEWAY_… in the environment, as in FUTURES_GATEWAY_PORT; a flag wins.")

    @Flag(name: .long, help: "Serve the embedded exchange instead of a venue.")
    var demo = false
    @Option(name: .long, help: "The venue: aster (default), apollox or binance.")
    var venue: Venue?
    @Option(name: .long, help: "Other hosts for the venue's REST interface, first choice first, as in http://127.0.0.1:9000,http://127.0.0.1:9001.")
    var restUrl: String?
    @Option(name: .long, help: "Other hosts for the venue's WebSocket, first choice first, as in ws://127.0.0.1:9000,ws://127.0.0.1:9001.")
    var wsUrl: String?
    @Option(name: .long, help: "A JSON file of other upstreams, whose streams are NAME:stream; ${NAME} in it is read from the environment.")
    var upstreams: String?
    @Option(name: .long, help: "The address to listen on (default 127.0.0.1).")
    var host: String?
    @Option(name: .long, help: "The port to listen on; 0 takes any free one (default 8080).")
    var port: UInt16?
    @Option(name: .long, help: "Host names that requests may name, separated by commas; * for any (default: loopback names, any on 0.0.0.0).")
    var allowedHosts: String?
    @Option(
        name: .long,
        help: "Origins whose pages may read with credentials, as in https://a.example,https://b.example; * for any page without (default *).")
    var corsOrigins: String?
    @Option(name: .long, help: "The most connections (default 10000).")
    var maxConnections: Int?
    @Option(name: .long, help: "Seconds a subscription stays at the venue after its last reader left (default 60).")
    var linger: Int?
    @Option(name: .long, help: "Seconds after which the venue connection is replaced by a fresh one, 30 to 86400 (default 82800).")
    var rotateAfter: Int?
    @Option(name: .long, help: "Bars kept per stream, 1 to 1500 (default 500).")
    var bars: Int?
    @Option(name: .long, help: "Trades and liquidations kept per stream, 1 to 1000 (default 500).")
    var trades: Int?
    @Option(name: .long, help: "Bytes of events kept per stream for readers that come back, 4096 to 1073741824 (default 8388608).")
    var replayBytes: Int?
    @Option(name: .long, help: "Events kept per stream for readers that come back, 1 to 10000000 (default 100000).")
    var replayEvents: Int?
    @Option(name: .long, help: "Seconds that events are kept for readers that come back, 1 to 86400 (default 60).")
    var replaySeconds: Int?
    @Option(name: .long, help: "trace, debug, info, notice, warning, error or critical (default notice).")
    var logLevel: LogLevel?

    enum LogLevel: String, CaseIterable, ExpressibleByArgument {
        case trace, debug, info, notice, warning, error, critical
    }

    func run() async throws {
        let level = try setting(logLevel, "log-level") ?? .notice
        let logger = Self.logger(level)
        var services: [any Service] = []
        var configuration = try configuration()
        if try setting(demo ? true : nil, "demo") ?? false {
            let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
            _ = try await exchange.start()
            configuration.feed.venue = configuration.feed.venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
            services.append(RunningExchange(stop: exchange.stop))
            let prices = GraphQLExchange()
            try configuration.feed.readUpstreams(demoUpstreams(port: try await prices.start())) { _ in nil }
            services.append(RunningExchange(stop: prices.stop))
            let products = BUXExchange()
            try configuration.feed.readUpstreams(demoProducts(port: try await products.start())) { _ in nil }
            services.append(RunningExchange(stop: products.stop))
            let stocks = StockExchange()
            let stocksURL = "http://127.0.0.1:\(try await stocks.start())"
            try configuration.feed.readUpstreams(
                #"{"stocks":{"kind":"intrinio","url":"\#(stocksURL)","restURL":"\#(stocksURL)","apiKey":"demo"}}"#
            ) { _ in nil }
            services.append(RunningExchange(stop: stocks.stop))
        }
        let venue = services.isEmpty ? configuration.feed.venue.name : "the embedded exchange"
        services.append(
            Gateway(configuration: configuration, logger: logger) { url in
                announce("FuturesGateway serves \(venue) at \(url)")
            })
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }

    private func configuration() throws -> GatewayConfiguration {
        var feed = FuturesFeedConfiguration(venue: (try setting(venue, "venue") ?? .aster).venue)
        feed.venue = feed.venue.at(
            restURLs: try urls(restUrl, "rest-url", schemes: ["http", "https"]), webSocketURLs: try urls(wsUrl, "ws-url", schemes: ["ws", "wss"]))
        feed.linger = .seconds(try number(linger, "linger", in: 0...86_400) ?? 60)
        feed.rotateAfter = .seconds(try number(rotateAfter, "rotate-after", in: 30...86_400) ?? 82_800)
        feed.bars = try number(bars, "bars", in: 1...1500) ?? 500
        feed.trades = try number(trades, "trades", in: 1...1000) ?? 500
        if let path = try setting(upstreams, "upstreams") { try feed.readUpstreams(try text(ofFile: path, for: "upstreams"), secret: secret) }
        var http = HTTPServerConfiguration()
        http.host = try setting(host, "host") ?? "127.0.0.1"
        http.port = try setting(port, "port") ?? 8080
        http.maximumConnections = try number(maxConnections, "max-connections", in: 1...1_000_000) ?? http.maximumConnections
        http.allowedOrigins = try allowedOrigins(try setting(corsOrigins, "cors-origins") ?? "*")
        http.allowedHosts = allowedHosts(try setting(allowedHosts, "allowed-hosts"), host: http.host)
        return GatewayConfiguration(feed: feed, http: http, events: try events())
    }

    private func events() throws -> GatewayConfiguration.Events {
        var events = GatewayConfiguration.Events()
        events.logBytes = try number(replayBytes, "replay-bytes", in: 4096...1 << 30) ?? events.logBytes
        events.logEvents = try number(replayEvents, "replay-events", in: 1...10_000_000) ?? events.logEvents
        events.logAge = try number(replaySeconds, "replay-seconds", in: 1...86_400).map { .seconds($0) } ?? events.logAge
        return events
    }

    /// Loopback names alone on loopback, against DNS rebinding; whoever listens on every address is reached by names only he knows.
    private func allowedHosts(_ text: String?, host: String) -> Set<String>? {
        guard let text else { return host == "0.0.0.0" || host == "::" ? nil : [] }
        return text == "*" ? nil : Set(text.split(separator: ",").map { $0.lowercased() })
    }

    private func allowedOrigins(_ text: String) throws -> Set<String>? {
        guard text != "*" else { return nil }
        let origins = text.split(separator: ",").map { $0.trimmingPrefix(" ").lowercased() }
        for origin in origins where origin.wholeMatch(of: /https?:\/\/[a-z0-9.\-\[\]:]+/) == nil {
            throw ValidationError("--cors-origins is \"\(text)\"; it takes * or origins as in https://a.example, separated by commas.")
        }
        return Set(origins)
    }

    private func urls(_ flag: String?, _ option: String, schemes: [String]) throws -> [String]? {
        try setting(flag, option).map { list in
            try list.split(separator: ",", omittingEmptySubsequences: false).map { part in
                let text = part.trimmingPrefix(" ")
                guard let scheme = schemes.first(where: { text.hasPrefix($0 + "://") }), text.count > scheme.count + 3 else {
                    let forms = schemes.map { $0 + "://HOST[:PORT]" }.joined(separator: " or ")
                    throw ValidationError("--\(option) is \"\(list)\"; it takes \(forms), several of them separated by commas.")
                }
                return String(text.hasSuffix("/") ? text.dropLast() : text)
            }
        }
    }

    /// The embedded GraphQL server, as a configuration file would name it.
    private func demoUpstreams(port: Int) -> String {
        let members = "{ symbol last bid ask seq ts }"
        return """
            {"prices":{"kind":"graphql","webSocket":"ws://127.0.0.1:\(port)/graphql","http":"http://127.0.0.1:\(port)/graphql","streams":{"quote":{
              "subscription":"subscription Quote($symbol: String!) { priceUpdated(symbol: $symbol) \(members) }","variables":{"symbol":"{key}"},
              "path":"priceUpdated","snapshot":{"query":"query Quote($symbol: String!) { price(symbol: $symbol) \(members) }","path":"price"}}}}}
            """
    }

    /// The embedded BUX server, as a configuration file would name it.
    private func demoProducts(port: Int) -> String {
        let url = "127.0.0.1:\(port)"
        return #"{"bux":{"kind":"bux","webSocket":"ws://\#(url)/subscriptions/me","http":"http://\#(url)/core/21","token":"demo"}}"#
    }

    private static func logger(_ level: LogLevel) -> Logger {
        var logger = Logger(label: "futures-gateway") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .notice
        return logger
    }
}

/// Keeps an exchange running until the program is shut down.
struct RunningExchange: Service {
    let stop: @Sendable () async -> Void

    func run() async throws {
        try? await gracefulShutdown()
        await stop()
    }
}
