import FuturesFeed
import GatewayAccess
import NIOCore

/// What the feed's side tells of itself at one moment.
struct FeedReading: Sendable {
    /// A kind of stream of one upstream.
    struct Kind: Sendable {
        var states: [FeedState: Int] = [:]
        /// Milliseconds since the newest and the oldest content was received; nil where no stream has any.
        var newestAge: Int64?
        var oldestAge: Int64?
        /// Readers, paused ones and waiting requests included.
        var readers = 0
    }

    let upstreams: [Upstream]
    let counters: FeedCounters
    let tally: FeedTally
    /// By the tally's kinds.
    let kinds: [Kind]
    let traffic: [UpstreamTraffic]
    /// Sockets by upstream.
    let connections: [[ConnectionStatus.Phase: Int]]
    let weight: (used: Int, limit: Int)
    let restPause: Duration
    let pausedClients: Int
    let refusals: [RefusalReason: UInt64]
}

extension EventHub {
    var reading: FeedReading {
        let (counters, statuses, sockets, weight, pause) = engine.read { core, now in
            (
                core.counters, core.streamNames.compactMap { core.status(of: $0, now: now) }, core.connectionStatuses, core.weight(now: .current),
                core.restPause(now: now)
            )
        }
        var tally = state.value.tally
        var kinds = tally.kinds.map { _ in FeedReading.Kind() }
        for status in statuses {
            let kind = state.value.streams[status.name]?.kind ?? tally.kind(of: status.name)
            while kinds.count <= kind { kinds.append(FeedReading.Kind()) }
            kinds[kind].states[status.state, default: 0] += 1
            kinds[kind].readers += state.value.streams[status.name]?.demand ?? 0
            guard let age = status.ageMs, status.state != .ended else { continue }
            kinds[kind].newestAge = min(kinds[kind].newestAge ?? .max, age)
            kinds[kind].oldestAge = max(kinds[kind].oldestAge ?? 0, age)
        }
        var connections: [[ConnectionStatus.Phase: Int]] = tally.upstreams.map { _ in [:] }
        for socket in sockets { connections[engine.dialect.upstream(of: socket.endpoint)][socket.phase, default: 0] += 1 }
        return FeedReading(
            upstreams: engine.dialect.upstreams, counters: counters, tally: tally, kinds: kinds, traffic: engine.traffic, connections: connections,
            weight: weight, restPause: pause,
            pausedClients: state.value.pausedClients, refusals: gatekeeper.refusals)
    }
}
