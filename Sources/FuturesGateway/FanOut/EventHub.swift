import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Replication
import Rings

/// Connects the feed with the readers: appends every event to the rings of its stream, counts the readers of each stream, keeps snapshots, and handles requests
/// that wait.
///
/// It runs on the feed's thread, and contents change only there. Values and posted commands therefore belong to the same moment.
/// The hub knows which streams each reader has; the fan-out thread has the cursors.
final class EventHub: FeedListener {
    /// A stream that has readers, or recently had.
    final class Stream {
        /// The indices of the stream's rings in the fan-out, by format; nil for a format without readers so far.
        var rings: [Int?] = EventFormat.allCases.map { _ in nil }
        /// The name list shared by readers of this stream alone.
        private var aloneNames: [FuturesServiceStreamName]?
        /// How many readers it has: event connections including paused ones, waiting requests, and one if it is pinned.
        var demand = 0
        var waiters: [UInt64: Waiter] = [:]
        /// The address that started the stream; nil if it is a local address, or if the stream is pinned.
        var beginner: Address?
        /// The snapshot as an event, by format.
        var cachedEvents: [CachedEvent?] = EventFormat.allCases.map { _ in nil }
        var cachedSnapshots = CachedSnapshots()
        /// The prepared answers to remove when the stream changes.
        var prepared: [PreparedAnswers.Key] = []
        /// The index of its kind in the tally; nil before its first event.
        var kind: Int?
        /// The last failure; nil if content has arrived since.
        var failure: FeedError?

        init(beginner: Address? = nil) { self.beginner = beginner }

        /// A list with only this stream's name, shared by all its readers.
        func alone(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
            if aloneNames == nil { aloneNames = names }
            return aloneNames ?? names
        }
    }

    /// A snapshot as an event, with its source and time.
    struct CachedEvent {
        let id: EventID
        let state: FeedState
        let madeAt: Instant
        let body: [UInt8]
    }

    /// A stream's snapshot as JSON, by depth; depth 0 is the whole snapshot.
    struct CachedSnapshots {
        var id: EventID?
        var state: FeedState?
        /// When they were encoded, which is the time of the freshness in them.
        var madeAt = Instant(nanoseconds: 0)
        var bodies: [Int: SharedBytes] = [:]
        /// The bodies as gzip, if requested so far.
        var compressed: [Int: SharedBytes] = [:]
    }

    /// A request that waits for a stream.
    struct Waiter {
        let awaited: Awaited
        var timeout: Scheduled<Void>
        /// Called after the timeout: how much longer to wait; nil to give up.
        let longer: () -> Duration?
        let answer: (Result<Void, FeedError>) -> Void
    }

    /// The event that a request waits for.
    enum Awaited {
        /// Any content.
        case value
        /// The result of a fetch that the request started.
        case fetch
        /// A change of the content or of the state.
        case change
    }

    /// The mutable state; used only on the feed's thread.
    struct State {
        var streams: [FuturesServiceStreamName: Stream] = [:]
        /// How many streams each address started.
        var begun: [Address: Int] = [:]
        var clients: [UInt64: Client] = [:]
        /// The clients' numbers, by half of their ids.
        var numbers: [UInt64: UInt64] = [:]
        var lastHolder: Holder?
        /// The last number assigned to a client or a waiting request.
        var lastNumber: UInt64 = 0
        /// Streams that stay subscribed without readers.
        var pinned: [FuturesServiceStreamName] = []
        /// Whether the gateway will stop soon. It reports this to load balancers but still serves.
        var isLeaving = false
        var isDraining = false
        let deflater = Deflater(level: 6)
        var tally: FeedTally
        /// The last fault of each upstream; nil if there was none.
        var troubles: [Trouble?]
        /// How many clients have paused at least one stream.
        var pausedClients = 0
        /// The newest event of a stream whose rings were dropped. A reader with an older event cannot receive all missed events.
        var lastDropped: UInt64 = 0
        /// Passes events to the tape; nil if nothing is recorded.
        var tape: TapeFeeder?
        var replays: Replays?
        var notifier = Notifier()
        /// Called when the last client has left while draining.
        var drained: (() -> Void)?
    }

