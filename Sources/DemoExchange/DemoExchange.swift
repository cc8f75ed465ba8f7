import NIOCore
import NIOPosix
import Synchronization

/// A simulated futures venue in the dialect of ApolloX, Aster and Binance USDⓈ-M. It serves WebSocket market streams and REST market data over real
/// sockets on loopback. The data comes from a seeded market or a recording, and faults can be inflicted on request.
///
/// docs/reference/venues.md describes the dialect: streams §2, REST §3 and §6, control messages §4, order books §5. Unprefixed paths carry every stream, as on
/// ApolloX and Aster. Under `/public` and `/market` each stream belongs to one path, as on Binance. All members may be called from any thread.
public final class DemoExchange: Sendable {
    private enum Phase {
        case stopped
        case starting
        case running
    }

    private struct State {
        var phase = Phase.stopped
        var port: Int
        var hasOpened = false
    }

    private let configuration: DemoExchangeConfiguration
    private let ledger = Ledger()
    private let bookLog: BookLog
    private let server: LoopbackServer<Venue>
    private let state: Mutex<State>

    /// Creates an exchange that does nothing until it is started.
    public init(configuration: DemoExchangeConfiguration) {
        self.configuration = configuration
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        bookLog = BookLog(limit: configuration.bookMemory)
        server = LoopbackServer(Venue(configuration, ledger: ledger, bookLog: bookLog, loop: loop), loop: loop)
        state = Mutex(State(port: configuration.port))
    }

    deinit { server.abandon() }

    /// Reads and checks the recording if there is one, then listens and opens the market.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` if the address cannot be bound, the recording cannot be read (with file and line), the certificate cannot be
    ///   used, or the exchange is already running.
    public func start() async throws(DemoExchangeError) -> Int {
        let (wasStopped, port, hasOpened) = state.withLock { state in
            guard case .stopped = state.phase else { return (false, state.port, state.hasOpened) }
            state.phase = .starting
            return (true, state.port, state.hasOpened)
        }
        guard wasStopped else { throw DemoExchangeError(.alreadyRunning, "the exchange is running on port \(port); stop it first") }
        do {
            let feed = hasOpened ? nil : try makeFeed()
            let tls = try configuration.tls?.context()
            let bound = try await server.start(host: configuration.host, port: port, tls: tls) { $0.open(feed) }
            state.withLock { $0 = State(phase: .running, port: bound, hasOpened: true) }
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
                    bookUpdatesPerSecond: Int64(min(max(configuration.bookUpdatesPerSecond, 0), 1_000)), depthInterval: depthInterval,
                    closingDelay: min(max(TimeAmount(configuration.closingDelay).nanoseconds / 1_000_000, 0), 30_000),
                    perpetualsOnly: configuration.perpetualsOnly))
        }
        return .recording(try Recording(path: replay.path))
    }

    /// Closes the listening socket and resets every connection; returns when all are closed. The exchange may be started again, on the same port.
    public func stop() async {
        let wasRunning = state.withLock { state in
            guard case .running = state.phase else { return false }
            state.phase = .stopped
            return true
        }
        if wasRunning { await server.stop() }
    }

    /// `ws://HOST:PORT`, or `wss://…` with TLS; without a path. The port is 0 until the exchange has been started.
    public var webSocketURL: String { "\(configuration.tls == nil ? "ws" : "wss")://\(configuration.host):\(state.withLock { $0.port })" }

    /// `http://HOST:PORT`, or `https://…` with TLS; without a path. The port is 0 until the exchange has been started.
    public var restURL: String { "\(configuration.tls == nil ? "http" : "https")://\(configuration.host):\(state.withLock { $0.port })" }

    /// The exchange's counts so far.
    public func statistics() -> Statistics { ledger.statistics }

    /// The 20 best levels of each side of a symbol's book, best first, right after the update `updateID`. Prices and quantities are written as the
    /// venue writes them. A client that has followed the venue's rule up to that `u` or `lastUpdateId` must have the same levels.
    ///
    /// Nil if the id does not belong to this symbol or is no longer remembered (``DemoExchangeConfiguration/bookMemory``). The exchange remembers ids
    /// while a client subscribes to a depth stream of the symbol, and the ids of all REST replies.
    public func trueLevels(symbol: String, at updateID: UInt64) -> (bids: [(String, String)], asks: [(String, String)])? {
        bookLog.levels(symbol, at: updateID)
    }

    /// Sends `text` as a text frame, unchanged, to every connection or to those subscribed to `stream`; even while stalled.
    public func inject(_ text: String, to stream: String? = nil) {
        server.onLoop { $0.inject(text, to: stream) }
    }

    /// Ends every WebSocket connection: with a TCP reset, or with a close frame of this code. After a close frame the socket waits up to 5 s for the
    /// peer's close frame.
    public func dropConnections(code: UInt16? = nil) {
        server.onLoop { $0.dropConnections(code) }
    }

    /// While stalled, the exchange keeps connections open and answers pings and control messages, but sends no data. It does not send the missed data
    /// later.
    public func setStalled(_ stalled: Bool) {
        server.onLoop { $0.faults.isStalled = stalled }
    }

    /// Applies this fault to every REST request from now on; nil ends it.
    public func setRESTFault(_ fault: RESTFault?) {
        server.onLoop { ($0.faults.rest, $0.faults.restPath) = (fault, nil) }
    }

    /// Inflicts a fault. Over HTTP, `POST /control/fault` with `{"fault":NAME, …parameters}` does the same; `GET /control/faults` lists the names.
    public func inflict(_ fault: Fault) {
        server.onLoop { $0.inflict(fault) }
    }

    /// Ends all faults, including those of ``setStalled(_:)`` and ``setRESTFault(_:)``; `POST /control/clear` does the same.
    public func clearFaults() {
        server.onLoop { $0.clearFaults() }
    }

    /// Events from now on. Each call returns a separate stream. A listener that falls 10 000 events behind loses the oldest.
    public func changes() -> AsyncStream<Event> { ledger.events() }
}
