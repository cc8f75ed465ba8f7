import NIOPosix

/// A simulated Intrinio over real sockets on loopback. `/auth` gives a token for the key. `/socket/websocket` speaks the binary equities format if
/// the client asks for it, else Phoenix channels. `/securities/{ticker}/prices/realtime` gives snapshots. Shares no code with the dialect.
///
/// Everything here may be called from any thread.
public final class StockExchange: Sendable {
    /// How a server works.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 takes any free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two moves of a symbol; with zero only ``StockExchange/publish(_:_:hundredths:)`` moves it.
        public var interval: Duration = .milliseconds(250)
        /// The key that clients have to show.
        public var apiKey = "demo"
        /// How long a Phoenix socket may be silent before it is closed.
        public var idle: Duration = .seconds(60)

        /// The defaults.
        public init() {}
    }

    /// The part of a quote or trade that a message is about.
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

    /// Makes a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        server = LoopbackServer(StockVenue(configuration, ledger: ledger, loop: loop), loop: loop)
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

    /// What the server has seen up to now; the streams are the symbols, and requests come without their query.
    public func statistics() -> Statistics { ledger.statistics }

    /// What happens from now on. Each call gives a stream of its own.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets one side of a symbol and tells its subscribers.
    public func publish(_ symbol: String, _ side: Side, hundredths: Int64) { server.onLoop { $0.publish(symbol, side, hundredths) } }

    /// Sends a text to every connection.
    public func say(_ text: String) { server.onLoop { $0.say(text) } }

    /// Lets the Phoenix channels of a symbol crash.
    public func crash(_ symbol: String) { server.onLoop { $0.crash(symbol) } }

    /// Resets every WebSocket and revokes all tokens.
    public func dropConnections() { server.onLoop { $0.dropConnections() } }

    /// Answers logins with this status from now on, and asks for a wait of `retryAfter` seconds; nil ends that.
    public func setLoginStatus(_ status: Int?, retryAfter: Int? = nil) { server.onLoop { $0.loginFault = status.map { ($0, retryAfter) } } }
}
