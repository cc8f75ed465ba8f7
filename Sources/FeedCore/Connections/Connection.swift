/// One socket to an upstream, across all its attempts: how far it is, its signs of life, and the control messages it has to send.
struct Connection: Sendable {
    enum Phase: Sendable, Equatable {
        case connecting
        case open
        case waiting(until: Instant)
        /// No stream wants it.
        case idle
    }

    /// A stream, as its connections know it.
    struct Member: Sendable {
        let index: Int
        let name: FuturesServiceStreamName
        let isAcknowledged: Bool
    }

    enum Control: Sendable {
        case subscribe([Member])
        case unsubscribe([FuturesServiceStreamName])
    }

    let endpoint: Int
    /// Which of the lines to its upstream it is, and the connections that are the others: each is subscribed to the streams of all of them.
    let line: Int
    private(set) var siblings: [Int]
    private(set) var health = LineHealth()
    /// How often in a row it was replaced for its faults, and when it may be again.
    private var replacements = 0
    private var replacedUntil = Instant(nanoseconds: 0)
    /// Which of the upstream's hosts the last attempt went to.
    private(set) var host = 0
    private(set) var id = ConnectionID(0)
    private(set) var phase = Phase.idle
    private(set) var backoff: Backoff
    /// How often in a row it was closed soon after it had opened.
    private var shortLives = 0
    /// The streams that are read from it, by index.
    var streams: [Int: Member] = [:]
    /// The streams whose subscription stands here, whether they are read from it or not, and since when.
    private(set) var standingSince: [Int: Instant] = [:]
    /// By line: when a message came here last that the other line has brought too. What was sent there before it has come.
    private(set) var sharedAt: [Int: Instant] = [:]

    private(set) var openedAt = Instant(nanoseconds: 0)
    /// When anything was heard last, or the socket was opened.
    private(set) var lastHeard = Instant(nanoseconds: 0)
    /// How often data comes.
    private var cadence = Cadence()
    /// When the ping was sent that nothing was heard after yet.
    private var pingedAt: Instant?
    /// The longest that an answer to a ping has taken lately.
    private var roundTrip = Duration.zero
    /// When data came last, or the socket was opened, and how often in a row it was replaced because none came.
    private var lastData = Instant(nanoseconds: 0)
    private(set) var quietRotations = 0
    /// When the next look at whether data comes is due.
    private(set) var quietLookAt = Instant(nanoseconds: 0)

    /// When it is to be replaced; nil while it is being replaced, and before it is open.
    var rotateAt: Instant?
    /// The connection that replaces it, and the one it replaces.
    var successor: Int?
    var predecessor: Int?
    /// Until when it runs beside the one it replaces.
    var overlapUntil: Instant?

    /// When the paced sender may send again.
    private(set) var controlAt = Instant(nanoseconds: 0)
    private(set) var toSubscribe: [Member] = []
    private(set) var toUnsubscribe: [FuturesServiceStreamName] = []
    private(set) var requests: [UInt64: [FuturesServiceStreamName]] = [:]

    init(endpoint: Int, line: Int = 0, siblings: [Int] = [], _ configuration: FeedCore.Settings) {
        self.endpoint = endpoint
        self.line = line
        self.siblings = siblings
        backoff = Backoff(base: configuration.reconnectBase, cap: configuration.reconnectCap)
    }

    /// Which upstream it is to.
    var upstream: Int { endpoint / FeedCore.endpointsPerUpstream }

    /// When its turn to connect comes, or came; nil unless it waits.
    var waitsUntil: Instant? {
        if case .waiting(let until) = phase { until } else { nil }
    }

    /// Whether it is part of a rotation.
    var isRotating: Bool { successor != nil || predecessor != nil }

    /// The streams that are read from it, in a fixed order.
    var members: [Member] { streams.values.sorted { $0.index < $1.index } }

    // Its attempts.

    mutating func connect(as id: ConnectionID, host: Int) {
        self.id = id
        self.host = host
        phase = .connecting
    }

    mutating func wait(until instant: Instant) { phase = .waiting(until: instant) }

    mutating func opened(_ now: Instant, lookAfter interval: Duration) {
        phase = .open
        openedAt = now
        lastHeard = now
        lastData = now
        pingedAt = nil
        cadence = Cadence()
        quietLookAt = now + interval
        controlAt = now
        health.begin()
    }

    /// It is left, and another attempt takes its place.
    mutating func renew(_ now: Instant) {
        wait(until: now)
        rotateAt = nil
        forgetSubscriptions()
    }

    /// Waits for another attempt, with nothing to send.
    mutating func closed(_ now: Instant, _ configuration: FeedCore.Settings, _ random: inout SplitMix64) {
        var delay = backoff.next(using: &random)
        if phase == .open, !isProven(now) {
            // Two in a row may be an accident. From the third on each makes the least wait four times as long.
            if shortLives >= 2 {
                delay = max(delay, min(configuration.reconnectBase * (16 << min(2 * (shortLives - 2), 20)), configuration.reconnectCap))
            }
            shortLives += 1
        }
        wait(until: now + delay)
        forgetSubscriptions()
    }

    /// Whether it has lived for so long that its handshake was no accident.
    private func isProven(_ now: Instant) -> Bool { openedAt + Self.proof <= now }

    /// How long a connection has to live until the backoff of the next one begins anew.
    private static let proof = Duration.milliseconds(500)

