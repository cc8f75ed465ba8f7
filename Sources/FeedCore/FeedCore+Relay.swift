/// Readers' requests that are passed on to the venue's REST unchanged. Like readers' refetches, they leave some weight to recoveries.
extension FeedCore {
    mutating func relay(_ upstream: Int, _ id: RelayID, weight: Int) {
        guard feed.upstreams.indices.contains(upstream) else { return refuse(id, wait: nil) }
        feed.upstreams[upstream].relays.want(id, weight: weight, until: feed.now.instant + feed.configuration.relayPatience)
        startRelays(upstream)
    }

    mutating func relayed(_ upstream: Int, _ id: RelayID, _ error: FeedError?) {
        guard feed.upstreams.indices.contains(upstream) else { return }
        feed.upstreams[upstream].rest.answered(error, last: feed.lastAttempt, feed.now.instant)
        feed.upstreams[upstream].relays.end(id)
        startRelays(upstream)
    }

    /// Passes on as many requests as the weight and the venue allow. A request that would wait longer than readers do is refused immediately.
    mutating func startRelays(_ upstream: Int) {
        let pause = feed.upstreams[upstream].rest.pause(feed.now.instant)
        for id in feed.upstreams[upstream].relays.takeExpired(feed.now.instant) { refuse(id, wait: pause) }
        while feed.upstreams[upstream].relays.runningCount < feed.configuration.relaysAtOnce, let next = feed.upstreams[upstream].relays.next {
            guard let wait = feed.upstreams[upstream].rest.admit(next.weight, leaving: feed.configuration.recoveryReserve, feed.now) else {
                feed.counters.weight.relays &+= UInt64(clamping: next.weight)
                feed.upstreams[upstream].relays.start(next.id)
                feed.decisions.effects.append(.relay(upstream: upstream, next.id, host: feed.upstreams[upstream].rest.host))
                continue
            }
            if wait > feed.configuration.relayPatience {
                for id in feed.upstreams[upstream].relays.takeAll() { refuse(id, wait: wait) }
            } else {
                feed.wake(at: feed.now.instant + wait)
            }
            break
        }
        if let end = feed.upstreams[upstream].relays.nextEnd { feed.wake(at: end) }
    }

    private mutating func refuse(_ id: RelayID, wait: Duration?) {
        let milliseconds = max(1, (wait ?? .seconds(1)).nanoseconds / 1_000_000)
        let words = "The venue's request budget is used up, or the venue asked to wait; try again in \(milliseconds) ms."
        feed.decisions.effects.append(.refuseRelay(id, FeedError(.rateLimited, words, retryAfterMs: milliseconds)))
    }
}
