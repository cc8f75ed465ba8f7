import CMicroHTTPD
import Glibc
import Synchronization

/// An HTTP/1.1 server on libmicrohttpd that parses strictly, responds immediately or later, and hands event streams over to loops.
public final class HTTPServer: Sendable {
    /// Connections beyond the limit that still get a response.
    let connectionReserve: Int

    private enum Lifecycle {
        case fresh
        case running(daemon: OpaquePointer, owner: Unmanaged<HTTPServer>, reaper: pthread_t)
        case stopped
    }

    /// Whether a request may have a prepared response, judged by its header fields and its client's address. If not, the router handles it.
    public typealias PreparedGate = @Sendable (_ header: (String) -> String?, _ remoteAddress: () -> String) -> Bool

    private struct LifecycleBox: @unchecked Sendable {
        var value = Lifecycle.fresh
        /// The listening socket after the server has stopped accepting connections.
        var quietSocket: Int32?
    }

    let inFlight = InFlight()
    let connections: ConnectionTable
    let identity = ShownIdentity()
    private let configuration: HTTPServerConfiguration
    private let router: Router
    private let requestGuard: RequestGuard
    private let prepared: PreparedAnswers?
    private let admitsPrepared: PreparedGate?
    /// By route; prepared responses are counted with the others of their route.
    private let counters: [String: RequestCounter]
    private let refused = RequestCounter()
    private let knownHeads = KnownHeads()
    private let overloaded: @Sendable (HTTPRequest) -> HTTPResponse
    private let malformed: @Sendable (String) -> HTTPResponse?
    private let lifecycle = Mutex(LifecycleBox())

    /// Creates a server that is not started yet.
    /// - Parameter overloaded: The response on a connection beyond ``HTTPServerConfiguration/maximumConnections``, which is then closed; by default
    ///   503 with `Retry-After`.
    /// - Parameter malformed: The response to a request whose target, as sent, has invalid escapes or controls; by default, or if nil, a problem
    ///   document with 400.
    /// - Parameter prepared: Responses that need no handler. They are tried before the router, unless ``HTTPServerConfiguration/allowedOrigins`` make
    ///   responses differ by origin, or the request has a `Prefer`.
    /// - Parameter admitsPrepared: Decides whether a request may have its prepared response; by default all may.
    public init(
        configuration: HTTPServerConfiguration, router: Router, prepared: PreparedAnswers? = nil,
        admitsPrepared: PreparedGate? = nil,
        malformed: @escaping @Sendable (String) -> HTTPResponse? = { _ in nil },
        overloaded: (@Sendable (HTTPRequest) -> HTTPResponse)? = nil
    ) {
        self.configuration = configuration
        self.router = router
        self.prepared = configuration.allowedOrigins == nil ? prepared : nil
        self.admitsPrepared = admitsPrepared
        counters = router.counters
        self.malformed = malformed
        self.overloaded = overloaded ?? { _ in HTTPProblem.overloaded.response }
        requestGuard = RequestGuard(configuration)
        // If there are few descriptors, a quarter is for the rest of the process, and an eighth for clients that are turned away.
        let descriptors = raiseDescriptorLimit()
        connectionReserve = min(256, descriptors / 8)
        connectionLimit = max(min(configuration.maximumConnections, descriptors - min(128, descriptors / 4) - connectionReserve), 1)
        connections = ConnectionTable(configuration, limit: connectionLimit, maximumLingering: connectionReserve / 2)
    }

    /// The maximum number of simultaneous connections: ``HTTPServerConfiguration/maximumConnections``, or fewer if the process may not open that many
    /// descriptors.
    public let connectionLimit: Int

    /// Open connections, event streams included.
    public var connectionCount: Int { connections.count }

    /// Connections whose first request is not complete, and kept ones on which another request is arriving.
    public var unansweredCount: Int { connections.unanswered }

    /// The server's metrics. Call it from any thread; it visits every connection.
    public var reading: HTTPServerReading {
        let (idle, reading) = connections.waiting
        let streaming = inFlight.streamCount
        let extra = [("unmatched", router.unmatched), ("refused", refused)]
        return HTTPServerReading(
            requests: router.requests + extra.map { HTTPServerReading.Requests(method: "", route: $0, counts: $1.counts) },
            connections: [
                .idle: idle, .reading: reading, .answering: max(0, connections.count - idle - reading - streaming), .streaming: streaming,
            ], lateRequests: connections.lateCount, connectionLimit: connectionLimit)
    }

