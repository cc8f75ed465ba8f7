import EventLogs
import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// The gateway's reader of the feed: encodes every event once, counts who wants which stream, and answers what is cached.
///
/// It lives on the feed's thread, where contents change, so that what it reads and what it hands to the fan-out are one instant. The fan-out
/// owns the readers' places; the hub owns which streams they have.
final class EventHub: FeedReader {
    struct Stream {
        /// The stream's logs in the fan-out, one for each format that somebody reads.
        var logs: [Int?] = EventFormat.allCases.map { _ in nil }
        /// Event clients, paused ones included, and requests under way.
        var demand = 0
        var waiters: [UInt64: Waiter] = [:]
        /// The address that began it; nil for this machine's own, and for nobody's.
        var beginner: [UInt8]?
        /// The latest full value as an event, by format.
        var cachedEvents: [CachedEvent?] = EventFormat.allCases.map { _ in nil }
        var cachedSnapshots = CachedSnapshots()
        /// What is answered beforehand until the stream changes.
        var prepared: [PreparedAnswers.Key] = []
        /// Its kind's place in the tally.
        var kind: Int?
        /// What went wrong last, where nothing came since.
        var failure: FeedError?
    }

    /// A latest full value as an event, what it was made from, and when.
    struct CachedEvent {
        let id: EventID
        let state: FeedState
        let madeAt: Instant
        let body: [UInt8]
    }

    /// A stream's snapshot in bytes, in the depths that were asked for; zero is all of it.
    struct CachedSnapshots {
        var id: EventID?
        var state: FeedState?
        /// When the freshness was as they tell it.
        var madeAt = Instant(nanoseconds: 0)
        var bodies: [Int: SharedBytes] = [:]
        /// The same as gzip, of those worth it that were asked for so.
        var compressed: [Int: SharedBytes] = [:]
    }

    /// A request that waits for a stream.
    struct Waiter {
        let awaited: Awaited
        var timeout: Scheduled<Void>
        /// How much longer it waits though nothing came; nil for no longer.
        let longer: () -> Duration?
        let answer: (Result<Void, FeedError>) -> Void
    }

    /// What a request waits for.
    enum Awaited {
        /// Any value.
        case value
        /// The outcome of a fetch.
        case fetch
        /// A value or a state other than there is.
        case change
    }

    struct State {
        var streams: [FuturesServiceStreamName: Stream] = [:]
        /// How many of the streams each address began.
        var begun: [[UInt8]: Int] = [:]
        var freeLogs: [Int] = []
        var logCount = 0
        var clients: [UInt64: Client] = [:]
        var numbers: [String: UInt64] = [:]
        var lastNumber: UInt64 = 0
        /// Streams that are wanted without readers.
        var pinned: [FuturesServiceStreamName] = []
        var isDraining = false
        let deflater = Deflater(level: 6)
        var tally: FeedTally
        /// What last went wrong, by upstream.
        var troubles: [Trouble?]
        /// Clients that have paused something.
        var pausedClients = 0
        /// Called once the last client has left while draining.
        var drained: (() -> Void)?
    }

    let engine: FeedEngine
    let tables = StatusTables()
    let limits: GatewayConfiguration.Events
    let gatekeeper: Gatekeeper
    let state: NIOLoopBoundBox<State>
    let fanOut: FanOutInbox
    private let demand: ObserverID
    let preparedAnswers: PreparedAnswers
    /// Whether memory is short.
    let isShort: @Sendable () -> Bool

    /// - Parameters:
    ///   - preparedAnswers: where snapshots are left for the server's threads.
    ///   - isShort: whether memory is short.
    ///   - fanOut: what the fan-out is to do.
    init(
        engine: FeedEngine, limits: GatewayConfiguration.Events, gatekeeper: Gatekeeper, preparedAnswers: PreparedAnswers,
        isShort: @escaping @Sendable () -> Bool, fanOut: FanOutInbox
    ) {
        self.isShort = isShort
        self.preparedAnswers = preparedAnswers
        self.engine = engine
        self.limits = limits
        self.gatekeeper = gatekeeper
        self.fanOut = fanOut
        state = NIOLoopBoundBox.makeBoxSendingValue(
            State(tally: FeedTally(upstreams: engine.dialect.upstreams.map(\.name)), troubles: engine.dialect.upstreams.map { _ in nil }),
            eventLoop: engine.loop)
        demand = engine.add(nil)
    }

