package import FeedCore
package import FeedDialects
import NATS
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
package import Replication

extension LogNode: LoggedFeed {
    package func look<Answer>(_ read: (inout FeedMirror, Moment) -> Answer) -> Answer { shared.withLockedValue { read(&$0.mirror, .current) } }

    package var trouble: String? { shared.withLockedValue { $0.mirror.trouble(now: Instant.current) } }

    package func listen(_ listener: any FeedListener) { shared.withLockedValue { $0.listener = listener } }

    package func step(_ input: FeedInput) {
        loop.execute {
            switch input {
            case .observe(_, let names, _): self.want(adding: names)
            case .unobserve(_, let names): self.state.value.wanted.subtract(names ?? Array(self.state.value.wanted))
            case .refetch(let name): self.refetch(name)
            case .passOn(let name, let isWanted, _):
                if isWanted { self.state.value.passedOn.insert(name) } else { self.state.value.passedOn.remove(name) }
                if !isWanted { self.state.value.passing.remove(name) }
                self.planDemand(in: .milliseconds(20))
            default: break
            }
        }
    }

    private func want(adding names: [FuturesServiceStreamName]) {
        state.value.wanted.formUnion(names)
        planDemand(in: .milliseconds(20))
    }

    func planDemand(in delay: TimeAmount) {
        guard !state.value.isDemandPlanned else { return }
        state.value.isDemandPlanned = true
        loop.assumeIsolated().scheduleTask(in: delay) { self.tellDemand() }
    }

    /// Requests a refetch from the ingest. Its result, or its failure, arrives in the log. If the ingest cannot be asked, that is reported here.
    private func refetch(_ name: FuturesServiceStreamName) {
        askIngest(.refetch(node: self.name, name), within: .seconds(5), each: .seconds(1)) { result in
            guard case .failure(let error) = result else { return }
            self.perform([.tell(.notice(name, self.head, .failed(error, fetch: true)))])
        }
    }

    /// Sends the demand of this node's readers. The ingest drops it after a while, so it is repeated. The answer has the number of the ingest's newest
    /// event: with it, this node knows how far it is behind.
    func tellDemand() {
        state.value.isDemandPlanned = false
        let demand = NodeRequest.demand(node: name, Array(state.value.wanted), messages: state.value.passedOn)
        let (askedAt, messages) = (Instant.current, state.value.passedOn)
        askIngestOnce(demand, within: Self.demandPeriod) { head in
            let now = Moment.current
            let isSilent = head == nil && now.instant < askedAt + Self.demandPeriod
            // Without any ingest, the request is refused immediately, and the log falls silent. Before it does, a new ingest may not listen yet.
            if isSilent {
                if !self.state.value.isStopped, !self.shared.withLockedValue({ $0.mirror.isAway }) { self.planDemand(in: Self.demandRetry) }
                return
            }
            self.perform(
                self.shared.withLockedValue { shared in
                    head.map { shared.mirror.answered($0, askedAt: askedAt, now: now) } ?? shared.mirror.unanswered(askedAt: askedAt, now: now)
                })
            self.setTimer()
            guard let head else { return self.beginPassing([]) }
            self.await(head) { self.beginPassing(messages) }
        }
    }

    /// Notes that the log has the messages of these streams from here on, unless they are not needed any more.
    private func beginPassing(_ names: Set<FuturesServiceStreamName>) {
        state.value.passing.formUnion(names.intersection(state.value.passedOn))
        let (passing, now) = (state.value.passing, Instant.current)
        let isOver = { (waiting: (names: Set<FuturesServiceStreamName>, until: Instant, done: () -> Void)) in
            waiting.until <= now || waiting.names.isSubset(of: passing)
        }
        let over = state.value.awaitingMessages.filter(isOver)
        state.value.awaitingMessages.removeAll(where: isOver)
        for waiting in over { waiting.done() }
    }

    package var isServing: Bool { shared.withLockedValue { $0.mirror.isServing } }

    package func floor(before id: EventID) -> UInt64 { shared.withLockedValue { $0.floor ?? $0.mirror.epochs.head } }

