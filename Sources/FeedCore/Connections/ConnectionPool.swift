/// The connections to all upstreams. The pool chooses the connection of each stream, the host and the time of each attempt, and the order of
/// control messages. It finds dead connections and replaces old ones. It knows streams only by their index. `FeedCore` decides about their content.
struct ConnectionPool: Sendable {
    let configuration: FeedCore.Settings
    var random: SplitMix64
    var connections: [Connection] = []
    private(set) var lastConnectionID: UInt64 = 0
    private var lastRequest: UInt64 = 0
    private var choice: HostChoice

    init(_ configuration: FeedCore.Settings, seed: UInt64) {
        self.configuration = configuration
        random = SplitMix64(seed: seed)
        choice = HostChoice(configuration)
    }

    /// The index of a connection that is open or wants to be; nil if the id belongs to an earlier attempt.
    func slot(_ id: ConnectionID) -> Int? {
        connections.indices.first { connections[$0].id == id && connections[$0].phase != .idle }
    }

    func isOpen(_ slot: Int) -> Bool { connections[slot].phase == .open }

    // Assignment of streams to connections.

    /// The connection for a new stream: one with room, or a new one.
    mutating func place(_ traits: StreamTraits) -> Int {
        let limit = traits.connectionLimit ?? configuration.streamsPerConnection
        let roomy = connections.indices.first {
            connections[$0].endpoint == traits.endpoint && !connections[$0].isRotating
                && subscriptionCount($0) + traits.subscriptions <= limit
        }
        guard let roomy else {
            return add(
                endpoint: traits.endpoint, lines: traits.isPolled ? 1 : configuration.all.lines(to: traits.endpoint / FeedCore.endpointsPerUpstream),
                answersPings: traits.answersPings, isPolled: traits.isPolled)
        }
        return lines(roomy).first(where: isOpen) ?? roomy
    }

    /// Adds `lines` connections that carry the same streams; returns the first.
    mutating func add(endpoint: Int, lines: Int, answersPings: Bool, isPolled: Bool) -> Int {
        let first = connections.count
        let slots = first..<first + lines
        for slot in slots {
            connections.append(
                Connection(
                    endpoint: endpoint, line: slot - first, siblings: slots.filter { $0 != slot }, answersPings: answersPings, isPolled: isPolled,
                    configuration))
        }
        return first
    }

    /// The connection and its other lines.
    func lines(_ slot: Int) -> [Int] { [slot] + connections[slot].siblings }

    /// How many subscriptions the streams of the connection and of its other lines need; 0 only if there are no streams.
    func subscriptionCount(_ slot: Int) -> Int {
        lines(slot).reduce(0) { $0 + connections[$1].membersByIndex.values.reduce(0) { $0 + $1.subscriptions } }
    }

    /// Reads the stream from the connection from now on, and connects it if necessary. True if it is open, so that the stream can be subscribed.
    mutating func join(_ member: Connection.Member, _ slot: Int, _ now: Instant, _ decisions: inout Decisions) -> Bool {
        connections[slot].membersByIndex[member.index] = member
        for line in lines(slot) where connections[line].phase == .idle { connect(line, now, &decisions) }
        for sibling in connections[slot].siblings where isOpen(sibling) { _ = connections[sibling].subscribe(member, now) }
        return isOpen(slot)
    }

    /// Removes a stream. A connection without streams is closed.
    ///
    /// - Parameter isSubscribed: Whether the stream was subscribed on this connection.
    mutating func leave(_ index: Int, _ slot: Int, isSubscribed: Bool, _ now: Instant, _ decisions: inout Decisions) {
        guard let member = connections[slot].membersByIndex.removeValue(forKey: index) else { return }
        connections[slot].forget(member.index)
        for partner in [connections[slot].successor, connections[slot].predecessor].compactMap(\.self) {
            connections[partner].forget(member.index)
            if isOpen(partner) { connections[partner].unsubscribe(member.name) }
        }
        for sibling in connections[slot].siblings where !connections[sibling].forget(member.index) && isOpen(sibling) {
            connections[sibling].unsubscribe(member.name)
        }
        if subscriptionCount(slot) == 0 {
            abandonRotation(slot, now, &decisions)
            for line in lines(slot) { retire(line, &decisions) }
        } else if isOpen(slot), isSubscribed {
            connections[slot].unsubscribe(member.name)
        }
    }