    let feed: any ServedFeed
    let tables = StatusTables()
    let limits: GatewayConfiguration.Events
    let gatekeeper: Gatekeeper
    let state: NIOLoopBoundBox<State>
    let rings: EventRings
    private let demand: ObserverID
    let preparedAnswers: PreparedAnswers
    /// Whether memory is short.
    let isShort: @Sendable () -> Bool

    /// - Parameters:
    ///   - preparedAnswers: The responses that the server's threads send without asking the hub.
    ///   - isShort: Whether memory is short; called from the feed's thread.
    ///   - rings: The rings, and the inboxes of the fan-out threads.
    init(
        feed: any ServedFeed, limits: GatewayConfiguration.Events, gatekeeper: Gatekeeper, preparedAnswers: PreparedAnswers,
        isShort: @escaping @Sendable () -> Bool, rings: EventRings
    ) {
        self.isShort = isShort
        self.preparedAnswers = preparedAnswers
        self.feed = feed
        self.limits = limits
        self.gatekeeper = gatekeeper
        self.rings = rings
        state = NIOLoopBoundBox.makeBoxSendingValue(
            State(tally: FeedTally(upstreams: feed.dialect.upstreams.map(\.name)), troubles: feed.dialect.upstreams.map { _ in nil }),
            eventLoop: feed.loop)
        demand = feed.add(nil)
    }

    /// Runs `work` on the feed's thread, after all work submitted earlier. Call it from any thread.
    func run(_ work: @escaping @Sendable (EventHub) -> Void) {
        feed.loop.execute { work(self) }
    }

    /// Appends the event to its rings, in every format that has one, and answers the requests that wait for it.
    func receive(_ event: EncodedEvent) {
        if !event.isLocal { state.value.tape?.record(event) }
        guard let stream = append(event) else { return }
        count(event, of: stream)
        noteChange(of: event.stream)
        switch (event.kind, event.detail) {
        case (.fetchedValue, _), (.fetchedChange, _): answerWaiters(event.stream, .success(())) { _ in true }
        case (.value, _), (.change, _): answerWaiters(event.stream, .success(())) { $0.awaited != .fetch }
        case (.status, _): answerWaiters(event.stream, .success(())) { $0.awaited == .change }
        case (.fetchFailed, .failed(let error)): answerWaiters(event.stream, .failure(error)) { $0.awaited == .fetch }
        // The hub is a single observer of the core, however many readers it has. The core fetches the streams with the most readers first.
        case (.disconnected, _): feed.step(.readers(event.stream, stream.demand))
        default: break
        }
    }

    /// Appends the event to its rings, in every format that has one; nil if readers do not get it.
    @discardableResult
    func append(_ event: EncodedEvent) -> Stream? {
        guard let words = event.words else {
            guard event.kind == .ended else { return nil }
            forgetAnswers(event.stream)
            state.value.lastDropped = event.id.sequence
            drop(event.stream)
            return nil
        }
        let stream = stream(event.stream, floor: max(feed.floor(before: event.id), state.value.lastDropped))
        forgetAnswers(stream)
        let receivedAt = event.receivedAt?.nanoseconds ?? Moment.current.instant.nanoseconds
        // Only the process that received a message knows how long the event took.
        var eventTime: Int64?
        if event.receivedAt != nil, case .content(let time, _, _) = event.detail { eventTime = time }
        let carriesData = words.id != nil
        for format in EventFormat.allCases {
            guard let ring = stream.rings[format.rawValue] else { continue }
            var (body, id) = format.parts(words, of: event.stream.description)
            if !carriesData { body += format.end(nil) }
            rings.append(
                ring, body: body, id: id, carriesData: carriesData, sequence: event.id.sequence, eventTime: eventTime, receivedAt: receivedAt)
        }
        return stream
    }

    /// Disconnects all readers. They reconnect immediately and get snapshots, because the log no longer contains their ids.
    func beginAnew() {
        state.value.tape?.breakOff()
        for number in state.value.clients.keys {
            end(number, code: "reset", reason: "The log has lost events; reconnect to get snapshots.")
        }
    }

    func receiveContent(of name: FuturesServiceStreamName) {
        forgetAnswers(name)
        noteChange(of: name)
        for (number, client) in state.value.clients where client.isOpen && client.streams.contains(name) {
            if let ring = state.value.streams[name]?.rings[client.options.format.rawValue] { refill(number, ring: ring) }
        }
    }

