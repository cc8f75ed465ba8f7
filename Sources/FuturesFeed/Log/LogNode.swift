import FeedCore
package import FeedDialects
import FeedObserving
package import Logging
import NATS
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import ReplicatedLog
import Replication

/// A node of a cluster. It serves the log's events, and writes the log if it is an ingest and no other node does.
///
/// It has its own event loop. Readers receive only events from the log, never events that this node's own feed has just published, so they receive
/// the same on every node.
package final class LogNode: Sendable {
    /// State that other threads may read.
    struct Shared {
        var mirror: FeedMirror
        var listener: (any FeedListener)?
        var hasStarted = false
        /// Whether the log has been read once.
        var isConnected = false
        /// The engine that writes the log, and its recent traffic; nil unless this node writes the log.
        var engine: FeedEngine?
        var traffic: [UpstreamTraffic]?
        /// The engine that maintains the streams while another node writes the log; nil unless this node is a hot standby.
        var shadow: FeedEngine?
        var writer: WriterCounts?
        /// Every event after this sequence has been delivered.
        var floor: UInt64?
    }

    /// The recent counts of a writing node.
    struct WriterCounts {
        let appended: UInt64
        let refusals: UInt64
        let backlog: Int
        let nodes: Int
    }

    /// State used only on the loop.
    struct State {
        var log: (any LogEngine)?
        var peerRequests = PeerRequests()
        var timer: (at: Instant, task: Scheduled<Void>)?
        var role = NodeRole.edge
        /// The id of the newest command of any writer so far.
        var lastCommand: UInt64 = 0
        /// The streams with readers on this node.
        var wanted: Set<FuturesServiceStreamName> = []
        /// Those of them that readers of the venue's sockets read.
        var passedOn: Set<FuturesServiceStreamName> = []
        /// Those of which the log has the messages, and callbacks that wait for others.
        var passing: Set<FuturesServiceStreamName> = []
        var awaitingMessages: [(names: Set<FuturesServiceStreamName>, until: Instant, done: () -> Void)] = []
        var isDemandPlanned = false
        /// Callbacks that wait until the log has been read up to a sequence.
        var awaiting: [(head: UInt64, until: Instant, done: () -> Void)] = []
        var tasks: [RepeatedTask] = []
        var isStopped = false
        /// When the ingest was last asked for the venue's list.
        /// By upstream.
        var listingAskedAt: [Int: Instant] = [:]
        /// Called when the writer has appended everything.
        var isAppended: (() -> Void)?
    }

    package let dialect: any Dialect
    /// The upstreams' own dialects, in the order of the upstreams.
    package let parts: [any Dialect]
    package let loop: any EventLoop
    let configuration: ClusterConfiguration
    let feed: FuturesFeedConfiguration
    let logger: Logger
    let shared: NIOLockedValueBox<Shared>
    let state: NIOLoopBoundBox<State>
    private let group: MultiThreadedEventLoopGroup
    /// The name of this run of the node: 8 hexadecimal digits.
    package let name = String(UInt64.random(in: 1 << 32..<1 << 33), radix: 16).suffix(8).description

    package init(_ configuration: ClusterConfiguration, feed: FuturesFeedConfiguration, logger: Logger) {
        (self.configuration, self.feed, self.logger) = (configuration, feed, logger)
        let dialect = feed.dialect
        (self.dialect, parts) = (dialect, dialect.parts)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        shared = NIOLockedValueBox(Shared(mirror: FeedMirror { dialect.traits(of: $0)?.limit ?? 1000 }))
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
    }

    /// Connects and starts to read the log.
    package func start() {
        if let makeLog = configuration.makeLog { return loop.execute { self.begin(makeLog(self.loop) { self.receive($0) }) } }
        do throws(NATSError) {
            let settings = try configuration.client
            loop.execute {
                self.begin(
                    JetStreamLog(
                        settings, stream: self.configuration.stream, subject: self.configuration.subject,
                        // An edge waits until an ingest has created it. In a remote region it would create a second stream besides the mirror's.
                        making: self.configuration.role == .ingest ? self.configuration.description : nil,
                        loop: self.loop,
                        trouble: { [logger = self.logger] in logger.warning("trouble with the log's server", metadata: ["trouble": "\($0)"]) },
                        listener: { self.receive($0) }))
            }
        } catch {
            logger.error("the log cannot be reached", metadata: ["reason": "\(error.message)"])
        }
    }

    private func begin(_ log: any LogEngine) {
        guard !state.value.isStopped else { return log.stop() }
        if configuration.role == .ingest {
            state.value.role = .standby(Standby(delay: configuration.standbyDelay, seed: .random(in: .min ... .max)), nil)
        }
        state.value.log = log
        log.perform(.hear(subject: configuration.subject(ofNode: name)))
        state.value.tasks = [
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: TimeAmount(Self.demandPeriod)) { _ in self.tellDemand() },
            loop.scheduleRepeatedTask(initialDelay: LogIngest.period, delay: LogIngest.period) { _ in
                self.state.value.role.ingest?.tell()
                self.followWithShadow()
            },
        ]
    }

    /// Hands the log over if this node writes it, and ends the feed, the connection and the thread.
    package func stop() async {
        let engine = try? await loop.submit { () -> FeedEngine? in
            self.endShadow()
            self.state.value.role.retire()
            for task in self.state.value.tasks { task.cancel() }
            self.state.value.wanted = []
            self.tellDemand()
            return self.state.value.role.ingest?.engine
        }.get()
        if let engine {
            await engine.stop()
            await resign()
        }
        try? await loop.submit {
            self.state.value.isStopped = true
            self.state.value.timer?.task.cancel()
            self.state.value.log?.stop()
            (self.state.value.log, self.state.value.role) = (nil, .edge)
        }.get()
        shared.withLockedValue { ($0.listener, $0.engine) = (nil, nil) }
        try? await group.shutdownGracefully()
    }

    /// Appends every published event and a record of this node's departure. Another node can then take over immediately.
    private func resign() async {
        await withCheckedContinuation { continuation in
            loop.execute {
                self.state.value.role.ingest?.append()
                guard let effects = self.state.value.role.ingest?.writer.resign(now: .current) else { return continuation.resume() }
                let patience = self.loop.assumeIsolated().scheduleTask(in: .seconds(2)) { self.state.value.isAppended?() }
                self.state.value.isAppended = {
                    self.state.value.isAppended = nil
                    patience.cancel()
                    continuation.resume()
                }
                self.perform(effects)
            }
        }
    }

    private func receive(_ event: ReplicatedLog.LogEvent) {
        switch event {
        case .connected: begin()
        case .disconnected(let error):
            shared.withLockedValue { $0.isConnected = false }
            logger.warning("the log cannot be reached", metadata: ["reason": "\(error.message)"])
        case .notAppended(_, let error) where error.code == .tooLarge:
            logger.warning("the log leaves out a record that is too large", metadata: ["reason": "\(error.message)"])
        case .heard(let subject, let body, let reply): return hear(subject, body, reply)
        case .answered(let id, let result): return answered(id, result)
        default: break
        }
        let (effects, hasNewIngest) = shared.withLockedValue { shared in
            let epoch = shared.mirror.epochs.current?.id
            let effects = shared.mirror.step(event, now: .current)
            return (effects, shared.mirror.epochs.current?.id != epoch)
        }
        perform(effects)
        // A new ingest does not know the demand, and receives it as soon as it listens.
        if hasNewIngest { planDemand(in: .milliseconds(50)) }
        if let ingest = state.value.role.ingest {
            perform(ingest.writer.step(event, now: .current))
        } else if state.value.role.isStandby {
            let mirror = shared.withLockedValue { $0.mirror }
            perform(state.value.role.decide { $0.step(event, mirror, now: .current) })
        }
        if !state.value.awaiting.isEmpty { endAwaiting() }
        setTimer()
    }

    private func begin() {
        let hasStarted = shared.withLockedValue { shared in
            defer { (shared.hasStarted, shared.isConnected) = (true, true) }
            return shared.hasStarted
        }
        if !hasStarted { perform(shared.withLockedValue { $0.mirror.start(now: .current) }) }
        tellDemand()
    }

    /// Calls `done` when everything up to this sequence has been read, or after one second, in which it should have arrived.
    func await(_ head: UInt64, _ done: @escaping () -> Void) {
        guard head > shared.withLockedValue({ $0.mirror.epochs.head }) else { return done() }
        state.value.awaiting.append((head, Instant.current + .seconds(1), done))
        loop.assumeIsolated().scheduleTask(in: .milliseconds(1_050)) { self.endAwaiting() }
    }

    private func endAwaiting() {
        let (head, now) = (shared.withLockedValue { $0.mirror.epochs.head }, Instant.current)
        let done = state.value.awaiting.filter { $0.head <= head || $0.until <= now }
        state.value.awaiting.removeAll { $0.head <= head || $0.until <= now }
        for each in done { each.done() }
    }

    func perform(_ effects: [FeedMirror.Effect]) {
        let listener = shared.withLockedValue { $0.listener }
        for effect in effects {
            switch effect {
            case .perform(let command): state.value.log?.perform(command)
            case .tell(let event):
                shared.withLockedValue { $0.floor = $0.floor ?? $0.mirror.epochs.epochs.first.map { $0.first - 1 } }
                listener?.receive(event)
            case .emptyRings:
                shared.withLockedValue { $0.floor = $0.mirror.isFollowing ? $0.mirror.epochs.head : nil }
                listener?.beginAnew()
            case .passOn(let message):
                if message.text == nil { state.value.passing.remove(message.stream) }
                listener?.receive(message)
            case .messagesLost:
                state.value.passing = []
                for name in state.value.passedOn where name.isHarmedByLoss {
                    listener?.receive(VenueMessage(stream: name, text: nil))
                }
            case .restored(let name): listener?.receiveContent(of: name)
            case .serve:
                logger.notice("the log was read", metadata: ["head": "\(head)"])
            }
        }
    }

    private func perform(_ effects: [Standby.Effect]) {
        for effect in effects {
            switch effect {
            case .perform(let command): state.value.log?.perform(command)
            case .lead(let claim): lead(claim)
            }
        }
    }

    func perform(_ effects: [LogWriter.Effect]) {
        for effect in effects {
            switch effect {
            case .perform(let command): state.value.log?.perform(command)
            case .deposed(let reason): stepDown(reason)
            }
        }
        if state.value.role.ingest?.writer.backlog ?? 0 == 0 { state.value.isAppended?() }
        setTimer()
    }

    func setTimer() {
        let role = state.value.role
        let (mirror, own) = shared.withLockedValue { shared -> (Instant?, Instant?) in
            switch role {
            case .edge: (shared.mirror.deadline, nil)
            case .standby(let standby, _): (shared.mirror.deadline, standby.deadline(shared.mirror))
            case .ingest(let ingest, _): (shared.mirror.deadline, ingest.writer.deadline)
            }
        }
        guard let deadline = [mirror, own].compactMap(\.self).min(), deadline < state.value.timer?.at ?? Instant(nanoseconds: .max) else {
            return
        }
        state.value.timer?.task.cancel()
        // A deadline in the past is handled soon but not immediately; otherwise the loop would do nothing else.
        let at = max(deadline, Instant.current + .milliseconds(5))
        let task = loop.assumeIsolated().scheduleTask(deadline: at.timer) { self.passDeadlines() }
        state.value.timer = (at, task)
    }

    package func passDueDeadlines() {
        guard let timer = state.value.timer, timer.at <= Instant.current else { return }
        timer.task.cancel()
        passDeadlines()
    }

    private func passDeadlines() {
        state.value.timer = nil
        guard !state.value.isStopped else { return }
        let now = Moment.current
        perform(shared.withLockedValue { $0.mirror.passDeadline(now: now) })
        if let ingest = state.value.role.ingest {
            perform(ingest.writer.passDeadline(now: now))
        } else if state.value.role.isStandby {
            let mirror = shared.withLockedValue { $0.mirror }
            perform(state.value.role.decide { $0.passDeadline(mirror, now: now) })
        }
        setTimer()
    }
}
