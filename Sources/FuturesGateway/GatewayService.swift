import CBuild
public import FuturesFeed
public import GatewayAccess
public import Logging
public import MicroHTTP
import Replication
public import ServiceLifecycle
import Synchronization
import Tape

/// The gateway. It connects one feed, one hub, its fan-out threads and one HTTP server, and stops them in the right order.
public final class GatewayService: Service {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let listening: @Sendable (String) -> Void
    /// The feed of a standalone gateway, the node of a cluster, or a recording.
    private let engine: FeedEngine?
    private let node: LogNode?
    private let replay: ReplayFeed?
    let hub: EventHub
    private let loops: [EventStreamLoop]
    private let server: HTTPServer
    private let gatekeeper: Gatekeeper
    private let memory: MemoryWatch
    let rings: EventRings
    private let tape: Tape?
    private let frames: VenueFrameTape?
    private let worker: TapeWorker?
    private let isStopping = Atomic(false)

    /// This program's version.
    public static let version = "0.1.0"
    /// The commit from which this program was built; "unknown" if the build did not set it.
    public static let commit = String(cString: build_commit())

    /// Creates a gateway. `start` opens its sockets. If there is a tape, its end is read here, which takes a while.
    ///
    /// - Parameters:
    ///   - configuration: All settings.
    ///   - logger: The logger of the gateway.
    ///   - log: Returns the counts of the program's log lines, for metrics; called from any thread.
    ///   - listening: Called with the gateway's address, such as `http://127.0.0.1:8080`, when it accepts connections.
    public init(
        configuration: GatewayConfiguration, logger: Logger, log: @escaping @Sendable () -> LogCounts = { LogCounts() },
        listening: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.listening = listening
        frames = configuration.tape.flatMap { Self.frames($0, logger) }
        var configuration = configuration
        configuration.feed.recorder = frames
        if configuration.replay != nil { configuration.feed.venue = configuration.feed.venue.simulated(by: "replay") }
        let feed: any ServedFeed
        // A cluster continues from its own log, not from the tape.
        let continues = configuration.cluster == nil && configuration.replay == nil
        let past = continues ? configuration.tape.flatMap { RecordedPast($0, configuration, logger) } : nil
        if let recording = configuration.replay {
            let replay = ReplayFeed(recording, dialect: configuration.feed.dialect, logger: logger) {
                try TapePlayer(TapeReader(TapeDirectory(recording.directory)), from: recording.from, reach: TapeFeeder.listReach)
            }
            (engine, node, self.replay, feed) = (nil, nil, replay, replay)
        } else if let cluster = configuration.cluster {
            let node = LogNode(cluster, feed: configuration.feed, logger: logger)
            (engine, self.node, replay, feed) = (nil, node, nil, node)
        } else {
            let epoch: ClosedRange<UInt64> = past == nil ? .min ... .max : 1 ... .max
            let engine = configuration.feed.engine(epoch: .random(in: epoch), past: past?.feed.epochs, logger)
            (self.engine, node, replay, feed) = (engine, nil, nil, engine)
        }
        // Prepared snapshots get 1/16 of the memory for events.
        let prepared = PreparedAnswers(maximumBytes: configuration.events.maximumRingBytes / 16)
        var events = configuration.events
        // In a replay, only the recording closes sockets: how long a client takes between two steps does not count.
        if configuration.replay != nil { events.sockets.patience = .seconds(1 << 30) }
        // Kept answers of the venue get another 1/16.
        events.maximumRingBytes -= events.maximumRingBytes / 8
        let gatekeeper = Gatekeeper(rules: configuration.access)
        let access = Access(gatekeeper: gatekeeper, allowedOrigins: configuration.http.allowedOrigins, peers: feed.peers)
        let wakers = (0..<max(1, events.fanOutThreads)).map { _ in EventStreamWaker() }
        let rings = EventRings(
            limits: events, inboxes: wakers.map { FanOutInbox(waker: $0) }, upstreams: feed.dialect.upstreams.map(\.name))
        let memory = MemoryWatch(ringBytes: events.maximumRingBytes, logger: logger, read: configuration.readFile) { relief in
            rings.limit(toBytes: relief.ringBytes)
            let share = relief.readers / rings.inboxes.count + (relief.readers % rings.inboxes.count > 0 ? 1 : 0)
            for inbox in rings.inboxes where share > 0 { inbox.post(.relieve(readers: share)) }
        }
        let hub = EventHub(
            feed: feed, limits: events, gatekeeper: gatekeeper, preparedAnswers: prepared,
            isShort: { memory.isShort }, rings: rings)
        worker = configuration.tape.map { TapeWorker(directory: $0.directory) }
        let replays = worker.map { Replays(worker: $0, hub: hub) }
        let callbacks = EventFanOut.Callbacks(
            opened: { stream, number in hub.run { $0.open(stream, number: number) } },
            closed: { number in
                replays?.stop(number)
                hub.run { $0.closed(number) }
            },
            fellBehind: { number, ring in hub.run { $0.refill(number, ring: ring) } },
            hungry: { number in replays?.feed(number) },
            notified: { number in hub.run { $0.notifyFurther(number) } },
            wentLive: { number, isLive in replays?.wentLive(number, isLive) },
            socketReceived: { number, text in hub.run { $0.socketReceived(number, text) } })
        loops = zip(wakers, rings.inboxes).map { waker, inbox in
            EventStreamLoop(writer: EventFanOut(limits: events, callbacks: callbacks, inbox: inbox), waker: waker)
        }
        var http = configuration.http
        http.commonHeaders += Routes.commonHeaders + (http.allowedOrigins == nil ? [Routes.anyOrigin] : [])
        http.preflightHeaders += Routes.preflightHeaders
        let mirrors = hub.feed.dialect.upstreams.indices.compactMap {
            VenueMirror(
                hub: hub, upstream: $0, maximumBytes: configuration.events.maximumRingBytes / 16,
                closesBarsEarly: configuration.closesBarsEarly)
        }
        tape = configuration.tape.map { Self.tape($0, of: configuration.feed.recordedVenue, past?.position, logger) }
        let agents = AgentHandlers(hub: hub, loops: loops)
        let metrics = MetricsHandler(hub: hub, memory: memory, mirrors: mirrors, agents: agents.tally, tape: tape, frames: frames, log: log)
        let recorded = TapeHandlers(hub: hub, tape: tape, worker: worker, replays: replays, configuration: configuration.tape)
        let router = Routes.router(
            hub: hub, loops: loops, metrics: metrics, mirrors: mirrors, recorded: recorded, replay: ReplayHandlers(hub: hub, feed: replay),
            agents: agents,
            access: access)
        server = HTTPServer(
            configuration: http, router: router, prepared: prepared, admitsPrepared: access.admitsPrepared,
            malformed: { VenueHandlers.malformed($0, mirrors) }
        ) { request in
            request.segments == ["events"] && request.method == "GET" && !request.prefers("handling=strict")
                ? EventHandlers.overloaded(request) : Problems.overloaded
        }
        self.gatekeeper = gatekeeper
        self.memory = memory
        self.hub = hub
        self.rings = rings
        feed.listen(hub)
        if let past { hub.remember(past.feed) }
        if let tape, let recording = configuration.tape { hub.record(on: tape, recording, after: past?.position) }
        if var feed = past?.feed, let engine {
            engine.takeOver(&feed, linger: configuration.feed.linger, now: .current)
            hub.run { $0.recordContents() }
        }
        feed.peers?.onQuestion { question, reply in PeerQuestion.answer(question, on: hub, reply) }
    }

