import NIOPosix

/// A simulated Hyperliquid over real sockets on loopback: streams at `/ws`, requests at `/info`. It is written from the venue's documentation and from
/// what public clients send and expect, and shares no code with the dialect.
///
/// All members may be called from any thread.
public final class HyperliquidServer: Sendable {
    /// Settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 picks a free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two blocks, each of which sends the books.
        public var interval: Duration = .milliseconds(500)
        /// The server closes a socket on which it has sent nothing for this time.
        public var idle: Duration = .seconds(60)
        /// The subscriptions that one server allows. An address may have 1,000 at the venue.
        public var subscriptions = 1_000

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let ledger = Ledger()
    private let server: LoopbackServer<HyperliquidVenue>

    /// Creates a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(HyperliquidVenue(configuration, ledger: ledger, loop: loop), loop: loop)
    }

    /// Starts to listen and to make blocks.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` if the address cannot be bound.
    public func start() async throws(DemoExchangeError) -> Int {
        try await server.start(host: configuration.host, port: configuration.port) { $0.open() }
    }

    /// Closes the listening socket and resets every connection; returns when all are closed.
    public func stop() async { await server.stop() }

    /// The server's counts so far. Its streams are named `type` or `type:coin`, such as `l2Book:BTC`.
    public func statistics() -> Statistics { ledger.statistics }

    /// Events from now on. Each call returns a separate stream.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sends no more messages of these streams, such as `l2Book:BTC`, until their clients subscribe again. The sockets stay open.
    public func silence(_ streams: Set<String>) { server.onLoop { $0.silence(streams) } }

    /// Resets every WebSocket.
    public func dropConnections() { server.onLoop { $0.endAll() } }
}
