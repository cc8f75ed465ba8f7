import FeedCore
import FeedDialects
import FeedObserving
package import Logging
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
package import Replication

/// The feed of a node that writes the log, for one epoch.
final class LogIngest {
    private unowned let node: LogNode
    var writer: LogWriter
    let engine: FeedEngine
    let epoch: UInt64
    private let collector: Collector
    /// The venue's answers, each with the instant at which it was received.
    private let relays: SharedRelays<(answer: RelayedAnswer, receivedAt: Instant)>
    /// The observers on behalf of nodes, and when each node was last heard.
    private var nodes: [String: NodeDemand] = [:]
    /// The streams whose venue's messages the log has, because a node needs them.
    private var passedOn: Set<FuturesServiceStreamName> = []
    private let heir: ObserverID
    private var heirUntil: NIODeadline?
    private var periods = 0

    private struct NodeDemand {
        let observer: ObserverID
        var names: Set<FuturesServiceStreamName> = []
        var messages: Set<FuturesServiceStreamName> = []
        var heardAt = NIODeadline.now()
    }

    /// Nil if the log does not end with the claim.
    ///
    /// - Parameter shadow: The streams that this node maintained as a standby; its engine becomes the log's feed.
    init?(_ node: LogNode, _ claim: LogRecord, _ shadow: ShadowFeed?) {
        let epochs = node.shared.withLockedValue { $0.mirror.epochs }
        guard let writer = LogWriter(epochs: epochs, claim: claim, behind: node.state.value.lastCommand, now: .current),
            let epoch = epochs.current
        else { return nil }
        (self.node, self.writer, self.epoch) = (node, writer, epoch.id)
        engine = shadow?.engine ?? node.feed.engine(epoch: epoch.id, node.logger)
        collector = Collector(node, engine)
        relays = SharedRelays(engine, maximumBytes: Self.keptBytes) { (($0, $1), $0.body.count) }
        heir = shadow?.observer ?? engine.add(nil)
    }

    /// Takes over every stream of the log until the nodes have sent their demand.
    func begin() {
        let now = Moment.current
        let (head, heardAt) = node.shared.withLockedValue { ($0.mirror.epochs.head, $0.mirror.lastWord?.moment(now: now)) }
        engine.inherit(
            node.inherited(), because: "The ingest stopped; another one took over.", epoch: epoch, behind: head, for: heir,
            heardAt: heardAt ?? now.instant, listener: collector)
        engine.loadListings()
        heirUntil = .now() + Self.patience
    }

    /// Handles a node's request.
    func hear(_ request: NodeRequest, _ reply: LogReply?) {
        switch request {
        case .demand(let name, let names, let messages):
            want(Set(names), messages: messages, of: name)
            guard let reply else { return }
            engine.loop.execute { [node, engine] in
                let head = engine.head.sequence
                node.loop.execute { node.state.value.role.ingest?.answer(.success(RelayedAnswer(status: 202, body: [])), head: head, reply) }
            }
        case .refetch(let node, let name):
            want((nodes[node]?.names ?? []).union([name]), messages: nodes[node]?.messages ?? [], of: node)
            engine.step(.refetch(name))
            if let reply { answer(.success(RelayedAnswer(status: 202, body: [])), head: 0, reply) }
        case .relay(let relay, let upstream, let name, let maxAge):
            guard let reply else { return }
            guard let place = engine.dialect.upstream(logName: upstream) else {
                return answer(
                    .failure(FeedError(.unreachable, "The ingest does not read \(upstream); give all nodes the same venues.")), head: 0, reply)
            }
            let relay = relay.sent(to: place)
            engine.loop.execute { [node, engine, relays] in
                let answer: @Sendable (Result<RelayedAnswer, FeedError>, UInt64) -> Void = { result, head in
                    node.loop.execute { node.state.value.role.ingest?.answer(result, head: head, reply) }
                }
                if let (kept, receivedAt) = relays.kept(relay, maxAge: maxAge)?.answer {
                    let ageMs = Instant.current.milliseconds(since: receivedAt)
                    return answer(.success(RelayedAnswer(status: kept.status, body: kept.body, ageMs: ageMs)), 0)
                }
                relays.ask(relay, newestOf: name) { answer($0.map(\.answer), engine.head.sequence) }
            }
        case .rest, .question: break
        }
    }

