import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// Answers requests for the venue's own REST paths from streams and from kept answers. If neither has the data, the request is passed on to the
/// venue.
///
/// It runs on the feed's thread, as the hub does.
final class VenueMirror: Sendable {
    /// The outcome of a request, other than an immediate answer.
    enum Outcome: String, CaseIterable, Sendable { case waited, kept, fetched, refused, unavailable }

    /// A request.
    struct Ask {
        let path: String
        let answer: VenueAnswer
        /// The maximum age that the request allows, ms.
        let maxAge: Int64?
        let isGzip: Bool
        /// The key under which its response may be prepared; nil if it may not.
        let key: PreparedAnswers.Key?
        let caller: Access.Caller
        let responder: HTTPResponder
    }

    /// An answer of the venue.
    struct Answer {
        let status: Int
        let body: SharedBytes
        /// The body as gzip; nil if it is small.
        let compressed: SharedBytes?
        let receivedAt: Instant
    }

    private struct State {
        var counts: [String: [Outcome: UInt64]] = [:]
        /// Streams that requests use occasionally, and until when each stays subscribed.
        var held: [FuturesServiceStreamName: Instant] = [:]
        var isSweeping = false
        var questions = TokenBucket()
    }

    let hub: EventHub
    let venue: VenueREST
    /// Whether bars are closed as soon as all their trades are known.
    let closesBarsEarly: Bool
    let relays: SharedRelays<Answer>
    private let state: NIOLoopBoundBox<State>

    /// Nil if the upstream is not a venue.
    ///
    /// - Parameters:
    ///   - upstream: The venue, in the order of the dialect's upstreams.
    ///   - maximumBytes: The maximum size of kept answers in bytes.
    init?(hub: EventHub, upstream: Int = 0, maximumBytes: Int, closesBarsEarly: Bool = false) {
        guard let venue = hub.feed.dialect.venueREST(of: upstream) else { return nil }
        self.hub = hub
        self.venue = venue
        self.closesBarsEarly = closesBarsEarly
        relays = SharedRelays(hub.feed, maximumBytes: maximumBytes) { answer, receivedAt in
            let compressed = answer.body.count >= 1024 ? hub.gzip(answer.body) : nil
            let kept = Answer(
                status: answer.status, body: SharedBytes(answer.body), compressed: compressed.map { SharedBytes($0) }, receivedAt: receivedAt)
            return (kept, answer.body.count + (compressed?.count ?? 0))
        }
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: hub.feed.loop)
    }

    /// The current metrics.
    var reading: VenueMirrorReading {
        VenueMirrorReading(
            prefix: prefix, paths: venue.paths, counts: state.value.counts, kept: relays.size.count, keptBytes: relays.size.bytes,
            held: state.value.held.count)
    }

    func answer(_ ask: Ask) {
        let pending = PendingAnswer(ask: ask, mirror: self)
        guard !hub.isDraining else { return pending.refuse(.unavailable("The gateway is stopping; try again in a few seconds."), retryAfter: 2) }
        switch ask.answer {
        case .refused(let refusal): pending.refuse(refusal)
        case .clock(let body): pending.respond(Array(body(now).utf8), [HTTPHeader("Content-Type", "application/json")])
        case .relay(let relay): pending.relay(relay)
        case .stream(let reading): pending.read(AnswerPlan(reading))
        }
    }

    /// The segment before the paths of a venue other than the first one, such as `/binance`; empty for the first one.
    var prefix: String { venue.prefix.map { "/" + $0 } ?? "" }

    /// The venue's time, or this machine's if that is unknown, ms since 1970 UTC.
    var now: Int64 { hub.feed.venueTime(of: venue.upstream) ?? Moment.current.wallClock }

    /// The request weight used at the venue in the current clock minute, and its limit.
    var weight: (used: Int, limit: Int) { hub.feed.weight(of: venue.upstream) }

    func count(_ path: String, _ outcome: Outcome) { state.value.counts[path, default: [:]][outcome, default: 0] &+= 1 }

    /// Charges the weight of the requests to the venue that this request causes. Kept or already requested answers cost nothing.
    func spend(on relays: [VenueRelay], maxAge: Int64?, for ask: Ask) throws(LimitReached) {
        let new = relays.filter { !self.relays.isRunning($0, maxAge: maxAge) && self.relays.kept($0, maxAge: maxAge) == nil }
        let cost = VenueCost(weight: new.reduce(0) { $0 + $1.weight }, of: weight.limit)
        try hub.gatekeeper.spend(cost, by: ask.caller.principal, from: ask.caller.address, at: Access.now)
    }

    /// Whether the venue may be asked for the newest bars of a quiet market. This costs nothing if the same request is already running.
    func mayAsk(_ newest: VenueRelay) -> Bool {
        guard !relays.isRunning(newest) else { return true }
        let limit = weight.limit
        return state.value.questions.take(newest.weight, .perMinute(limit / Self.quietShare), now: Instant.current.nanoseconds) == nil
    }

    /// Keeps a stream subscribed until a bot that asks once per bar would have asked again.
    func hold(_ name: FuturesServiceStreamName) {
        let bars = name.interval?.milliseconds.map { Duration.milliseconds($0 * 2 + 60_000) } ?? .zero
        let until = Instant.current + min(max(bars, Self.holds.least), Self.holds.most)
        if state.value.held.updateValue(until, forKey: name) == nil {
            hub.retain([name])
            // Held streams without readers leave room for streams with readers.
            if state.value.held.count > max(1, hub.limits.maximumStreams / Self.heldShare),
                let first = state.value.held.filter({ $0.key != name }).min(by: { $0.value < $1.value })?.key
            {
                state.value.held[first] = nil
                hub.release([first])
            }
        }
        guard !state.value.isSweeping else { return }
        state.value.isSweeping = true
        hub.feed.loop.assumeIsolated().scheduleTask(in: .seconds(15)) { self.sweep() }
    }

    private func sweep() {
        let now = Instant.current
        let gone = state.value.held.filter { $0.value <= now || hub.isRetired($0.key) }.map(\.key)
        for name in gone { state.value.held[name] = nil }
        hub.release(gone)
        state.value.isSweeping = !state.value.held.isEmpty
        if state.value.isSweeping { hub.feed.loop.assumeIsolated().scheduleTask(in: .seconds(15)) { self.sweep() } }
    }
}
