import NIOPosix

/// A simulated GraphQL server of prices over real sockets on loopback, at `/graphql`: `query price(symbol:)`, `subscription priceUpdated(symbol:)`,
/// and `subscription finite(symbol:)`, which ends after three prices. Subscriptions come over a WebSocket of either protocol, as multipart parts, or
/// as server-sent events. Written from the protocols' specifications; shares no code with the dialect.
///
/// Everything here may be called from any thread.
public final class GraphQLExchange: Sendable {
    /// How a server works.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 takes any free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two prices of a symbol; with zero only ``GraphQLExchange/publish(_:hundredths:)`` makes prices.
        public var interval: Duration = .milliseconds(250)
        /// How often a sign of life is sent: a ping, a `ka`, an empty part or a comment.
        public var keepAlive: Duration = .seconds(5)
        /// The token that clients have to show, as `authToken` in the first message's payload or as `Authorization: Bearer`. Nil accepts everybody.
        public var token: String?

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let ledger = Ledger()
    private let server: LoopbackServer<PriceVenue>

    /// Makes a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(PriceVenue(configuration, ledger: ledger, loop: loop), loop: loop)
    }

    /// Listens; prices begin to move.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` if the address cannot be bound.
    public func start() async throws(DemoExchangeError) -> Int {
        try await server.start(host: configuration.host, port: configuration.port) { $0.open() }
    }

    /// Closes the listening socket and resets every connection; returns when all are gone.
    public func stop() async { await server.stop() }

    /// The port it listens on; 0 while it does not.
    public var port: Int { server.port }

    /// What the server has seen up to now; the streams are the symbols.
    public func statistics() -> Statistics { ledger.statistics }

    /// What happens from now on. Each call gives a stream of its own.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets a price and tells its subscribers.
    public func publish(_ symbol: String, hundredths: Int64) { server.onLoop { $0.publish(symbol, hundredths) } }

    /// Ends every connection: a WebSocket with a close frame of this code; otherwise, or without a code, with a reset.
    public func dropConnections(code: UInt16? = nil) { server.onLoop { $0.endAll(code) } }

    /// While stalled, connections stay and the server sends nothing unasked.
    public func setStalled(_ isStalled: Bool) { server.onLoop { $0.isStalled = isStalled } }
}
