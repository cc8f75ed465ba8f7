import NIOPosix

/// A simulated GraphQL price server over real sockets on loopback, at `/graphql`. It serves `query price(symbol:)`, `subscription
/// priceUpdated(symbol:)`, and `subscription finite(symbol:)`, which ends after three prices. Subscriptions use a WebSocket of either protocol,
/// multipart parts, or server-sent events. It is written from the protocols' specifications and shares no code with the dialect.
///
/// All members may be called from any thread.
public final class GraphQLServer: Sendable {
    /// Settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 picks a free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two prices of a symbol. If zero, only ``GraphQLServer/publish(_:hundredths:)`` creates prices.
        public var interval: Duration = .milliseconds(250)
        /// How often the server sends a sign of life: a ping, a `ka`, an empty part or a comment.
        public var keepAlive: Duration = .seconds(5)
        /// The token that clients must present, as `authToken` in the first message's payload or as `Authorization: Bearer`. Nil accepts all clients.
        public var token: String?

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let ledger = Ledger()
    private let server: LoopbackServer<PriceVenue>

    /// Creates a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(PriceVenue(configuration, ledger: ledger, loop: loop), loop: loop)
    }

    /// Starts to listen and to move prices.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` if the address cannot be bound.
    public func start() async throws(DemoExchangeError) -> Int {
        try await server.start(host: configuration.host, port: configuration.port) { $0.open() }
    }

    /// Closes the listening socket and resets every connection; returns when all are closed.
    public func stop() async { await server.stop() }

    /// The port that the server listens on; 0 while it does not listen.
    public var port: Int { server.port }

    /// The server's counts so far. Its streams are named by the symbols.
    public func statistics() -> Statistics { ledger.statistics }

    /// Events from now on. Each call returns a separate stream.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets a price (hundredths) and notifies its subscribers.
    public func publish(_ symbol: String, hundredths: Int64) { server.onLoop { $0.publish(symbol, hundredths) } }

    /// Ends every connection: a WebSocket with a close frame of this code; otherwise, or without a code, with a reset.
    public func dropConnections(code: UInt16? = nil) { server.onLoop { $0.endAll(code) } }

    /// While stalled, the server keeps connections open but pushes nothing; it still answers requests.
    public func setStalled(_ isStalled: Bool) { server.onLoop { $0.isStalled = isStalled } }
}
