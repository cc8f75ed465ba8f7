import FeedCore
import FeedDialects
import ServerSentEvents

/// The decisions of a gateway client: which requests to send, and which events its observers get. Input and time go in, effects come out.
///
/// One connection to `/events` carries all streams. The observed streams and the connection's streams may differ; `reconcile` requests the
/// difference, one request at a time.
struct GatewayReader {
    enum Input {
        case wish(FeedInput)
        /// The response of `GET /streams`, before the connection opens.
        case listed(attempt: UInt64, [UInt8])
        /// The connection's bytes, split anywhere.
        case received(attempt: UInt64, [UInt8])
        /// The connection ended, or could not be opened.
        case ended(attempt: UInt64, GatewayFailure)
        case controlled(attempt: UInt64, GatewayFailure?)
        case fetchFailed(FuturesServiceStreamName, GatewayFailure)
        /// The app wants no connection until `resume`.
        case suspend
        case resume
        case deadline
    }

    enum Effect {
        /// Open a connection for these streams, after `GET /streams`.
        case open(attempt: UInt64, [FuturesServiceStreamName], lastEventID: String)
        case close
        case control(attempt: UInt64, client: String, Control, [FuturesServiceStreamName])
        case fetch(FuturesServiceStreamName)
        case tell(ObserverID, FeedEvent)
    }

    /// The control requests for an open connection.
    enum Control: String { case subscribe, unsubscribe, pause, resume }

    struct Connection {
        let attempt: UInt64
        let asked: [FuturesServiceStreamName]
        var catalogue = Catalogue()
        /// Its id; nil before `session`.
        var client: String?
        /// Whether it continues where the last one ended.
        var isExact = false
        /// How many missed events have not arrived; `max` until `live`. While there are any, no content counts as current.
        var unread: UInt64 = 0
        /// The streams that the gateway sends on it, and whether each is paused.
        var carried: [FuturesServiceStreamName: Bool] = [:]
        var control: (Control, [FuturesServiceStreamName])?
        var lastHeard: Instant
    }

    var now = Instant(nanoseconds: 0)
    var effects: [Effect] = []
    var streams: [FuturesServiceStreamName: ReadStream] = [:]
    var connection: Connection?
    private var parser = ServerSentEventParser()
    /// The point to resume from; empty if there is none.
    private var lastEventID = ""
    /// The parser's last id when the connection was opened or left.
    private var idBefore = ""
    private var attempts: UInt64 = 0
    /// How many attempts in a row failed.
    var failures = 0
    /// Why there is no connection; nil when there is one.
    var failure: GatewayFailure?
    private var retryAt: Instant?
    private var isSuspended = false
    /// Until then, no control request is sent.
    private var controlAt = Instant(nanoseconds: 0)
    /// Whether the credential may control a connection; if not, a new one is opened.
    private var mayControl = true
    let linger: Duration
    private var random: SplitMix64

    /// - Parameter linger: How long a stream is read after its last observer has left.
    init(linger: Duration, seed: UInt64) { (self.linger, random) = (linger, SplitMix64(seed: seed)) }

    /// Processes one input.
    mutating func step(_ input: Input, now: Instant) -> [Effect] {
        self.now = now
        switch input {
        case .wish(let wish): take(wish)
        case .listed(let attempt, let answer): if attempt == connection?.attempt { listed(answer) }
        case .received(let attempt, let bytes): if attempt == connection?.attempt { received(bytes) }
        case .ended(let attempt, let why): if attempt == connection?.attempt { lose(why) }
        case .controlled(let attempt, let failure): if attempt == connection?.attempt { controlled(failure) }
        case .fetchFailed(let name, let failure): publish(name, .failed(failure.feedError, fetch: true))
        case .suspend: suspend()
        case .resume: if isSuspended { (isSuspended, retryAt, failures) = (false, nil, 0) }
        case .deadline: pass()
        }
        connect()
        reconcile()
        defer { effects = [] }
        return effects
    }

    /// When to send the input `deadline`.
    var nextDeadline: Instant? {
        let waits = connection.map { $0.lastHeard + Self.silence } ?? (streams.isEmpty || isSuspended ? nil : retryAt)
        let control = connection?.client != nil && controlAt > now ? controlAt : nil
        let renewals = streams.values.map { connection?.client != nil && $0.isBroken && $0.renewAt > now ? $0.renewAt : nil }
        return (streams.values.map(\.lingersUntil) + renewals + [waits, control]).compactMap(\.self).min()
    }

