import FeedCore
package import FeedDialects
package import Logging
import NATS
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
import ReplicatedLog
import Replication

/// A node of a cluster: serves what the log tells, and feeds the log if it is an ingest and nobody else does.
///
/// It lives on one event loop of its own. Readers are told what the log has, never what this node's own feed has just published, so on every node they
/// are told the same.
package final class LogNode: Sendable {
    /// What other threads may look at.
    struct Shared {
        var mirror: FeedMirror
        var listener: (any FeedReader)?
        var lastObserver: UInt64 = 0
        var hasStarted = false
        /// Everything behind this number has been told.
        var floor: UInt64?
    }

    /// What the loop alone touches.
    struct State {
        var log: JetStreamLog?
        var timer: (at: Instant, task: Scheduled<Void>)?
        var standby: Standby?
        var ingest: LogIngest?
        /// The newest command's id of all writers until now.
        var lastCommand: UInt64 = 0
        /// The streams that readers of this node want.
        var wanted: Set<FuturesServiceStreamName> = []
        var isDemandPlanned = false
        var tasks: [RepeatedTask] = []
        var isStopped = false
    }

    package let dialect: any Dialect
    package let loop: any EventLoop
    let configuration: ClusterConfiguration
    let feed: FuturesFeedConfiguration
    let logger: Logger
    let shared: NIOLockedValueBox<Shared>
    let state: NIOLoopBoundBox<State>
    private let group: MultiThreadedEventLoopGroup
    /// This run of this node.
    let name = String(UInt64.random(in: .min ... .max), radix: 36)

    package init(_ configuration: ClusterConfiguration, feed: FuturesFeedConfiguration, logger: Logger) {
        (self.configuration, self.feed, self.logger) = (configuration, feed, logger)
        let dialect = feed.dialect
        self.dialect = dialect
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        shared = NIOLockedValueBox(Shared(mirror: FeedMirror { dialect.traits(of: $0)?.limit ?? 1000 }))
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
    }

    /// Connects and begins to read the log.
    package func start() {
        do throws(NATSError) {
            let settings = try configuration.client
            loop.execute { self.begin(settings) }
        } catch {
            logger.error("the log cannot be reached", metadata: ["reason": "\(error.message)"])
        }
    }

    private func begin(_ settings: ClientSettings) {
        guard !state.value.isStopped else { return }
        if configuration.role == .ingest {
            state.value.standby = Standby(delay: configuration.standbyDelay, seed: .random(in: .min ... .max))
        }
        state.value.log = JetStreamLog(
            settings, stream: configuration.stream, subject: configuration.subject, loop: loop,
            trouble: { [logger] in logger.warning("the log's server", metadata: ["trouble": "\($0)"]) }, listener: { self.receive($0) })
        for subject in [configuration.demandSubject, configuration.refetchSubject] where configuration.role == .ingest {
            state.value.log?.perform(.hear(subject: subject))
        }
        state.value.tasks = [
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(5)) { _ in self.tellDemand() },
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in self.state.value.ingest?.checkpoint() },
        ]
    }

    /// Ends the connection, the feed and the thread.
    package func stop() async {
        let engine = try? await loop.submit { () -> FeedEngine? in
            self.state.value.isStopped = true
            for task in self.state.value.tasks { task.cancel() }
            self.state.value.timer?.task.cancel()
            self.state.value.log?.stop()
            let engine = self.state.value.ingest?.engine
            (self.state.value.log, self.state.value.ingest, self.state.value.standby) = (nil, nil, nil)
            return engine
        }.get()
        await engine?.stop()
        shared.withLockedValue { $0.listener = nil }
        try? await group.shutdownGracefully()
    }

    private func receive(_ event: ReplicatedLog.LogEvent) {
        switch event {
        case .connected: createStream()
        case .disconnected(let error): logger.warning("the log cannot be reached", metadata: ["reason": "\(error.message)"])
        case .heard(let subject, let body, _): state.value.ingest?.hear(subject, body, configuration)
        default: break
        }
        perform(shared.withLockedValue { $0.mirror.step(event, now: Moment.current.instant) })
        if state.value.ingest != nil {
            if let effects = state.value.ingest?.writer.step(event, now: .current) { perform(effects) }
        } else {
            let mirror = shared.withLockedValue { $0.mirror }
            if let effects = state.value.standby?.step(event, mirror, now: .current) { perform(effects) }
        }
        setTimer()
    }

    /// The log is there before it is read.
    private func createStream() {
        guard let client = state.value.log?.client else { return }
        JetStream(client).create(configuration.description) { [logger] result in
            if case .failure(let error) = result {
                logger.warning("the log could not be made", metadata: ["reason": "\(error)"])
            }
            // What the server refuses it would refuse again; the log may be there all the same.
            if case .failure(let error) = result, error.code != .jetStream {
                self.loop.assumeIsolated().scheduleTask(in: .seconds(1)) { self.createStream() }
                return
            }
            let hasStarted = self.shared.withLockedValue { shared in
                defer { shared.hasStarted = true }
                return shared.hasStarted
            }
            guard !hasStarted else { return }
            self.perform(self.shared.withLockedValue { $0.mirror.start(now: Moment.current.instant) })
        }
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
            case .restored(let name): listener?.receiveContent(of: name)
            case .serve: logger.notice("the log was read", metadata: ["head": "\(head)"])
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
        setTimer()
    }

    private func lead(_ claim: LogRecord) {
        guard let ingest = LogIngest(self, claim) else { return }
        logger.notice("this node feeds the log", metadata: ["epoch": "\(ingest.epoch)"])
        state.value.ingest = ingest
        ingest.begin()
    }

    /// Another ingest took over, or the engine lost what this one appended. Its numbers are used by nobody any more.
    private func stepDown(_ reason: LogWriter.Reason) {
        logger.warning("this node feeds the log no more", metadata: ["reason": "\(reason)"])
        let engine = state.value.ingest?.engine
        state.value.lastCommand = state.value.ingest?.writer.lastID ?? state.value.lastCommand
        state.value.ingest = nil
        Task { await engine?.stop() }
    }

    func setTimer() {
        let mirror = shared.withLockedValue { $0.mirror }
        let deadlines = [
            mirror.deadline, state.value.ingest?.writer.deadline, state.value.ingest == nil ? state.value.standby?.deadline(mirror) : nil,
        ]
        guard let deadline = deadlines.compactMap(\.self).min(), deadline < state.value.timer?.at ?? Instant(nanoseconds: .max) else { return }
        state.value.timer?.task.cancel()
        // A deadline that has passed already is looked at soon, not at once, or the loop would do nothing else.
        let at = max(deadline, Moment.current.instant + .milliseconds(5))
        let task = loop.assumeIsolated().scheduleTask(deadline: .uptimeNanoseconds(UInt64(clamping: at.nanoseconds))) { self.passDeadlines() }
        state.value.timer = (at, task)
    }

    private func passDeadlines() {
        state.value.timer = nil
        guard !state.value.isStopped else { return }
        let now = Moment.current
        perform(shared.withLockedValue { $0.mirror.passDeadline(now: now.instant) })
        if state.value.ingest != nil {
            if let effects = state.value.ingest?.writer.passDeadline(now: now) { perform(effects) }
        } else {
            let mirror = shared.withLockedValue { $0.mirror }
            if let effects = state.value.standby?.passDeadline(mirror, now: now) { perform(effects) }
        }
        setTimer()
    }
}
