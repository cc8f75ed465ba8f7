import FeedCore
import NIOCore

/// Compares the first venue's clock with this machine's, by a few requests for its time, if a reader asks for it.
extension FeedEngine {
    /// The running comparison and the last one.
    struct ClockComparison {
        var waiting: [@Sendable (ClockDifference?) -> Void] = []
        var last: (difference: ClockDifference?, at: Instant)?
    }

    package func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void) {
        let now = Instant.current
        if let last = performer.value.clock.last, now.nanoseconds &- last.at.nanoseconds < Self.validity { return done(last.difference) }
        performer.value.clock.waiting.append(done)
        guard performer.value.clock.waiting.count == 1 else { return }
        guard let url = parts[0].clockURL(host: read { core, _ in core.restHost() }), read({ core, now in core.restPause(now: now) }) == .zero else {
            return compared(nil)
        }
        askTime(url, besides: nil, left: Self.requests, until: now.nanoseconds &+ 2_000_000_000)
    }

    private func askTime(_ url: String, besides known: ClockDifference?, left: Int, until deadline: Int64) {
        let patience = deadline &- Instant.current.nanoseconds
        guard left > 0, patience > 0 else { return compared(known) }
        let requested = WallClock.nanoseconds / 1000
        get(RESTRequest(url: url, timeout: .nanoseconds(patience)), from: 0).assumeIsolated().whenComplete { result in
            let answered = WallClock.nanoseconds / 1000
            guard case .success(let response) = result,
                case .success(let time) = self.parts[0].decodeClock(RESTAnswer(response)),
                let difference = ClockDifference(requested: requested, answered: answered, time: time)
            else { return self.compared(known) }
            var narrowed = known ?? difference
            narrowed.narrow(difference)
            self.askTime(url, besides: narrowed, left: left - 1, until: deadline)
        }
    }

    private func compared(_ difference: ClockDifference?) {
        let waiting = performer.value.clock.waiting
        performer.value.clock = ClockComparison(last: (difference, Instant.current))
        for done in waiting { done(difference) }
    }
}
