import ArgumentParser
import DemoExchange
import Logging
import ServiceLifecycle
import UnixSignals

/// `futures-gateway demo-upstream`, for tests with the upstreams' own clients.
struct DemoUpstreamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-upstream", abstract: "Run only an embedded upstream, on a free port.", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case stocks, hyperliquid
    }

    @Argument(help: "The upstream.") var kind: Kind

    func run() async throws {
        let (port, service) = try await start()
        announce("The demo \(kind.rawValue) server listens at http://127.0.0.1:\(port)")
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [service], gracefulShutdownSignals: [.sigterm, .sigint],
                logger: Logger(label: "demo-upstream") { StreamLogHandler.standardError(label: $0) }))
        try await group.run()
    }

    private func start() async throws -> (port: Int, RunningExchange) {
        switch kind {
        case .stocks:
            let stocks = StockServer()
            return (try await stocks.start(), RunningExchange(stop: stocks.stop))
        case .hyperliquid:
            let hyperliquid = HyperliquidServer()
            return (try await hyperliquid.start(), RunningExchange(stop: hyperliquid.stop))
        }
    }
}
