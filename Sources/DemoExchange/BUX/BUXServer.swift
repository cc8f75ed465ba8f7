import NIOPosix

/// A simulated BUX server over real sockets on loopback: quotes at `/subscriptions/me`, products at `/core/21/products/ID`. It is written from what
/// public clients send and expect, and shares no code with the dialect.
///
/// All members may be called from any thread.
public final class BUXServer: Sendable {
    /// Settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 picks a free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two quotes of a product. If zero, only ``BUXServer/publish(_:tenths:)`` creates quotes.
        public var interval: Duration = .milliseconds(400)
        /// The bearer token that clients must present; nil accepts all clients.
        public var token: String?

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let ledger = Ledger()
    private let server: LoopbackServer<ProductVenue>

    /// Creates a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(ProductVenue(configuration, ledger: ledger, loop: loop), loop: loop)
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

    /// The server's counts so far. Its streams are named by the products' ids in lower case.
    public func statistics() -> Statistics { ledger.statistics }

    /// Events from now on. Each call returns a separate stream.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets a price (tenths of a euro) and notifies its subscribers.
    public func publish(_ product: String, tenths: Int64) { server.onLoop { $0.publish(product, tenths) } }

    /// Resets every WebSocket.
    public func dropConnections() { server.onLoop { $0.endAll() } }
}
