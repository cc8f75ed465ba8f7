import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A simulated BUX server over real sockets on loopback: quotes at `/subscriptions/me`, products at `/core/21/products/ID`. Written from what public
/// clients send and expect; shares no code with the dialect.
///
/// Everything here may be called from any thread.
public final class BUXExchange: Sendable {
    /// How a server works.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The port; 0 takes any free one.
        public var port = 0
        /// The seed of all prices.
        public var seed: UInt64 = 1
        /// The time between two quotes of a product; zero for none but those of ``BUXExchange/publish(_:tenths:)``.
        public var interval: Duration = .milliseconds(400)
        /// The bearer token that clients have to show; nil accepts everybody.
        public var token: String?

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let loop: any EventLoop
    private let ledger = Ledger()
    private let venue: NIOLoopBoundBox<ProductVenue>
    private let listener = Mutex<(any Channel)?>(nil)
    private let children: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>

    /// Makes a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        loop = MultiThreadedEventLoopGroup.singleton.next()
        venue = .makeBoxSendingValue(ProductVenue(configuration, ledger: ledger, loop: loop), eventLoop: loop)
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

    /// What the server has seen up to now; the streams are the products' ids in lower case.
    public func statistics() -> Statistics { ledger.statistics }

    /// What happens from now on. Each call gives a stream of its own.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets a price and tells its subscribers.
    public func publish(_ product: String, tenths: Int64) { onLoop { $0.publish(product, tenths) } }

    /// Resets every WebSocket.
    public func dropConnections() { onLoop { $0.endAll() } }

    private func onLoop(_ action: @escaping @Sendable (ProductVenue) -> Void) {
        let venue = venue
        loop.execute { action(venue.value) }
    }

    private func bootstrap() -> ServerBootstrap {
        let (venue, children) = (venue, children)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 16,
            shouldUpgrade: { channel, head in channel.eventLoop.makeSucceededFuture(head.uri == "/subscriptions/me" ? HTTPHeaders() : nil) },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BUXSocket(venue: venue.value, isKnown: venue.value.knows(head)))
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
                            completionHandler: { context in context.pipeline.syncOperations.removeHandler(name: "products", promise: nil) }
                        ))
                    try channel.pipeline.syncOperations.addHandler(BUXRequestHandler(venue: venue.value), name: "products")
                }
            }
    }
}
