package import FeedCore
package import FeedDialects
import NIOCore

/// The venue's response to a relayed request, including refusals.
package struct RelayedAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
    /// The age of the answer, ms.
    package var ageMs: Int64 = 0

    /// How long the answer is valid from the venue's time `time`, ms since 1970 UTC; shorter if the venue's time is unknown.
    package func lifetime(of relay: VenueRelay, at time: Int64?) -> Duration {
        guard status == 200 else { return Self.refusalLifetime }
        guard let time else { return .milliseconds(max(0, relay.keep.atLeast &- ageMs)) }
        return .milliseconds(max(0, relay.keep.end(of: body, from: time &- ageMs) &- time))
    }
}

/// A reader's request that is running at the venue or waits for its turn.
struct Relay {
    let request: VenueRelay
    /// The stream whose newest rows it requests; nil otherwise.
    let name: FuturesServiceStreamName?
    let answer: (Result<RelayedAnswer, FeedError>) -> Void
}

extension FeedEngine {
    /// Every answer is new.
    package var mayAnswerLate: Bool { false }

    @discardableResult
    package func relay(
        _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) -> (() -> Void)? {
        performer.value.lastRelay &+= 1
        let id = RelayID(performer.value.lastRelay)
        performer.value.relays[id] = Relay(request: request, name: name, answer: answer)
        let wish = FeedInput.relay(upstream: request.upstream, id, weight: request.weight)
        loop.execute { self.step(wish) }
        return { if self.performer.value.relays[id] != nil { self.step(wish) } }
    }

    /// An upstream's time derived from its data, ms since 1970 UTC; nil before the first message. This machine's clock may be wrong by hours.
    package func venueTime(of upstream: Int) -> Int64? { read { core, now in core.venueTime(of: upstream, at: now) } }

    func passOn(_ id: RelayID, to upstream: Int, host: Int) {
        guard let relay = performer.value.relays[id] else { return step(.relayed(upstream: upstream, id, nil)) }
        guard let rest = dialect.upstreamREST(of: upstream) else {
            performer.value.relays[id] = nil
            step(.relayed(upstream: upstream, id, nil))
            return relay.answer(.failure(FeedError(.noSnapshotSource, "The upstream has no REST paths.")))
        }
        var request = rest.request(relay.request, host: host)
        request.timeout = .seconds(5)
        get(request, from: upstream).assumeIsolated().whenComplete { result in
            let answer: Result<RelayedAnswer, FeedError> = result.mapError { FeedError(transport: $0) }.flatMap { response in
                let answer = RESTAnswer(response)
                if let failure = rest.failure(answer, to: relay.request) { return .failure(failure) }
                return .success(RelayedAnswer(status: answer.status, body: answer.body))
            }
            self.performer.value.relays[id] = nil
            if case .failure(let error) = answer {
                self.step(.relayed(upstream: upstream, id, error))
            } else {
                self.step(.relayed(upstream: upstream, id, nil))
            }
            // The gateway must have the list that its readers have, so that it accepts every symbol in a relayed one.
            if case .success(let told) = answer, told.status == 200, let listing = rest.listing(relay.request, told.body) {
                self.listener?.receive(venueList: told.body, of: upstream)
                self.takeListing(listing, of: upstream)
            }
            if let name = relay.name, case .success(let told) = answer,
                case .success(let rows) = rest.content(of: name, [told.body], now: self.venueTime(of: upstream) ?? .min)
            {
                self.step(.told(name, rows))
            }
            relay.answer(answer)
        }
    }
}
