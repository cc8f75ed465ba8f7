import ArgumentParser
import DemoExchange
import Logging
import ServiceLifecycle
import UnixSignals

/// `futures-gateway demo-stocks`, for tests with Intrinio's own clients.
struct DemoStocksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-stocks", abstract: "Run only the embedded Intrinio, on a free port.", shouldDisplay: false)

    func run() async throws {
        let stocks = StockExchange()
        announce("The demo stocks server listens at http://127.0.0.1:\(try await stocks.start())")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [RunningExchange(stop: stocks.stop)], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "demo-stocks") { StreamLogHandler.standardError(label: $0) }))
        try await group.run()
    }
}
