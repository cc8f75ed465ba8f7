import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// Answers requests for the venue's own REST paths from the streams and from kept answers, and has the venue asked for what neither has.
///
/// It runs on the feed's thread, as the hub does.
final class VenueMirror: Sendable {
    /// What a request came to, other than an answer that was there.
    enum Outcome: String, CaseIterable, Sendable { case waited, kept, fetched, refused, unavailable }

    /// A request.
    struct Ask {
        let path: String
        let answer: VenueAnswer
        /// The bound that the request gives, ms.
        let maxAge: Int64?
        let isGzip: Bool
        /// Under which its answer may be prepared; nil if it may not.
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

    /// What the venue is being asked, and how old an answer may be that another node was given.
    private struct Question: Hashable {
        let relay: VenueRelay
        let maxAge: Int64?
    }

    private struct State {
        var kept: KeptAnswers<Answer>
        var waiting: [Question: (id: RelayID, readers: [(Result<Answer, FeedError>) -> Void])] = [:]
        var counts: [String: [Outcome: UInt64]] = [:]
        /// Streams that requests ask for now and then, and until when each stays subscribed without one.
        var held: [FuturesServiceStreamName: Instant] = [:]
        var isSweeping = false
        var questions = TokenBucket()
    }

    /// How long a stream stays subscribed for bots, which ask once for each bar.
    private static let holds = (least: Duration.seconds(600), most: Duration.seconds(7_800))
    /// Such streams are at most this part of all; then the one goes whose time ends first.
    private static let heldShare = 2

    /// How long a request waits for a stream to begin.
    static let patience = Duration.milliseconds(4_500)
    /// For how long after a bar's end the next one is waited for.
    static let barPatience = Duration.milliseconds(2_500)
    /// Questions about bars without trades take this part of the venue's weight at most: one a minute of 2,400.
    private static let quietShare = 2_400
    /// Clients give up after ten seconds.
    static let longestWait = Duration.seconds(8)

    let hub: EventHub
    let venue: VenueREST
    private let state: NIOLoopBoundBox<State>

    /// Nil if the upstream is no venue.
    ///
    /// - Parameter maximumBytes: the most bytes of kept answers.
    init?(hub: EventHub, maximumBytes: Int) {
        guard let venue = hub.feed.venueREST else { return nil }
        self.hub = hub
        self.venue = venue
        state = NIOLoopBoundBox.makeBoxSendingValue(State(kept: KeptAnswers(maximumBytes: maximumBytes)), eventLoop: hub.feed.loop)
    }

    /// What is counted, at this moment.
    var reading: VenueMirrorReading {
        VenueMirrorReading(
            paths: venue.paths, counts: state.value.counts, kept: state.value.kept.count, keptBytes: state.value.kept.bytes,
            held: state.value.held.count)
    }

    func answer(_ ask: Ask) {
        let pending = PendingAnswer(ask: ask, mirror: self)
        guard !hub.isDraining else { return pending.refuse(.unavailable("The gateway is stopping; ask again in a few seconds."), retryAfter: 2) }
        switch ask.answer {
        case .refused(let refusal): pending.refuse(refusal)
        case .clock(let body): pending.respond(Array(body(now).utf8), [HTTPHeader("Content-Type", "application/json")])
        case .relay(let relay): pending.relay(relay)
        case .stream(let reading): pending.read(reading)
        }
    }

    /// The venue's time, ms since 1970 UTC.
    var now: Int64 { hub.feed.venueTime }

    func count(_ path: String, _ outcome: Outcome) { state.value.counts[path, default: [:]][outcome, default: 0] &+= 1 }

    /// An answer of the venue that is still true.
    func kept(_ relay: VenueRelay, maxAge: Int64? = nil) -> Answer? {
        state.value.kept.answer(to: relay, now: Moment.current.instant, maxAge: maxAge)?.answer
    }