    /// Runs on the feed's thread.
    func run(_ work: @escaping @Sendable (EventHub) -> Void) {
        engine.loop.execute { work(self) }
    }

    func receive(_ event: FeedEvent) {
        forgetAnswers(event.stream)
        if case .ended = event.kind {
            drop(event.stream)
            return
        }
        guard let words = EventEncoder.words(event) else { return }
        _ = log(of: event.stream, .events, floor: event.id.sequence &- 1)
        count(event)
        let receivedAt = Int64(clamping: NIODeadline.now().uptimeNanoseconds)
        let carriesData = words.id != nil
        for format in EventFormat.allCases {
            guard let log = state.value.streams[event.stream]?.logs[format.rawValue] else { continue }
            let body = format.body(words.name, of: event.stream.description, words.members) + (carriesData ? [] : format.end(nil))
            let id = words.id.map { format.idStart($0) } ?? []
            fanOut.post(.append(log, body: body, id: id, carriesData: carriesData, sequence: event.id.sequence, receivedAt: receivedAt))
        }
        note(event)
        switch event.kind {
        case .fetched: answerWaiters(event.stream, .success(())) { _ in true }
        case .updated: answerWaiters(event.stream, .success(())) { $0.awaited != .fetch }
        case .status: answerWaiters(event.stream, .success(())) { $0.awaited == .change }
        case .failed(let error, let fetch):
            if fetch { answerWaiters(event.stream, .failure(error)) { $0.awaited == .fetch } }
        case .disconnected: engine.step(.readers(event.stream, state.value.streams[event.stream]?.demand ?? 0))
        case .recovered, .connected, .ended: break
        }
    }

    private func note(_ event: FeedEvent) {
        switch event.kind {
        case .failed(let error, _): state.value.streams[event.stream]?.failure = error
        case .fetched, .updated: if state.value.streams[event.stream]?.failure != nil { state.value.streams[event.stream]?.failure = nil }
        case .connected, .disconnected, .recovered, .status, .ended: break
        }
    }

    /// The stream's log of a format; made where there is none. One of another format than `events` begins with what that one holds.
    ///
    /// - Parameter floor: the newest event there was before it; nil for the newest there is.
    func log(of name: FuturesServiceStreamName, _ format: EventFormat, floor: UInt64? = nil) -> Int {
        if let log = state.value.streams[name]?.logs[format.rawValue] { return log }
        let events = format == .events ? nil : self.log(of: name, .events)
        let log = state.value.freeLogs.popLast() ?? state.value.logCount
        if log == state.value.logCount { state.value.logCount += 1 }
        state.value.streams[name, default: Stream()].logs[format.rawValue] = log
        tables.outdate()
        fanOut.post(.addLog(log, name, format, floor: floor ?? engine.read { core, _ in core.sequence }, like: events))
        return log
    }

    private func count(_ event: FeedEvent) {
        let kind = state.value.streams[event.stream]?.kind ?? state.value.tally.kind(of: event.stream)
        state.value.streams[event.stream]?.kind = kind
        state.value.tally.count(event.kind, kind)
        noteTrouble(event, upstream: state.value.tally.kinds[kind].upstream)
    }

    private func drop(_ name: FuturesServiceStreamName) {
        guard let stream = state.value.streams[name], stream.demand == 0 else { return }
        state.value.streams[name] = nil
        if let beginner = stream.beginner {
            let left = (state.value.begun[beginner] ?? 0) - 1
            state.value.begun[beginner] = left > 0 ? left : nil
        }
        tables.outdate()
        for log in stream.logs.compactMap(\.self) {
            state.value.freeLogs.append(log)
            fanOut.post(.removeLog(log))
        }
    }

    /// Looks whether these streams may begin for somebody at that address, so far as they have not begun.
    func checkRoom(for names: [FuturesServiceStreamName], from address: Address?) throws(Refusal) {
        let new = names.count { state.value.streams[$0] == nil }
        guard new > 0 else { return }
        guard state.value.streams.count + new <= limits.maximumStreams, !isShort() else { throw .full }
        guard let client = address?.limited else { return }
        do throws(LimitReached) { try gatekeeper.begin(streams: new, besides: state.value.begun[client] ?? 0) } catch { throw .limited(error) }
    }

