import FeedCore
import FuturesFeed
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import ReplicatedLog
import SimulatedLog

/// A log in memory, without faults, that the gateways of one test share.
final class SharedLog: Sendable {
    private struct State {
        var log: SimulatedLog
        var clients: [@Sendable (LogEvent) -> Void] = []
        var isFrozen = false
        /// Hears of each refused request; nil while none is refused.
        var refusals: AsyncStream<Void>.Continuation?
    }

    private let state: NIOLockedValueBox<State>
    private let loop = MultiThreadedEventLoopGroup.singleton.next()
    private let tick = NIOLockedValueBox<RepeatedTask?>(nil)

    init() {
        var log = SimulatedLog(seed: .random(in: .min ... .max), clients: 8)
        // Of two milliseconds each: nothing is lost here, so nothing is waited for in vain.
        log.patience = 30_000
        state = NIOLockedValueBox(State(log: log))
        let task = loop.scheduleRepeatedTask(initialDelay: .milliseconds(1), delay: .milliseconds(2)) { [weak self] _ in self?.step() }
        tick.withLockedValue { $0 = task }
    }

    deinit { tick.withLockedValue { $0?.cancel() } }

    /// While it is frozen it takes and tells nothing.
    func freeze(_ isFrozen: Bool = true) { state.withLockedValue { $0.isFrozen = isFrozen } }

    /// From now on, no node hears a request. Returns an element for each.
    func refuseRequests() -> AsyncStream<Void> {
        let (refusals, continuation) = AsyncStream<Void>.makeStream()
        state.withLockedValue { $0.refusals = continuation }
        return refusals
    }

    func acceptRequests() { state.withLockedValue { $0.refusals = nil } }

    /// What a node of this log is.
    func cluster(
        _ role: ClusterConfiguration.Role, standbyDelay: Duration = .milliseconds(200), isHotStandby: Bool = false
    ) -> ClusterConfiguration {
        var cluster = ClusterConfiguration(role: role, servers: [], standbyDelay: standbyDelay, isHotStandby: isHotStandby)
        cluster.makeLog = { loop, listener in self.client(loop, listener) }
        return cluster
    }

    private func client(_ loop: any EventLoop, _ listener: @escaping (LogEvent) -> Void) -> any LogEngine {
        let listener = NIOLoopBound(listener, eventLoop: loop)
        let number = state.withLockedValue { state in
            state.clients.append { event in loop.execute { listener.value(event) } }
            return state.clients.count - 1
        }
        loop.execute { listener.value(.connected) }
        return Client(log: self, number: number)
    }

    private final class Client: LogEngine {
        private let log: SharedLog
        private let number: Int

        init(log: SharedLog, number: Int) { (self.log, self.number) = (log, number) }

        func perform(_ command: LogCommand) {
            log.state.withLockedValue { state in
                guard let refusals = state.refusals, case .request(let id, _, _, _) = command else { return state.log.perform(command, by: number) }
                refusals.yield()
                state.clients[number](.answered(id: id, .failure(LogError(.unavailable, "No node listens."))))
            }
        }

        func stop() {
            log.state.withLockedValue { state in
                state.log.leave(number)
                state.clients[number] = { _ in }
            }
        }
    }

    private func step() {
        state.withLockedValue { state in
            guard !state.isFrozen else { return }
            for (client, event) in state.log.step() where client < state.clients.count { state.clients[client](event) }
        }
    }
}
