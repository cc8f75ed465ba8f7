import NIOPosix

/// A simulated Intrinio over real sockets on loopback. `/auth` returns a token for the key. `/socket/websocket` speaks the binary equities format if
/// the client asks for it, otherwise Phoenix channels. `/securities/{ticker}/prices/realtime` returns snapshots. Shares no code with the dialect.
///
/// All members may be called from any thread.
public final class StockServer: Sendable {
    /// Settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 picks a free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two price changes of a symbol. If zero, only ``StockServer/publish(_:_:hundredths:)`` changes prices.
        public var interval: Duration = .milliseconds(250)
        /// The key that clients must present.
        public var apiKey = "demo"
        /// How long a Phoenix socket may be silent before it is closed.
        public var idle: Duration = .seconds(60)

        /// The defaults.
        public init() {}
    }

    /// Which price a message carries.
    public enum Side: Int, Sendable, CaseIterable {
        /// The last trade.
        case trade
        /// The best offer.
        case ask
        /// The best bid.
        case bid
    }

    private let configuration: Configuration
    private let ledger = Ledger()
    private let server: LoopbackServer<StockVenue>

    /// Creates a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(StockVenue(configuration, ledger: ledger, loop: loop), loop: loop)
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

    /// The server's counts so far. Its streams are named by the symbols, and requests are counted without their query.
    public func statistics() -> Statistics { ledger.statistics }

    /// Events from now on. Each call returns a separate stream.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets one price (hundredths) of a symbol and notifies its subscribers.
    public func publish(_ symbol: String, _ side: Side, hundredths: Int64) { server.onLoop { $0.publish(symbol, side, hundredths) } }

    /// Sends a text to every connection.
    public func say(_ text: String) { server.onLoop { $0.say(text) } }

    /// Makes the Phoenix channels of a symbol crash.
    public func crash(_ symbol: String) { server.onLoop { $0.crash(symbol) } }

    /// Resets every WebSocket and revokes all tokens.
    public func dropConnections() { server.onLoop { $0.dropConnections() } }

    /// Answers logins with this status from now on, with `Retry-After` if `retryAfter` (s) is given; nil ends the fault.
    public func setLoginStatus(_ status: Int?, retryAfter: Int? = nil) { server.onLoop { $0.loginFault = status.map { ($0, retryAfter) } } }
}
