/// The decisions of the feed: which streams are observed, subscribed and cached, and how fresh each of them is.
///
/// A value without IO. All input enters through `step`, which returns the effects to carry out. The core never blocks, reads no clock, and draws its
/// random numbers from a seed.
package struct FeedCore: Sendable {
    /// The venue has the endpoints below this number. Each other upstream has the same number of endpoints above it.
    package static let endpointsPerUpstream = 16

    /// Limits and times.
    package struct Configuration: Sendable {
        /// How long a subscription stays after its last reader left.
        package var linger: Duration = .seconds(60)
        /// A connection is pinged after at most this long without any frame (docs/reference/venues.md §4: the venue's own ping comes only every 5 min). A
        /// connection that is usually heard more often is pinged as soon as its silence is unusually long.
        package var pingInterval: Duration = .seconds(3)
        /// Bounds of the wait for an answer to a ping, which is two round trips. After that the connection is dead.
        package var pongWait: ClosedRange<Duration> = .seconds(1)...Duration.seconds(2)
        /// The longest time without any frame after which a connection is dead.
        package var deadAfter: Duration { pingInterval + pongWait.upperBound }
        /// Replaces a connection that answers pings but carries no data for this long, by a rotation. The delay doubles (at most ×16) while
        /// replacements stay silent. This does not disturb a quiet market, but it leaves a socket whose subscriptions the venue has lost.
        package var quietAfter: Duration = .seconds(60)
        /// The age at which a connection is replaced (the venues close it at 24 h). The longest time for which the old and the new connection run
        /// side by side. The wait before a failed rotation is retried.
        package var rotateAfter: Duration = .seconds(23 * 3600)
        package var overlap: Duration = .seconds(10)
        package var rotationRetry: Duration = .seconds(300)
        /// The first and the largest bound of the reconnect delay. From the third connection in a row that closed within half a second, the delay is
        /// at least sixteen times the first bound. Each further such connection multiplies that minimum by four.
        package var reconnectBase: Duration = .milliseconds(250)
        package var reconnectCap: Duration = .seconds(30)
        /// The wait before retrying an upstream that refused this client, or a refused subscription.
        package var refusedRetry: Duration = .seconds(60)
        /// The longest `Retry-After` that is honored before the next connection.
        package var longestRetryAfter: Duration = .seconds(3600)
        /// The shortest time between two connection attempts, over all connections to an upstream.
        package var connectInterval: Duration = .seconds(1)
        /// How many connections carry the same streams, by upstream; 1 by default, at most 4.
        package var lines: [Int: Int] = [:]
        func lines(to upstream: Int) -> Int { min(max(lines[upstream] ?? 1, 1), ConnectionPool.mostLines) }
        /// How long to wait for other lines to deliver messages that one line lacks.
        package var linePatience: Duration = .milliseconds(500)
        /// How many WebSocket and REST hosts the venue has, and after how many failed attempts in a row the next host is used.
        package var webSocketHosts = 1
        package var restHosts = 1
        package var attemptsPerHost = 2
        /// The first and the largest bound of the delay after a failed fetch.
        package var fetchBase: Duration = .seconds(1)
        package var fetchCap: Duration = .seconds(30)
        /// The shortest time from a refusal to the next request of the same stream, whatever the venue's `Retry-After` says.
        package var refusedFetchInterval: Duration = .seconds(1)
        /// The first and the largest bound of the delay when a book is rebuilt and the first attempt failed.
        package var resyncBase: Duration = .milliseconds(250)
        package var resyncCap: Duration = .seconds(3)
        /// The shortest time between two control messages on a connection: 5 per second; the venues disconnect at 10.
        package var controlInterval: Duration = .milliseconds(200)
        /// The number of names in one SUBSCRIBE.
        package var namesPerMessage = 100
        /// The number of streams on one connection (Aster and ApolloX allow 200).
        package var streamsPerConnection = 200
        /// How long a snapshot request waits for the acknowledgement of the subscription.
        package var acknowledgementWait: Duration = .seconds(2)
        /// The number of failed fetches after which an outage is reported as not recovered.
        package var recoverAttempts = 5
        /// Limits of one backfill: the number of requests, the number of messages held back meanwhile, and the wait for the venue's weight budget.
        package var backfillRequests = 20
        package var backfillHold = 10_000
        package var backfillPatience: Duration = .seconds(5)
        /// How often a book is compared with REST, and the share of the minute's weight that comparisons leave to others.
        package var auditInterval: Duration = .seconds(60)
        package var auditReserve = 0.5
        /// The request weight per minute until the venue announces its own limit, and the share of it that is left to others.
        package var weightLimit = 2400
        package var weightReserve = 0.1
        /// The share of the weight that readers' own refetches leave to recoveries.
        package var recoveryReserve = 0.3
        /// If the venue blocks REST for longer than this, lost streams are reported as unrecoverable for now.
        package var blockPatience: Duration = .seconds(30)
        /// The shortest pause of REST after status 429 or 418. It doubles with each such answer in a row, up to a minute.
        package var leastRetryAfter: Duration = .seconds(1)
        /// The pause of REST after status 429 or 418 without `Retry-After`.
        package var defaultRetryAfter: Duration = .seconds(60)
        /// The shortest time between two fetches of a stream that readers request. Earlier requests share the next fetch.
        package var refetchInterval: Duration = .seconds(1)
        /// How many requests of readers are passed on to the venue at the same time, and how long a request waits for its turn or for weight.
        package var relaysAtOnce = 8
        package var relayPatience: Duration = .seconds(10)

        package init() {}
    }

    let configuration: Settings
    /// The configuration, stored once by reference: a core is a value that calls may copy, so it is kept small.
    @dynamicMemberLookup
    final class Settings: Sendable {
        let all: Configuration
        init(_ all: Configuration) { self.all = all }

        subscript<Value>(dynamicMember field: KeyPath<Configuration, Value>) -> Value {
            @inline(__always) get { all[keyPath: field] }
        }
    }

    package internal(set) var epoch: UInt64
    let traits: @Sendable (FuturesServiceStreamName) -> StreamTraits?
    var random: SplitMix64

    var now = Moment(instant: Instant(nanoseconds: 0), wallClock: 0)
    var decisions = Decisions()
    /// Silence is not judged before this moment: the process itself was late, and messages that arrived meanwhile are still unread.
    var judgesFrom = Instant(nanoseconds: 0)
    /// The venue's time, derived from its data.
    var venueClock = VenueClock()

    /// The number of the newest event.
    package internal(set) var sequence: UInt64 = 0
    /// The venue's listing; nil until it arrives.
    package internal(set) var listing: VenueListing?
    /// Symbols that the last listing lacked, and symbols that two listings in a row lacked.
    var missing: Set<String> = []
    var gone: Set<String> = []
    var indices: [FuturesServiceStreamName: Int] = [:]
    var streams: [StreamState?] = []
    var freeIndices: [Int] = []
    var streamsOfObserver: [ObserverID: [Int]] = [:]
    var pool: ConnectionPool
    var lastAttempt: UInt64 = 0
    var rest: RESTGate
    var relays = RelayQueue()
    /// Counts since the start.
    package internal(set) var counters = FeedCounters()

    /// - Parameters:
    ///   - epoch: A new number at every start.
    ///   - seed: The seed of the random delays.
    ///   - traits: The venue's properties of a stream; nil if the venue has no such stream.
    package init(
        configuration: Configuration, epoch: UInt64, seed: UInt64, traits: @escaping @Sendable (FuturesServiceStreamName) -> StreamTraits?
    ) {
        let configuration = Settings(configuration)
        self.configuration = configuration
        self.epoch = epoch
        self.traits = traits
        random = SplitMix64(seed: seed)
        pool = ConnectionPool(configuration, seed: random.next())
        rest = RESTGate(configuration)
    }

    /// Processes one input and returns the effects to carry out, in order.
    package mutating func step(_ input: FeedInput, now: Moment) -> [FeedEffect] {
        var effects: [FeedEffect] = []
        step(input, now: now, &effects)
        return effects
    }

    /// Like `step(_:now:)`, but appends to `effects`. A reused array needs no new allocation for each step.
    package mutating func step(_ input: FeedInput, now: Moment, _ effects: inout [FeedEffect]) {
        swap(&decisions.effects, &effects)
        defer { swap(&decisions.effects, &effects) }
        self.now = now
        switch input {
        case .observe(let observer, let names, let forceFetch): observe(observer, names, forceFetch: forceFetch)
        case .unobserve(let observer, let names): unobserve(observer, names)
        case .pause(let observer, let names): pause(observer, names)
        case .resume(let observer, let names): resume(observer, names)
        case .refetch(let name): refetch(name)
        case .listed(let result): listed(result)
        case .readers(let name, let count): if let index = indices[name] { streams[index]?.audience.readers = count }
        case .usedWeight(let used): rest.observe(used: used, self.now)
        case .opened(let id): opened(id)
        case .closed(let id, let reason, let retryAfter): closed(id, reason: reason, retryAfter: retryAfter)
        case .refused(let id, let error): refused(id, error)
        case .heard(let id): heard(id)
        case .received(let id, let event): received(id, event)
        case .fetched(let name, let attempt, let result): fetched(name, attempt: attempt, result)
        case .told(let name, let newest): told(name, newest)
        case .relay(let id, let weight): relay(id, weight: weight)
        case .relayed(let id, let error): relayed(id, error)
        case .deadline: passDeadlines()
        }
        sendControl()
    }

    /// When `step(.deadline)` is due next; nil if no deadline is set.
    package var nextDeadline: Instant? { decisions.nextDeadline }

    /// All connections, current and former.
    var connections: [Connection] { pool.connections }

    /// Processes everything that is due and computes the next deadline.
    private mutating func passDeadlines() {
        if let due = decisions.nextDeadline {
            let lateness = now.instant.nanoseconds &- due.nanoseconds
            if lateness > Self.tolerableLateness { judgesFrom = now.instant + .nanoseconds(min(lateness, 1_000_000_000)) }
        }
        decisions.nextDeadline = nil
        for index in streams.indices where streams[index] != nil { passDeadlines(stream: index) }
        startDueFetches()
        startRelays()
        for index in streams.indices {
            guard let at = streams[index]?.audit.at else { continue }
            if at <= now.instant { audit(index) } else { wake(at: at) }
        }
        for slot in pool.inTurn(now.instant) { passDeadlines(connection: slot) }
    }

    /// If a deadline fires later than this, in nanoseconds, the process was suspended and silence is not judged for a while.
    private static let tolerableLateness: Int64 = 400_000_000

    mutating func wake(at instant: Instant) { decisions.wake(at: instant) }

    mutating func nextID() -> EventID {
        sequence &+= 1
        return EventID(epoch: epoch, sequence: sequence)
    }

    mutating func publish(_ index: Int, _ kind: FeedEvent.Kind) {
        guard let name = streams[index]?.name else { return }
        note(index, kind)
        let id = nextID()
        streams[index]?.audience.lastEvent = id.sequence
        let event = FeedEvent(stream: name, id: id, kind: kind)
        keepWhereItTellsOfTheConnection(event, index)
        decisions.effects.append(.publish(event))
    }

    mutating func setState(_ index: Int, _ state: FeedState) {
        guard let previous = streams[index]?.state, previous != state else { return }
        streams[index]?.state = state
        guard !(previous == .connecting && state == .live) else { return }
        let age = streams[index]?.receivedInstant.map { now.instant.milliseconds(since: $0) }
        publish(index, .status(state, ageMs: age, unverifiedMs: verifiedAt(index).map { now.instant.milliseconds(since: $0) }))
    }
}
