package import FeedCore
package import FeedDialects
import NIOConcurrencyHelpers
import NIOCore
package import Replication

extension ReplayFeed: LoggedFeed {
    package var peers: (any FeedPeers)? { nil }

    package func look<Answer>(_ read: (inout PlayedFeed, Moment) -> Answer) -> Answer {
        shared.withLockedValue { shared in
            let now = Instant.current
            return read(&shared.feed, Moment(instant: shared.clock.instant(now), wallClock: shared.clock.time(now)))
        }
    }

    package var trouble: String? { shared.withLockedValue { $0.trouble } }

    package func listen(_ listener: any FeedListener) { shared.withLockedValue { $0.listener = listener } }

    /// The past has no venue to subscribe at. The first reader of a stream lets time begin, and a fetch fails.
    package func step(_ input: FeedInput) {
        loop.execute {
            switch input {
            case .observe: self.beginSoon()
            case .refetch(let name):
                let error = FeedError(.noSnapshotSource, "A replay cannot fetch \(name) again: the venue's REST of that time is not recorded.")
                let (listener, head) = self.shared.withLockedValue { ($0.listener, $0.feed.head) }
                listener?.receive(.notice(name, head, .failed(error, fetch: true)))
            default: break
            }
        }
    }

    package var isServing: Bool { shared.withLockedValue { $0.phase != .reading } }
    package func passDueDeadlines() {}
    package func floor(before id: EventID) -> UInt64 { shared.withLockedValue { $0.feed.floor } }
    package func canResume(behind id: EventID) -> Bool {
        shared.withLockedValue { $0.feed.epochs.contains(id) && (id.epoch != $0.feed.head.epoch || id.sequence >= $0.feed.floor) }
    }
    package func isBehind(_ id: EventID) -> Bool { false }
    package func cutAt(_ name: FuturesServiceStreamName) -> UInt64? { nil }

    package func ownReturn(_ name: FuturesServiceStreamName) -> OwnReturn? { nil }

    package func passesMessagesOn(_ name: FuturesServiceStreamName) -> Bool { true }
    package func whenPassingOn(_ names: [FuturesServiceStreamName], _ done: @escaping () -> Void) { done() }

    package func refreshListing(of upstream: Int) {}
    package func venueTime(of upstream: Int) -> Int64? { shared.withLockedValue { $0.clock.time(Instant.current) } }
    package func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void) { done(nil) }
    /// The past has no limits of weight.
    package func weight(of upstream: Int) -> (used: Int, limit: Int) { (0, 0) }
    package var mayAnswerLate: Bool { false }
    package var hasVenue: Bool { false }
    /// The outage of a recorded stream ends when time passes, so a request waits for it as at a live gateway. A request for another stream waits only
    /// because its reader may be the first, who lets time begin.
    package func startPatience(of name: FuturesServiceStreamName) -> Duration {
        shared.withLockedValue { $0.feed.streams[name] != nil } ? usualPatience : .milliseconds(200)
    }

    /// Of the venue's REST answers, the tape has only the list of symbols.
    package func relay(
        _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) -> (() -> Void)? {
        let upstream = dialect.logName(of: request.upstream)
        let isList = request.target == dialect.venueREST(of: request.upstream)?.listingRelay.target
        let list = isList ? shared.withLockedValue { $0.feed.venueLists[upstream] } : nil
        loop.assumeIsolated().execute {
            guard let list else { return answer(.failure(FeedError(.noSnapshotSource, isList ? Self.hasNoList : Self.hasNoAnswers))) }
            answer(.success(RelayedAnswer(status: 200, body: Array(list))))
        }
        return nil
    }

    private static let hasNoList = "The tape has no list of symbols; record it with tape-messages."
    private static let hasNoAnswers = "The tape has no such data; a replay answers from the recorded streams alone."

    package var gauges: FeedGauges {
        let lines = shared.withLockedValue { $0.feed.gauges?.lines ?? [] }
        let budget = RequestBudget(weight: (0, 0), pause: .zero)
        return FeedGauges(counters: FeedCounters(), connections: [], lines: lines, budgets: parts.map { _ in budget })
    }

    package var traffic: [UpstreamTraffic] { dialect.upstreams.map { _ in UpstreamTraffic() } }
}
