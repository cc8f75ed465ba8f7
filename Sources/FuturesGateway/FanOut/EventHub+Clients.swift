import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings

extension EventHub {
    /// The hub's state of an event connection. Used only on the feed's thread.
    final class Client {
        /// The principal that opened the connection controls it under this id.
        let id: ReaderID
        var streams: [FuturesServiceStreamName]
        let options: ConnectionOptions
        var holder: Holder
        /// Its share of the limits.
        let lease: Gatekeeper.Lease
        /// Whether its response head has been sent.
        var isOpen = false
        /// Whether it receives a replay.
        var isReplaying = false
        /// Whether its replay has an end, so that it never reads live events and its streams need no feed.
        var isOfThePast: Bool { options.replay?.end != nil }
        /// Nil until needed, because most readers only read.
        private var rare: RareState?

        /// State needed only by readers that pause streams, or whose credential expires.
        private final class RareState {
            var paused: Set<FuturesServiceStreamName> = []
            var expiry: Scheduled<Void>?
            var controlRequests = TokenBucket()
        }

        init(id: ReaderID, streams: [FuturesServiceStreamName], options: ConnectionOptions, holder: Holder, lease: Gatekeeper.Lease) {
            self.id = id
            self.streams = streams
            self.options = options
            self.holder = holder
            self.lease = lease
        }

        private var begun: RareState {
            if let rare { return rare }
            let new = RareState()
            rare = new
            return new
        }

        var paused: Set<FuturesServiceStreamName> {
            get { rare?.paused ?? [] }
            set { if newValue != paused { begun.paused = newValue } }
        }

        /// The task that checks its access again.
        var expiry: Scheduled<Void>? {
            get { rare?.expiry }
            set { if newValue != nil || rare != nil { begun.expiry = newValue } }
        }

        /// Whether the limit of control requests allows another one: 20 in a burst, then 10 per second.
        func mayControl() -> Bool { begun.controlRequests.take(1, .perSecond(10), now: Moment.current.instant.nanoseconds) == nil }
    }

    /// A principal as of its last check. Consecutive connections with the same principal share it.
    final class Holder {
        let principal: Principal

        init(_ principal: Principal) { self.principal = principal }
    }

    private func holder(_ principal: Principal) -> Holder {
        if let last = state.value.lastHolder, last.principal == principal { return last }
        let new = Holder(principal)
        state.value.lastHolder = new
        return new
    }

    /// The id as clients see it; in a cluster it is prefixed with the node's name.
    func text(of id: ReaderID) -> String { (feed.peers?.name ?? "") + id.text }

    private func number(of id: String) -> UInt64? {
        let name = feed.peers?.name ?? ""
        guard id.hasPrefix(name) else { return nil }
        guard let id = ReaderID(id.dropFirst(name.count)), let number = state.value.numbers[id.low], state.value.clients[number]?.id == id else {
            return nil
        }
        return number
    }

    /// The content of responses to control requests.
    struct ClientView: Sendable {
        let id: String
        let streams: [FuturesServiceStreamName]
        let paused: [FuturesServiceStreamName]
        let isReplaying: Bool
    }

    /// A control request.
    enum Control: Sendable { case pause, resume, subscribe, unsubscribe }

    /// Why a connection cannot be opened now, or cannot add streams.
    enum Refusal: Error {
        case draining
        /// The feed has no data to serve yet.
        case starting
        /// The reader has events that the feed has not read yet.
        case behind
        /// The limit of readers or streams is reached, or memory is short.
        case full
        case limited(LimitReached)
        /// The request would fetch more streams at a time than the limit ever allows.
        case tooManyFetches(Int, LimitReached)

        /// Whether the same request will always be refused.
        var isPermanent: Bool { if case .tooManyFetches = self { true } else { false } }
    }

