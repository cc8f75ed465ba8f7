import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A simulated GraphQL server of prices, over real sockets on loopback: `query price(symbol:)`, `subscription priceUpdated(symbol:)` and
/// `subscription finite(symbol:)`, which ends after three prices, at `/graphql`. Subscriptions come over a WebSocket of either protocol, as
/// multipart parts, or as server-sent events. Written from the protocols' texts; shares no code with the dialect.
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
        /// The time between two prices of a symbol; zero for none but those of ``GraphQLExchange/publish(_:hundredths:)``.
        public var interval: Duration = .milliseconds(250)
        /// How often a sign of life is sent: a ping, a `ka`, an empty part or a comment.
        public var keepAlive: Duration = .seconds(5)
        /// What clients have to show: `authToken` in the first message's payload, or `Authorization: Bearer`. Nil accepts everybody.
        public var token: String?

        /// The defaults.
        public init() {}
    }

    private let configuration: Configuration
    private let loop: any EventLoop
    private let ledger = Ledger()
    private let venue: NIOLoopBoundBox<PriceVenue>
    private let listener = Mutex<(any Channel)?>(nil)
    private let children: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>

    /// Makes a server that does nothing until it is started.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        loop = MultiThreadedEventLoopGroup.singleton.next()
        venue = .makeBoxSendingValue(PriceVenue(configuration, ledger: ledger, loop: loop), eventLoop: loop)
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

    /// The port it listens on; 0 while it does not.
    public var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }

    /// What the server has seen up to now; the streams are the symbols.
    public func statistics() -> Statistics { ledger.statistics }

    /// What happens from now on. Each call gives a stream of its own.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    /// Sets a price and tells its subscribers.
    public func publish(_ symbol: String, hundredths: Int64) { onLoop { $0.publish(symbol, hundredths) } }

    /// Ends every connection: with a close frame of that code where it is a WebSocket, else, or without a code, with a reset.
    public func dropConnections(code: UInt16? = nil) { onLoop { $0.endAll(code) } }

    /// While stalled, connections stay and nothing is sent of its own accord.
    public func setStalled(_ isStalled: Bool) { onLoop { $0.isStalled = isStalled } }

    private func onLoop(_ action: @escaping @Sendable (PriceVenue) -> Void) {
        let venue = venue
        loop.execute { action(venue.value) }
    }

    private func bootstrap() -> ServerBootstrap {
        let (venue, children) = (venue, children)
        let keepAlive = TimeAmount(configuration.keepAlive)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 16,
            shouldUpgrade: { channel, head in
                let chosen = Self.subprotocol(head)
                return channel.eventLoop.makeSucceededFuture(chosen.map { ["Sec-WebSocket-Protocol": $0] })
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let isLegacy = Self.subprotocol(head) == "graphql-ws"
                    try channel.pipeline.syncOperations.addHandler(GraphQLSocket(isLegacy: isLegacy, venue: venue.value, keepAlive: keepAlive))
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
                    try channel.pipeline.syncOperations.addHandler(GraphQLRequestHandler(venue: venue.value, keepAlive: keepAlive), name: "requests")
                }
            }
    }

    /// The first offered protocol that is spoken here.
    private static func subprotocol(_ head: HTTPRequestHead) -> String? {
        guard head.uri == "/graphql" else { return nil }
        return head.headers[canonicalForm: "Sec-WebSocket-Protocol"].map(String.init).first { ["graphql-transport-ws", "graphql-ws"].contains($0) }
    }
}
