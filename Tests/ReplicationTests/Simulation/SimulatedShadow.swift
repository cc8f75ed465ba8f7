import FeedCore
import Replication

/// The line and the contents of a hot standby: the real core, before a venue whose messages reach it at other times than they reach the leader.
struct SimulatedShadow {
    private var core: FeedCore
    private let observer = ObserverID(1)
    private var wanted: Set<FuturesServiceStreamName> = []
    /// The last message of each stream that was sent to it; nil while it is not subscribed to.
    private var sent = SimulatedVenue.names.map { _ in Int64?.none }
    private var connection: ConnectionID?
    private var openAt: (id: ConnectionID, tick: Int)?
    private var unanswered: [(name: FuturesServiceStreamName, request: FetchRequest, tick: Int)] = []
    private var random: SplitMix64

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        core = FeedCore(configuration: FeedCore.Configuration(), epoch: 1, seed: random.next()) { name in
            StreamTraits(
                endpoint: 0, hasSnapshotSource: true, fetchWeight: 1, rhythm: .ticking(patience: .seconds(60)), limit: SimulatedVenue.limit,
                backfillLimit: name.channel == .aggregateTrade ? 100 : nil, isAcknowledged: true)
        }
    }

    mutating func tick(_ names: Set<FuturesServiceStreamName>, _ venue: SimulatedVenue, tick: Int, now: Moment) {
        let (new, gone) = (names.subtracting(wanted), wanted.subtracting(names))
        wanted = names
        step(.observe(observer, new.sorted { $0.description < $1.description }, forceFetch: false), venue, tick, now)
        if !gone.isEmpty { step(.unobserve(observer, gone.sorted { $0.description < $1.description }), venue, tick, now) }
        if let (id, at) = openAt, at <= tick {
            (connection, openAt) = (id, nil)
            step(.opened(id), venue, tick, now)
        }
        while let deadline = core.nextDeadline, deadline <= now.instant { step(.deadline, venue, tick, now) }
        let due = unanswered.filter { $0.tick <= tick }
        unanswered.removeAll { $0.tick <= tick }
        for (name, request, _) in due { answer(name, request, venue, tick, now) }
        deliver(venue, tick, now)
    }

    private mutating func deliver(_ venue: SimulatedVenue, _ tick: Int, _ now: Moment) {
        guard let id = connection else { return }
        if happens(1, of: 300) {
            lose()
            return step(.closed(id, reason: "gone", retryAfter: nil), venue, tick, now)
        }
        step(.heard(id), venue, tick, now)
        for stream in sent.indices where !happens(1, of: 3) {
            guard let last = sent[stream], last < venue.counts[stream] else { continue }
            for count in last + 1...venue.counts[stream] {
                sent[stream] = count
                // A hole is found where messages are numbered.
                if happens(1, of: 200), [.aggregateTrade, .depth].contains(SimulatedVenue.names[stream].channel) { continue }
                step(.received(id, .rows(SimulatedVenue.names[stream], Self.message(stream, count), eventTime: count)), venue, tick, now)
            }
        }
    }

    /// Updates of a book say what they follow.
    private static func message(_ stream: Int, _ count: Int64) -> FeedRows {
        guard case .depth(let rows) = SimulatedVenue.message(stream, count), let row = rows.first else {
            return SimulatedVenue.message(stream, count)
        }
        return .depth([
            DepthLevels(
                symbol: row.symbol, bids: row.bids, asks: row.asks, firstUpdateID: row.lastUpdateID, lastUpdateID: row.lastUpdateID,
                previousUpdateID: row.lastUpdateID - 1, time: row.time)
        ])
    }

    private mutating func answer(_ name: FuturesServiceStreamName, _ request: FetchRequest, _ venue: SimulatedVenue, _ tick: Int, _ now: Moment) {
        guard let stream = SimulatedVenue.names.firstIndex(of: name) else { return }
        var content = FetchedContent(rows: SimulatedVenue.content(stream, venue.counts[stream]), eventTime: venue.counts[stream])
        if case .from(let id) = request.part, case .aggregateTrade(let rows) = content.rows {
            content = FetchedContent(rows: .aggregateTrade(rows.filter { $0.id >= id }), eventTime: venue.counts[stream])
        }
        let result = happens(1, of: 10) ? .failure(FeedError(.timedOut, "no answer")) : Result<FetchedContent, FeedError>.success(content)
        step(.fetched(name, attempt: request.attempt, result), venue, tick, now)
    }

    private mutating func step(_ input: FeedInput, _ venue: SimulatedVenue, _ tick: Int, _ now: Moment) {
        for effect in core.step(input, now: now) {
            switch effect {
            case .connect(let id, _, _, _): openAt = (id, tick + Int.random(in: 1...10, using: &random))
            case .disconnect: lose()
            case .subscribe(let id, let names, let request):
                for stream in sent.indices where names.contains(SimulatedVenue.names[stream]) { sent[stream] = venue.counts[stream] }
                step(.received(id, .acknowledged(request: request)), venue, tick, now)
            case .unsubscribe(_, let names, _):
                for stream in sent.indices where names.contains(SimulatedVenue.names[stream]) { sent[stream] = nil }
            case .ping(let id): step(.heard(id), venue, tick, now)
            case .fetch(let name, let request): unanswered.append((name, request, tick + Int.random(in: 1...10, using: &random)))
            default: break
            }
        }
    }

    private mutating func lose() {
        (connection, openAt) = (nil, nil)
        for stream in sent.indices { sent[stream] = nil }
    }

    private mutating func happens(_ chance: Int, of all: Int) -> Bool { Int.random(in: 0..<all, using: &random) < chance }

    /// What it tells as the feed that goes on with what the log has.
    mutating func inherit(_ mirror: inout FeedMirror, because reason: String, now: Moment) -> [FeedEvent] {
        var inherited: [InheritedStream] = []
        for name in SimulatedVenue.names {
            guard let stream = mirror.streams[name] else { continue }
            inherited.append(InheritedStream(name: name, content: mirror.content(of: name), isLost: stream.isLost))
        }
        let effects = core.inherit(
            inherited, because: reason, epoch: mirror.epochs.current?.id ?? 0, behind: mirror.epochs.head, for: observer,
            heardAt: mirror.lastWord?.moment(now: now) ?? now.instant, now: now)
        return effects.compactMap { if case .publish(let event) = $0 { event } else { nil } }
    }
}
