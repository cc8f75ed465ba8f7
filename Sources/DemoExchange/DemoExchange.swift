import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import Synchronization

/// A simulated futures venue in the dialect of ApolloX, Aster and Binance USDⓈ-M: WebSocket market streams and REST market data
/// over real sockets on loopback, from a seeded market or a recording, with faults on request.
///
/// The dialect is that of the project's venue fact sheet: streams §2, REST §3 and §6, control messages §4, order books §5. Unprefixed
/// paths carry every stream, as on ApolloX and Aster; under `/public` and `/market` each stream belongs to one path, as on Binance.
/// Everything here may be called from any thread.
public final class DemoExchange: Sendable {
    private enum Phase {
        case stopped
        case starting
        case running(any Channel)
    }

    private struct State {
        var phase = Phase.stopped
        var port: Int
        var hasOpened = false
    }

    private let configuration: DemoExchangeConfiguration
    private let loop: any EventLoop
    private let ledger = Ledger()
    private let bookLog: BookLog
    private let venue: NIOLoopBoundBox<Venue>
    private let children: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>
    private let state: Mutex<State>

    /// Makes an exchange that does nothing until it is started.
    public init(configuration: DemoExchangeConfiguration) {
        self.configuration = configuration
        loop = MultiThreadedEventLoopGroup.singleton.next()
        bookLog = BookLog(limit: configuration.bookMemory)
        venue = .makeBoxSendingValue(Venue(configuration, ledger: ledger, bookLog: bookLog, loop: loop), eventLoop: loop)
        children = .makeBoxSendingValue([:], eventLoop: loop)
        state = Mutex(State(port: configuration.port))
    }

    deinit {
        if case .running(let listener) = state.withLock({ $0.phase }) { listener.close(promise: nil) }
        let (venue, children) = (venue, children)
        loop.execute {
            venue.value.close()
            for channel in children.value.values { channel.close(promise: nil) }
        }
    }

    /// Listens and opens the market; a replay is read and checked first.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` where the address cannot be bound, the recording cannot be read (with file and line), or the
    ///   exchange is already running.
    public func start() async throws(DemoExchangeError) -> Int {
        let (wasStopped, port, hasOpened) = state.withLock { state in
            guard case .stopped = state.phase else { return (false, state.port, state.hasOpened) }
            state.phase = .starting
            return (true, state.port, state.hasOpened)
        }
        guard wasStopped else { throw DemoExchangeError(.alreadyRunning, "the exchange is running on port \(port); stop it first") }
        do {
            let feed = hasOpened ? nil : try makeFeed()
            let listener = try await listen(port)
            let bound = listener.localAddress?.port ?? port
            let venue = venue
            try? await loop.submit { venue.value.open(feed) }.get()
            state.withLock { $0 = State(phase: .running(listener), port: bound, hasOpened: true) }
            return bound
        } catch {
            state.withLock { $0.phase = .stopped }
            throw error
        }
    }

    private func makeFeed() throws(DemoExchangeError) -> Venue.Feed {
        guard let replay = configuration.replay else {
            let depthInterval = configuration.depthInterval.map { min(max(TimeAmount($0).nanoseconds / 1_000_000, 1), Interval.minute) }
            return .market(
                Market(
                    seed: configuration.seed, symbolCount: configuration.symbolCount, now: wallClock(),
                    bookUpdatesPerSecond: Int64(min(max(configuration.bookUpdatesPerSecond, 0), 1_000)), depthInterval: depthInterval))
        }
        return .recording(try Recording(path: replay.path))
    }

    /// Closes the listening socket and resets every connection; returns when all are gone. May be started again, on the same port.
    public func stop() async {
        let listener: (any Channel)? = state.withLock { state in
            guard case .running(let listener) = state.phase else { return nil }
            state.phase = .stopped
            return listener
        }
        guard let listener else { return }
        try? await listener.close()
        let (venue, children, loop) = (venue, children, loop)
        let gone = loop.flatSubmit {
            venue.value.close()
            let channels = Array(children.value.values)
            for channel in channels { Self.reset(channel) }
            return EventLoopFuture.andAllComplete(channels.map(\.closeFuture), on: loop)
        }
        try? await gone.get()
    }

    /// `ws://HOST:PORT`, without a path. The port is 0 until the exchange has been started.
    public var webSocketURL: String { "ws://\(configuration.host):\(state.withLock { $0.port })" }