    /// Starts, serves until the service group shuts down or the task is cancelled, and stops.
    ///
    /// - Throws: `HTTPServerError` if the server cannot start.
    public func run() async throws {
        try start()
        try? await gracefulShutdown()
        await stop()
    }

    /// Starts the threads and the server, and subscribes to the pinned streams. Call it only once.
    ///
    /// - Returns: The server's port.
    /// - Throws: `HTTPServerError` if the server cannot listen.
    @discardableResult
    public func start() throws -> UInt16 {
        worker?.start()
        for loop in loops { loop.start() }
        memory.start()
        // A gateway that cannot listen must not record or use request weight. Requests that arrive earlier than the data wait for them.
        let port = try server.start()
        tape?.start()
        frames?.start()
        engine?.loadListings()
        node?.start()
        replay?.start()
        pin(configuration.pinned)
        let host = configuration.http.host.contains(":") ? "[\(configuration.http.host)]" : configuration.http.host
        let url = "\(configuration.http.identity == nil ? "http" : "https")://\(host):\(port)"
        logger.notice("listening", metadata: ["url": "\(url)", "venue": "\(configuration.feed.venue.upstream.name)"])
        if configuration.replay != nil {
            logger.notice("REPLAY: the data is of the past", metadata: ["like": "\(configuration.feed.venue.name)"])
        } else if configuration.feed.venue.upstream.isSimulated {
            logger.notice("DEMO: the data is simulated", metadata: ["like": "\(configuration.feed.venue.name)"])
        }
        listening(url)
        return port
    }

    /// Uses another certificate from the next handshake on. Open connections keep theirs. Call it from any thread.
    ///
    /// - Throws: `HTTPServerError` if the change would turn TLS on or off, which needs a restart.
    public func show(_ identity: TLSIdentity?) throws(HTTPServerError) {
        guard (identity == nil) == (configuration.http.identity == nil) else {
            throw HTTPServerError(.invalidCertificate, "TLS can be switched on or off only by a restart.")
        }
        if let identity { try server.show(identity) }
    }