    private func answer(_ result: Result<RelayedAnswer, FeedError>, head: UInt64, _ reply: LogReply) {
        node.respond(IngestAnswer(result, head: head).bytes, to: reply)
    }

    private func want(_ names: Set<FuturesServiceStreamName>, messages: Set<FuturesServiceStreamName>, of node: String) {
        let known = nodes[node] ?? NodeDemand(observer: engine.add(nil))
        nodes[node] = NodeDemand(observer: known.observer, names: names, messages: messages)
        let (new, gone) = (names.subtracting(known.names), known.names.subtracting(names))
        if !new.isEmpty { engine.step(.observe(known.observer, Array(new), forceFetch: false)) }
        if !gone.isEmpty { engine.step(.unobserve(known.observer, Array(gone))) }
        passOn()
    }

    /// Has the feed pass on the messages that nodes need. It is asked each time again, because a stream that ended and began again has forgotten it.
    private func passOn() {
        let all = nodes.values.reduce(into: Set()) { $0.formUnion($1.messages) }
        for name in passedOn.subtracting(all) { engine.step(.passOn(name, false)) }
        for name in all { engine.step(.passOn(name, true, fromNewest: true)) }
        passedOn = all
    }

    /// Writes checkpoints of a part of the streams and other records that are not events. Ends the demand of nodes that are gone.
    func tell() {
        let now = NIODeadline.now()
        for (name, node) in nodes where node.heardAt + Self.patience < now {
            nodes[name] = nil
            passOn()
            engine.remove(node.observer)
        }
        if let until = heirUntil, until < now {
            heirUntil = nil
            engine.step(.unobserve(heir, nil))
        }
        let counts = LogNode.WriterCounts(appended: writer.appended, refusals: writer.refusals, backlog: writer.backlog, nodes: nodes.count)
        node.shared.withLockedValue { $0.writer = counts }
        let part = periods % Self.checkpointPeriods
        periods += 1
        // On the feed's loop, no event is published in the meantime.
        engine.loop.execute { [collector] in collector.tell(part, of: Self.checkpointPeriods) }
    }

    /// Appends the events that the feed has published since the last call.
    func append() {
        for (records, number) in collector.take() { node.perform(writer.append(records, from: number, now: .current)) }
    }
}

/// Receives a feed's events on its loop, encodes them, and makes the node append all events of one turn together.
private final class Collector: FeedListener {
    private struct State {
        var batches: [(records: [FeedRecord], number: UInt64?)] = []
        var isPlanned = false
        var next: UInt64?
        /// The time of each stream's newest incident in the log.
        var incidents: [FuturesServiceStreamName: Int64] = [:]
        /// The time of each stream's last verification in the log, apart from those by events.
        var verified: [FuturesServiceStreamName: Int64] = [:]
        /// By upstream.
        var listings: [Int: FeedRecord] = [:]
    }

    private let node: LogNode
    private let engine: FeedEngine
    private let state = NIOLockedValueBox(State())

    init(_ node: LogNode, _ engine: FeedEngine) { (self.node, self.engine) = (node, engine) }

    func receive(_ event: EncodedEvent) {
        switch event.kind {
        case .ended: state.withLockedValue { ($0.incidents[event.stream], $0.verified[event.stream]) = (nil, nil) }
        // The incident precedes its event in the log, so that every reader of the event finds it.
        case .recovered, .notRecovered, .failed, .fetchFailed, .disconnected, .status: addIncidents(of: event.stream)
        default: break
        }
        if case .status(let unverifiedMs?) = event.detail { addVerified(event.stream, at: Moment.current.wallClock &- unverifiedMs) }
        add(event.record, number: event.id.sequence)
    }

    func receive(_ message: VenueMessage) { add(FeedRecord(message), number: nil) }

    /// Writes the incidents that are not in the log yet.
    private func addIncidents(of name: FuturesServiceStreamName) {
        let all = engine.incidents(of: name)
        guard let newest = all.last else { return }
        let last = state.withLockedValue { $0.incidents.updateValue(newest.at, forKey: name) ?? .min }
        let new = all.filter { $0.at > last }
        if !new.isEmpty { add(IncidentsRecord.record(new, of: name), number: nil) }
    }