    /// Checks the limits for a new connection, registers it and returns its number. The caller must then call `open` or `closed`.
    func prepare(streams: [FuturesServiceStreamName], _ options: ConnectionOptions, for caller: Access.Caller) throws(Refusal) -> UInt64 {
        guard !state.value.isDraining else { throw .draining }
        guard feed.isServing else { throw .starting }
        if case .point(let point) = options.lastEventID, feed.isBehind(point.id) { throw .behind }
        guard state.value.clients.count < limits.maximumReaders, !isShort() else { throw .full }
        try checkRoom(for: streams, from: caller.address)
        let lease: Gatekeeper.Lease
        do throws(LimitReached) {
            lease = try gatekeeper.open(caller.principal, from: caller.address, streams: streams.count, at: Access.now)
        } catch { throw .limited(error) }
        if options.forceFetch {
            let fetched = streams.filter { feed.dialect.traits(of: $0)?.hasSnapshotSource == true }
            do throws(LimitReached) {
                try gatekeeper.spend(cost(ofFetching: fetched), by: caller.principal, from: caller.address, at: Access.now)
            } catch {
                gatekeeper.close(lease, streams: streams.count)
                throw error.kind == .refetches && error.limit < fetched.count ? .tooManyFetches(fetched.count, error) : .limited(error)
            }
        }
        state.value.lastNumber &+= 1
        let number = rings.join(state.value.lastNumber)
        var id = ReaderID()
        while state.value.numbers[id.low] != nil { id = ReaderID() }
        state.value.clients[number] = Client(id: id, streams: streams, options: options, holder: holder(caller.principal), lease: lease)
        state.value.numbers[id.low] = number
        return number
    }

    /// Checks the limits for streams that a connection wants to add, and counts them as the connection's. The caller must then call `control` with
    /// `subscribe`.
    func charge(_ id: String, _ names: [FuturesServiceStreamName]) throws(Refusal) {
        guard let number = number(of: id), let client = state.value.clients[number] else { return assertionFailure(Self.unseen) }
        let new = names.filter { !client.streams.contains($0) }
        try checkRoom(for: new, from: client.lease.address)
        do throws(LimitReached) { try gatekeeper.add(streams: new.count, to: client.lease, of: client.holder.principal) } catch {
            throw .limited(error)
        }
    }

    /// Checks the access of every connection again, because the access rules have changed.
    func judgeClients() {
        for number in state.value.clients.keys { judge(number) }
    }

    /// Ends the connection if its credential has expired or is no longer accepted, or if it may no longer read all its streams. Otherwise schedules
    /// another check if the credential expires.
    func judge(_ number: UInt64) {
        guard let client = state.value.clients[number], client.isOpen else { return }
        client.expiry?.cancel()
        client.expiry = nil
        let now = Access.now
        switch gatekeeper.standing(of: client.holder.principal, at: now) {
        case .expired: end(number, code: "expired", reason: "The credential has expired; reconnect with a new one.")
        case .good(let principal)
        where principal.permission.allows(.read) && client.streams.allSatisfy({ principal.permission.allows(stream: $0.description) }):
            client.holder = holder(principal)
            guard let end = principal.permission.expiresAt else { return }
            // At most one minute, because the clock may be set meanwhile.
            let wait = TimeAmount.seconds(min(max(end - now.seconds, 1), 60))
            client.expiry = feed.loop.assumeIsolated().scheduleTask(in: wait) { self.judge(number) }
        case .good, .revoked: end(number, code: "revoked", reason: "The credential no longer permits these streams.")
        }
    }

