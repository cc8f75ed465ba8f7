public import FuturesFeed
public import GatewayAccess
public import Logging
public import MicroHTTP
public import ServiceLifecycle

/// The gateway: one feed, one hub, one fan-out and one HTTP server, wired together and taken down in the right order.
public final class Gateway: Service {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let listening: @Sendable (String) -> Void
    private let service: FuturesFeedService
    private let hub: EventHub
    private let loop: EventStreamLoop
    private let server: HTTPServer
    private let gatekeeper: Gatekeeper
    private let memory: MemoryWatch
    private let inbox: FanOutInbox

    /// This program's version.
    public static let version = "0.1.0"

    /// Builds a gateway; nothing is opened before `start`.
    ///
    /// - Parameters:
    ///   - log: what became of the log's lines, for metrics; from any thread.
    ///   - listening: told the address once it can be reached there.
    public init(
        configuration: GatewayConfiguration, logger: Logger, log: @escaping @Sendable () -> LogCounts = { LogCounts() },
        listening: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.listening = listening
        service = FuturesFeedService(configuration: configuration.feed, logger: logger)
        let engine = service.engine
        // A sixteenth of what events may take is for snapshots that are answered beforehand.
        let prepared = PreparedAnswers(maximumBytes: configuration.events.maximumLogBytes / 16)
        var events = configuration.events
        events.maximumLogBytes -= events.maximumLogBytes / 16
        let gatekeeper = Gatekeeper(rules: configuration.access)
        let access = Access(gatekeeper: gatekeeper, allowedOrigins: configuration.http.allowedOrigins)
        let waker = EventStreamWaker()
        let inbox = FanOutInbox(waker: waker)
        let memory = MemoryWatch(logBytes: events.maximumLogBytes, logger: logger, read: configuration.readFile) {
            inbox.post(.relieve($0))
        }
        let hub = EventHub(
            engine: engine, limits: events, gatekeeper: gatekeeper, preparedAnswers: prepared,
            isShort: { memory.isShort }, fanOut: inbox)
        let fanOut = EventFanOut(
            limits: events,
            callbacks: EventFanOut.Callbacks(
                opened: { stream, number in hub.run { $0.open(stream, number: number) } },
                closed: { number in hub.run { $0.closed(number) } },
                fellBehind: { number, log in hub.run { $0.refill(number, log: log) } }),
            inbox: inbox)
        let loop = EventStreamLoop(writer: fanOut, waker: waker)
        var http = configuration.http
        http.commonHeaders += Routes.commonHeaders + (http.allowedOrigins == nil ? [Routes.anyOrigin] : [])
        http.preflightHeaders += Routes.preflightHeaders
        let metrics = MetricsHandler(hub: hub, memory: memory, log: log)
        let router = Routes.router(hub: hub, loop: loop, metrics: metrics, access: access)
        server = HTTPServer(
            configuration: http, router: router, prepared: prepared, preparedRoute: "/streams/{name}", admitsPrepared: access.admitsPrepared
        ) { request in
            request.segments == ["events"] && request.method == "GET" && !request.prefers("handling=strict")
                ? EventHandlers.overloaded(request) : Problems.overloaded
        }
        self.gatekeeper = gatekeeper
        self.memory = memory
        self.hub = hub
        self.loop = loop
        self.inbox = inbox
        engine.listen(hub)
    }

    /// Serves until it is shut down, then sends every reader off.
    public func run() async throws {
        try start()
        try? await gracefulShutdown()
        await stop()
    }

    /// Opens the server and returns its port.
    @discardableResult
    public func start() throws -> UInt16 {
        service.engine.loadListing()
        loop.start()
        memory.start()
        let port = try server.start()
        pin(configuration.pinned)
        let host = configuration.http.host.contains(":") ? "[\(configuration.http.host)]" : configuration.http.host
        let url = "\(configuration.http.identity == nil ? "http" : "https")://\(host):\(port)"
        logger.notice("listening", metadata: ["url": "\(url)", "venue": "\(configuration.feed.venue.upstream.name)"])
        if configuration.feed.venue.upstream.isSimulated {
            logger.notice("DEMO: the data are simulated", metadata: ["like": "\(configuration.feed.venue.name)"])
        }
        listening(url)
        return port
    }

    /// Shows another certificate from the next handshake on; readers notice nothing. From any thread.
    ///
    /// - Throws: `HTTPServerError` where TLS would be switched on or off, which takes a restart.
    public func show(_ identity: TLSIdentity?) throws(HTTPServerError) {
        guard (identity == nil) == (configuration.http.identity == nil) else {
            throw HTTPServerError(.invalidCertificate, "TLS is switched on and off by a restart.")
        }
        if let identity { try server.show(identity) }
    }

    /// Keeps these streams subscribed without readers, and those pinned before no longer. From any thread; readers notice nothing. What the
    /// venue does not list is left out, with a warning.
    public func pin(_ names: [FuturesServiceStreamName]) {
        for name in names where !hub.knows(name) {
            logger.warning("a stream cannot be pinned: the venue does not list it", metadata: ["stream": "\(name)"])
        }
        let known = names.filter(hub.knows)
        hub.run { $0.pin(known) }
    }

    /// From now on these rules hold. Event connections of credentials that are not accepted any more, or of streams they do not permit any more,
    /// end; others notice nothing. From any thread.
    public func replace(_ rules: AccessRules) {
        gatekeeper.replace(rules)
        hub.run { $0.judgeClients() }
    }

    /// Sends every reader a farewell, lets running answers end, and closes everything; within the drain grace and a second, and
    /// three more where another process has the socket, too.
    public func stop() async {
        let isShared = configuration.http.inheritedSocket != nil
        if isShared { server.stopAccepting() }
        let grace = configuration.drainGrace
        let (readers, left) = await withCheckedContinuation { continuation in
            hub.run { $0.drain(grace: grace) { continuation.resume(returning: ($0, $1)) } }
        }
        logger.notice("readers sent off", metadata: ["readers": "\(readers)", "cut": "\(left)"])
        if isShared { await awaitFirstRequests() }
        await server.stop(grace: .seconds(1))
        memory.stop()
        loop.stop()
        await service.stop()
        inbox.close()
        logger.notice("stopped")
    }

    /// What was accepted a moment ago may not have said what it wants: whoever hands the socket over answers it first. Nobody says when no more comes.
    private func awaitFirstRequests() async {
        let patience = ContinuousClock.now + .seconds(3)
        while server.unansweredCount > 0, ContinuousClock.now < patience { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