    /// Reads the stream from another connection from now on.
    mutating func move(_ index: Int, from slot: Int, to other: Int) {
        connections[other].membersByIndex[index] = connections[slot].membersByIndex.removeValue(forKey: index)
    }

    // Subscriptions.

    /// Subscribes a stream that is read from the connection; false if this only cancels an UNSUBSCRIBE that was not sent, so that the subscription is
    /// still active.
    mutating func subscribe(_ index: Int, _ slot: Int, _ now: Instant) -> Bool {
        connections[slot].membersByIndex[index].map { connections[slot].subscribe($0, now) } ?? false
    }

    /// Drops the subscription and requests it again, on every line.
    mutating func subscribeAnew(_ index: Int, _ slot: Int) {
        guard let member = connections[slot].membersByIndex[index] else { return }
        connections[slot].subscribeAnew(member)
        for sibling in standingSiblings(index, slot) { connections[sibling].subscribeAnew(member) }
    }

    /// Requests the subscription again on a line on which the upstream ended it.
    mutating func subscribeAgain(_ index: Int, _ slot: Int, _ now: Instant) {
        guard isOpen(slot), let member = member(index, ofLines: slot) else { return }
        connections[slot].forget(index)
        _ = connections[slot].subscribe(member, now)
    }

    /// Drops the subscription on a line that has not answered it, and requests it again.
    mutating func repeatSubscription(_ index: Int, _ slot: Int) {
        if isOpen(slot), let member = member(index, ofLines: slot) { connections[slot].subscribeAnew(member) }
    }

    /// The stream as the line that it is read from knows it.
    private func member(_ index: Int, ofLines slot: Int) -> Connection.Member? {
        lines(slot).lazy.compactMap { connections[$0].membersByIndex[index] }.first
    }

    mutating func stand(_ index: Int, _ slot: Int, _ now: Instant) { connections[slot].stand(index, now) }

    /// Removes a subscription that was refused or has ended.
    mutating func forget(_ index: Int, _ slot: Int) { connections[slot].forget(index) }

    /// The streams that the connection and its other lines carry.
    func streamsOfLines(_ slot: Int) -> [Int] { lines(slot).flatMap { connections[$0].membersByIndex.keys } }

    /// Removes a request and returns its streams that wait for the acknowledgment.
    mutating func answered(_ request: UInt64, _ slot: Int) -> [FuturesServiceStreamName] { connections[slot].answered(request) }

    /// Runs one paced sender per connection: it sends one message now if allowed, and the rest later. Returns the streams that each connection has
    /// requested.
    mutating func sendControl(_ now: Instant, _ decisions: inout Decisions) -> [(slot: Int, members: [Connection.Member])] {
        var asked: [(slot: Int, members: [Connection.Member])] = []
        for slot in connections.indices where connections[slot].hasControlToSend {
            if connections[slot].controlAt <= now {
                lastRequest &+= 1
                switch connections[slot].nextControl(now, configuration) {
                case .unsubscribe(let names): decisions.effects.append(.unsubscribe(connections[slot].id, names, request: lastRequest))
                case .subscribe(let members):
                    let awaited = members.filter(\.isAcknowledged)
                    if !awaited.isEmpty { connections[slot].await(lastRequest, of: awaited, now) }
                    decisions.effects.append(.subscribe(connections[slot].id, members.map(\.name), request: lastRequest))
                    asked.append((slot, members))
                }
            }
            if connections[slot].hasControlToSend { decisions.wake(at: connections[slot].controlAt) }
        }
        return asked
    }