    /// Writes state that is not an event.
    func tell(_ part: Int, of parts: Int) {
        let (names, moment) = (engine.read { core, _ in core.streamNames }, Moment.current)
        let statuses = engine.statuses()
        node.shared.withLockedValue { $0.traffic = engine.traffic }
        for (place, name) in names.enumerated() where place % parts == part {
            // A stream that cannot be written now follows in its next turn.
            for record in engine.checkpoint(of: name) ?? [] { add(record, number: nil) }
        }
        // A status may describe content that is not in the log yet. The next period then writes it.
        if engine.hasToldAll { addVerified(statuses, moment) }
        var gauges = IngestGauges()
        for (upstream, budget) in engine.gauges.budgets.enumerated() {
            gauges.upstreams[engine.dialect.logName(of: upstream)] = UpstreamGauges(
                weight: budget.weight, restPauseMs: Int64(budget.pause / .milliseconds(1)),
                aheadMs: engine.venueTime(of: upstream).map { $0 &- moment.wallClock })
        }
        gauges.lines = statuses.lines
        add(gauges.record, number: nil)
        for upstream in engine.dialect.upstreams.indices {
            guard let listing = engine.listing(of: upstream).map({ ListingRecord.record($0, of: engine.dialect.logName(of: upstream)) }) else {
                continue
            }
            let isNew = state.withLockedValue { $0.listings.updateValue(listing, forKey: upstream) != listing }
            if isNew || part == 0 { add(listing, number: nil) }
        }
    }

    /// Writes the moment of the verification itself, because a status may wait in the writer's queue and its `unverifiedMs` counts from its creation.
    private func addVerified(_ name: FuturesServiceStreamName, at time: Int64) {
        state.withLockedValue { $0.verified[name] = time }
        for record in VerifiedRecord.records([(name, time)]) { add(record, number: nil) }
    }

    private func addVerified(_ statuses: FeedStatuses, _ moment: Moment) {
        let new = state.withLockedValue { state in
            statuses.streams.compactMap { status -> (name: FuturesServiceStreamName, at: Int64)? in
                guard let age = status.ageMs, let unverified = status.unverifiedMs else { return nil }
                let (at, known) = (moment.wallClock &- unverified, max(state.verified[status.name] ?? 0, moment.wallClock &- age))
                // Clocks in milliseconds may differ by one.
                guard abs(at &- known) > 1 else { return nil }
                state.verified[status.name] = at
                return (status.name, at)
            }
        }
        for record in VerifiedRecord.records(new) { add(record, number: nil) }
    }

    private func add(_ record: FeedRecord, number: UInt64?) {
        let isFirst = state.withLockedValue { state in
            let follows = number == nil || number == state.next
            if state.batches.isEmpty || !follows {
                state.batches.append(([record], number))
            } else {
                state.batches[state.batches.count - 1].records.append(record)
                if state.batches[state.batches.count - 1].number == nil { state.batches[state.batches.count - 1].number = number }
            }
            if let number { state.next = number + 1 }
            defer { state.isPlanned = true }
            return !state.isPlanned
        }
        guard isFirst else { return }
        // After this turn of the feed's loop, so that a recovery and its content are appended together.
        engine.loop.execute { [node] in node.loop.execute { node.state.value.role.ingest?.append() } }
    }

    func take() -> [(records: [FeedRecord], number: UInt64?)] {
        state.withLockedValue { state in
            defer { (state.batches, state.isPlanned) = ([], false) }
            return state.batches
        }
    }
}

extension FuturesFeedConfiguration {
    /// Creates an engine with these settings and a given epoch.
    package func engine(epoch: UInt64, past: EpochTable? = nil, _ logger: Logger) -> FeedEngine {
        FeedEngine(
            dialect: dialect, configuration: core, lines: linesByUpstream, epoch: epoch, past: past, seed: seed ?? .random(in: .min ... .max),
            recorder: recorder, logger: logger)
    }

    /// The settings of the core.
    var core: FeedCore.Configuration {
        var core = FeedCore.Configuration()
        core.linger = linger
        core.pingInterval = pingInterval
        core.reconnectBase = reconnectBase
        core.rotateAfter = rotateAfter
        return core
    }
}
