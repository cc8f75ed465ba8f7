import ArgumentParser
import DemoExchange
import Logging
import ServiceLifecycle
import UnixSignals

/// `futures-gateway demo-exchange`
struct DemoExchangeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-exchange", abstract: "Run the embedded exchange on its own.",
        discussion: "Every option is also FUTURES_GATEWAY_EXCHANGE_… in the environment; a flag wins.")

    @Option(name: .long, help: "The port to listen on; 0 takes any free one (default 9000).")
    var port: Int?
    @Option(name: .long, help: "The seed of all prices (default 1).")
    var seed: UInt64?
    @Option(name: .long, help: "Listed symbols, 20 to 2000 (default 24).")
    var symbols: Int?
    @Option(name: .long, help: "Updates a second of each order book, 0 to 1000 (default 10).")
    var bookUpdates: Int?
    @Option(name: .long, help: "Milliseconds between the events of a depth stream, 1 to 60000 (default: the venue's).")
    var depthInterval: Int?
    @Option(name: .long, help: "Request weight allowed a minute (default 2400).")
    var weightLimit: Int?
    @Option(name: .long, help: "Play a recorded session from this file instead of simulated prices.")
    var replay: String?
    @Option(name: .long, help: "How much faster than recorded; 0 is as fast as possible (default 1).")
    var speed: Double?

    func run() async throws {
        var configuration = DemoExchangeConfiguration()
        configuration.port = try setting(port, "exchange-port") ?? 9000
        configuration.seed = try setting(seed, "exchange-seed") ?? 1
        configuration.symbolCount = try number(symbols, "exchange-symbols", in: 20...2000) ?? configuration.symbolCount
        configuration.bookUpdatesPerSecond = try number(bookUpdates, "exchange-book-updates", in: 0...1000) ?? configuration.bookUpdatesPerSecond
        configuration.depthInterval = try number(depthInterval, "exchange-depth-interval", in: 1...60_000).map { .milliseconds($0) }
        configuration.weightLimit = try number(weightLimit, "exchange-weight-limit", in: 1...100_000_000) ?? configuration.weightLimit
        let speed = try setting(speed, "exchange-speed") ?? 1
        configuration.replay = try setting(replay, "exchange-replay").map { Replay(path: $0, speed: speed) }
        let exchange = DemoExchange(configuration: configuration)
        _ = try await exchange.start()
        announce("The demo exchange listens: --rest-url \(exchange.restURL) --ws-url \(exchange.webSocketURL)")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [RunningExchange(stop: exchange.stop)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "demo-exchange") { StreamLogHandler.standardError(label: $0) }))
        try await group.run()
    }
}
