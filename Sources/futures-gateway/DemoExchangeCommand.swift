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
    @Option(name: .long, help: "Play a recorded session from this file instead of simulated prices.")
    var replay: String?
    @Option(name: .long, help: "How much faster than recorded; 0 is as fast as possible (default 1).")
    var speed: Double?

    func run() async throws {
        var configuration = DemoExchangeConfiguration()
        configuration.port = try setting(port, "exchange-port") ?? 9000
        configuration.seed = try setting(seed, "exchange-seed") ?? 1
        let speed = try setting(speed, "exchange-speed") ?? 1
        configuration.replay = try setting(replay, "exchange-replay").map { Replay(path: $0, speed: speed) }
        let exchange = DemoExchange(configuration: configuration)
        _ = try await exchange.start()
        announce("The demo exchange listens: --rest-url \(exchange.restURL) --ws-url \(exchange.webSocketURL)")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [RunningExchange(exchange: exchange)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "demo-exchange") { StreamLogHandler.standardError(label: $0) }))
        try await group.run()
    }
}
