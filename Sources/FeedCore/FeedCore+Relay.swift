/// Readers' requests that are passed on to the venue's REST unchanged. Like readers' refetches, they leave some weight to recoveries.
extension FeedCore {
    mutating func relay(_ id: RelayID, weight: Int) {
        relays.want(id, weight: weight, until: feed.now.instant + feed.configuration.relayPatience)
        startRelays()
    }

    mutating func relayed(_ id: RelayID, _ error: FeedError?) {
        feed.rest.answered(error, feed.now.instant)
        relays.end(id)
        startRelays()
    }

    /// Passes on as many requests as the weight and the venue allow. A request that would wait longer than readers do is refused immediately.
    mutating func startRelays() {
        for id in relays.takeExpired(feed.now.instant) { refuse(id, wait: feed.rest.pause(feed.now.instant)) }
        while relays.runningCount < feed.configuration.relaysAtOnce, let next = relays.next {
            guard let wait = feed.rest.admit(next.weight, leaving: feed.configuration.recoveryReserve, feed.now) else {
                feed.counters.weight.relays &+= UInt64(clamping: next.weight)
                relays.start(next.id)
                feed.decisions.effects.append(.relay(next.id, host: feed.rest.host))
                continue
            }
            if wait > feed.configuration.relayPatience {
                for id in relays.takeAll() { refuse(id, wait: wait) }
            } else {
                feed.wake(at: feed.now.instant + wait)
            }
            break
        }
        if let end = relays.nextEnd { feed.wake(at: end) }
    }

    private mutating func refuse(_ id: RelayID, wait: Duration?) {
        let milliseconds = max(1, (wait ?? .seconds(1)).nanoseconds / 1_000_000)
        let words = "The venue's request budget is used up, or the venue asked to wait; try again in \(milliseconds) ms."
        feed.decisions.effects.append(.refuseRelay(id, FeedError(.rateLimited, words, retryAfterMs: milliseconds)))
    }
}
