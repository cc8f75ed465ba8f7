import FeedCore
import FeedDialects
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
import Replication

/// The feed of a node that writes the log, for one epoch.
final class LogIngest {
    private unowned let node: LogNode
    var writer: LogWriter
    let engine: FeedEngine
    let epoch: UInt64
    private let collector: Collector
    /// The observers that stand for nodes, and when each was heard last.
    private var nodes: [String: (observer: ObserverID, names: Set<FuturesServiceStreamName>, heardAt: NIODeadline)] = [:]
    private let heir: ObserverID
    private var heirUntil: NIODeadline?
    private var nextCheckpoint = 0

    /// A node that is not heard for as long wants nothing any more.
    private static let patience = TimeAmount.seconds(15)
    /// In how many seconds each stream's checkpoint comes.
    private static let checkpointPeriod = 20

    /// Nil if the log does not end with the claim.
    init?(_ node: LogNode, _ claim: LogRecord) {
        let epochs = node.shared.withLockedValue { $0.mirror.epochs }
        guard let writer = LogWriter(epochs: epochs, claim: claim, behind: node.state.value.lastCommand, now: .current),
            let epoch = epochs.current
        else { return nil }
        (self.node, self.writer, self.epoch) = (node, writer, epoch.id)
        engine = node.feed.engine(epoch: epoch.id, node.logger)
        collector = Collector(node)
        heir = engine.add(nil)
    }

    /// Takes over every stream that the log knows, until nodes have said what they want.
    func begin() {
        engine.listen(collector)
        let (inherited, head, heardAt) = node.shared.withLockedValue { shared in
            let names = shared.mirror.streams.keys
            let inherited = names.map { name in
                InheritedStream(name: name, content: shared.mirror.content(of: name), isLost: shared.mirror.streams[name]?.isLost == true)
            }
            return (inherited, shared.mirror.epochs.head, shared.mirror.heardAt)
        }
        engine.inherit(inherited, behind: head, for: heir, heardAt: heardAt ?? Moment.current.instant)
        engine.loadListing()
        heirUntil = .now() + Self.patience
    }

    /// A node says what its readers want.
    func hear(_ subject: String, _ body: [UInt8], _ configuration: ClusterConfiguration) {
        let lines = body.split(separator: UInt8(ascii: "\n")).prefix(100_001).map { String(decoding: $0, as: UTF8.self) }
        guard let first = lines.first else { return }
        if subject == configuration.refetchSubject {
            if let name = FuturesServiceStreamName(first) { engine.step(.refetch(name)) }
            return
        }
        let wanted = Set(lines.dropFirst().compactMap { FuturesServiceStreamName($0) })
        let known = nodes[first] ?? (engine.add(nil), [], .now())
        nodes[first] = (known.observer, wanted, .now())
        let (new, gone) = (wanted.subtracting(known.names), known.names.subtracting(wanted))
        if !new.isEmpty { engine.step(.observe(known.observer, Array(new), forceFetch: false)) }
        if !gone.isEmpty { engine.step(.unobserve(known.observer, Array(gone))) }
    }

    /// Once a second: a part of the streams as they are, and what nobody wants any more.
    func checkpoint() {
        let now = NIODeadline.now()
        for (name, node) in nodes where node.heardAt + Self.patience < now {
            engine.remove(node.observer)
            nodes[name] = nil
        }
        if let until = heirUntil, until < now {
            heirUntil = nil
            engine.step(.unobserve(heir, nil))
        }
        let part = nextCheckpoint
        nextCheckpoint = (nextCheckpoint + 1) % Self.checkpointPeriod
        // On the feed's loop nothing has changed that was not published.
        engine.loop.execute { [engine, collector] in
            let names = engine.read { core, _ in core.streamNames }
            for (place, name) in names.enumerated() where place % Self.checkpointPeriod == part {
                guard let (content, status) = engine.values(of: [name]).values.first ?? nil, status.isWhole else { continue }
                let isLost = status.state == .recovering || status.state == .stale || status.state == .failed
                collector.add(Checkpoint(state: status.state, isLost: isLost, content: content).record(of: name), number: nil)
            }
        }
    }

    /// Appends what the feed has published since the last call.
    func append() {
        for (records, number) in collector.take() { node.perform(writer.append(records, from: number, now: .current)) }
    }
}

/// Takes a feed's events on its loop, encodes them, and has the node append all of one turn together.
private final class Collector: FeedReader {
    private struct State {
        var batches: [(records: [FeedRecord], number: UInt64?)] = []
        var isPlanned = false
        var next: UInt64?
    }

    private let node: LogNode
    private let state = NIOLockedValueBox(State())

    init(_ node: LogNode) { self.node = node }

    func receive(_ event: FeedEvent) { add(FeedRecord(event), number: event.id.sequence) }

    func add(_ record: FeedRecord, number: UInt64?) {
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
        node.loop.execute { [node] in node.state.value.ingest?.append() }
    }

    func take() -> [(records: [FeedRecord], number: UInt64?)] {
        state.withLockedValue { state in
            defer { (state.batches, state.isPlanned) = ([], false) }
            return state.batches
        }
    }
}

extension FuturesFeedConfiguration {
    /// An engine for these settings, of a given epoch.
    func engine(epoch: UInt64, _ logger: Logger) -> FeedEngine {
        FeedEngine(
            dialect: dialect, configuration: core, lines: linesByUpstream, epoch: epoch, seed: seed ?? .random(in: .min ... .max), logger: logger)
    }

    /// The core's part of them.
    var core: FeedCore.Configuration {
        var core = FeedCore.Configuration()
        core.linger = linger
        core.pingInterval = pingInterval
        core.reconnectBase = reconnectBase
        core.rotateAfter = rotateAfter
        return core
    }
}
