import DemoExchange
import FuturesFeed
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Logging
import MicroHTTP

/// A demo exchange, and a directory that gateways in front of it record trades and books in, one after the other.
struct RecordingHouse {
    let exchange: DemoExchange
    let directory: String

    /// Builds a house, lets `body` use it, and takes it down again.
    static func open(_ body: (RecordingHouse) async throws -> Void) async throws {
        try await TapeFolder.use { directory in
            let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
            _ = try await exchange.start()
            let result = await Result { try await body(RecordingHouse(exchange: exchange, directory: directory)) }
            await exchange.stop()
            try result.get()
        }
    }

    /// A gateway, for the time of the call. Everything that it told is on the tape afterwards.
    func gateway(
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, change: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (GatewayClient) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration()
        configuration.feed.venue = configuration.feed.venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
        configuration.http.port = 0
        configuration.http.allowedHosts = []
        configuration.tape = TapeConfiguration(directory: directory, streams: ["*@aggTrade", "*@depth@100ms"].compactMap { StreamPattern($0) })
        change(&configuration)
        let gateway = GatewayService(configuration: configuration, logger: logger)
        let client = GatewayClient(port: Int(try gateway.start()), tls: false)
        let result = await Result { try await body(client) }
        await gateway.stop()
        try result.get()
    }
}
