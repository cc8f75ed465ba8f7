import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A simulated Intrinio over real sockets on loopback: `/auth` gives a token for the key, `/socket/websocket` speaks the binary equities format to those
/// that ask for it and Phoenix channels to the others, and `/securities/{ticker}/prices/realtime` gives snapshots. Shares no code with the dialect.
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
        /// The time between two moves of a symbol; zero for none but those of ``StockExchange/publish(_:_:hundredths:)``.
        public var interval: Duration = .milliseconds(250)
        /// What clients have to show.
        public var apiKey = "demo"
        /// After how long without a frame of the client a Phoenix socket is closed.
        public var idle: Duration = .seconds(60)

        /// The defaults.
        public init() {}
    }

    /// What a message says of a symbol.
    public enum Side: Int, Sendable, CaseIterable {
        /// The last trade.
        case trade
        /// The best offer.
        case ask
        /// The best bid.
        case bid
    }

    private let configuration: Configuration
    private let loop: any EventLoop
    private let ledger = Ledger()
    private let venue: NIOLoopBoundBox<StockVenue>
    private let listener = Mutex<(any Channel)?>(nil)
    private let children: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>

    /// Makes a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        loop = MultiThreadedEventLoopGroup.singleton.next()
        venue = .makeBoxSendingValue(StockVenue(configuration, ledger: ledger, loop: loop), eventLoop: loop)
        children = .makeBoxSendingValue([:], eventLoop: loop)
    }

    /// Listens; prices begin to move.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` where the address cannot be bound.
    public func start() async throws(DemoExchangeError) -> Int {
        do {
            let channel = try await bootstrap().bind(host: configuration.host, port: configuration.port).get()
            let venue = venue
            try await loop.submit { venue.value.open() }.get()
            listener.withLock { $0 = channel }
            return channel.localAddress?.port ?? configuration.port
        } catch {
            throw DemoExchangeError(
                .bind, "\(configuration.host):\(configuration.port) cannot be bound (\(error)); choose a free port, or 0")
        }
    }

    /// Closes the listening socket and resets every connection; returns when all are gone.
    public func stop() async {
        try? await listener.withLock { $0.take() }?.close()
        let (venue, children, loop) = (venue, children, loop)
        let gone = loop.flatSubmit {
            venue.value.close()
            let channels = Array(children.value.values)
            for channel in channels { DemoExchange.reset(channel) }
            return EventLoopFuture.andAllComplete(channels.map(\.closeFuture), on: loop)
        }
        try? await gone.get()
    }

    /// What the server has seen up to now; the streams are the symbols, and requests are without their query.
    public func statistics() -> Statistics { ledger.statistics }

    /// What happens from now on. Each call gives a stream of its own.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets one side of a symbol and tells its subscribers.
    public func publish(_ symbol: String, _ side: Side, hundredths: Int64) { onLoop { $0.publish(symbol, side, hundredths) } }

    /// Tells every connection something in text.
    public func say(_ text: String) { onLoop { $0.say(text) } }

    /// Lets the Phoenix channels of a symbol crash.
    public func crash(_ symbol: String) { onLoop { $0.crash(symbol) } }

    /// Resets every WebSocket; tokens given before are worth nothing from then on.
    public func dropConnections() { onLoop { $0.dropConnections() } }

    /// From now on the login is answered with this status, and asks for a wait of so many seconds; nil for as it should be.
    public func setLoginStatus(_ status: Int?, retryAfter: Int? = nil) { onLoop { $0.loginFault = status.map { ($0, retryAfter) } } }

    private func onLoop(_ action: @escaping @Sendable (StockVenue) -> Void) {
        let venue = venue
        loop.execute { action(venue.value) }
    }

    private func bootstrap() -> ServerBootstrap {
        let (venue, children) = (venue, children)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 16,
            shouldUpgrade: { channel, head in
                let target = StockRequest(head)
                let isWelcome = target.path == "/socket/websocket" && venue.value.accepts(token: target.query["token"])
                return channel.eventLoop.makeSucceededFuture(isWelcome ? HTTPHeaders() : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let isBinary = head.headers.first(name: "UseNewEquitiesFormat") == "v2"
                    try channel.pipeline.syncOperations.addHandler(StockSocket(isBinary: isBinary, venue: venue.value))
                }
            })
        return ServerBootstrap(group: loop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let key = ObjectIdentifier(channel)
                    children.value[key] = channel
                    channel.closeFuture.whenComplete { _ in children.value[key] = nil }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: (
                            upgraders: [upgrader],
                            completionHandler: { context in context.pipeline.syncOperations.removeHandler(name: "requests", promise: nil) }
                        ))
                    try channel.pipeline.syncOperations.addHandler(StockRequestHandler(venue: venue.value), name: "requests")
                }
            }
    }
}
