import DemoExchange
import FuturesFeed
import FuturesGateway
import GatewayTestSupport
import Logging
import MicroHTTP
import NIOConcurrencyHelpers

/// Several gateways on one log in memory, in front of one demo exchange.
struct Nodes {
    let exchange: DemoExchange
    let log: SharedLog
    private let ingests: [GatewayService]
    private let stopped: NIOLockedValueBox<Set<Int>>
    let feeders: [GatewayClient]
    let edges: [GatewayClient]
    /// A gateway that stands alone, before the same exchange.
    let alone: GatewayClient

    static func open(
        ingests: Int = 1, isHotStandby: Bool = false, configure: (inout GatewayConfiguration) -> Void = { _ in }, _ body: (Nodes) async throws -> Void
    ) async throws {
        let (exchange, log) = (DemoExchange(configuration: DemoExchangeConfiguration()), SharedLog())
        let stopped = NIOLockedValueBox<Set<Int>>([])
        _ = try await exchange.start()
        var gateways: [(gateway: GatewayService, port: Int)] = []
        func start(_ cluster: ClusterConfiguration?) throws -> Int {
            var configuration = GatewayConfiguration()
            configuration.feed.venue = configuration.feed.venue.at(restURLs: [exchange.restURL], webSocketURLs: [exchange.webSocketURL])
            configuration.http.port = 0
            configuration.http.allowedHosts = []
            configure(&configuration)
            configuration.cluster = cluster
            let gateway = GatewayService(configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let port = Int(try gateway.start())
            gateways.append((gateway, port))
            return port
        }
        let result = await Result {
            // The second would wait for a minute, if the first one did not say that it goes.
            for place in 0..<ingests {
                let port = try start(log.cluster(.ingest, standbyDelay: place == 0 ? .milliseconds(200) : .seconds(60), isHotStandby: isHotStandby))
                try await GatewayClient(port: port, tls: false).awaitReadiness()
            }
            let feeding = gateways.map(\.gateway)
            let feeders = gateways.map { GatewayClient(port: $0.port, tls: false) }
            let edges = try (0..<2).map { _ in GatewayClient(port: try start(log.cluster(.edge)), tls: false) }
            let alone = GatewayClient(port: try start(nil), tls: false)
            for client in edges + [alone] { try await client.awaitReadiness() }
            try await body(Nodes(exchange: exchange, log: log, ingests: feeding, stopped: stopped, feeders: feeders, edges: edges, alone: alone))
        }
        let left = gateways.indices.filter { !stopped.withLockedValue { $0 }.contains($0) }
        for place in left.reversed() { await gateways[place].gateway.stop() }
        await exchange.stop()
        try result.get()
    }

    /// Stops the one that was started at this place.
    func stopIngest(_ place: Int) async {
        stopped.withLockedValue { _ = $0.insert(place) }
        await ingests[place].stop()
    }

    /// How many REST requests the exchange has seen whose target contains this.
    func requests(_ target: String) -> Int { exchange.statistics().requests.reduce(0) { $1.key.contains(target) ? $0 + $1.value : $0 } }
}