    /// Nothing is read from it. Whoever needs it later begins anew: with the host that gave data last, and without the wait of former failures.
    mutating func retire() {
        phase = .idle
        rotateAt = nil
        backoff.reset()
        forgetSubscriptions()
    }

    private mutating func forgetSubscriptions() {
        standingSince = [:]
        sharedAt = [:]
        toSubscribe = []
        toUnsubscribe = []
        requests = [:]
    }

    // Its signs of life.

    mutating func hear(_ now: Instant) {
        if let pingedAt {
            let took = Duration.nanoseconds(now.nanoseconds &- pingedAt.nanoseconds)
            roundTrip = max(took, roundTrip * 7 / 8)
            self.pingedAt = nil
        }
        lastHeard = now
    }

    mutating func gotData(_ now: Instant) {
        if backoff.attempts > 0 || shortLives > 0, isProven(now) {
            backoff.reset()
            shortLives = 0
        }
        cadence.learn(now.nanoseconds &- lastData.nanoseconds)
        lastData = now
        quietRotations = 0
    }

    /// Whether a ping may tell more than what was heard just now.
    func isDoubtful(_ now: Instant) -> Bool { phase == .open && pingedAt == nil && now.milliseconds(since: lastHeard) > 200 }

    /// When the ping is due that a longer silence than usual asks for.
    func pingAt(atMost interval: Duration) -> Instant { lastHeard.after(cadence.patience(atMost: interval.nanoseconds)) }

    mutating func pinged(_ now: Instant) { pingedAt = now }

    /// When it is dead unless the ping is answered; nil if none is out. Two round trips are waited for.
    func deadAt(waiting bounds: ClosedRange<Duration>) -> Instant? {
        pingedAt.map { $0 + min(max(roundTrip * 2, bounds.lowerBound), bounds.upperBound) }
    }

    /// Whether it lives and has given no data for so long that it is to be replaced.
    func isQuiet(_ now: Instant, after patience: Duration) -> Bool { lastData + patience * (1 << quietRotations) <= now }

    mutating func lookedForData(_ now: Instant, next interval: Duration) { quietLookAt = now + interval }

    mutating func replaces(quiet predecessor: Connection) { quietRotations = min(predecessor.quietRotations + 1, 4) }

    // How it does among its lines.

    mutating func won() { health.won() }

    mutating func brought(_ lag: Duration) { health.brought(lag) }

    mutating func lacked() { health.lacked() }

    mutating func shared(with line: Int, at instant: Instant) { sharedAt[line] = max(sharedAt[line] ?? instant, instant) }

    /// When there was a sign last of what the venue sends: a line that is late shows what is old.
    var verifiedAt: Instant { Instant(nanoseconds: lastHeard.nanoseconds &- health.lateness.nanoseconds) }

    /// Whether it is to be replaced for its faults, which is rarer each time in a row.
    func isToBeReplaced(_ now: Instant) -> Bool { phase == .open && health.isFaulty && replacedUntil <= now }

    mutating func replaced(_ now: Instant) {
        replacements = now > replacedUntil + .seconds(600) ? 1 : min(replacements + 1, 6)
        replacedUntil = now + .seconds(10) * (1 << replacements)
    }

    // Its subscriptions.

    mutating func stand(_ index: Int, _ now: Instant) { standingSince[index] = standingSince[index] ?? now }

    /// A subscription that stands no more, or is not asked for any more; true if it had not been sent.
    @discardableResult
    mutating func forget(_ index: Int) -> Bool {
        standingSince[index] = nil
        guard let place = toSubscribe.firstIndex(where: { $0.index == index }) else { return false }
        toSubscribe.remove(at: place)
        return true
    }

    /// Asks for the stream; false if that only takes back an UNSUBSCRIBE that was not sent, so that the subscription still stands.
    mutating func subscribe(_ member: Member, _ now: Instant) -> Bool {
        if let place = toUnsubscribe.firstIndex(of: member.name) {
            toUnsubscribe.remove(at: place)
            stand(member.index, now)
            return false
        }
        toSubscribe.append(member)
        return true
    }

    mutating func unsubscribe(_ name: FuturesServiceStreamName) { toUnsubscribe.append(name) }

    /// Drops the subscription and asks for it again.
    mutating func subscribeAnew(_ member: Member) {
        standingSince[member.index] = nil
        unsubscribe(member.name)
        toSubscribe.append(member)
    }

    var hasControlToSend: Bool { phase == .open && !(toSubscribe.isEmpty && toUnsubscribe.isEmpty) }

    /// The next control message; what is not wanted any more goes first, so that there is room.
    mutating func nextControl(_ now: Instant, _ configuration: FeedCore.Settings) -> Control {
        controlAt = now + configuration.controlInterval
        if !toUnsubscribe.isEmpty {
            let names = Array(toUnsubscribe.prefix(configuration.namesPerMessage))
            toUnsubscribe.removeFirst(names.count)
            // What is still to be answered was asked before.
            for request in requests.keys { requests[request]?.removeAll { names.contains($0) } }
            return .unsubscribe(names)
        }
        let members = Array(toSubscribe.prefix(configuration.namesPerMessage))
        toSubscribe.removeFirst(members.count)
        return .subscribe(members)
    }

    mutating func await(_ request: UInt64, of names: [FuturesServiceStreamName]) { requests[request] = names }

    /// The streams that a request asked for and that wait for its answer.
    mutating func answered(_ request: UInt64) -> [FuturesServiceStreamName] { requests.removeValue(forKey: request) ?? [] }
}
