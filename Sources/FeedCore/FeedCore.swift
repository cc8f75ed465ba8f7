/// The decisions of the feed: which streams are observed, subscribed and cached, and how fresh each of them is.
///
/// A value without IO. All input enters through `step`, which returns the effects to carry out. The core never blocks, reads no clock, and draws its
/// random numbers from a seed.
package struct FeedCore: Sendable {
    /// The venue has the endpoints below this number. Each other upstream has the same number of endpoints above it.
    package static let endpointsPerUpstream = 16

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
    /// Silence is not judged before this moment: the process itself was late, and messages that arrived in the meantime are still unread.
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