    /// Handles a response head that was sent. Posts `open` with the snapshots to the fan-out, and counts the connection as a reader.
    func open(_ stream: EventStream, number: UInt64) {
        guard let client = state.value.clients[number], !client.isOpen else {
            return assertionFailure("A stream opened for client \(number), which was not prepared or is open.")
        }
        client.isOpen = true
        client.isReplaying = client.options.isFedAlone
        if let notifications = client.options.notifications { return openNotifications(stream, number, client, notifications) }
        if client.options.replay != nil { return openReplay(stream, number, client) }
        begin(client.streams, from: client.lease.address)
        client.streams = known(client.streams)
        let (values, head) = values(of: client.streams, client.options.format)
        let resume: Resume =
            switch client.options.lastEventID {
            case nil: .none
            case .point(let point) where feed.canResume(behind: point.id): .after(point.id.sequence, of: point.streams)
            case .point, .unreadable: .lost
            }
        let opening = Opening(
            client: text(of: client.id), streams: client.streams, options: client.options, retryMs: Self.retryMs, resume: resume, values: values,
            head: head,
            troubles: troubles(of: client.streams, client.options.format),
            // If the reader resumes after an older event, that event is in the rings.
            ownTroubles: resume.isBehind(head.sequence) ? ownTroubles(of: client.streams, client.options.format) : [])
        rings.post(.open(number: number, stream, opening), to: number)
        retain(client.streams, forceFetch: client.options.forceFetch)
        if state.value.isDraining { end(number, code: "draining", reason: "The gateway is stopping.") }
        judge(number)
    }

    /// Handles a connection that has ended or was never opened.
    func closed(_ number: UInt64) {
        guard let client = state.value.clients.removeValue(forKey: number) else { return }
        rings.leave(number)
        state.value.numbers[client.id.low] = nil
        client.expiry?.cancel()
        gatekeeper.close(client.lease, streams: client.streams.count)
        if !client.paused.isEmpty { state.value.pausedClients -= 1 }
        if client.isOpen, !client.isOfThePast { release(client.streams) }
        if client.options.replay != nil { state.value.replays?.stop(number) }
        state.value.notifier.remove(number)
        if state.value.clients.isEmpty { finishDraining() }
    }

    /// Posts the snapshot of a ring's stream for a reader that needs it.
    func refill(_ number: UInt64, ring: Int) {
        guard let client = state.value.clients[number],
            let name = client.streams.first(where: { state.value.streams[$0]?.rings.contains(ring) == true })
        else { return }
        for value in values(of: [name], client.options.format).values { rings.post(.refill(number: number, value), to: number) }
    }

    /// The open connection with this id; nil if there is none, or if another identity opened it.
    func view(of id: String, for identity: String?) -> ClientView? {
        guard let number = number(of: id), let client = state.value.clients[number], client.isOpen, client.holder.principal.identity == identity
        else { return nil }
        return view(of: client)
    }

    /// The handlers control a connection in the same turn of the feed's thread in which `view` found it.
    private static let unseen = "A connection is controlled that `view` did not find."

    private func view(of client: Client) -> ClientView {
        ClientView(
            id: text(of: client.id), streams: client.streams, paused: client.streams.filter(client.paused.contains), isReplaying: client.isReplaying)
    }

    /// Executes a control request.
    ///
    /// - Parameters:
    ///   - id: The id of a connection that `view` found in the same turn of the feed's thread.
    ///   - names: The streams; nil for all streams of the connection.
    ///   - done: Called on the fan-out thread when the request has taken effect.
    func control(_ control: Control, _ id: String, _ names: [FuturesServiceStreamName]?, done: @escaping @Sendable (ClientView) -> Void) {
        guard let number = number(of: id), let client = state.value.clients[number] else { return assertionFailure(Self.unseen) }
        let wanted = names ?? client.streams
        let answer: @Sendable () -> Void
        switch control {
        case .pause:
            let affected = client.streams.filter { wanted.contains($0) }
            setPaused(client.paused.union(affected), number)
            answer = self.answer(number, done)
            rings.post(.pause(number: number, rings(of: affected, client), done: answer), to: number)
        case .resume:
            let affected = client.streams.filter { wanted.contains($0) && client.paused.contains($0) }
            setPaused(client.paused.subtracting(affected), number)
            let (values, head) = values(of: affected, client.options.format)
            answer = self.answer(number, done)
            rings.post(.resume(number: number, values, head: head, done: answer), to: number)
        case .subscribe:
            let new = wanted.filter { !client.streams.contains($0) }
            begin(new, from: client.lease.address)
            client.streams += known(new)
            let (values, head) = values(of: new, client.options.format)
            answer = self.answer(number, done)
            rings.post(.subscribe(number: number, values, head: head, done: answer), to: number)
            retain(new)
        case .unsubscribe:
            let gone = client.streams.filter { wanted.contains($0) }
            client.streams.removeAll(where: gone.contains)
            setPaused(client.paused.subtracting(gone), number)
            gatekeeper.remove(streams: gone.count, from: client.lease)
            answer = self.answer(number, done)
            rings.post(.unsubscribe(number: number, rings(of: gone, client), done: answer), to: number)
            release(gone)
        }
    }

