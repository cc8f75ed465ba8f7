extension FeedCore {
    /// A connection of the endpoint with room for one more stream.
    func roomyConnection(endpoint: Int, limit: Int?) -> Int? {
        connections.firstIndex {
            $0.endpoint == endpoint && $0.streams.count < limit ?? configuration.streamsPerConnection && $0.successor == nil && $0.predecessor == nil
        }
    }

    mutating func connectionSlot(_ traits: StreamTraits) -> Int {
        if let slot = roomyConnection(endpoint: traits.endpoint, limit: traits.connectionLimit) { return slot }
        connections.append(newConnection(endpoint: traits.endpoint))
        return connections.count - 1
    }

    mutating func join(_ index: Int, connection slot: Int) {
        connections[slot].streams.insert(index)
        switch connections[slot].phase {
        case .idle: connect(slot)
        case .open: enqueueSubscription(index, connection: slot)
        case .connecting, .waiting: break
        }
    }

    mutating func leave(_ index: Int, connection slot: Int) {
        guard let stream = streams[index], connections[slot].streams.remove(index) != nil else { return }
        connections[slot].toSubscribe.removeAll { $0 == index }
        if let successor = connections[slot].successor {
            connections[successor].toSubscribe.removeAll { $0 == index }
            connections[successor].covered.remove(index)
            if connections[successor].phase == .open { connections[successor].toUnsubscribe.append(stream.name) }
        }
        if let predecessor = connections[slot].predecessor, connections[predecessor].phase == .open {
            connections[predecessor].toUnsubscribe.append(stream.name)
        }
        if connections[slot].streams.isEmpty {
            abandonRotation(slot)
            retire(slot)
        } else if connections[slot].phase == .open, stream.subscription.isRequested || stream.subscription.isEffective {
            connections[slot].toUnsubscribe.append(stream.name)
        }
    }

    /// Data that should have come did not, on a socket that lives: the venue may have forgotten the subscription.
    mutating func subscribeAnew(_ index: Int) {
        guard let stream = streams[index], connections[stream.connection].phase == .open, !stream.subscription.isNone, !stream.subscription.isQueued
        else { return }
        streams[index]?.fetching.running?.followsSubscription = false
        connections[stream.connection].toUnsubscribe.append(stream.name)
        connections[stream.connection].toSubscribe.append(index)
        streams[index]?.subscription = .queued
    }

    /// Whether a connection of the endpoint's upstream is being replaced: one at a time, so that there is one socket more than needed at most.
    func isRotating(_ endpoint: Int) -> Bool {
        let upstream = endpoint / Self.endpointsPerUpstream
        return connections.contains { $0.predecessor != nil && $0.endpoint / Self.endpointsPerUpstream == upstream }
    }

    /// One of its streams is silent: it is pinged at once, where nothing was heard of it just now.
    mutating func suspect(_ slot: Int) {
        guard connections[slot].phase == .open, connections[slot].pingedAt == nil,
            now.instant.milliseconds(since: connections[slot].lastHeard) > 200
        else { return }
        ping(slot)
    }

    private mutating func ping(_ slot: Int) {
        connections[slot].pingedAt = now.instant
        effects.append(.ping(connections[slot].id))
        wake(at: now.instant + pongWait(slot))
    }

    /// Two round trips.
    private func pongWait(_ slot: Int) -> Duration {
        min(max(connections[slot].roundTrip * 2, configuration.pongWait.lowerBound), configuration.pongWait.upperBound)
    }

    mutating func freshConnection(endpoint: Int) -> Int {
        if let slot = connections.firstIndex(where: { $0.endpoint == endpoint && $0.phase == .idle }) { return slot }
        connections.append(newConnection(endpoint: endpoint))
        return connections.count - 1
    }

    private func newConnection(endpoint: Int) -> ConnectionState {
        ConnectionState(
            endpoint: endpoint, id: ConnectionID(0),
            backoff: Backoff(base: configuration.reconnectBase, cap: configuration.reconnectCap))
    }

    private mutating func enqueueSubscription(_ index: Int, connection slot: Int) {
        guard let name = streams[index]?.name else { return }
        if let place = connections[slot].toUnsubscribe.firstIndex(of: name) {
            connections[slot].toUnsubscribe.remove(at: place)
            streams[index]?.subscription = .effective(since: now.instant)
        } else {
            connections[slot].toSubscribe.append(index)
            streams[index]?.subscription = .queued
        }
        if streams[index]?.audience.isConnected != true {
            streams[index]?.audience.isConnected = true
            publish(index, .connected)
        }
    }

    /// Connects now, or as soon as the last attempt of any of the upstream's connections is long enough ago. A host that fails several times in a row gives way
    /// to the next, and so does one that asked to be left alone; where all of them did, the first that allows it is waited for.
    mutating func connect(_ slot: Int) {
        let upstream = connections[slot].endpoint / Self.endpointsPerUpstream
        if let allowedAt = connectAllowedAt[upstream], allowedAt > now.instant {
            if connections[slot].waitsUntil == nil { connections[slot].phase = .waiting(until: now.instant) }
            wake(at: allowedAt)
            return
        }
        let hosts = hosts(of: upstream, after: connections[slot].backoff.attempts / max(1, configuration.attemptsPerHost))
        let waits = hosts.map { hostAllowedAt[upstream]?[$0] ?? now.instant }
        guard let host = zip(hosts, waits).first(where: { $0.1 <= now.instant })?.0 else {
            let until = waits.min() ?? now.instant
            connections[slot].phase = .waiting(until: until)
            wake(at: until)
            return
        }
        connectAllowedAt[upstream] = now.instant + configuration.connectInterval
        lastConnectionID &+= 1
        connections[slot].id = ConnectionID(lastConnectionID)
        connections[slot].host = host
        connections[slot].phase = .connecting
        effects.append(.connect(connections[slot].id, endpoint: connections[slot].endpoint, host: connections[slot].host))
    }

    /// An upstream's hosts in the order they are to be tried in, after so many have failed. Only the venue has several.
    private func hosts(of upstream: Int, after failovers: Int) -> [Int] {
        let count = upstream == 0 ? max(1, configuration.webSocketHosts) : 1
        return (0..<count).map { (webSocketHost &+ failovers &+ $0) % count }
    }

    private func slot(_ id: ConnectionID) -> Int? {
        connections.indices.first { connections[$0].id == id && connections[$0].phase != .idle }
    }

    mutating func opened(_ id: ConnectionID) {
        guard let slot = slot(id), connections[slot].phase == .connecting else { return }
        connections[slot].phase = .open
        connections[slot].lastHeard = now.instant
        connections[slot].lastData = now.instant
        connections[slot].pingedAt = nil
        connections[slot].cadence = Cadence()
        connections[slot].quietLookAt = now.instant + configuration.pingInterval
        connections[slot].controlAt = now.instant
        wake(at: connections[slot].quietLookAt)
        if connections[slot].predecessor != nil {
            beginOverlap(slot)
            return
        }
        scheduleRotation(slot)
        for index in connections[slot].streams.sorted() {
            if let stream = streams[index], stream.freshness.outage != nil { streams[index]?.fetching.isNeeded = stream.traits.hasSnapshotSource }
            enqueueSubscription(index, connection: slot)
        }
    }

    /// Somewhat before the age is reached, so that many connections do not all go at once.
    mutating func scheduleRotation(_ slot: Int) {
        let age = configuration.rotateAfter.nanoseconds
        let at = now.instant + .nanoseconds(age - Int64.random(in: 0...max(1, age / 50), using: &random))
        connections[slot].rotateAt = at
        wake(at: at)
    }

    /// - Parameter retryAfter: The least wait that the server asked for. It is the host's: it outlives the connection, and other connections wait too.
    mutating func closed(_ id: ConnectionID, reason: String, retryAfter: Duration? = nil) {
        guard let slot = slot(id) else { return }
        switch connections[slot].phase {
        case .connecting, .open: break
        case .waiting, .idle: return
        }
        let verified = connections[slot].streams.sorted().map { ($0, verifiedAt($0)) }
        if connections[slot].phase == .open { counters.disconnects &+= 1 }
        if let retryAfter {
            let until = now.instant + min(retryAfter, configuration.longestRetryAfter)
            hostAllowedAt[connections[slot].endpoint / Self.endpointsPerUpstream, default: [:]][connections[slot].host] = until
        }
        abandonRotation(slot)
        connections[slot].rotateAt = nil
        guard !connections[slot].streams.isEmpty else {
            connections[slot].forgetRequests()
            connections[slot].phase = .idle
            return
        }
        let until = now.instant + connections[slot].backoff.next(using: &random)
        connections[slot].phase = .waiting(until: until)
        connections[slot].forgetRequests()
        wake(at: until)
        for (index, moment) in verified where connections[slot].streams.contains(index) { lose(index, reason: reason, verifiedAt: moment) }
    }

    /// As `closed`, but readers are told that it is of no use for now, and it is tried again late.
    mutating func refused(_ id: ConnectionID, _ error: FeedError) {
        guard let slot = slot(id), connections[slot].phase == .open || connections[slot].phase == .connecting else { return }
        closed(id, reason: error.message)
        guard connections[slot].phase != .idle else { return }
        let until = now.instant + configuration.refusedRetry
        connections[slot].phase = .waiting(until: until)
        wake(at: until)
        for index in connections[slot].streams.sorted() { reject(index, error) }
    }

    private mutating func lose(_ index: Int, reason: String, verifiedAt moment: Instant?) {
        let wasConnected = streams[index]?.audience.isConnected
        streams[index]?.subscription = .none(again: nil)
        streams[index]?.freshness.lose()
        streams[index]?.fetching.running?.followsSubscription = false
        streams[index]?.audit.running = nil
        // The socket's own backoff goes before the next snapshot, so a book need not wait twice.
        if streams[index]?.rule == .book { streams[index]?.fetching.backoff.reset() }
        keepForBackfill(index)
        streams[index]?.content.outliveConnection()
        if wasConnected != false {
            streams[index]?.audience.isConnected = false
            publish(index, .disconnected(reason: reason))
        }
        guard wasConnected == true else { return }
        beginOutage(index, verifiedAt: moment)
    }

    private mutating func subscriptionEnded(_ index: Int, _ error: FeedError?) {
        if let error { return reject(index, error) }
        lose(index, reason: "the upstream ended the subscription", verifiedAt: verifiedAt(index))
        let at = now.instant + (streams[index]?.fetching.backoff.next(using: &random) ?? .zero)
        streams[index]?.subscription = .none(again: at)
        wake(at: at)
    }

    /// A subscription that the upstream had ended is asked for again, unless its connection is down, which asks for it once it is back.
    private mutating func resubscribe(_ index: Int) {
        streams[index]?.subscription = .none(again: nil)
        guard let stream = streams[index], connections[stream.connection].phase == .open else { return }
        streams[index]?.fetching.isNeeded = stream.traits.hasSnapshotSource
        enqueueSubscription(index, connection: stream.connection)
    }

    mutating func heard(_ id: ConnectionID) {
        guard let slot = slot(id) else { return }
        hear(slot)
    }

    private mutating func hear(_ slot: Int) {
        if let pingedAt = connections[slot].pingedAt {
            let took = Duration.nanoseconds(now.instant.nanoseconds &- pingedAt.nanoseconds)
            connections[slot].roundTrip = max(took, connections[slot].roundTrip * 7 / 8)
            connections[slot].pingedAt = nil
        }
        connections[slot].lastHeard = now.instant
    }

    mutating func passDeadlines(connection slot: Int) {
        switch connections[slot].phase {
        case .idle, .connecting: break
        case .waiting(let until):
            if until <= now.instant { connect(slot) } else { wake(at: until) }
        case .open:
            guard !isDead(slot) else {
                let id = connections[slot].id
                let silence = now.instant.milliseconds(since: connections[slot].lastHeard)
                effects.append(.disconnect(id))
                closed(id, reason: "nothing was heard for \(silence) ms, nor an answer to a ping")
                return
            }
            if connections[slot].quietLookAt <= now.instant {
                connections[slot].quietLookAt = now.instant + configuration.pingInterval
                leaveIfQuiet(slot)
            }
            wake(at: connections[slot].quietLookAt)
            if let at = connections[slot].rotateAt {
                if at <= now.instant { rotate(slot) } else { wake(at: at) }
            }
            if let until = connections[slot].overlapUntil {
                if until <= now.instant { endOverlap(slot) } else { wake(at: until) }
            }
        }
    }

    /// Whether a ping was not answered in time. A connection that is silent for longer than it ever is is pinged.
    private mutating func isDead(_ slot: Int) -> Bool {
        if let pingedAt = connections[slot].pingedAt {
            let deadAt = max(pingedAt + pongWait(slot), judgesFrom)
            if deadAt <= now.instant { return true }
            wake(at: deadAt)
            return false
        }
        let pingAt = connections[slot].lastHeard + connections[slot].cadence.patience(atMost: configuration.pingInterval)
        if pingAt <= now.instant { ping(slot) } else { wake(at: pingAt) }
        return false
    }

    /// One paced sender per connection: a message now if one is allowed, the rest when its time comes.
    mutating func sendControl() {
        for slot in connections.indices where connections[slot].hasControlToSend {
            if connections[slot].controlAt <= now.instant {
                sendControlMessage(slot)
                connections[slot].controlAt = now.instant + configuration.controlInterval
            }
            if connections[slot].hasControlToSend { wake(at: connections[slot].controlAt) }
        }
    }

    private mutating func sendControlMessage(_ slot: Int) {
        lastRequest &+= 1
        let id = connections[slot].id
        if !connections[slot].toUnsubscribe.isEmpty {
            let names = Array(connections[slot].toUnsubscribe.prefix(configuration.namesPerMessage))
            connections[slot].toUnsubscribe.removeFirst(names.count)
            effects.append(.unsubscribe(id, names, request: lastRequest))
            return
        }
        let batch = connections[slot].toSubscribe.prefix(configuration.namesPerMessage)
        connections[slot].toSubscribe.removeFirst(batch.count)
        var names: [FuturesServiceStreamName] = []
        var awaited: [FuturesServiceStreamName] = []
        for index in batch {
            guard let stream = streams[index] else { continue }
            names.append(stream.name)
            if stream.traits.isAcknowledged { awaited.append(stream.name) }
            guard stream.connection == slot else {
                if !stream.traits.isAcknowledged { connections[slot].covered.insert(index) }
                continue
            }
            let standsAt = stream.traits.isAcknowledged ? nil : now.instant + configuration.acknowledgementWait
            streams[index]?.subscription = .requested(standsAt: standsAt)
            if let standsAt { wake(at: standsAt) }
            if stream.fetching.isNeeded, stream.fetching.running == nil,
                stream.rule != .replace || stream.contentID == nil || stream.freshness.outage != nil
            {
                fetch(index, at: now.instant + configuration.acknowledgementWait)
            }
        }
        if !awaited.isEmpty { connections[slot].requests[lastRequest] = awaited }
        effects.append(.subscribe(id, names, request: lastRequest))
    }

    /// What is due of a subscription: it is asked for again, or taken to stand.
    mutating func passDeadlines(subscriptionOf index: Int) {
        switch streams[index]?.subscription {
        case .none(let at?)?: if at <= now.instant { resubscribe(index) } else { wake(at: at) }
        case .requested(let at?)?: if at <= now.instant { subscriptionConfirmed(index) } else { wake(at: at) }
        case .none(nil)?, .queued?, .requested(nil)?, .effective?, nil: break
        }
    }

    mutating func received(_ id: ConnectionID, _ event: UpstreamEvent) {
        guard let slot = slot(id), connections[slot].phase == .open else { return }
        hear(slot)
        switch event {
        case .rows(let name, let rows, let eventTime):
            guard let index = indices[name], streams[index]?.state != .ended else {
                counters.ignoredEvents &+= 1
                return
            }
            connections[slot].backoff.reset()
            connections[slot].cadence.learn(now.instant.nanoseconds &- connections[slot].lastData.nanoseconds)
            connections[slot].lastData = now.instant
            connections[slot].quietRotations = 0
            if connections[slot].endpoint < Self.endpointsPerUpstream { webSocketHost = connections[slot].host }
            guard streams[index]?.connection == slot || takesOver(index, slot: slot, rows) else { return }
            // What still comes of a subscription that was given up, before it is asked for anew, does not continue into the next.
            if let stream = streams[index], stream.subscription.isQueued, stream.rule == .append || stream.rule == .book { return }
            guard isPlausible(index, rows, eventTime: eventTime) else { return }
            update(index, rows, eventTime: eventTime)
        case .acknowledged(let request):
            for name in connections[slot].requests.removeValue(forKey: request) ?? [] {
                guard let index = indices[name] else { continue }
                if streams[index]?.connection == slot { subscriptionConfirmed(index) } else { connections[slot].covered.insert(index) }
            }
        case .rejected(let request, let error):
            let names = request.flatMap { connections[slot].requests.removeValue(forKey: $0) } ?? []
            if names.isEmpty { counters.malformedFrames &+= 1 }
            for name in names {
                guard let index = indices[name], let stream = streams[index], stream.connection == slot, !stream.subscription.isNone else {
                    continue
                }
                reject(index, error)
            }
        case .malformed(let name, let message):
            counters.malformedFrames &+= 1
            guard let index = name.flatMap({ indices[$0] }) else { return }
            publish(index, .failed(FeedError(.malformed, message), fetch: false))
        case .goingAway:
            rotate(slot, isUrgent: true)
        case .reported(let name, let error):
            if let index = indices[name] { publish(index, .failed(error, fetch: false)) }
        case .ended(let name, let error):
            guard let index = indices[name], streams[index]?.connection == slot else { return }
            subscriptionEnded(index, error)
        case .unknown:
            counters.ignoredEvents &+= 1
        }
    }
}