    // Connection attempts.

    /// Connects, or waits for its turn or for a host that allows it.
    mutating func connect(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        let connection = connections[slot]
        switch choice.choose(upstream: connection.upstream, line: connection.line, after: connection.backoff.attempts, now) {
        case .turn(let at):
            if connection.waitsUntil == nil { connections[slot].wait(until: now) }
            decisions.wake(at: at)
        case .wait(let until):
            connections[slot].wait(until: until)
            decisions.wake(at: until)
        case .host(let host):
            lastConnectionID &+= 1
            connections[slot].connect(as: ConnectionID(lastConnectionID), host: host)
            decisions.effects.append(.connect(connections[slot].id, endpoint: connection.endpoint, host: host, line: connection.line))
        }
    }

    /// Marks the connection as open. Returns the streams that are read from it, including those of lines that are not open; none if it replaces
    /// another connection. It subscribes the streams of other open connections itself.
    mutating func opened(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) -> [Int] {
        connections[slot].opened(now, lookAfter: configuration.pingInterval)
        decisions.wake(at: connections[slot].quietLookAt)
        guard let predecessor = connections[slot].predecessor else {
            scheduleRotation(slot, now, &decisions)
            for sibling in connections[slot].siblings {
                if isOpen(sibling) {
                    for member in connections[sibling].members { _ = connections[slot].subscribe(member, now) }
                } else {
                    for member in connections[sibling].members { move(member.index, from: sibling, to: slot) }
                }
            }
            return connections[slot].membersByIndex.keys.sorted()
        }
        for member in connections[predecessor].members { _ = connections[slot].subscribe(member, now) }
        let until = now + configuration.overlap
        connections[slot].overlapUntil = until
        decisions.wake(at: until)
        return []
    }

    /// Handles a connection that was lost or could not be opened. It is retried later if streams are read from it.
    ///
    /// - Parameter retryAfter: The shortest wait that the server asked for.
    mutating func closed(_ slot: Int, retryAfter: Duration?, _ now: Instant, _ decisions: inout Decisions) {
        if let retryAfter, !connections[slot].isPolled {
            choice.leave(connections[slot].host, of: connections[slot].upstream, for: retryAfter, now)
        }
        abandonRotation(slot, now, &decisions)
        guard subscriptionCount(slot) > 0 else { return connections[slot].retire() }
        connections[slot].rotateAt = nil
        connections[slot].closed(now, configuration, &random)
        if let retryAfter, let until = connections[slot].waitsUntil, connections[slot].isPolled {
            connections[slot].wait(until: max(until, now + min(retryAfter, configuration.longestRetryAfter)))
        }
        if let until = connections[slot].waitsUntil { decisions.wake(at: until) }
    }

    /// Delays the next attempt because the upstream refuses this client.
    mutating func waitLong(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        let until = now + configuration.refusedRetry
        connections[slot].wait(until: until)
        decisions.wake(at: until)
    }

    /// Closes a connection that no stream is read from.
    mutating func retire(_ slot: Int, _ decisions: inout Decisions) {
        if connections[slot].id.value > 0 { decisions.effects.append(.disconnect(connections[slot].id)) }
        connections[slot].retire()
    }

    // Signs of life.

    mutating func gotData(_ slot: Int, _ now: Instant) {
        connections[slot].gotData(now)
        if !connections[slot].isPolled { choice.favour(connections[slot].host, of: connections[slot].upstream, line: connections[slot].line) }
    }

    /// Pings a connection with a silent stream, and its other lines, unless they were heard just now.
    mutating func suspect(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        if connections[slot].isDoubtful(now) { ping(slot, now, &decisions) }
        for sibling in connections[slot].siblings where connections[sibling].isDoubtful(now) { ping(sibling, now, &decisions) }
    }

    private mutating func ping(_ slot: Int, _ now: Instant, _ decisions: inout Decisions) {
        connections[slot].pinged(now)
        decisions.effects.append(.ping(connections[slot].id))
        if let deadAt = connections[slot].deadAt(configuration) { decisions.wake(at: deadAt) }
    }