    /// `http://HOST:PORT`, without a path. The port is 0 until the exchange has been started.
    public var restURL: String { "http://\(configuration.host):\(state.withLock { $0.port })" }

    /// What the exchange has seen up to now.
    public func statistics() -> Statistics { ledger.statistics }

    /// The 20 best levels of each side of a symbol's book, best first, right after the update `updateID`, as the venue writes prices and
    /// quantities: what a client that has followed the venue's rule up to that `u` or `lastUpdateId` has to show.
    ///
    /// Nil where the id is none of this symbol's, or was forgotten (``DemoExchangeConfiguration/bookMemory``). Ids are remembered
    /// while somebody is subscribed to a depth stream of the symbol, and those of REST replies always.
    public func trueLevels(symbol: String, at updateID: UInt64) -> (bids: [(String, String)], asks: [(String, String)])? {
        bookLog.levels(symbol, at: updateID)
    }

    /// Sends `text` as a text frame, as it is, to every connection or to those subscribed to `stream`; even while stalled.
    public func inject(_ text: String, to stream: String? = nil) {
        onLoop { $0.inject(text, to: stream) }
    }

    /// Ends every WebSocket connection: with a TCP reset, or with a close frame of that code (the socket then waits for the peer's own
    /// close frame, at most 5 s).
    public func dropConnections(code: UInt16? = nil) {
        onLoop { $0.dropConnections(code) }
    }

    /// While stalled, connections stay, pings and control messages are answered, and no data is sent; what is missed stays missed.
    public func setStalled(_ stalled: Bool) {
        onLoop { $0.faults.isStalled = stalled }
    }

    /// Lets every REST request from now on meet this fault; nil ends it.
    public func setRESTFault(_ fault: RESTFault?) {
        onLoop { ($0.faults.rest, $0.faults.restPath) = (fault, nil) }
    }

    /// Lets something go wrong. The same over HTTP: `POST /control/fault` with `{"fault":NAME, …parameters}`; `GET /control/faults`
    /// lists the names.
    public func inflict(_ fault: Fault) {
        onLoop { $0.inflict(fault) }
    }

    /// Ends all faults, those of ``setStalled(_:)`` and ``setRESTFault(_:)`` included; `POST /control/clear` does the same.
    public func clearFaults() {
        onLoop { $0.clearFaults() }
    }

    /// What happens from now on. Each call gives a stream of its own; a listener that falls 10 000 events behind loses the oldest.
    public func changes() -> AsyncStream<Event> { ledger.events() }

    private func onLoop(_ action: @escaping @Sendable (Venue) -> Void) {
        let venue = venue
        loop.execute { action(venue.value) }
    }

    private func listen(_ port: Int) async throws(DemoExchangeError) -> any Channel {
        let (venue, children) = (venue, children)
        let pingInterval = TimeAmount(configuration.pingInterval)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: WebSocketConnection.maxFrameSize,
            shouldUpgrade: { channel, head in
                channel.eventLoop.makeSucceededFuture(WebSocketTarget(head.uri) == nil ? nil : HTTPHeaders())
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    guard let target = WebSocketTarget(head.uri) else { return }
                    let connection = WebSocketConnection(target, venue: venue.value, pingInterval: pingInterval)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            })
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1 << 20, high: WebSocketConnection.maxPendingBytes))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let key = ObjectIdentifier(channel)
                    children.value[key] = channel
                    channel.closeFuture.whenComplete { _ in children.value[key] = nil }
                    try channel.pipeline.syncOperations.addHandler(Gate(venue: venue.value))
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: (
                            upgraders: [upgrader],
                            completionHandler: { context in context.pipeline.syncOperations.removeHandler(name: "REST", promise: nil) }
                        ))
                    try channel.pipeline.syncOperations.addHandler(RESTHandler(venue: venue.value), name: "REST")
                }
            }
        do {
            return try await bootstrap.bind(host: configuration.host, port: port).get()
        } catch {
            throw DemoExchangeError(.bind, "\(configuration.host):\(port) cannot be bound (\(error)); choose a free port, or 0")
        }
    }

    /// Closes a socket so that its peer sees a TCP reset.
    static func reset(_ channel: any Channel) {
        guard let options = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
}