    /// Takes the weight of what the venue is asked because of this request; what is kept, or asked already, costs nothing.
    func spend(on relays: [VenueRelay], for ask: Ask) throws(LimitReached) {
        let maxAge = hub.feed.peers == nil ? nil : ask.maxAge
        let new = relays.filter { state.value.waiting[Question(relay: $0, maxAge: maxAge)] == nil && kept($0, maxAge: ask.maxAge) == nil }
        let cost = VenueCost(weight: new.reduce(0) { $0 + $1.weight }, of: hub.feed.weight.limit)
        try hub.gatekeeper.spend(cost, by: ask.caller.principal, from: ask.caller.address, at: Access.now)
    }

    /// Has the venue asked, once for all who wait for the same.
    ///
    /// - Parameters:
    ///   - name: the stream of which the answer tells the newest rows; nil if it tells anything else.
    ///   - maxAge: how old an answer may be that another node was given, ms.
    func fetch(
        _ relay: VenueRelay, newestOf name: FuturesServiceStreamName? = nil, maxAge: Int64? = nil,
        _ done: @escaping (Result<Answer, FeedError>) -> Void
    ) {
        // Alone, whoever is asked now answers with what is true now.
        let question = Question(relay: relay, maxAge: hub.feed.peers == nil ? nil : maxAge)
        if let id = state.value.waiting[question]?.id {
            state.value.waiting[question]?.readers.append(done)
            return hub.feed.want(id)
        }
        let id = hub.feed.relay(relay, newestOf: name, maxAge: maxAge) { [self] result in
            let answer = result.map { keep($0, to: relay) }
            let readers = state.value.waiting.removeValue(forKey: question)?.readers ?? []
            for reader in readers { reader(answer) }
        }
        state.value.waiting[question] = (id, [done])
    }

    /// Whether the venue may be asked for the newest bars of a quiet market, which costs nothing if it is being asked already.
    func mayAsk(_ newest: VenueRelay) -> Bool {
        guard state.value.waiting[Question(relay: newest, maxAge: nil)] == nil else { return true }
        let limit = hub.feed.weight.limit
        return state.value.questions.take(newest.weight, .perMinute(limit / Self.quietShare), now: Moment.current.instant.nanoseconds) == nil
    }

    /// Keeps a stream subscribed until a bot that asks once for each bar would have asked again.
    func hold(_ name: FuturesServiceStreamName) {
        let bars = name.interval?.milliseconds.map { Duration.milliseconds($0 * 2 + 60_000) } ?? .zero
        let until = Moment.current.instant + min(max(bars, Self.holds.least), Self.holds.most)
        if state.value.held.updateValue(until, forKey: name) == nil {
            hub.retain([name])
            // Streams that nobody reads leave room for those that somebody does.
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
        let now = Moment.current.instant
        let gone = state.value.held.filter { $0.value <= now || hub.isRetired($0.key) }.map(\.key)
        for name in gone { state.value.held[name] = nil }
        hub.release(gone)
        state.value.isSweeping = !state.value.held.isEmpty
        if state.value.isSweeping { hub.feed.loop.assumeIsolated().scheduleTask(in: .seconds(15)) { self.sweep() } }
    }

    private func keep(_ answer: RelayedAnswer, to relay: VenueRelay) -> Answer {
        let instant = Moment.current.instant
        let compressed = answer.body.count >= 1024 ? hub.state.value.deflater.gzip(answer.body) : nil
        let kept = Answer(
            status: answer.status, body: SharedBytes(answer.body), compressed: compressed.map { SharedBytes($0) },
            receivedAt: Instant(nanoseconds: instant.nanoseconds - answer.ageMs * 1_000_000))
        state.value.kept.keep(
            kept, bytes: answer.body.count + (compressed?.count ?? 0), to: relay, for: answer.lifetime(of: relay, at: now),
            receivedAt: kept.receivedAt, now: instant)
        return kept
    }
}
