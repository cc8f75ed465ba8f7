/// The decisions of the feed: which streams are observed, subscribed and cached, and how fresh each of them is.
///
/// A value without IO. All input enters through `step`, which returns the effects to carry out. The core never blocks, reads no clock, and draws its
/// random numbers from a seed.
package struct FeedCore: Sendable {
    /// The first upstream has the endpoints below this number. Each other upstream has the same number of endpoints above it.
    package static let endpointsPerUpstream = 16

    /// The configuration, stored once by reference: a core is a value that calls may copy, so it is kept small.
    @dynamicMemberLookup
    final class Settings: Sendable {
        let all: Configuration
        init(_ all: Configuration) { self.all = all }

        subscript<Value>(dynamicMember field: KeyPath<Configuration, Value>) -> Value {
            @inline(__always) get { all[keyPath: field] }
        }
    }

    let traits: @Sendable (FuturesServiceStreamName) -> StreamTraits?
    /// The state that all streams share.
    var feed: FeedContext
    var streams = StreamTable()
    var streamsOfObserver: [ObserverID: [Int]] = [:]

    package var epoch: UInt64 { feed.epoch }
    /// The number of the newest event.
    package var sequence: UInt64 { feed.sequence }
    /// Counts since the start.
    package var counters: FeedCounters { feed.counters }

    /// - Parameters:
    ///   - epoch: A new number at every start.
    ///   - seed: The seed of the random delays.
    ///   - traits: The venue's properties of a stream; nil if the venue has no such stream.
    package init(
        configuration: Configuration, epoch: UInt64, seed: UInt64, traits: @escaping @Sendable (FuturesServiceStreamName) -> StreamTraits?
    ) {
        let upstreams = configuration.upstreams
        self.traits = { name in traits(name).flatMap { (0..<upstreams).contains($0.upstream) ? $0 : nil } }
        feed = FeedContext(Settings(configuration), epoch: epoch, seed: seed)
    }

    /// Processes one input and returns the effects to carry out, in order.
    package mutating func step(_ input: FeedInput, now: Moment) -> [FeedEffect] {
        var effects: [FeedEffect] = []
        step(input, now: now, &effects)
        return effects
    }

    /// Like `step(_:now:)`, but appends to `effects`. A reused array needs no new allocation for each step.
    ///
    /// - Parameter text: The venue's message, if `input` is one.
    package mutating func step(_ input: consuming FeedInput, now: Moment, text: MessageText? = nil, _ effects: inout [FeedEffect]) {
        swap(&feed.decisions.effects, &effects)
        defer {
            swap(&feed.decisions.effects, &effects)
            feed.text = nil
        }
        feed.now = now
        feed.text = text
        feed.punctuality.check(feed.decisions.nextDeadline, now.instant)
        switch consume input {
        case .observe(let observer, let names, let forceFetch): observe(observer, names, forceFetch: forceFetch)
        case .unobserve(let observer, let names): unobserve(observer, names)
        case .pause(let observer, let names): pause(observer, names)
        case .resume(let observer, let names): resume(observer, names)
        case .refetch(let name): streams[name]?.refetch(&feed)
        case .passOn(let name, let isWanted, let fromNewest): streams[name]?.want(isWanted, fromNewest: fromNewest, &feed)
        case .listed(let upstream, let result): listed(upstream, result)
        case .readers(let name, let count): streams[name]?.audience.readers = count
        case .usedWeight(let upstream, let used):
            if feed.upstreams.indices.contains(upstream) { feed.upstreams[upstream].rest.observe(used: used, now) }
        case .opened(let id): opened(id)
        case .closed(let id, let reason, let retryAfter): closed(id, reason: reason, retryAfter: retryAfter)
        case .refused(let id, let error): refused(id, error)
        case .heard(let id): heard(id)
        case .received(let id, let event): received(id, event)
        case .fetched(let name, let attempt, let result): fetched(name, attempt: attempt, result)
        case .told(let name, let newest): streams[name]?.told(newest, &feed)
        case .relay(let upstream, let id, let weight): relay(upstream, id, weight: weight)
        case .relayed(let upstream, let id, let error): relayed(upstream, id, error)
        case .deadline: passDeadlines()
        }
        sendControl()
    }

    /// When `step(.deadline)` is due next; nil if no deadline is set.
    ///
    /// It changes nothing. But an accessor that only reads would copy the core first.
    package var nextDeadline: Instant? { mutating get { feed.decisions.nextDeadline } }

    /// All connections, current and former.
    var connections: [Connection] { feed.pool.connections }

    /// Processes everything that is due and computes the next deadline.
    private mutating func passDeadlines() {
        let now = feed.now.instant
        feed.decisions.nextDeadline = nil
        for index in streams.indices { passDeadlines(stream: index) }
        startDueFetches()
        for upstream in feed.upstreams.indices { startRelays(upstream) }
        for index in streams.indices { streams[index]?.passAudit(&feed) }
        for slot in feed.pool.inTurn(now) { passDeadlines(connection: slot) }
    }

    private mutating func fetched(_ name: FuturesServiceStreamName, attempt: UInt64, _ result: Result<FetchedContent, FeedError>) {
        // Only a venue has a request weight; answers of other servers say nothing about its REST.
        // The stream may have ended in the meantime.
        if let traits = streams[name]?.traits ?? traits(name), traits.fetchWeight != 0 {
            feed.upstreams[traits.upstream].rest.answered(result.failure, to: attempt, last: feed.lastAttempt, feed.now.instant)
        }
        streams[name]?.fetched(attempt: attempt, result, &feed)
        doDeferred()
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