    /// The index of the stream's ring for a format. Adds the ring if there is none. A ring of another format than `events` starts with the newest
    /// events of the stream's `events` ring.
    ///
    /// - Parameter floor: The sequence of the newest event before the ring; nil for the feed's newest.
    func ring(of name: FuturesServiceStreamName, _ format: EventFormat, floor: UInt64? = nil) -> Int {
        let stream = stream(name, floor: floor)
        if let ring = stream.rings[format.rawValue] { return ring }
        let ring = rings.add(name, format, floor: floor ?? feed.head.sequence, like: stream.rings[EventFormat.events.rawValue])
        stream.rings[format.rawValue] = ring
        return ring
    }

    /// The stream, with at least an `events` ring.
    func stream(_ name: FuturesServiceStreamName, floor: @autoclosure () -> UInt64? = nil) -> Stream {
        let known = state.value.streams[name]
        if let known, known.rings[EventFormat.events.rawValue] != nil { return known }
        let stream = known ?? Stream()
        stream.rings[EventFormat.events.rawValue] = rings.add(name, .events, floor: floor() ?? feed.head.sequence, like: nil)
        state.value.streams[name] = stream
        tables.outdate()
        return stream
    }

    /// Counts the event for the metrics, and keeps what went wrong: the stream's last failure until content arrives, and its upstream's last trouble.
    private func count(_ event: EncodedEvent, of stream: Stream) {
        let kind = stream.kind ?? state.value.tally.kind(of: event.stream)
        stream.kind = kind
        state.value.tally.count(event, kind)
        if event.kind.carriesData { stream.failure = nil }
        if case .failed(let error) = event.detail { stream.failure = error }
        noteTrouble(event.detail, upstream: state.value.tally.kinds[kind].upstream)
    }

