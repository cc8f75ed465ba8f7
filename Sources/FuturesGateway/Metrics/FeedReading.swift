import FuturesFeed
import GatewayAccess
import NIOCore

/// The metrics of the feed at one moment.
struct FeedReading: Sendable {
    /// A kind of stream of one upstream.
    struct Kind: Sendable {
        var states: [FeedState: Int] = [:]
        /// Milliseconds since the newest and the oldest content were received; nil if no stream has content.
        var newestAge: Int64?
        var oldestAge: Int64?
        /// Readers, including paused ones and waiting requests.
        var readers = 0
    }

    let upstreams: [Upstream]
    let counters: FeedCounters
    let tally: FeedTally
    let traffic: [UpstreamTraffic]
    /// Sockets by upstream.
    let connections: [[ConnectionStatus.Phase: Int]]
    let lines: [LineStatus]
    let budgets: [RequestBudget]
    let pausedClients: Int
    /// Agents with change notifications.
    let listeners: Int
    let refusals: [RefusalReason: UInt64]
    /// Nil for a standalone gateway.
    let node: NodeReading?
}

extension StatusTable {
    /// The streams counted by the tally's kinds; `count` is the number of kinds.
    func kinds(_ count: Int, now: Instant) -> [FeedReading.Kind] {
        var kinds = (0..<count).map { _ in FeedReading.Kind() }
        let elapsed = now.milliseconds(since: readAt)
        for row in rows where kinds.indices.contains(row.kind) {
            let status = row.status.feed
            kinds[row.kind].states[status.state, default: 0] += 1
            kinds[row.kind].readers += row.status.readers
            guard let age = status.ageMs.map({ $0 &+ elapsed }), status.state != .ended else { continue }
            kinds[row.kind].newestAge = min(kinds[row.kind].newestAge ?? .max, age)
            kinds[row.kind].oldestAge = max(kinds[row.kind].oldestAge ?? 0, age)
        }
        return kinds
    }
}
