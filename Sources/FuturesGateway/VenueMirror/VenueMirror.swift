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

    private struct State {
        var kept: KeptAnswers
        var waiting: [VenueRelay: (id: RelayID, readers: [(Result<KeptAnswers.Answer, FeedError>) -> Void])] = [:]
        var counts: [String: [Outcome: UInt64]] = [:]
        /// Streams that requests ask for now and then, and until when each stays subscribed without one.
        var held: [FuturesServiceStreamName: Instant] = [:]
        var isSweeping = false
        var questions = TokenBucket()
    }

    /// How long a stream stays subscribed for bots, which ask once for each bar.
    private static let holds = (least: Duration.seconds(600), most: Duration.seconds(7_800))

    /// How long a request waits for a stream to begin.
    static let patience = Duration.milliseconds(4_500)
    /// For how long after a bar's end the next one is waited for.
    static let barPatience = Duration.milliseconds(2_500)
    /// Questions about bars without trades take this part of the venue's weight at most: one a minute of 2,400.
    private static let quietShare = 2_400
    /// Clients give up after ten seconds.
    static let longestWait = Duration.seconds(8)
    /// A refusal of the venue is kept for so long.
    private static let refusalLifetime = Duration.seconds(5)

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
    func kept(_ relay: VenueRelay, maxAge: Int64? = nil) -> KeptAnswers.Answer? {
        state.value.kept.answer(to: relay, now: Moment.current.instant, maxAge: maxAge)
    }

    /// Has the venue asked, once for all who wait for the same.
    func fetch(_ relay: VenueRelay, _ done: @escaping (Result<KeptAnswers.Answer, FeedError>) -> Void) {
        if let id = state.value.waiting[relay]?.id {
            state.value.waiting[relay]?.readers.append(done)
            return hub.feed.want(id)
        }
        let id = hub.feed.relay(relay) { [self] result in
            let answer = result.map { keep($0, to: relay) }
            let readers = state.value.waiting.removeValue(forKey: relay)?.readers ?? []
            for reader in readers { reader(answer) }
        }
        state.value.waiting[relay] = (id, [done])
    }

    /// Whether the venue may be asked for the newest bars of a quiet market, which costs nothing if it is being asked already.
    func mayAsk(_ newest: VenueRelay) -> Bool {
        guard state.value.waiting[newest] == nil else { return true }
        let limit = hub.feed.weight.limit
        return state.value.questions.take(newest.weight, .perMinute(limit / Self.quietShare), now: Moment.current.instant.nanoseconds) == nil
    }

    /// Keeps a stream subscribed until a bot that asks once for each bar would have asked again.
    func hold(_ name: FuturesServiceStreamName) {
        let bars = name.interval?.milliseconds.map { Duration.milliseconds($0 * 2 + 60_000) } ?? .zero
        let until = Moment.current.instant + min(max(bars, Self.holds.least), Self.holds.most)
        if state.value.held.updateValue(until, forKey: name) == nil { hub.retain([name]) }
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

    private func keep(_ answer: RelayedAnswer, to relay: VenueRelay) -> KeptAnswers.Answer {
        let time = now
        let lifetime = answer.status == 200 ? .milliseconds(max(0, relay.keep.end(from: time) &- time)) : Self.refusalLifetime
        let compressed = answer.body.count >= 1024 ? hub.state.value.deflater.gzip(answer.body) : nil
        return state.value.kept.keep(answer, compressed: compressed, to: relay, for: lifetime, now: Moment.current.instant)
    }
}