    package func canResume(behind id: EventID) -> Bool { shared.withLockedValue { $0.mirror.isFollowing && $0.mirror.epochs.contains(id) } }

    package func cutAt(_ name: FuturesServiceStreamName) -> UInt64? { shared.withLockedValue { $0.mirror.streams[name]?.cutAt } }

    package func ownReturn(_ name: FuturesServiceStreamName) -> OwnReturn? { shared.withLockedValue { $0.mirror.streams[name]?.ownReturn } }

    package func isBehind(_ id: EventID) -> Bool {
        shared.withLockedValue { $0.mirror.epochs.current?.id == id.epoch && id.sequence > $0.mirror.epochs.head }
    }

    package func passesMessagesOn(_ name: FuturesServiceStreamName) -> Bool {
        newestMessage(of: name) != nil
    }

    package func whenPassingOn(_ names: [FuturesServiceStreamName], _ done: @escaping () -> Void) {
        guard !state.value.passing.isSuperset(of: names) else { return done() }
        state.value.awaitingMessages.append((Set(names), Instant.current + Self.demandPeriod, done))
        loop.assumeIsolated().scheduleTask(in: TimeAmount(Self.demandPeriod) + .milliseconds(50)) { self.beginPassing([]) }
    }

    package func refreshListing(of upstream: Int) {
        loop.execute {
            let now = Instant.current
            guard let venue = self.dialect.venueREST(of: upstream),
                self.state.value.listingAskedAt[upstream].map({ $0 + FeedEngine.listingRefresh <= now }) ?? true
            else { return }
            self.state.value.listingAskedAt[upstream] = now
            // The ingest reads the answer and publishes the list in the log.
            _ = self.relay(venue.listingRelay, newestOf: nil, maxAge: FeedEngine.listingRefresh.nanoseconds / 1_000_000) { _ in }
        }
    }

    /// The state of an upstream at the ingest.
    private func gauges(of upstream: Int) -> UpstreamGauges {
        let name = dialect.logName(of: upstream)
        return shared.withLockedValue { $0.mirror.gauges?.upstreams[name] } ?? UpstreamGauges()
    }

    package func venueTime(of upstream: Int) -> Int64? {
        let time = shared.withLockedValue { $0.mirror.clock.time(at: Instant.current) }
        guard let time, let ahead = gauges(of: upstream).aheadMs else { return nil }
        return time &+ ahead
    }

    package func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void) {
        guard let engine = shared.withLockedValue({ $0.engine }) else { return done(nil) }
        engine.loop.execute { engine.compareClock { clock in self.loop.execute { done(clock) } } }
    }

    package func weight(of upstream: Int) -> (used: Int, limit: Int) { gauges(of: upstream).weight }

    /// Values that only the engine counts are reported by the node that has it.
    package var gauges: FeedGauges {
        if let engine = shared.withLockedValue({ $0.engine }) { return engine.gauges }
        let gauges = shared.withLockedValue { $0.mirror.gauges } ?? IngestGauges()
        return FeedGauges(
            counters: FeedCounters(), connections: [], lines: gauges.lines,
            budgets: parts.indices.map(self.gauges(of:)).map { RequestBudget(weight: $0.weight, pause: .milliseconds($0.restPauseMs)) })
    }

    package var traffic: [UpstreamTraffic] { shared.withLockedValue { $0.traffic } ?? dialect.upstreams.map { _ in UpstreamTraffic() } }

    package func relay(
        _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) -> (() -> Void)? {
        // The ingest waits ten seconds for weight, and five for the venue.
        askIngest(.relay(request, of: dialect.logName(of: request.upstream), newestOf: name, maxAge: maxAge), within: .seconds(16), each: .seconds(6))
        { result in
            // On a slow link, the answer may be as old as a record.
            let transit = self.shared.withLockedValue { $0.mirror.clock.transit }
            answer(result.map { RelayedAnswer(status: $0.status, body: $0.body, ageMs: $0.ageMs + transit) })
        }
        return nil
    }

    package var mayAnswerLate: Bool { true }

    package var peers: (any FeedPeers)? { self }
}