    private func setPaused(_ names: Set<FuturesServiceStreamName>, _ number: UInt64) {
        guard let before = state.value.clients[number]?.paused else { return }
        state.value.clients[number]?.paused = names
        state.value.pausedClients += (names.isEmpty ? 0 : 1) - (before.isEmpty ? 0 : 1)
    }

    /// The indices of the rings from which the client reads these streams.
    private func rings(of names: [FuturesServiceStreamName], _ client: Client) -> [Int] {
        names.compactMap { state.value.streams[$0]?.rings[client.options.format.rawValue] }
    }

    /// Whether the connection's limit of control requests allows another one.
    func mayControl(_ id: String) -> Bool { number(of: id).flatMap { state.value.clients[$0] }?.mayControl() ?? true }

    /// Returns a function that passes the connection's current state to `done`.
    private func answer(_ number: UInt64, _ done: @escaping @Sendable (ClientView) -> Void) -> @Sendable () -> Void {
        guard let client = state.value.clients[number] else { return {} }
        let view = view(of: client)
        return { done(view) }
    }

    /// Ends a connection with a farewell.
    func close(_ id: String) {
        guard let number = number(of: id) else { return assertionFailure(Self.unseen) }
        end(number, code: "closed", reason: "A control request closed the connection.")
    }

    /// Makes the probes report that the gateway is stopping. Nothing else changes.
    func leave() {
        state.value.isLeaving = true
        tables.outdate()
    }

    /// Refuses new connections and ends the open ones: 1,000 per second, or more if three quarters of `grace` would not suffice. Readers therefore do
    /// not all reconnect at the same moment.
    ///
    /// - Parameter done: Called when all have left, or after `grace`, with the number of readers at the start and at the end.
    func drain(grace: Duration, done: @escaping @Sendable (_ readers: Int, _ left: Int) -> Void) {
        state.value.isDraining = true
        tables.outdate()
        answerLongPolls()
        let readers = state.value.clients.count
        let spread = min(Duration.milliseconds(readers), grace * 3 / 4)
        sendOff(Array(state.value.clients.keys)[...], ticks: max(1, Int(spread / Self.drainTick)))
        let timeout = feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(grace)) { self.finishDraining() }
        state.value.drained = {
            timeout.cancel()
            done(readers, self.state.value.clients.count)
        }
        if readers == 0 { finishDraining() }
    }

    /// Ends `clients` in equal parts, one part per tick.
    private func sendOff(_ clients: ArraySlice<UInt64>, ticks: Int) {
        for number in clients.prefix(clients.count / ticks + 1) where state.value.clients[number]?.isOpen == true {
            end(number, code: "draining", reason: "The gateway is stopping.")
        }
        let rest = clients.dropFirst(clients.count / ticks + 1)
        guard !rest.isEmpty else { return }
        feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(Self.drainTick)) { self.sendOff(rest, ticks: max(1, ticks - 1)) }
    }

    private static let drainTick = Duration.milliseconds(20)

    private func finishDraining() {
        let drained = state.value.drained
        state.value.drained = nil
        drained?()
    }

    func end(_ number: UInt64, code: String, reason: String) {
        rings.post(.end(number: number, code: code, reason: reason), to: number)
    }

    /// The reconnect delay sent to a reader: two seconds ± 25 %, so that readers do not all return at the same moment.
    static var retryMs: Int { .random(in: 1500...2500) }
}