    private mutating func pass() {
        for (name, stream) in streams where stream.lingersUntil.map({ $0 <= now }) == true { streams[name] = nil }
        if let connection, connection.lastHeard + Self.silence <= now { lose(GatewayFailure(detail: "The gateway fell silent.", isTransient: true)) }
        if let retryAt, retryAt <= now { self.retryAt = nil }
    }
}

extension GatewayReader {
    private mutating func connect() {
        if streams.isEmpty, connection != nil {
            effects.append(.close)
            (connection, lastEventID) = (nil, "")
        }
        let names = streams.values.filter { $0.state != .ended }.map(\.name).sorted { $0.description < $1.description }
        guard connection == nil, retryAt == nil, !isSuspended, !names.isEmpty, failure?.isTransient ?? true else { return }
        attempts &+= 1
        connection = Connection(attempt: attempts, asked: names, lastHeard: now)
        parser.restart()
        idBefore = parser.lastEventID
        effects.append(.open(attempt: attempts, names, lastEventID: lastEventID))
    }

    private mutating func listed(_ answer: [UInt8]) {
        connection?.lastHeard = now
        if let catalogue = Catalogue(answer, at: now) { connection?.catalogue = catalogue } else { lose(.notAGateway("the address")) }
    }

    private mutating func received(_ bytes: [UInt8]) {
        connection?.lastHeard = now
        let attempt = connection?.attempt
        do throws(ServerSentEventParser.TooLong) {
            for event in try parser.read(bytes) where connection?.attempt == attempt { take(event) }
            if parser.lastEventID != idBefore { lastEventID = parser.lastEventID }
        } catch { giveUp("The gateway sent an event that is too long.") }
    }

    /// Closes a connection from which the client cannot continue.
    mutating func giveUp(_ reason: String) {
        (lastEventID, idBefore) = ("", parser.lastEventID)
        lose(GatewayFailure(detail: reason, isTransient: true))
    }

    private mutating func suspend() {
        isSuspended = true
        _ = disconnect("The app suspended the client.")
    }

    /// Ends the connection, or the attempt to open one.
    private mutating func disconnect(_ reason: String) -> Connection? {
        guard let lost = connection else { return nil }
        effects.append(.close)
        connection = nil
        if lost.client != nil { for name in lost.carried.keys { beginOutage(of: name, since: lost.lastHeard, reason) } }
        return lost
    }

    /// Ends the connection, or the attempt to open one. If a retry can help, another attempt follows.
    mutating func lose(_ why: GatewayFailure, retryMs: Int? = nil) {
        guard let lost = disconnect(why.detail) else { return }
        if lost.client == nil {
            failures = min(failures + 1, 20)
            if why.status == 204 { return end(lost.asked) }
            if why.status == 404, drop(why.mistakes) { return }
            for (name, stream) in streams where failure == nil && stream.outage == nil || !why.isTransient {
                publish(name, .failed(why.feedError, fetch: false))
                guard !why.isTransient else { continue }
                streams[name]?.isRefused = true
                setState(of: name, stream.state)
            }
            failure = why
        }
        let least = min(max(retryMs ?? parser.retryMs ?? 2000, 1), 600_000)
        let wait = Int64(min(least << failures, max(least, 30_000))) * Int64.random(in: 750...1250, using: &random)
        retryAt = now + .microseconds(max(wait, (why.retryAfterMs ?? 0) * 1000))
    }

    /// Marks all streams of the connection as ended.
    private mutating func end(_ names: [FuturesServiceStreamName]) { for name in names { setState(of: name, .ended) } }

    /// Reports errors in names to their observers; false if none of the names has any.
    private mutating func drop(_ mistakes: [String: String]) -> Bool {
        let wrong = streams.keys.filter { mistakes[$0.description] != nil }
        for name in wrong {
            publish(name, .failed(FeedError(.unknownStream, mistakes[name.description] ?? ""), fetch: false))
            streams[name] = nil
        }
        return !wrong.isEmpty
    }

