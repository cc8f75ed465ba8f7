import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The exchange behind its sockets: the subscriptions, the market or replay that feeds them, the REST replies and the active faults. Used on one
/// event loop.
final class Venue {
    private struct Subscription {
        var publisher: StreamPublisher?
        var readers: [ObjectIdentifier: VenueSocket] = [:]
    }

    let ledger: Ledger
    let bookLog: BookLog
    private let configuration: DemoExchangeConfiguration
    let loop: any EventLoop
    var market: Market?
    private var player: ReplayPlayer?
    private var ticks: Scheduled<Void>?
    private var nextTick = NIODeadline.now()

    private(set) var connections: [ObjectIdentifier: VenueSocket] = [:]
    private var subscriptions: [String: Subscription] = [:]
    /// Names with a publisher, in the order they were subscribed.
    private var published: [String] = []
    private var meter: WeightMeter

    var faults = Faults()
    /// One gate for every socket, REST ones included.
    var gates: [ObjectIdentifier: Gate] = [:]
    var faultEndings: [String: Scheduled<Void>] = [:]
    var randomCut: Scheduled<Void>?

    init(_ configuration: DemoExchangeConfiguration, ledger: Ledger, bookLog: BookLog, loop: any EventLoop) {
        self.configuration = configuration
        self.ledger = ledger
        self.bookLog = bookLog
        self.loop = loop
        meter = WeightMeter(limit: configuration.weightLimit)
    }

    /// The source of an exchange's data. It is created outside the event loop because that takes a while.
    enum Feed {
        case market(Market)
        case recording(Recording)
    }

    /// Starts the clock; `feed` is given only the first time. A market that was open before catches up.
    func open(_ feed: Feed?) {
        switch feed {
        case .market(let opened): market = opened
        case .recording(let recording):
            player = configuration.replay.map { ReplayPlayer(recording, $0, loop: loop) }
        case nil: break
        }
        player?.resume(self)
        guard market != nil else { return }
        market?.catchUp(to: wallClock())
        nextTick = .now()
        tick()
    }

    /// Stops the clock; the server closes the sockets.
    func close() {
        ticks?.cancel()
        ticks = nil
        player?.pause()
    }

    private func tick() {
        let length = min(market?.depthInterval ?? Market.stepLength, Market.stepLength)
        market?.tick(now: wallClock(), length: length)
        rememberBooks()
        publish()
        nextTick = nextTick + .milliseconds(length)
        let now = NIODeadline.now()
        if now - nextTick > .seconds(1) { nextTick = now }
        ticks = loop.assumeIsolated().scheduleTask(deadline: nextTick) { [weak self] in self?.tick() }
    }

    private func rememberBooks() {
        guard let market else { return }
        bookLog.add(market.symbols)
    }

    private func publish() {
        guard let market else { return }
        var frames: [(name: String, payload: String)] = []
        for name in published {
            for payload in subscriptions[name]?.publisher?.payloads(market) ?? [] { frames.append((name, payload)) }
        }
        guard !frames.isEmpty else { return }
        for (name, payload) in frames { queue(DataFrame(stream: name, payload: payload), for: name) }
        for connection in Array(connections.values) { connection.flush() }
    }

    /// Queues a frame of the stream `name` for its readers.
    private func queue(_ frame: DataFrame, for name: String) {
        let readers = (subscriptions[name]?.readers ?? [:]).values.filter { $0.session.route.carries(name) }
        guard !readers.isEmpty else { return }
        let frames: [DataFrame] =
            switch faults.passage(of: name) {
            case .pass: [frame]
            case .leaveOut: []
            case .double: [frame, frame]
            case .truncate: [frame.truncated]
            }
        for frame in frames {
            for reader in readers { reader.deliver(frame) }
            ledger.update { $0.framesSent.count(name, readers.count) }
        }
    }

    /// Sends a recorded frame to its readers immediately.
    func play(_ frame: Recording.Frame) {
        queue(DataFrame(payload: frame.payload, envelope: frame.envelope), for: frame.stream)
        for reader in (subscriptions[frame.stream]?.readers ?? [:]).values { reader.flush(cutting: false) }
    }

    /// Whether no reader's socket is full.
    var readersKeepUp: Bool { connections.values.allSatisfy(\.isWritable) }

    /// Disconnects the readers whose sockets are full.
    func cutSlowReaders() {
        for connection in connections.values where !connection.isWritable { connection.reset() }
    }

    func opened(_ connection: VenueSocket) {
        connections[ObjectIdentifier(connection)] = connection
        ledger.connected()
    }

    func closed(_ connection: VenueSocket) {
        unsubscribedAll(connection)
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        ledger.disconnected()
    }

    func receivedControlMessage() {
        ledger.update { $0.controlMessages += 1 }
    }

    func subscribed(_ connection: VenueSocket, _ names: [String]) {
        for name in names {
            if subscriptions[name] == nil {
                let publisher = market.flatMap { market in
                    MarketStream(name: name, in: market).map { StreamPublisher($0, in: market) }
                }
                subscriptions[name] = Subscription(publisher: publisher)
                if publisher != nil { published.append(name) }
                if let symbol = publisher?.stream.bookSymbol { watchBook(symbol) }
            }
            subscriptions[name]?.readers[ObjectIdentifier(connection)] = connection
        }
        ledger.note(.subscribed(names)) { statistics in
            for name in names {
                statistics.subscribes.count(name)
                statistics.activeSubscriptions[name] = subscriptions[name]?.readers.count
            }
        }
        player?.start(self)
    }