    /// Binds, listens and serves until ``stop(grace:)``. A started server is released only after a stop.
    /// - Returns: The bound port.
    public func start() throws(HTTPServerError) -> UInt16 {
        try lifecycle.withLock { (box) throws(HTTPServerError) in
            guard case .fresh = box.value else { throw HTTPServerError(.alreadyStarted, "A server can be started only once. Create a new one.") }
            if let first = configuration.identity { try identity.show(first) }
            let socket: ListeningSocket
            if let inherited = configuration.inheritedSocket {
                socket = try ListeningSocket(inherited: inherited, host: configuration.host, port: configuration.port)
            } else {
                socket = try ListeningSocket(host: configuration.host, port: configuration.port)
            }
            let owner = Unmanaged.passRetained(self)
            var options = Self.options(owner.toOpaque(), configuration, socket: socket.descriptor, limit: connectionLimit + connectionReserve)
            guard let reaper = startThread(named: "http-deadlines", connections) else {
                owner.release()
                close(socket.descriptor)
                throw HTTPServerError(.systemFailure, "The system could not create a thread. Raise the limit of processes and threads.")
            }
            guard let daemon = cmhd_start(&options) else {
                let reason = errno
                connections.stop()
                pthread_join(reaper, nil)
                owner.release()
                box.value = .stopped
                throw HTTPServerError(
                    .systemFailure, "libmicrohttpd did not start (errno \(reason)). Check the limits of threads, descriptors and memory.")
            }
            box.value = .running(daemon: daemon, owner: owner, reaper: reaper)
            return socket.port
        }
    }

    /// Uses another certificate from the next handshake on; open connections keep theirs. Only for a server that was started with one.
    public func show(_ identity: TLSIdentity) throws(HTTPServerError) {
        try self.identity.show(identity)
    }

    /// Stops accepting connections: new ones wait in the socket's queue for another process that has it. Open connections are still served.
    public func stopAccepting() {
        lifecycle.withLock { box in
            guard case .running(let daemon, _, _) = box.value, box.quietSocket == nil else { return }
            let socket = MHD_quiesce_daemon(daemon)
            if socket >= 0 { box.quietSocket = socket }
        }
    }

    /// Stops accepting connections, ends all streams in order, lets running responses finish within `grace`, answers the rest with 503 and closes
    /// everything. Returns when all is closed; further calls return immediately.
    public func stop(grace: Duration) async {
        await withCheckedContinuation { continuation in
            let stopping = Stopping(server: self, grace: grace, continuation: continuation)
            if let thread = startThread(named: "http-stop", stopping) { pthread_detach(thread) } else { stopping.runThread() }
        }
    }

    fileprivate func stopBlocking(grace: Duration) {
        lifecycle.withLock { box in
            guard case .running(let daemon, let owner, let reaper) = box.value else {
                box.value = .stopped
                return
            }
            box.value = .stopped
            inFlight.drain(self, grace: grace)
            MHD_stop_daemon(daemon)
            if let socket = box.quietSocket.take() { close(socket) }
            connections.stop()
            pthread_join(reaper, nil)
            owner.release()
        }
    }

    /// Beyond the reserve a client is turned away immediately, so that it neither waits in the kernel's queue nor uses descriptors that the process
    /// needs.
    var acceptsConnections: Bool {
        !inFlight.isDraining && connections.count < connectionLimit + connectionReserve
    }

    func headArrived(_ unread: UnreadHead, _ exchange: Exchange, _ connection: MHDConnection) -> MHD_Result {
        guard let slot = connection.slot else { return .NO }
        let known = knownHeads.find(unread)
        if let known, !connections.isSurplus(slot), let answer = preparedAnswer(known.key, known.head, connection) {
            return admit(answer, noneMatch: known.noneMatch, exchange, slot)
        }
        let head = known?.head ?? RequestHead(unread)
        switch known == nil ? requestGuard.admit(head) : .success(.none) {
        case .failure(let problem) where problem.status == 414 || problem.status == 431:
            // The request's head may have left too little memory for a response's head.
            return refuseDirectly(problem.response, connection)
        case .failure(let problem):
            return refuse(problem.response, slot, connection)
        case .success(let body):
            if known == nil, body == .none, !connections.isSurplus(slot), let key = PreparedAnswers.Key(head, target: exchange.target),
                let answer = preparedAnswer(key, head, connection)
            {
                knownHeads.remember(head, key, unread)
                return admit(answer, noneMatch: head.headers.value(of: "If-None-Match"), exchange, slot)
            }
            guard let target = head.target.flatMap(RequestTarget.init) else {
                let answer = head.target.flatMap(malformed) ?? HTTPProblem.badRequest("The request target is malformed.").response
                return refuse(answer, slot, connection)
            }
            let request = HTTPRequest(head: head, target: target, remoteAddress: addressText(cmhd_client(connection.pointer)))
            if connections.isSurplus(slot) { return refuse(overloaded(request), slot, connection) }
            let bodyLimit = body == .none ? 0 : router.bodyLimit(request) ?? configuration.maximumBodyBytes
            if case .length(let length) = body, length > bodyLimit { return refuse(HTTPProblem.contentTooLarge.response, slot, connection) }
            guard connections.headArrived(slot, awaitsBody: body != .none) else { return .NO }
            exchange.admit(request, bodyLimit: bodyLimit)
            return .YES
        }
    }