    /// Handles the gateway's report whether this connection continues where the last one ended, and how many missed events follow.
    mutating func begin(client: String, isExact: Bool, unread: UInt64) {
        guard let asked = connection?.asked else { return }
        (failure, failures, mayControl, controlAt) = (nil, 0, true, now)
        connection?.client = client
        connection?.isExact = isExact
        connection?.unread = isExact ? unread : 0
        if !isExact { lastEventID = "" }
        for name in asked {
            connection?.carried[name] = false
            limit(name)
            guard streams[name] != nil else { continue }
            streams[name]?.isRefused = false
            streams[name]?.isHeld = false
            if !isExact {
                streams[name]?.forget()
                streams[name]?.isBroken = false
            }
            guard streams[name]?.outage != nil else { continue }
            publish(name, .connected)
            if !isExact { streams[name]?.outage?.needsValue = true }
        }
        if isExact { countMissed(0) }
    }

    /// Counts missed events that have arrived. With the last one, the outages end.
    ///
    /// - Parameter count: Their number; `max` for all.
    mutating func countMissed(_ count: UInt64) {
        guard let open = connection, open.isExact, open.unread < .max || count == .max else { return }
        connection?.unread -= min(count, open.unread)
        guard connection?.unread == 0 else { return }
        for name in open.carried.keys {
            guard let stream = streams[name], let outage = stream.outage, !outage.needsValue, !outage.isUpstreams else { continue }
            endOutage(of: name, .continuous)
            setState(of: name, stream.state)
        }
    }

    private mutating func limit(_ name: FuturesServiceStreamName) {
        if let catalogue = connection?.catalogue { streams[name]?.limit = catalogue.limit(of: name) }
    }

    /// Leaves a connection that the gateway is ending.
    mutating func leave(_ code: String, _ reason: String, retryMs: Int?) {
        lose(GatewayFailure(detail: "The gateway ended the connection (\(code)): \(reason)", isTransient: true), retryMs: retryMs)
    }

    /// Requests the difference between the observed streams and the connection's streams.
    private mutating func reconcile() {
        // The number of missed events is only valid while the connection does not change.
        guard let open = connection, let client = open.client, open.control == nil, open.unread == 0, now >= controlAt else { return }
        for name in open.carried.keys where streams[name]?.wantsFetch == true {
            streams[name]?.wantsFetch = false
            effects.append(.fetch(name))
        }
        let carried = open.carried.keys
        let broken = streams.values.filter { $0.isBroken && $0.renewAt <= now }.map(\.name)
        // If the credential forbids control requests, a new connection replaces them; but it cannot pause streams.
        let wishes: [(Control, [FuturesServiceStreamName])] = [
            (.unsubscribe, carried.filter { streams[$0] == nil || broken.contains($0) }),
            (.subscribe, streams.values.filter { open.carried[$0.name] == nil && $0.state != .ended }.map(\.name)),
            (.pause, carried.filter { streams[$0]?.isPaused == true && open.carried[$0] == false }),
            (.resume, carried.filter { streams[$0]?.isPaused == false && open.carried[$0] == true }),
        ]
        let possible = mayControl ? wishes : Array(wishes.prefix(2))
        guard let (control, names) = possible.first(where: { !$0.1.isEmpty }) else { return }
        guard mayControl else {
            lastEventID = ""
            return lose(
                GatewayFailure(detail: "The credential does not permit changes to a connection; a new connection is opened.", isTransient: true))
        }
        // The snapshot may arrive before the answer.
        if control == .subscribe { for name in names { limit(name) } }
        connection?.control = (control, names)
        effects.append(.control(attempt: open.attempt, client: client, control, names))
    }

    private mutating func controlled(_ why: GatewayFailure?) {
        guard let (control, names) = connection?.control else { return }
        connection?.control = nil
        guard let why else {
            for name in names {
                switch control {
                case .pause:
                    connection?.carried[name] = true
                    streams[name]?.isHeld = true
                case .subscribe, .resume: connection?.carried[name] = false
                case .unsubscribe:
                    connection?.carried[name] = nil
                    streams[name]?.isBroken = false
                    streams[name]?.renewAt = now + .seconds(1)
                }
            }
            return
        }
        if why.status == 404, drop(why.mistakes) { return }
        if why.status == 404 { return lose(why) }
        if why.isTransient { controlAt = now + .milliseconds(max(why.retryAfterMs ?? 0, 1000)) } else { mayControl = false }
    }
}
