import DequeModule
import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Replication
import Rings
import Zlib

/// Connects the feed with the readers: appends every event to the rings of its stream, counts the readers of each stream, keeps snapshots, and handles requests
/// that wait.
///
/// It runs on the feed's thread, and contents change only there. Values and posted commands therefore belong to the same moment.
/// The hub knows which streams each reader has; the fan-out thread has the cursors.
final class EventHub: FeedListener {
    /// The mutable state; used only on the feed's thread.
    struct State {
        var streams = HubStreams()
        var readers: Readers
        var notifier = Notifier()
        /// The last number assigned to a connection or a waiting request.
        var lastNumber: UInt64 = 0
        /// Streams that stay subscribed without readers.
        var pinned: [FuturesServiceStreamName] = []
        /// Whether the gateway will stop soon. It reports this to load balancers but still serves.
        var isLeaving = false
        var isDraining = false
        /// Called when the last connection has ended while draining.
        var drained: (() -> Void)?
        let deflater = Deflater(level: 6)
        var tally: FeedTally
        /// The last fault of each upstream; nil if there was none.
        var troubles: [Trouble?]
        /// The newest event of a stream whose rings were dropped. A reader with an older event cannot receive all missed events.
        var lastDropped: UInt64 = 0
        /// The number of the newest message of the venue.
        var lastMessage: UInt64 = 0
        /// Messages of sockets' clients that are not answered yet, in the order of their arrival.
        var socketRequests: Deque<(number: UInt64, text: [UInt8])> = []
        /// The sockets with names that no stream has.
        var unservedSockets: Set<UInt64> = []
        /// The listed symbols when those names were last looked up.
        var servedSymbols: [Set<String>] = []
        /// Looks after the sockets; nil while there are none.
        var socketWatch: RepeatedTask?
        /// Passes events to the tape; nil if nothing is recorded.
        var tape: TapeFeeder?
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
            State(
                readers: Readers(node: feed.peers?.name ?? ""), tally: FeedTally(upstreams: feed.dialect.upstreams.map(\.name)),
                troubles: feed.dialect.upstreams.map { _ in nil }),
            eventLoop: feed.loop)
        demand = feed.add(nil)
    }

    /// Runs `work` on the feed's thread, after all work submitted earlier. Call it from any thread.
    func run(_ work: @escaping @Sendable (EventHub) -> Void) {
        feed.loop.execute {
            self.feed.passDueDeadlines()
            work(self)
        }
    }

    /// Appends the event to its rings, in every format that has one, and answers the requests that wait for it.
    func receive(_ event: EncodedEvent) {
        if !event.isLocal { state.value.tape?.record(event) }
        guard let stream = append(event) else { return }
        count(event, of: stream)
        noteChange(of: event.stream)
        let answered = stream.waiters.take(answeredBy: event, isConnecting: feed.status(of: event.stream)?.state == .connecting)
        for waiter in answered.waiters { answer(waiter, event.stream, answered.answer) }
        // The hub is a single observer of the core, however many readers it has. The core fetches the streams with the most readers first.
        if event.kind == .disconnected { feed.step(.readers(event.stream, stream.demand)) }
    }

    /// Appends the event to its rings, in every format that has one; nil if readers do not get it.
    @discardableResult
    func append(_ event: EncodedEvent) -> HubStream? {
        guard let words = event.words else {
            guard event.kind == .ended else { return nil }
            forgetAnswers(event.stream)
            state.value.lastDropped = event.id.sequence
            end(event.stream, at: event.id.sequence)
            return nil
        }
        let stream = stream(event.stream, floor: max(feed.floor(before: event.id), state.value.lastDropped))
        forgetAnswers(stream)
        let receivedAt = event.receivedAt?.nanoseconds ?? Instant.current.nanoseconds
        // Only the process that received a message knows how long the event took.
        var eventTime: Int64?
        if event.receivedAt != nil, case .content(let time, _, _) = event.detail { eventTime = time }
        for format in EventFormat.ofEvents {
            guard let ring = stream.rings[format.rawValue] else { continue }
            let (text, idStart) = format.text(words, of: event.stream.description)
            rings.append(
                ring, text: text, idStart: idStart, carriesData: words.id != nil, sequence: event.id.sequence, eventTime: eventTime,
                receivedAt: receivedAt)
        }
        return stream
    }

    /// Disconnects all readers and empties all rings, because the log no longer contains their events. Readers reconnect immediately and get snapshots.
    func beginAnew() {
        state.value.tape?.breakOff()
        let reason = "The log has lost events; reconnect to get snapshots."
        beginAnew(Array(state.value.streams.names), floor: feed.floor(before: feed.head), because: reason)
    }

    private func beginAnew(_ names: [FuturesServiceStreamName], floor: UInt64, because reason: String) {
        let names = Set(names)
        for connection in state.value.readers.all where !names.isDisjoint(with: connection.streams) {
            end(connection.number, code: "reset", reason: reason)
        }
        // Counts as a lost message, so that a socket that is not open yet is closed when it opens.
        state.value.lastMessage &+= 1
        for name in names {
            for case (let format, let ring?) in zip(EventFormat.allCases, state.value.streams[name]?.rings ?? []) {
                rings.empty(ring, floor: format.isOfVenue ? state.value.lastMessage : floor)
            }
        }
    }

    func whenSent(_ done: @escaping @Sendable () -> Void) { rings.whenSent(done) }

    func receive(venueList: [UInt8], of upstream: Int) { state.value.tape?.note(venueList: venueList, of: upstream) }

    func receiveContent(of name: FuturesServiceStreamName) {
        forgetAnswers(name)
        noteChange(of: name)
        for connection in state.value.readers.all where connection.isOpen && connection.socket == nil && connection.streams.contains(name) {
            if let ring = state.value.streams[name]?.rings[connection.options.format.rawValue] { refill(connection.number, ring: ring) }
        }
    }

    /// The index of the stream's ring for a format. Adds the ring if there is none. A ring of another format than `events` starts with the newest
    /// events of the stream's `events` ring.
    ///
    /// - Parameter floor: The sequence of the newest event before the ring; nil for the feed's newest.
    func ring(of name: FuturesServiceStreamName, _ format: EventFormat, floor: UInt64? = nil) -> Int {
        let stream = stream(name, floor: floor)
        if let ring = stream.rings[format.rawValue] { return ring }
        let like = format.isOfVenue ? nil : stream.rings[EventFormat.events.rawValue]
        let ring = rings.add(name, format, floor: format.isOfVenue ? 0 : floor ?? feed.head.sequence, like: like)
        stream.rings[format.rawValue] = ring
        return ring
    }

    /// The stream, with at least an `events` ring.
    func stream(_ name: FuturesServiceStreamName, floor: @autoclosure () -> UInt64? = nil) -> HubStream {
        let known = state.value.streams[name]
        if let known, known.rings[EventFormat.events.rawValue] != nil { return known }
        let stream = known ?? HubStream()
        stream.rings[EventFormat.events.rawValue] = rings.add(name, .events, floor: floor() ?? feed.head.sequence, like: nil)
        if known == nil { state.value.streams.add(stream, name) }
        tables.outdate()
        return stream
    }

    /// Drops the bytes made from a stream's content, because the stream has changed.
    func forgetAnswers(_ name: FuturesServiceStreamName) {
        if let stream = state.value.streams[name] { forgetAnswers(stream) }
    }

    private func forgetAnswers(_ stream: HubStream) {
        let prepared = stream.cache.forget()
        if !prepared.isEmpty { preparedAnswers.remove(prepared) }
    }

    /// Counts the event for the metrics, and keeps what went wrong: the stream's last failure until content arrives, and its upstream's last trouble.
    private func count(_ event: EncodedEvent, of stream: HubStream) {
        let kind = stream.kind ?? state.value.tally.kind(of: event.stream)
        stream.kind = kind
        state.value.tally.count(event, kind)
        if event.kind.carriesData { stream.failure = nil }
        if case .failed(let error) = event.detail { stream.failure = error }
        noteTrouble(event.detail, upstream: state.value.tally.kinds[kind].upstream)
    }

    /// Removes a stream that has ended, and its rings. At a node of a cluster it may have readers whose demand the ingest did not know. If the stream
    /// begins again, its events do not continue the ones that these readers have.
    private func end(_ name: FuturesServiceStreamName, at sequence: UInt64) {
        guard state.value.streams[name] != nil else { return }
        guard let stream = state.value.streams.remove(name) else {
            return beginAnew([name], floor: sequence, because: "\(name) was not read for a while; reconnect to get a snapshot.")
        }
        tables.outdate()
        for ring in stream.rings.compactMap(\.self) { rings.remove(ring) }
    }

    /// The cost of fetching these streams, for the caller's limit.
    nonisolated func cost(ofFetching names: [FuturesServiceStreamName]) -> VenueCost {
        let weight = names.reduce(0) { $0 + (feed.dialect.traits(of: $1)?.fetchWeight ?? 0) }
        // A caller has one account for all venues, so that the smallest limit counts.
        let limit = Set(names.map { feed.dialect.upstream(of: $0) }).map { feed.weight(of: $0).limit }.filter { $0 > 0 }.min()
        return VenueCost(refetches: names.count, weight: weight, of: limit ?? feed.weight(of: 0).limit)
    }

    /// Checks whether this address may start these streams. Streams that are already started need no room.
    ///
    /// - Throws: `full` if the limit of streams is reached or memory is short; `limited` if the address has started as many streams as allowed.
    func checkRoom(for names: [FuturesServiceStreamName], from address: Address?) throws(Refusal) {
        guard feed.isServing else { throw .starting }
        let new = state.value.streams.countMissing(names)
        guard new > 0 else { return }
        guard state.value.streams.count + new <= limits.maximumStreams, !isShort() else { throw .full }
        guard let client = address?.limited else { return }
        do throws(LimitReached) { try gatekeeper.begin(streams: new, besides: state.value.streams.countBegun(by: client)) } catch {
            throw .limited(error)
        }
    }

    /// Records that this address starts those of these streams that are not started yet.
    func begin(_ names: [FuturesServiceStreamName], from address: Address?) {
        if let client = address?.limited { state.value.streams.begin(names, from: client) }
    }

    /// The hub's own copies of these names, so that readers of a stream share the memory of its name.
    func known(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        if names.count == 1 { return stream(names[0]).alone(names) }
        return names.map { name in
            _ = stream(name)
            return state.value.streams.shared(name)
        }
    }

    /// Counts one more reader of each stream. The first reader of a stream subscribes.
    func retain(_ names: [FuturesServiceStreamName], forceFetch: Bool = false) {
        for name in names { _ = stream(name) }
        let new = state.value.streams.retain(names)
        if !new.isEmpty { feed.step(.observe(demand, new, forceFetch: false)) }
        for name in new { tapeMessages(of: name) }
        if forceFetch { for name in names { feed.step(.refetch(name)) } }
    }

    /// Has the venue's messages of a stream passed on to the tape, if it records them.
    private func tapeMessages(of name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name], !stream.areMessagesTaped, state.value.tape?.recordsMessages(of: name) == true,
            isSentByVenue(name), feed.dialect.upstreams[feed.dialect.upstream(of: name)].venue != nil
        else { return }
        stream.areMessagesTaped = true
        if stream.sockets == 0 { feed.step(.passOn(name, true)) }
    }

    /// Counts one reader less of each stream. After the last one, the linger starts.
    func release(_ names: [FuturesServiceStreamName]) {
        let gone = state.value.streams.release(names)
        if !gone.isEmpty { feed.step(.unobserve(demand, gone)) }
    }

    /// Restarts the linger of a stream without readers, as if a reader had just left.
    func renewLinger(of name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name], stream.demand == 0 else { return }
        retain([name])
        release([name])
    }

    /// Counts the hub itself as a reader of these streams, and no longer of the streams pinned before.
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
        for name: FuturesServiceStreamName, _ awaited: AwaitedEvent, timeout: Duration, from address: Address?,
        longer: @escaping () -> Duration? = { nil },
        _ answer: @escaping (Result<Void, FeedError>) -> Void
    ) -> UInt64 {
        state.value.lastNumber &+= 1
        let number = state.value.lastNumber
        begin([name], from: address)
        retain([name])
        let isRefused =
            (awaited == .value || awaited == .current) && stream(name).failure?.isTransient == false && feed.status(of: name)?.state == .failed
        let timeout = isRefused ? .zero : timeout
        let timer = scheduleExpiry(name, number, timeout, in: timeout)
        stream(name).waiters.add(Waiters.Waiter(awaited: awaited, timer: timer, longer: longer, answer: answer), number)
        if awaited == .fetch { feed.step(.refetch(name)) }
        return number
    }

    /// Whether a request already waits for a fetch of the stream.
    func isFetching(_ name: FuturesServiceStreamName) -> Bool { state.value.streams[name]?.waiters.areFetching ?? false }

    private func scheduleExpiry(_ name: FuturesServiceStreamName, _ number: UInt64, _ timeout: Duration, in delay: Duration) -> Scheduled<Void> {
        feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
            guard let stream = self.state.value.streams[name] else { return }
            if let longer = stream.waiters.patience(of: number) {
                stream.waiters.setTimer(self.scheduleExpiry(name, number, timeout, in: longer), of: number)
            } else if let waiter = stream.waiters.remove(number) {
                self.answer(waiter, name, .failure(FeedError(.timedOut, "No data of \(name) arrived within \(timeout).")))
            }
        }
    }

    /// Ends the wait with this number, because its client has left.
    func abandon(_ name: FuturesServiceStreamName, _ number: UInt64) {
        guard let waiter = state.value.streams[name]?.waiters.remove(number) else { return }
        answer(waiter, name, .failure(FeedError(.timedOut, "No client waits for \(name) any more.")))
    }

    /// Answers all requests that wait for a change, because the gateway is stopping.
    func answerLongPolls() {
        for name in state.value.streams.names {
            for waiter in state.value.streams[name]?.waiters.take({ $0 == .change }) ?? [] { answer(waiter, name, .success(())) }
        }
    }

    private func answer(_ waiter: Waiters<Scheduled<Void>>.Waiter, _ name: FuturesServiceStreamName, _ result: Result<Void, FeedError>) {
        waiter.timer.cancel()
        waiter.answer(result)
        release([name])
    }

    /// Records that a stream has changed, for the agents that are notified of changes.
    private func noteChange(of name: FuturesServiceStreamName) {
        guard state.value.notifier.note(name) else { return }
        feed.loop.assumeIsolated().scheduleTask(in: Notifier.round) {
            for (number, bytes) in self.state.value.notifier.endRound() { self.rings.post(.play(bytes), to: number) }
        }
    }

    /// Handles an agent that has read everything sent to it.
    func notifyFurther(_ number: UInt64) {
        if let bytes = state.value.notifier.ready(number) { rings.post(.play(bytes), to: number) }
    }
}
