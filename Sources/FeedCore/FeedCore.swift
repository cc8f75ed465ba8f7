/// The decisions of the house: who wants which stream, what is subscribed, what is cached, what is known of its freshness.
///
/// A value without IO. Everything that happens enters by `step`, and what is to be done comes back as effects; the core waits for nothing,
/// reads no clock and draws its random numbers from a seed.
package struct FeedCore: Sendable {
    /// Endpoints below belong to the venue; from here on each other upstream has as many.
    package static let endpointsPerUpstream = 16

    /// Limits and times.
    package struct Configuration: Sendable {
        /// How long a subscription stays after its last reader left.
        package var linger: Duration = .seconds(60)
        /// After how long without any frame a connection is pinged at the latest (venues.md §4: the venue's own ping comes every 5 min only);
        /// one that is usually heard more often is pinged as soon as its silence is longer than it ever is.
        package var pingInterval: Duration = .seconds(3)
        /// How long an answer to a ping is waited for, two round trips within these bounds; then the connection is dead.
        package var pongWait: ClosedRange<Duration> = .seconds(1)...Duration.seconds(2)
        /// After how long without any frame a connection is dead at the latest.
        package var deadAfter: Duration { pingInterval + pongWait.upperBound }
        /// After how long without data a connection that answers pings is replaced, as one that ages is; each time in a row that the next one
        /// is silent too doubles it, four times at most. A quiet market is not disturbed by it, and a socket the venue forgot is left.
        package var quietAfter: Duration = .seconds(60)
        /// At which age a connection is replaced (the venues cut it at 24 h), how long the old and the new one run side by side at most, and how
        /// long a rotation that failed waits for another try.
        package var rotateAfter: Duration = .seconds(23 * 3600)
        package var overlap: Duration = .seconds(10)
        package var rotationRetry: Duration = .seconds(300)
        /// The first bound of the delay before a reconnect, and the last. From the third connection in a row on that closed within half a second, the
        /// delay is at least sixteen times the first bound, and each further one makes that four times as long.
        package var reconnectBase: Duration = .milliseconds(250)
        package var reconnectCap: Duration = .seconds(30)
        /// When an upstream that refused this client, or a subscription, is tried again.
        package var refusedRetry: Duration = .seconds(60)
        /// The most of a wait that a server asks for before the next connection.
        package var longestRetryAfter: Duration = .seconds(3600)
        /// The least time between two attempts to connect, over all connections to an upstream.
        package var connectInterval: Duration = .seconds(1)
        /// How many connections carry the same streams, by upstream; one where nothing is said, four at most.
        package var lines: [Int: Int] = [:]
        func lines(to upstream: Int) -> Int { min(max(lines[upstream] ?? 1, 1), ConnectionPool.mostLines) }
        /// How long what is missing on one line is waited for on the others.
        package var linePatience: Duration = .milliseconds(500)
        /// How many hosts the venue has for WebSocket and for REST, and how many attempts in a row one has to fail before the next one's turn.
        package var webSocketHosts = 1
        package var restHosts = 1
        package var attemptsPerHost = 2
        /// The same for a fetch that failed.
        package var fetchBase: Duration = .seconds(1)
        package var fetchCap: Duration = .seconds(30)
        /// The least time from a refusal to the next request of the same stream, whatever the venue's `Retry-After` says.
        package var refusedFetchInterval: Duration = .seconds(1)
        /// The same for a book that has to be built anew, once it failed at first try.
        package var resyncBase: Duration = .milliseconds(250)
        package var resyncCap: Duration = .seconds(3)
        /// The least time between two control messages on a connection: 5 a second, where the venues cut at 10.
        package var controlInterval: Duration = .milliseconds(200)
        /// Names in one SUBSCRIBE.
        package var namesPerMessage = 100
        /// Streams on one connection (Aster and ApolloX allow 200).
        package var streamsPerConnection = 200
        /// How long complete data waits for an acknowledgement of the subscription.
        package var acknowledgementWait: Duration = .seconds(2)
        /// How many failed fetches end an outage as not recovered.
        package var recoverAttempts = 5
        /// How many requests a hole may cost to be filled, how many messages are held back meanwhile, and how long for
        /// the venue's budget.
        package var backfillRequests = 20
        package var backfillHold = 10_000
        package var backfillPatience: Duration = .seconds(5)
        /// How often a book is compared with REST, and the share of the minute's weight that comparisons leave to others.
        package var auditInterval: Duration = .seconds(60)
        package var auditReserve = 0.5
        /// The request weight of a minute, until the venue tells its own, and the share of it that is left to others.
        package var weightLimit = 2400
        package var weightReserve = 0.1
        /// The share of it that readers' own refetches leave to recoveries.
        package var recoveryReserve = 0.3
        /// For how long the venue has to ask not to be asked over REST until lost streams are told that they cannot be brought back for now.
        package var blockPatience: Duration = .seconds(30)
        /// The least time to leave REST alone after 429 or 418. It doubles with each such answer in a row, up to a minute.
        package var leastRetryAfter: Duration = .seconds(1)
        /// How long to leave REST alone after 429 or 418 without a word from the venue.
        package var defaultRetryAfter: Duration = .seconds(60)
        /// The least time between two fetches of a stream that readers ask for: those who ask too soon are given the next one together.
        package var refetchInterval: Duration = .seconds(1)
        /// How many requests of readers are passed on to the venue at one time, and how long one waits for its turn or for weight.
        package var relaysAtOnce = 8
        package var relayPatience: Duration = .seconds(10)

        package init() {}
    }

    let configuration: Settings
    /// The configuration, held once: a core is a value that calls may copy, so it is kept small.
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
    /// Silence is not judged before: this process itself was late, and what came meanwhile is still to be read.
    var judgesFrom = Instant(nanoseconds: 0)
    /// The venue's time, as its data tell it.
    var venueClock = VenueClock()

    /// The newest event's number.
    package internal(set) var sequence: UInt64 = 0
    /// What the venue lists; nil until it has told.
    package internal(set) var listing: VenueListing?
    /// Symbols that the last list of the venue lacked, and those that two lists in a row lacked.
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
    /// What happened since the start.
    package internal(set) var counters = FeedCounters()

    /// - Parameters:
    ///   - epoch: new at every start.
    ///   - seed: of the jitter.
    ///   - traits: what a stream is to the venue; nil where the venue has none of that name.
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

    /// Takes one input and says what is to be done about it, in order.
    package mutating func step(_ input: FeedInput, now: Moment) -> [FeedEffect] {
        var effects: [FeedEffect] = []
        step(input, now: now, &effects)
        return effects
    }

    /// The same, behind what was decided before: an array that is used again needs no memory of its own for each step.
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

    /// When `step(.deadline)` is due next; nil if nothing is waited for.
    package var nextDeadline: Instant? { decisions.nextDeadline }

    /// Every connection there is or was.
    var connections: [Connection] { pool.connections }

    /// Everything that was due is done, and the next deadline looked up anew.
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

    /// By how much a deadline may be passed late, nanoseconds, until silence is judged with care.
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
