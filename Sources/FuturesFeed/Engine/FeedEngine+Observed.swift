package import FeedCore
import FeedObserving
import NIOCore
package import Replication

extension FeedEngine: ObservedFeed {
    package func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? { read { core, _ in core.content(of: name) } }

    package func state(of name: FuturesServiceStreamName) -> FeedState? { read { core, now in core.status(of: name, now: now)?.state } }
}

extension FeedEngine {
    /// Takes over the streams of a feed that has ended. They are in an outage since then, and new sequences continue above all published ones. Call
    /// it after this engine's events have a listener.
    ///
    /// - Parameter linger: How long the streams stay subscribed so that readers can return.
    package func takeOver(_ past: inout PastFeed, linger: Duration, now: Moment) {
        let claim = past.epochs.claim(0, highest: past.epochs.head, term: 0, sentAt: now.wallClock)
        let silence = min(max(now.wallClock &- past.lastAt, 0), Self.longestSilence)
        let heardAt = Instant(nanoseconds: now.instant.nanoseconds - silence * 1_000_000)
        let heir = add(nil)
        let known = past.inherited().filter { dialect.traits(of: $0.name) != nil }
        inherit(known, because: "The gateway was restarted.", behind: claim.first - 1, for: heir, heardAt: heardAt)
        loop.scheduleTask(in: TimeAmount(linger)) { self.remove(heir) }
    }

    /// A year in ms, the longest silence that counts for outages.
    private static let longestSilence: Int64 = 31_536_000_000
}
