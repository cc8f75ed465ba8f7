/// One connection to an upstream, across all its attempts: its progress, its signs of life, and the control messages it must send.
struct Connection: Sendable {
    enum Phase: Sendable, Equatable {
        case connecting
        case open
        case waiting(until: Instant)
        /// No stream uses it.
        case idle
    }

    /// A stream, as connections know it.
    struct Member: Sendable {
        let index: Int
        let name: FuturesServiceStreamName
        let subscriptions: Int
        let isAcknowledged: Bool
    }

    /// A subscription request that was sent.
    struct Request: Sendable {
        /// The streams that wait for the acknowledgment.
        var members: [Member]
        /// When it counts as unanswered, for the first or another time.
        var overdueAt: Instant
    }

    enum Control: Sendable {
        case subscribe([Member])
        case unsubscribe([FuturesServiceStreamName])
    }

    let endpoint: Int
    /// The number of this line to its upstream, and the connections that are the other lines. Each line subscribes to the streams of all of them.
    let line: Int
    private(set) var siblings: [Int]
    let answersPings: Bool
    /// Whether its messages are answers of REST. A failed request says nothing about the sockets of the upstream.
    let isPolled: Bool
    private(set) var health = LineHealth()
    /// How many times in a row it was replaced for faults, and when it may be replaced again.
    private var replacements = 0
    private var replacedUntil = Instant(nanoseconds: 0)
    /// Which of the upstream's hosts the last attempt went to.
    private(set) var host = 0
    private(set) var id = ConnectionID(0)
    private(set) var phase = Phase.idle
    private(set) var backoff: Backoff
    /// How many times in a row it closed soon after it had opened.
    private var shortLives = 0
    /// The streams that are read from it, by index.
    var membersByIndex: [Int: Member] = [:]
    /// The streams whose subscription is active here, whether or not they are read from it, and since when.
    private(set) var standingSince: [Int: Instant] = [:]
    /// By line: when this connection last delivered a message that the other line also delivered. Everything the venue sent earlier on that line has
    /// arrived.
    private(set) var sharedAt: [Int: Instant] = [:]

    private(set) var openedAt = Instant(nanoseconds: 0)
    /// When a frame was last received or the connection opened.
    private(set) var lastHeard = Instant(nanoseconds: 0)
    /// The latest moment for which the received frames are evidence. It is earlier if they waited while this process was suspended.
    private(set) var lastEvidence = Instant(nanoseconds: 0)
    /// How often data arrives.
    private var cadence = Cadence()
    /// When the outstanding ping was sent; nil if none is.
    private var pingedAt: Instant?
    /// The longest recent time until a ping was answered.
    private var roundTrip = Duration.zero
    /// When data last arrived or the connection opened, and how many times in a row it was replaced for lack of data.
    private var lastData = Instant(nanoseconds: 0)
    private(set) var quietRotations = 0
    /// When to check next whether data arrives.
    private(set) var quietLookAt = Instant(nanoseconds: 0)

    /// When to replace it; nil while it is being replaced, and before it is open.
    var rotateAt: Instant?
    /// The connection that replaces it, and the connection that it replaces.
    var successor: Int?
    var predecessor: Int?
    /// Until when it runs beside the connection it replaces.
    var overlapUntil: Instant?

    /// When the paced sender may send again.
    private(set) var controlAt = Instant(nanoseconds: 0)
    private(set) var toSubscribe: [Member] = []
    private(set) var toUnsubscribe: [FuturesServiceStreamName] = []
    /// The subscription requests without an answer, by number.
    private(set) var requests: [UInt64: Request] = [:]
    /// How many times in a row a request was overdue, here and on the connections that it replaces.
    private var overdueTimes = 0

    init(endpoint: Int, line: Int = 0, siblings: [Int] = [], answersPings: Bool = true, isPolled: Bool = false, _ configuration: FeedCore.Settings) {
        self.endpoint = endpoint
        self.answersPings = answersPings
        self.isPolled = isPolled
        self.line = line
        self.siblings = siblings
        backoff = Backoff(base: configuration.reconnectBase, cap: configuration.reconnectCap)
    }

    /// The number of its upstream.
    var upstream: Int { endpoint / FeedCore.endpointsPerUpstream }

