import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings

/// Event connections: opening, control, access checks and the end.
extension EventHub {
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
        guard state.value.readers.count < limits.maximumReaders, !isShort() else { throw .full }
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
        state.value.readers.add(number, streams: streams, options, of: caller.principal, lease)
        return number
    }

    /// Handles a response head that was sent. Posts the first bytes to the fan-out, and counts the connection as a reader.
    func open(_ stream: EventStream, number: UInt64) {
        guard let connection = state.value.readers[number], !connection.isOpen else {
            return assertionFailure("A stream opened for connection \(number), which was not prepared or is open.")
        }
        connection.isOpen = true
        connection.isReplaying = connection.options.isFedAlone
        if connection.socket != nil {
            rings.post(.open(stream, start(connection)), to: number)
        } else if let notifications = connection.options.notifications {
            begin(connection.streams, from: connection.lease.address)
            retain(connection.streams)
            state.value.notifier.add(number, notifications)
            rings.post(.open(stream, opening(connection)), to: number)
        } else if connection.options.replay != nil {
            if !connection.isOfThePast { retainForReplay(connection) }
            rings.post(.open(stream, opening(connection)), to: number)
        } else {
            rings.post(.open(stream, liveOpening(connection)), to: number)
            retain(connection.streams, forceFetch: connection.options.forceFetch)
        }
        if state.value.isDraining { end(number, code: "draining", reason: "The gateway is stopping.") }
        judge(connection)
    }

    /// The start of a connection that reads live events.
    private func liveOpening(_ connection: Reader) -> Opening {
        begin(connection.streams, from: connection.lease.address)
        connection.streams = known(connection.streams)
        let (names, options) = (connection.streams, connection.options)
        let (values, head) = values(of: names, options.format)
        let resume: Resume =
            switch options.lastEventID {
            case nil: .none
            case .point(let point) where feed.canResume(behind: point.id): .after(point.id.sequence, of: point.streams)
            case .point, .unreadable: .lost
            }
        var opening = opening(connection, resume: resume, values: values, head: head)
        opening.troubles = troubles(of: names, options.format)
        if case .after(let sequence, _) = resume { opening.ownTroubles = ownTroubles(of: names, after: sequence, options.format) }
        return opening
    }

    func opening(
        _ connection: Reader, _ options: ConnectionOptions? = nil, resume: Resume = .none, values: [CachedValue] = [], head: EventID? = nil
    ) -> Opening {
        Opening(
            client: state.value.readers.text(of: connection.id), streams: connection.streams, options: options ?? connection.options,
            retryMs: Self.retryMs, resume: resume, values: values, head: head ?? feed.head)
    }

    /// Handles a connection that has ended or was never opened.
    func closed(_ number: UInt64) {
        guard let connection = state.value.readers.remove(number) else { return }
        rings.leave(number)
        connection.expiry?.cancel()
        gatekeeper.close(connection.lease, streams: connection.streams.count)
        if connection.socket != nil { leaveSockets(connection.streams) }
        if connection.socket != nil || connection.isOpen && !connection.isOfThePast { release(connection.streams) }
        state.value.notifier.remove(number)
        if state.value.readers.count == 0 { finishDraining() }
    }

    /// Posts the snapshot of a ring's stream for a reader that needs it.
    func refill(_ number: UInt64, ring: Int) {
        guard let connection = state.value.readers[number],
            let name = connection.streams.first(where: { state.value.streams[$0]?.rings.contains(ring) == true })
        else { return }
        for value in values(of: [name], connection.options.format).values { rings.post(.refill(value), to: number) }
    }

    func end(_ number: UInt64, code: String, reason: String) { rings.post(.end(code: code, reason: reason), to: number) }

    /// The reconnect delay sent to a reader: two seconds ± 25 %, so that readers do not all return at the same moment.
    static var retryMs: Int { .random(in: 1500...2500) }

    // Control.

    /// Executes a request about a connection to this gateway.
    ///
    /// - Parameter answer: Called once, on the feed's thread or, when a change has taken effect, on the fan-out thread.
    func carryOut(_ request: ConnectionRequest, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
        guard let connection = state.value.readers.find(request.id, openedBy: request.identity) else {
            return answer(Problems.unknownClient.response)
        }
        let view = state.value.readers.view(of: connection)
        switch request.action {
        case .view: return answer(ConnectionRequest.response(view))
        case .close:
            end(connection.number, code: "closed", reason: "A control request closed the connection.")
            return answer(ConnectionRequest.response(view))
        case .change(let change, let names):
            guard !connection.isReplaying else { return answer(Problems.replaying.response) }
            guard connection.mayControl(now: Instant.current.nanoseconds) else { return answer(Problems.controlledTooOften.response) }
            do throws(HTTPProblem) {
                try self.change(connection, change, names ?? connection.streams) { answer(ConnectionRequest.response($0)) }
            } catch { answer(error.response) }
        }
    }

    /// - Parameter done: Called on the fan-out thread when the change has taken effect.
    private func change(
        _ connection: Reader, _ change: ConnectionRequest.Change, _ names: [FuturesServiceStreamName],
        done: @escaping @Sendable (Readers.View) -> Void
    ) throws(HTTPProblem) {
        let (own, format) = (connection.streams.filter(names.contains), connection.options.format)
        let command: FanOutInbox.ReaderCommand
        var (gained, lost): ([FuturesServiceStreamName], [FuturesServiceStreamName]) = ([], [])
        switch change {
        case .pause:
            state.value.readers.setPaused(connection.paused.union(own), of: connection)
            command = .pause(rings(of: own, format))
        case .resume:
            let resumed = own.filter(connection.paused.contains)
            state.value.readers.setPaused(connection.paused.subtracting(resumed), of: connection)
            let (values, head) = values(of: resumed, format)
            command = .resume(values, head: head)
        case .subscribe:
            gained = names.filter { !connection.streams.contains($0) }
            guard connection.streams.count + gained.count <= limits.streamsPerClient else {
                throw Problems.badParameter("streams", "would exceed the limit of \(limits.streamsPerClient) streams per connection.")
            }
            do throws(Refusal) { try checkRoom(for: gained, from: connection.lease.address) } catch { throw EventHandlers.problem(error) }
            do throws(LimitReached) { try gatekeeper.add(streams: gained.count, to: connection.lease, of: connection.holder.principal) } catch {
                throw Problems.limited(error)
            }
            begin(gained, from: connection.lease.address)
            connection.streams += known(gained)
            let (values, head) = values(of: gained, format)
            command = .subscribe(values, head: head)
        case .unsubscribe:
            lost = own
            connection.streams.removeAll(where: lost.contains)
            state.value.readers.setPaused(connection.paused.subtracting(lost), of: connection)
            gatekeeper.remove(streams: lost.count, from: connection.lease)
            command = .unsubscribe(rings(of: lost, format))
        }
        let view = state.value.readers.view(of: connection)
        rings.post(command, to: connection.number) { done(view) }
        if !gained.isEmpty { retain(gained) }
        if !lost.isEmpty { release(lost) }
    }

    /// The indices of the rings from which a reader of this format reads these streams.
    private func rings(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [Int] {
        names.compactMap { state.value.streams[$0]?.rings[format.rawValue] }
    }

    // Access.

    /// Checks the access of every connection again, because the access rules have changed.
    func judgeConnections() {
        for connection in state.value.readers.all { judge(connection) }
    }

    /// Ends the connection if its credential has expired or is no longer accepted, or if it may no longer read all its streams. Otherwise schedules
    /// another check if the credential expires.
    private func judge(_ connection: Reader) {
        let number = connection.number
        guard connection.isOpen, state.value.readers[number] === connection else { return }
        connection.expiry?.cancel()
        connection.expiry = nil
        let now = Access.now
        switch gatekeeper.standing(of: connection.holder.principal, at: now) {
        case .expired: end(number, code: "expired", reason: "The credential has expired; reconnect with a new one.")
        case .good(let principal)
        where principal.permission.allows(.read) && connection.permissionNames.allSatisfy(principal.permission.allows(stream:)):
            state.value.readers.renew(connection, principal)
            guard let end = principal.permission.expiresAt else { return }
            // At most one minute, because the clock may be set in the meantime.
            let wait = TimeAmount.seconds(min(max(end - now.seconds, 1), 60))
            connection.expiry = feed.loop.assumeIsolated().scheduleTask(in: wait) { self.judge(connection) }
        case .good, .revoked: end(number, code: "revoked", reason: "The credential no longer permits these streams.")
        }
    }

    // Draining.

    var isDraining: Bool { state.value.isDraining }

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
        let readers = state.value.readers.count
        let spread = min(Duration.milliseconds(readers), grace * 3 / 4)
        sendOff(state.value.readers.all.map(\.number)[...], ticks: max(1, Int(spread / Self.drainTick)))
        let timeout = feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(grace)) { self.finishDraining() }
        state.value.drained = {
            timeout.cancel()
            done(readers, self.state.value.readers.count)
        }
        if readers == 0 { finishDraining() }
    }

    /// Ends these connections in equal parts, one part per tick.
    private func sendOff(_ numbers: ArraySlice<UInt64>, ticks: Int) {
        for number in numbers.prefix(numbers.count / ticks + 1) where state.value.readers[number]?.isOpen == true {
            end(number, code: "draining", reason: "The gateway is stopping.")
        }
        let rest = numbers.dropFirst(numbers.count / ticks + 1)
        guard !rest.isEmpty else { return }
        feed.loop.assumeIsolated().scheduleTask(in: TimeAmount(Self.drainTick)) { self.sendOff(rest, ticks: max(1, ticks - 1)) }
    }

    private func finishDraining() {
        let drained = state.value.drained
        state.value.drained = nil
        drained?()
    }
}