    /// Removes a stream that has ended and has no readers, and its rings.
    func drop(_ name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name], stream.demand == 0 else { return }
        state.value.streams[name] = nil
        if let beginner = stream.beginner {
            let left = (state.value.begun[beginner] ?? 0) - 1
            state.value.begun[beginner] = left > 0 ? left : nil
        }
        tables.outdate()
        for ring in stream.rings.compactMap(\.self) { rings.remove(ring) }
    }

    /// Checks whether this address may start these streams. Streams that are already started need no room.
    ///
    /// - Throws: `full` if the limit of streams is reached or memory is short; `limited` if the address has started as many streams as allowed.
    nonisolated func cost(ofFetching names: [FuturesServiceStreamName]) -> VenueCost {
        let weight = names.reduce(0) { $0 + (feed.dialect.traits(of: $1)?.fetchWeight ?? 0) }
        return VenueCost(refetches: names.count, weight: weight, of: feed.weight.limit)
    }

    func checkRoom(for names: [FuturesServiceStreamName], from address: Address?) throws(Refusal) {
        guard feed.isServing else { throw .starting }
        let new = names.count { state.value.streams[$0] == nil }
        guard new > 0 else { return }
        guard state.value.streams.count + new <= limits.maximumStreams, !isShort() else { throw .full }
        guard let client = address?.limited else { return }
        do throws(LimitReached) { try gatekeeper.begin(streams: new, besides: state.value.begun[client] ?? 0) } catch { throw .limited(error) }
    }

    /// Records that this address starts those of these streams that are not started yet.
    func begin(_ names: [FuturesServiceStreamName], from address: Address?) {
        guard let client = address?.limited else { return }
        for name in names where state.value.streams[name] == nil {
            state.value.streams[name] = Stream(beginner: client)
            state.value.begun[client, default: 0] += 1
        }
    }

    /// The hub's own copies of these names, so that readers of a stream share the memory of its name.
    func known(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        if names.count == 1 { return stream(names[0]).alone(names) }
        return names.map { name in
            _ = stream(name)
            return state.value.streams.index(forKey: name).map { state.value.streams[$0].key } ?? name
        }
    }

    /// Counts one more reader of each stream. The first reader of a stream subscribes.
    func retain(_ names: [FuturesServiceStreamName], forceFetch: Bool = false) {
        var new: [FuturesServiceStreamName] = []
        for name in names {
            let stream = stream(name)
            stream.demand += 1
            if stream.demand == 1 { new.append(name) }
        }
        if !new.isEmpty { feed.step(.observe(demand, new, forceFetch: false)) }
        if forceFetch { for name in names { feed.step(.refetch(name)) } }
    }

    /// Counts one reader less of each stream. After the last one, the linger starts.
    func release(_ names: [FuturesServiceStreamName]) {
        var gone: [FuturesServiceStreamName] = []
        for name in names {
            guard let stream = state.value.streams[name], stream.demand > 0 else {
                assertionFailure("\(name) lost more readers than it had.")
                continue
            }
            stream.demand -= 1
            if stream.demand == 0 { gone.append(name) }
        }
        if !gone.isEmpty { feed.step(.unobserve(demand, gone)) }
    }

    /// Counts the hub itself as a reader of these streams, and no longer of those that were pinned before.
    func pin(_ names: [FuturesServiceStreamName]) {
        let gone = state.value.pinned
        state.value.pinned = Array(Set(names))
        retain(state.value.pinned)
        release(gone)
    }

    /// Waits for an event of a stream. The waiting request counts as a reader of the stream.
    ///
    /// - Parameters:
    ///   - longer: Called after `timeout`, and after each further wait: how much longer to wait; nil to give up.
    ///   - answer: Called once, on the feed's thread; with `timedOut` if the event did not occur.
    /// - Returns: A number for `abandon`.
    @discardableResult
    func wait(
        for name: FuturesServiceStreamName, _ awaited: Awaited, timeout: Duration, from address: Address?,
        longer: @escaping () -> Duration? = { nil },
        _ answer: @escaping (Result<Void, FeedError>) -> Void
    ) -> UInt64 {
        state.value.lastNumber &+= 1
        let number = state.value.lastNumber
        let task = feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { self.expire(name, number, timeout) }
        begin([name], from: address)
        retain([name])
        state.value.streams[name]?.waiters[number] = Waiter(awaited: awaited, timeout: task, longer: longer, answer: answer)
        if awaited == .fetch { feed.step(.refetch(name)) }
        return number
    }

    private func expire(_ name: FuturesServiceStreamName, _ number: UInt64, _ timeout: Duration) {
        guard let longer = state.value.streams[name]?.waiters[number]?.longer() else {
            return answer(name, number, .failure(FeedError(.timedOut, "No data of \(name) arrived within \(timeout).")))
        }
        state.value.streams[name]?.waiters[number]?.timeout = feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(longer)) {
            self.expire(name, number, timeout)
        }
    }

    /// Ends the wait with this number, because its client has left.
    func abandon(_ name: FuturesServiceStreamName, _ number: UInt64) {
        answer(name, number, .failure(FeedError(.timedOut, "No client waits for \(name) any more.")))
    }

    /// Answers all requests that wait for a change, because the gateway is stopping.
    func answerLongPolls() {
        for name in state.value.streams.keys { answerWaiters(name, .success(())) { $0.awaited == .change } }
    }

    func answerWaiters(_ name: FuturesServiceStreamName, _ result: Result<Void, FeedError>, _ matches: (Waiter) -> Bool) {
        guard let waiters = state.value.streams[name]?.waiters, !waiters.isEmpty else { return }
        for (number, waiter) in waiters where matches(waiter) { answer(name, number, result) }
    }

    private func answer(_ name: FuturesServiceStreamName, _ number: UInt64, _ result: Result<Void, FeedError>) {
        guard let waiter = state.value.streams[name]?.waiters.removeValue(forKey: number) else { return }
        waiter.timeout.cancel()
        waiter.answer(result)
        release([name])
    }

    var isDraining: Bool { state.value.isDraining }

    /// Whether the stream has ended, or its symbol is settled.
    func isRetired(_ name: FuturesServiceStreamName) -> Bool {
        feed.status(of: name)?.state == .ended || feed.isSettled(name)
    }

    /// Whether the name is a stream of a symbol that the venue has settled. Call it from any thread.
    nonisolated func isSettled(_ name: FuturesServiceStreamName) -> Bool { feed.isSettled(name) }

    /// Whether the name is a stream that can be read. Call it from any thread.
    nonisolated func knows(_ name: FuturesServiceStreamName) -> Bool {
        if feed.knows(name) { return true }
        if feed.dialect.traits(of: name) != nil, !feed.isSettled(name) { feed.refreshListing() }
        return false
    }
}