    /// When its turn to connect is; nil unless it waits.
    var waitsUntil: Instant? {
        if case .waiting(let until) = phase { until } else { nil }
    }

    /// Whether it takes part in a rotation.
    var isRotating: Bool { successor != nil || predecessor != nil }

    /// The streams that are read from it, in a fixed order.
    var members: [Member] { membersByIndex.values.sorted { $0.index < $1.index } }

    // Connection attempts.

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
        lastEvidence = now
        lastData = now
        pingedAt = nil
        cadence = Cadence()
        quietLookAt = now + interval
        controlAt = now
        health.begin()
    }

    /// Abandons the current attempt; another takes its place.
    mutating func renew(_ now: Instant) {
        wait(until: now)
        rotateAt = nil
        forgetSubscriptions()
    }

    /// Waits for the next attempt. Its queues are cleared.
    mutating func closed(_ now: Instant, _ configuration: FeedCore.Settings, _ random: inout SplitMix64) {
        var delay = backoff.next(using: &random)
        if phase == .open, !isProven(now) {
            // Two in a row may be chance. From the third on, each one multiplies the shortest wait by four.
            if shortLives >= 2 {
                delay = max(delay, min(configuration.reconnectBase * (16 << min(2 * (shortLives - 2), 20)), configuration.reconnectCap))
            }
            shortLives += 1
        }
        wait(until: now + delay)
        forgetSubscriptions()
    }

    /// Whether it has lived long enough to show that the upstream accepts it.
    private func isProven(_ now: Instant) -> Bool { openedAt + Self.proof <= now }

    /// Retires the connection, because no stream is read from it. A later use starts over, with the host that last delivered data and without the
    /// backoff of earlier failures.
    mutating func retire() {
        phase = .idle
        rotateAt = nil
        backoff.reset()
        (quietRotations, overdueTimes) = (0, 0)
        forgetSubscriptions()
    }

    private mutating func forgetSubscriptions() {
        standingSince = [:]
        sharedAt = [:]
        toSubscribe = []
        toUnsubscribe = []
        requests = [:]
    }

    // Signs of life.

    /// - Parameter moment: The moment for which the frame is evidence.
    mutating func hear(_ now: Instant, evidenceOf moment: Instant) {
        if let pingedAt {
            let took = Duration.nanoseconds(now.nanoseconds &- pingedAt.nanoseconds)
            roundTrip = max(took, roundTrip * 7 / 8)
            self.pingedAt = nil
        }
        lastHeard = now
        lastEvidence = max(lastEvidence, moment)
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

    /// Whether to send a ping: the connection is open, no ping is outstanding, and no frame arrived within 200 ms.
    func isDoubtful(_ now: Instant) -> Bool { answersPings && phase == .open && pingedAt == nil && now.milliseconds(since: lastHeard) > 200 }

    /// When to send the ping that an unusually long silence requires.
    func pingAt(atMost interval: Duration) -> Instant {
        lastHeard.after(cadence.patience(atMost: interval.nanoseconds, atFirst: interval.nanoseconds))
    }

    mutating func pinged(_ now: Instant) { pingedAt = now }

    /// When it counts as dead unless the ping is answered, after two round trips; nil if no ping is outstanding. Without pings, when it counts as dead
    /// unless it is heard.
    func deadAt(_ configuration: FeedCore.Settings) -> Instant? {
        guard answersPings else { return lastHeard + configuration.heartbeatPatience }
        let bounds = configuration.pongWait
        return pingedAt.map { $0 + min(max(roundTrip * 2, bounds.lowerBound), bounds.upperBound) }
    }

    /// Whether it is alive but has delivered no data for so long that it must be replaced.
    func isQuiet(_ now: Instant, after patience: Duration) -> Bool { lastData + patience * (1 << quietRotations) <= now }

    mutating func lookedForData(_ now: Instant, next interval: Duration) { quietLookAt = now + interval }

    /// Is to be replaced for lack of data. The next time takes twice as long, here and on the replacement.
    mutating func leaveForQuiet() { quietRotations = min(quietRotations + 1, 4) }

    /// Takes over how often its predecessors were replaced.
    mutating func replaces(_ predecessor: Connection) {
        (quietRotations, overdueTimes) = (predecessor.quietRotations, predecessor.overdueTimes)
    }

    // Comparison with the other lines.

    mutating func won() { health.won() }

    mutating func brought(_ lag: Duration) { health.brought(lag) }

    mutating func lacked() { health.lacked() }

    mutating func shared(with line: Int, at instant: Instant) { sharedAt[line] = max(sharedAt[line] ?? instant, instant) }

    /// The last sign of life, minus the line's lateness: a late line delivers old data.
    var verifiedAt: Instant { Instant(nanoseconds: lastEvidence.nanoseconds &- health.lateness.nanoseconds) }

    /// Whether to replace it for its faults. The time between replacements grows with each one in a row.
    func isToBeReplaced(_ now: Instant) -> Bool { phase == .open && health.isFaulty && replacedUntil <= now }

    mutating func replaced(_ now: Instant) {
        replacements = now > replacedUntil + .seconds(600) ? 1 : min(replacements + 1, 6)
        replacedUntil = now + .seconds(10) * (1 << replacements)
    }

    // Subscriptions.

    mutating func stand(_ index: Int, _ now: Instant) { standingSince[index] = standingSince[index] ?? now }

    /// Removes a subscription that has ended or is not needed any more; true if the request had not been sent.
    @discardableResult
    mutating func forget(_ index: Int) -> Bool {
        standingSince[index] = nil
        guard let place = toSubscribe.firstIndex(where: { $0.index == index }) else { return false }
        toSubscribe.remove(at: place)
        return true
    }

    /// Queues a subscription; false if this only cancels an UNSUBSCRIBE that was not sent, so that the subscription is still active.
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

    /// Drops the subscription and requests it again.
    mutating func subscribeAnew(_ member: Member) {
        standingSince[member.index] = nil
        // The request may still wait for its turn, after an UNSUBSCRIBE that was sent.
        guard !toSubscribe.contains(where: { $0.index == member.index }) else { return }
        unsubscribe(member.name)
        toSubscribe.append(member)
    }

    var hasControlToSend: Bool { phase == .open && !(toSubscribe.isEmpty && toUnsubscribe.isEmpty) }

    /// The next control message. UNSUBSCRIBE goes first, to make room.
    mutating func nextControl(_ now: Instant, _ configuration: FeedCore.Settings) -> Control {
        controlAt = now + configuration.controlInterval
        if !toUnsubscribe.isEmpty {
            let names = Array(toUnsubscribe.prefix(configuration.namesPerMessage))
            toUnsubscribe.removeFirst(names.count)
            // Outstanding acknowledgments belong to requests sent before this one.
            for request in requests.keys { requests[request]?.members.removeAll { names.contains($0.name) } }
            return .unsubscribe(names)
        }
        let members = Array(toSubscribe.prefix(configuration.namesPerMessage))
        toSubscribe.removeFirst(members.count)
        return .subscribe(members)
    }

    mutating func await(_ request: UInt64, of members: [Member], _ now: Instant) {
        requests[request] = Request(members: members, overdueAt: now + answerPatience)
    }

    /// Removes a request and returns its streams that wait for the acknowledgment.
    mutating func answered(_ request: UInt64) -> [FuturesServiceStreamName] {
        overdueTimes = 0
        return requests.removeValue(forKey: request)?.members.map(\.name) ?? []
    }

    /// How long it may take to answer a request. The time doubles, at most ×4, while replacements do not answer either.
    private var answerPatience: Duration { Self.answerPatience * (1 << overdueTimes) }

    /// When the next request counts as unanswered; nil if none waits.
    var overdueAt: Instant? { requests.isEmpty ? nil : requests.values.lazy.map(\.overdueAt).min() }

    /// The streams of overdue requests whose subscription is not active.
    mutating func overdue(_ now: Instant) -> [FuturesServiceStreamName] {
        // Data shows that a subscription is active, also if its acknowledgment was lost.
        let overdue = requests.filter { $0.value.overdueAt <= now }.mapValues { request in request.members.filter { standingSince[$0.index] == nil } }
        if overdue.values.contains(where: { !$0.isEmpty }) { overdueTimes = min(overdueTimes + 1, 2) }
        for (number, members) in overdue {
            requests[number] = members.isEmpty ? nil : Request(members: members, overdueAt: now + answerPatience)
        }
        return overdue.sorted { $0.key < $1.key }.flatMap { $0.value.map(\.name) }
    }

}