    /// The result of a connection's deadline if it concerns its streams.
    enum Finding: Sendable {
        /// It did not answer a ping, and was silent for this long.
        case dead(silenceMs: Int64)
        /// It has run long enough beside the connection it replaces.
        case overlapIsOver
        /// Its age, silence or faults require a replacement.
        case isToBeReplaced
        /// It is alive and has not answered the subscription to these streams for too long.
        case unanswered([FuturesServiceStreamName])
    }

    /// Connections in the order of their turns to connect.
    func inTurn(_ now: Instant) -> [Int] {
        let turns = connections.map { $0.waitsUntil ?? now }
        return connections.indices.sorted { turns[$0] < turns[$1] }
    }

    /// Connects, pings or replaces a connection if its deadline has passed.
    ///
    /// - Parameter judgesFrom: Silence is not judged before this moment.
    mutating func passDeadlines(_ slot: Int, _ now: Instant, judgesFrom: Instant, _ decisions: inout Decisions) -> Finding? {
        switch connections[slot].phase {
        case .idle, .connecting: return nil
        case .waiting(let until):
            if until <= now { connect(slot, now, &decisions) } else { decisions.wake(at: until) }
            return nil
        case .open: break
        }
        if isDead(slot, now, judgesFrom: judgesFrom, &decisions) {
            decisions.effects.append(.disconnect(connections[slot].id))
            return .dead(silenceMs: now.milliseconds(since: connections[slot].lastHeard))
        }
        var isToBeReplaced = connections[slot].isToBeReplaced(now)
        if connections[slot].quietLookAt <= now {
            connections[slot].lookedForData(now, next: configuration.pingInterval)
            if hasSiblings(slot) {
                if connections[slot].isQuiet(now, after: configuration.quietAfter) { isToBeReplaced = true }
            } else {
                leaveIfQuiet(slot, now, &decisions)
            }
        }
        decisions.wake(at: connections[slot].quietLookAt)
        if let at = connections[slot].rotateAt {
            if at > now {
                decisions.wake(at: at)
            } else if hasSiblings(slot) {
                isToBeReplaced = true
            } else {
                rotate(slot, now, &decisions)
            }
        }
        if isToBeReplaced { return .isToBeReplaced }
        if let until = connections[slot].overlapUntil {
            if until <= now { return .overlapIsOver }
            decisions.wake(at: until)
        }
        return unanswered(slot, now, judgesFrom: judgesFrom, &decisions).map { .unanswered($0) }
    }

    /// The streams whose subscription has stayed unanswered for too long; nil if there are none.
    private mutating func unanswered(
        _ slot: Int, _ now: Instant, judgesFrom: Instant, _ decisions: inout Decisions
    ) -> [FuturesServiceStreamName]? {
        guard let overdueAt = connections[slot].overdueAt else { return nil }
        var names: [FuturesServiceStreamName] = []
        if max(overdueAt, judgesFrom) <= now {
            names = connections[slot].overdue(now)
        }
        if let next = connections[slot].overdueAt { decisions.wake(at: max(next, judgesFrom)) }
        return names.isEmpty ? nil : names
    }

    /// Whether a ping was not answered in time. A connection that is silent for unusually long is pinged. One that answers no pings is dead if it is
    /// silent for too long.
    private mutating func isDead(_ slot: Int, _ now: Instant, judgesFrom: Instant, _ decisions: inout Decisions) -> Bool {
        if let deadAt = connections[slot].deadAt(configuration) {
            let deadAt = max(deadAt, judgesFrom)
            if deadAt <= now { return true }
            decisions.wake(at: deadAt)
            return false
        }
        let pingAt = connections[slot].pingAt(atMost: configuration.pingInterval)
        if pingAt <= now { ping(slot, now, &decisions) } else { decisions.wake(at: pingAt) }
        return false
    }
}