    private func admit(_ answer: PreparedAnswer, noneMatch: String?, _ exchange: Exchange, _ slot: Int) -> MHD_Result {
        guard connections.headArrived(slot, awaitsBody: false) else { return .NO }
        exchange.admit(answer, noneMatch: noneMatch, counters[answer.route])
        return .YES
    }

    /// Nil if there is no prepared response to this request.
    private func preparedAnswer(_ key: PreparedAnswers.Key, _ head: RequestHead, _ connection: MHDConnection) -> PreparedAnswer? {
        guard let prepared, !inFlight.isDraining, let answer = prepared.answer(for: key) else { return nil }
        guard let admitsPrepared else { return answer }
        return admitsPrepared(head.headers.value(of:), { addressText(cmhd_client(connection.pointer)) }) ? answer : nil
    }

    func bodyContinued(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange, _ connection: MHDConnection) -> MHD_Result {
        if exchange.append(bytes) { return .YES }
        // libmicrohttpd accepts no response in the middle of a body, so this one is written directly to the socket.
        return refuseDirectly(HTTPProblem.contentTooLarge.response, connection)
    }

    func requestArrived(_ exchange: Exchange, _ connection: MHDConnection) -> MHD_Result {
        guard let slot = connection.slot, connections.bodyArrived(slot), var request = exchange.takeRequest() else { return .NO }
        switch router.route(request, preflightHeaders: configuration.preflightHeaders) {
        case .answer(let response):
            router.unmatched.count(response.status)
            return queue(.response(response), of: exchange, on: connection)
        case .handler(let handler, let parameters, let counter):
            request.parameters = parameters
            exchange.routed(counter)
            handler(request, HTTPResponder(exchange))
            guard let answer = exchange.answerOrSuspend(connection) else { return .YES }
            return queue(answer, of: exchange, on: connection)
        }
    }

    func queue(_ answer: Answer, of exchange: Exchange, on connection: MHDConnection) -> MHD_Result {
        switch answer {
        case .response(let response):
            return response.queue(on: connection, adding: common(to: connection), closing: inFlight.isDraining)
        case .made(_, let make):
            return make().queue(on: connection, adding: common(to: connection), closing: inFlight.isDraining)
        case .prepared(let answer, let noneMatch):
            return answer.queue(on: connection, noneMatch: noneMatch, adding: configuration.commonHeaders) ?? .NO
        case .stream(let headers, let loop, let context, let socket):
            let handover = StreamHandover(connection: connection, loop: loop, context: context, server: self, isSocket: socket != nil)
            guard let socket else { return handover.queue(on: connection, headers: headers, adding: common(to: connection)) }
            exchange.hold(handover)
            return handover.queue(on: connection, accepting: socket)
        }
    }

    /// The common fields of every response to this request.
    private func common(to connection: MHDConnection) -> [HTTPHeader] {
        guard let allowed = configuration.allowedOrigins else { return configuration.commonHeaders }
        let headers = configuration.commonHeaders + [HTTPHeader("Vary", "Origin")]
        guard let origin = connection.origin, allowed.contains(origin) else { return headers }
        return headers + [HTTPHeader("Access-Control-Allow-Origin", origin), HTTPHeader("Access-Control-Allow-Credentials", "true")]
    }

    /// Writes the response to the socket and drops the connection. libmicrohttpd sends nothing on it, because it is still reading the request.
    private func refuseDirectly(_ response: HTTPResponse, _ connection: MHDConnection) -> MHD_Result {
        guard let slot = connection.slot, connections.refused(slot) else { return .NO }
        refused.count(response.status)
        let answer = response.wireBytes(adding: common(to: connection))
        answer.withUnsafeBytes { cmhd_send(connection.pointer, $0.baseAddress, $0.count) }
        return .NO
    }

    /// The socket of a handed-over stream is closed.
    func streamEnded() {
        connections.streamEnded()
        inFlight.streamEnded()
    }

    private func refuse(_ response: HTTPResponse, _ slot: Int, _ connection: MHDConnection) -> MHD_Result {
        guard connections.refused(slot) else { return .NO }
        refused.count(response.status)
        return response.queue(on: connection, adding: common(to: connection), closing: true)
    }
}

/// Stops the server on a separate thread, because stopping blocks.
private final class Stopping: ThreadBody {
    private let server: HTTPServer
    private let grace: Duration
    private let continuation: CheckedContinuation<Void, Never>

    init(server: HTTPServer, grace: Duration, continuation: CheckedContinuation<Void, Never>) {
        self.server = server
        self.grace = grace
        self.continuation = continuation
    }

    func runThread() {
        server.stopBlocking(grace: grace)
        continuation.resume()
    }
}

/// Raises the soft limit of open descriptors to the hard limit and returns it.
private func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    if limit.rlim_cur < limit.rlim_max {
        let soft = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = soft }
    }
    return Int(clamping: limit.rlim_cur)
}