    /// Notes who begins those of these streams that there are not yet.
    func begin(_ names: [FuturesServiceStreamName], from address: Address?) {
        guard let client = address?.limited else { return }
        for name in names where state.value.streams[name] == nil {
            state.value.streams[name] = Stream(beginner: client)
            state.value.begun[client, default: 0] += 1
        }
    }

    /// Counts one more reader of each stream; the first one subscribes.
    func retain(_ names: [FuturesServiceStreamName], forceFetch: Bool = false) {
        var new: [FuturesServiceStreamName] = []
        for name in names {
            _ = log(of: name, .events)
            state.value.streams[name]?.demand += 1
            if state.value.streams[name]?.demand == 1 { new.append(name) }
        }
        if !new.isEmpty { engine.step(.observe(demand, new, forceFetch: false)) }
        if forceFetch { for name in names { engine.step(.refetch(name)) } }
    }

    /// Counts one reader less; the last one lets go.
    func release(_ names: [FuturesServiceStreamName]) {
        var gone: [FuturesServiceStreamName] = []
        for name in names {
            guard let demand = state.value.streams[name]?.demand, demand > 0 else { continue }
            state.value.streams[name]?.demand = demand - 1
            if demand == 1 { gone.append(name) }
        }
        if !gone.isEmpty { engine.step(.unobserve(demand, gone)) }
    }

    /// Counts as a reader of these streams, and of those before no longer.
    func pin(_ names: [FuturesServiceStreamName]) {
        let gone = state.value.pinned
        state.value.pinned = Array(Set(names))
        retain(state.value.pinned)
        release(gone)
    }

    /// Waits for what is awaited of a stream, which is wanted meanwhile. `answer` is called once, on this thread: with `timedOut` after `timeout`.
    ///
    /// - Parameter longer: asked after `timeout`, and again after what it says: how much longer to wait; nil for no longer.
    ///
    /// Returns the number that `abandon` takes.
    @discardableResult
    func wait(
        for name: FuturesServiceStreamName, _ awaited: Awaited, timeout: Duration, from address: Address?,
        longer: @escaping () -> Duration? = { nil },
        _ answer: @escaping (Result<Void, FeedError>) -> Void
    ) -> UInt64 {
        state.value.lastNumber &+= 1
        let number = state.value.lastNumber
        let task = engine.loop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) { self.expire(name, number, timeout) }
        begin([name], from: address)
        retain([name])
        state.value.streams[name]?.waiters[number] = Waiter(awaited: awaited, timeout: task, longer: longer, answer: answer)
        if awaited == .fetch { engine.step(.refetch(name)) }
        return number
    }

    private func expire(_ name: FuturesServiceStreamName, _ number: UInt64, _ timeout: Duration) {
        guard let longer = state.value.streams[name]?.waiters[number]?.longer() else {
            return answer(name, number, .failure(FeedError(.timedOut, "Nothing came for \(name) in \(timeout).")))
        }
        state.value.streams[name]?.waiters[number]?.timeout = engine.loop.assumeIsolated().scheduleTask(in: TimeAmount(longer)) {
            self.expire(name, number, timeout)
        }
    }

    /// Whoever waited under this number has left.
    func abandon(_ name: FuturesServiceStreamName, _ number: UInt64) {
        answer(name, number, .failure(FeedError(.timedOut, "Nobody waits for \(name) any more.")))
    }

    /// Nobody waits for a change while the gateway stops.
    func answerLongPolls() {
        for name in state.value.streams.keys { answerWaiters(name, .success(())) { $0.awaited == .change } }
    }

    private func answerWaiters(_ name: FuturesServiceStreamName, _ result: Result<Void, FeedError>, _ matches: (Waiter) -> Bool) {
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

    /// Whether the stream has come to its end, or is of a symbol that has been settled.
    func isRetired(_ name: FuturesServiceStreamName) -> Bool {
        engine.read { core, now in core.status(of: name, now: now)?.state == .ended || core.isSettled(name) }
    }

    /// Whether the name was one that could be asked for, and its symbol has been settled; from any thread.
    nonisolated func isSettled(_ name: FuturesServiceStreamName) -> Bool {
        engine.read { core, _ in core.isSettled(name) }
    }

    /// Whether the name can be asked for; from any thread.
    nonisolated func knows(_ name: FuturesServiceStreamName) -> Bool {
        engine.read { core, _ in core.knows(name) }
    }
}