    func unsubscribed(_ connection: VenueSocket, _ names: [String]) {
        for name in names { release(name, connection) }
        ledger.note(.unsubscribed(names)) { statistics in
            for name in names {
                statistics.unsubscribes.count(name)
                statistics.activeSubscriptions[name] = subscriptions[name]?.readers.count
            }
        }
    }

    /// Removes all subscriptions of a connection that is ending.
    func unsubscribedAll(_ connection: VenueSocket) {
        let names = connection.session.names
        for name in names { release(name, connection) }
        ledger.update { statistics in
            for name in names { statistics.activeSubscriptions[name] = subscriptions[name]?.readers.count }
        }
    }

    /// Ends subscriptions without notifying their connections.
    func forget(_ names: [String]) {
        for name in names {
            for connection in (subscriptions[name]?.readers ?? [:]).values { release(name, connection) }
            ledger.update { $0.activeSubscriptions[name] = nil }
        }
    }

    private func release(_ name: String, _ connection: VenueSocket) {
        subscriptions[name]?.readers[ObjectIdentifier(connection)] = nil
        guard let subscription = subscriptions[name], subscription.readers.isEmpty else { return }
        if let symbol = subscription.publisher?.stream.bookSymbol { market?.unwatchBook(symbol) }
        subscriptions[name] = nil
        published.removeAll { $0 == name }
    }

    private func watchBook(_ symbol: Int) {
        market?.watchBook(symbol)
        rememberBooks()
    }

    /// Brings the book that a request names up to date.
    private func settleBook(_ target: RESTTarget) {
        guard target.path.hasSuffix("/depth") || target.path.hasSuffix("/rpiDepth"), let name = target.query["symbol"],
            let symbol = market?.position(ofLowercased: asciiLowercased(name))
        else { return }
        market?.settleBook(symbol)
        rememberBooks()
    }

    func inject(_ text: String, to stream: String?) {
        let targets = stream.map { subscriptions[$0]?.readers ?? [:] } ?? connections
        for connection in Array(targets.values) {
            connection.inject(ByteBuffer(string: text))
        }
    }

    func dropConnections(_ code: UInt16?) {
        for connection in Array(connections.values) {
            if let code { connection.close(WebSocketErrorCode(codeNumber: Int(code)), "") } else { connection.reset() }
        }
    }

    private func request(_ head: HTTPRequestHead) -> RESTHandler.Answer {
        let uri = head.uri
        ledger.note(.request(uri)) { $0.requests.count(uri) }
        switch faults.restFault(uri) {
        case nil: return .now(reply(head))
        case .hang: return .never
        case .delay(let delay): return .later(reply(head), TimeAmount(delay))
        case .html500:
            let page = "<html>\n<head><title>500 Internal Server Error</title></head>\n<body><h1>Internal Server Error</h1></body>\n</html>\n"
            return .now(RESTReply(status: 500, body: page, contentType: "text/html"))
        case .status(let status, let body, let headers):
            return .now(RESTReply(status: status, body: body, headers: headers))
        }
    }

    private func reply(_ head: HTTPRequestHead) -> RESTReply {
        let now = wallClock()
        let target = RESTTarget(head.uri)
        if WebSocketTarget(head.uri) != nil {
            return RESTReply(status: 400, body: #"Can "Upgrade" only to "WebSocket"."#, contentType: "text/plain")
        }
        settleBook(target)
        let (method, apiKey) = (head.method.rawValue, head.headers.first(name: "X-MBX-APIKEY"))
        var reply =
            if let player {
                RESTService(source: player.played, now: now, weightLimit: meter.limit).answer(method, target, apiKey: apiKey)
            } else if let market {
                RESTService(source: market, now: now, weightLimit: meter.limit).answer(method, target, apiKey: apiKey)
            } else {
                RESTReply.failure(-1016, "This service is no longer available.", status: 503)
            }
        guard let weight = reply.weight else { return reply }
        let wait = meter.charge(weight, at: now)
        if let wait {
            reply = .failure(-1003, "Too many requests; current limit is \(meter.limit) request weight per minute.", status: 429)
            reply.headers["Retry-After"] = String(wait)
        }
        reply.headers["X-MBX-USED-WEIGHT-1M"] = String(meter.used)
        return reply
    }
}

extension Venue: LoopbackService {
    func firstHandler() -> (any ChannelHandler)? { Gate(venue: self) }

    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders? { WebSocketTarget(request.uri) == nil ? nil : HTTPHeaders() }

    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)? {
        WebSocketTarget(request.uri).map { VenueSocket($0, venue: self, pingInterval: TimeAmount(configuration.pingInterval)) }
    }

    func requestHandler() -> any ChannelHandler & RemovableChannelHandler {
        RESTHandler { head, body in
            guard head.uri.hasPrefix("/control/") else { return self.request(head) }
            return .now(self.control(head.method.rawValue, head.uri, String(buffer: body)))
        }
    }
}

extension [String: Int] {
    /// Adds to the count of `key`. Clients choose the names, so all names after the first ten thousand share one count.
    fileprivate mutating func count(_ key: String, _ amount: Int = 1) {
        self[self[key] != nil || count < 10_000 ? key : "…", default: 0] += amount
    }
}