    /// Replaces the pinned streams, which stay subscribed without readers. Skips streams that the venue does not list, and logs a warning for each.
    /// Call it from any thread.
    public func pin(_ names: [FuturesServiceStreamName]) {
        for name in names where !hub.knows(name) {
            logger.warning("a stream cannot be pinned: the venue does not list it", metadata: ["stream": "\(name)"])
        }
        let known = names.filter(hub.knows)
        hub.run { $0.pin(known) }
    }

    /// Applies new access rules. Ends event connections whose credential the rules no longer accept, or no longer permit to read all streams of the
    /// connection. Call it from any thread.
    public func replace(_ rules: AccessRules) {
        gatekeeper.replace(rules)
        hub.run { $0.judgeConnections() }
    }

    /// Stops the gateway. It first serves for the drain delay while the probes report that it is stopping. Then it sends every reader a farewell,
    /// waits for running responses, and closes everything, which takes at most the drain grace plus one second. If another process shares the
    /// listening socket, there is no delay, because no connection is refused; stopping may then take three more seconds. Further calls do nothing.
    public func stop() async {
        guard !isStopping.exchange(true, ordering: .relaxed) else { return }
        let isShared = configuration.http.inheritedSocket != nil
        if isShared {
            server.stopAccepting()
        } else if configuration.drainDelay > .zero {
            hub.run { $0.leave() }
            logger.notice("stopping: serving until load balancers notice", metadata: ["seconds": "\(configuration.drainDelay.components.seconds)"])
            // A cancelled task stops immediately.
            try? await Task.sleep(for: configuration.drainDelay)
        }
        let grace = configuration.drainGrace
        let (readers, left) = await withCheckedContinuation { continuation in
            hub.run { $0.drain(grace: grace) { continuation.resume(returning: ($0, $1)) } }
        }
        logger.notice("readers disconnected", metadata: ["readers": "\(readers)", "cut": "\(left)"])
        if isShared { await awaitFirstRequests() }
        await server.stop(grace: .seconds(1))
        // Its last slice may schedule work on the feed's loop, which ends below.
        await worker?.stop(within: .seconds(2))
        memory.stop()
        for loop in loops { loop.stop() }
        await engine?.stop()
        await node?.stop()
        await replay?.stop()
        // The newest event may belong to a stream that is not recorded.
        if let head = engine?.head {
            tape?.record(TapedRecord(FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")]), id: head, at: Moment.current.wallClock))
        }
        if await tape?.stop(within: .seconds(2)) == false { logger.warning("the tape's last events are not on disk: the disk is too slow") }
        await frames?.stop(within: .seconds(2))
        for inbox in rings.inboxes { inbox.close() }
        logger.notice("stopped")
    }

    /// Creates the tape, which logs if it cannot record.
    private static func tape(
        _ configuration: TapeConfiguration, of venue: String, _ inherited: TapePosition?, _ logger: Logger
    ) -> Tape {
        let directory = configuration.directory
        return Tape(
            directory: directory, venue: venue, keep: configuration.keep, bytes: configuration.bytes, inherited: inherited,
            streams: configuration.streams.map { $0.text + "\n" }.sorted().joined(), clock: { Moment.current.wallClock }
        ) { trouble in
            guard let trouble else { return logger.notice("recording resumed", metadata: ["directory": "\(directory)"]) }
            logger.error("nothing is recorded", metadata: ["reason": "\(trouble.message)"])
        }
    }

    /// The recorder of the venue's raw messages beside the tape; nil if they are not recorded.
    private static func frames(_ configuration: TapeConfiguration, _ logger: Logger) -> VenueFrameTape? {
        guard configuration.frameBytes > 0 else { return nil }
        let directory = configuration.directory + "/frames"
        return VenueFrameTape(
            directory: directory, keep: configuration.keep.components.seconds * 1000, bytes: configuration.frameBytes,
            clock: { Moment.current.wallClock }
        ) { trouble in
            guard let trouble else { return logger.notice("the venue's messages are recorded again", metadata: ["directory": "\(directory)"]) }
            logger.error("the venue's messages are not recorded", metadata: ["reason": "\(trouble.message)"])
        }
    }

    /// Waits until every accepted connection has sent its first request and has its response, at most three seconds. The process that takes over the
    /// socket cannot answer these connections. A client that never sends a request must not block the stop.
    private func awaitFirstRequests() async {
        let patience = ContinuousClock.now + .seconds(3)
        while server.unansweredCount > 0, ContinuousClock.now < patience { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
