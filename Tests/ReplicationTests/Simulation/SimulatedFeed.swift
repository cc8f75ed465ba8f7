import FeedCore
import Replication
import Rings

/// What the venue has: for each stream a number that counts its messages. All ingests see the same.
struct SimulatedVenue {
    static let names = ["btcusdt@aggTrade", "btcusdt@markPrice", "btcusdt@depth", "!miniTicker@arr", "ethusdt@aggTrade"].compactMap {
        FuturesServiceStreamName($0)
    }
    static let limit = 12
    private(set) var counts = names.map { _ in Int64(1) }
    /// For each stream the tick of each message, the first one's being 0.
    private(set) var sentAt = names.map { _ in [0] }

    /// In how many ticks a stream has a message, about.
    var pace = 3

    mutating func tick(_ now: Int, _ random: inout SplitMix64) {
        for stream in counts.indices where Int.random(in: 0..<pace, using: &random) == 0 {
            counts[stream] += 1
            sentAt[stream].append(now)
        }
    }

    /// When the message behind that one was sent; nil if there is none.
    func sentAt(behind count: Int64, of stream: Int) -> Int? { count < counts[stream] ? sentAt[stream][Int(count)] : nil }

    /// The rows of a message.
    static func message(_ stream: Int, _ count: Int64) -> FeedRows {
        switch names[stream].channel {
        case .aggregateTrade:
            .aggregateTrade([
                AggregateTrade(
                    id: UInt64(count), price: price(count), quantity: price(count), firstTradeID: UInt64(count), lastTradeID: UInt64(count),
                    time: count, isBuyerMaker: count % 2 == 0)
            ])
        case .markPrice: .markPrice([MarkPrice(symbol: "BTCUSDT", markPrice: price(count), time: count)])
        case .depth: .depth([levels(count...count)])
        default: .miniTicker([ticker(count)])
        }
    }

    /// The rows of the whole content after so many messages.
    static func content(_ stream: Int, _ count: Int64) -> FeedRows {
        let recent = max(1, count - Int64(limit) + 1)...max(1, count)
        switch names[stream].channel {
        case .aggregateTrade:
            return .aggregateTrade(recent.flatMap { if case .aggregateTrade(let rows) = message(stream, $0) { rows } else { [AggregateTrade]() } })
        case .markPrice: return message(stream, count)
        case .depth: return .depth([levels(max(1, count - 9)...max(1, count))])
        default:
            let newest = (max(1, count - 4)...max(1, count)).map(ticker)
            return .miniTicker(newest.sorted { $0.symbol < $1.symbol })
        }
    }

    /// One level a message, at ten prices in turn; every seventh message empties its level.
    private static func levels(_ counts: ClosedRange<Int64>) -> DepthLevels {
        var bids = counts.map { PriceLevel(price: price($0 % 10 + 10), quantity: price($0 % 7 == 0 ? 0 : $0)) }
        if counts.count > 1 {
            bids.removeAll { $0.quantity.isZero }
            bids.sort { $0.price.text > $1.price.text }
        }
        return DepthLevels(symbol: "BTCUSDT", bids: bids, asks: [], lastUpdateID: UInt64(counts.upperBound), time: counts.upperBound)
    }

    private static func ticker(_ count: Int64) -> MiniTicker {
        let price = price(count)
        return MiniTicker(
            symbol: "S\(count % 5)", openPrice: price, highPrice: price, lowPrice: price, lastPrice: price, volume: price, quoteVolume: price,
            time: count)
    }

    private static func price(_ count: Int64) -> DecimalString { DecimalString(checked: String(count)) }
}

/// The feed of an ingest: streams that are lost and recover, or are let go and taken up again, and count on with the venue in between.
struct SimulatedFeed {
    struct Stream {
        var count: Int64?
        var isLost = false
        var backAt: Int?
    }

    private(set) var streams = SimulatedVenue.names.map { _ in Stream() }
    private let epoch: UInt64
    private var next: UInt64
    private var checkpointed = 0
    private var events: [FeedEvent] = []
    /// The events' records and others between them.
    private var records: [FeedRecord] = []
    /// The newest value's id of each stream.
    private var lastID: [Int: EventID] = [:]
    private var now: Int

    static let takeover = "The ingest was replaced."

    /// Goes on with what a mirror had when its process claimed the log: what its shadow has told is told, everything else is lost, and comes back a
    /// little later.
    init(resuming mirror: FeedMirror, _ shadow: [FeedEvent]?, now: Int, _ random: inout SplitMix64) {
        self.now = now
        epoch = mirror.epochs.current?.id ?? 0
        next = mirror.epochs.head + 1
        for stream in streams.indices {
            let known = mirror.streams[SimulatedVenue.names[stream]]
            streams[stream].isLost = true
            streams[stream].backAt = now + Int.random(in: 1...20, using: &random)
            if known?.isLost == false, shadow == nil { publish(stream, .disconnected(reason: Self.takeover)) }
            if known == nil { streams[stream].isLost = false }
        }
        for event in shadow ?? [] { take(event) }
    }

    private mutating func take(_ event: FeedEvent) {
        guard let stream = SimulatedVenue.names.firstIndex(of: event.stream) else { return }
        switch event.kind {
        case .fetched(let content), .updated(let content): streams[stream].count = content.eventTime
        case .recovered: (streams[stream].isLost, streams[stream].backAt) = (false, nil)
        default: break
        }
        next = event.id.sequence
        publish(stream, event.kind)
    }

    /// Takes the events and records since the last call.
    mutating func take() -> (events: [FeedEvent], records: [FeedRecord]) {
        defer { (events, records) = ([], []) }
        return (events, records)
    }

    mutating func tick(_ venue: SimulatedVenue, now: Int, isCalm: Bool, _ random: inout SplitMix64) {
        self.now = now
        // One reader alone was told something.
        if !isCalm, events.isEmpty, Int.random(in: 0..<40, using: &random) == 0 { next += 1 }
        for stream in streams.indices {
            if let at = streams[stream].backAt {
                guard at <= now || isCalm else { continue }
                streams[stream].backAt = nil
                if streams[stream].isLost { publish(stream, .recovered(FeedRecovery(error: nil, method: .snapshot, downMs: 1, missed: nil))) }
                publish(stream, .status(.live, ageMs: 0, unverifiedMs: 0))
                (streams[stream].isLost, streams[stream].count) = (false, venue.counts[stream])
                publishFull(stream)
            } else if !isCalm, Int.random(in: 0..<400, using: &random) == 0 {
                let longest = Int.random(in: 0..<8, using: &random) == 0 ? 300 : 30
                (streams[stream].isLost, streams[stream].backAt) = (true, now + Int.random(in: 1...longest, using: &random))
                publish(stream, .disconnected(reason: "The venue is gone."))
            } else if !isCalm, Int.random(in: 0..<1000, using: &random) == 0 {
                publish(stream, .ended)
                (streams[stream].count, streams[stream].backAt) = (nil, now + Int.random(in: 1...60, using: &random))
            } else if let count = streams[stream].count, count < venue.counts[stream] {
                let isFull = SimulatedVenue.names[stream].mergeRule == .replace
                for known in count + 1...venue.counts[stream] {
                    streams[stream].count = known
                    publish(stream, .updated(content(stream, SimulatedVenue.message(stream, known), isFull ? .full : .delta)))
                    passOn(stream, String(known))
                }
            }
        }
        if now % 7 == 0 { checkpoint() }
    }

    private mutating func checkpoint() {
        checkpointed = (checkpointed + 1) % streams.count
        let stream = streams[checkpointed]
        // A book that is lost is not complete.
        guard stream.count != nil, !stream.isLost || SimulatedVenue.names[checkpointed].channel != .depth else { return }
        var content = content(checkpointed, SimulatedVenue.content(checkpointed, stream.count ?? 0), .full)
        // It is as of the newest event, and has that of its newest value.
        content = content.with(id: lastID[checkpointed] ?? content.id)
        records.append(
            Checkpoint(state: stream.isLost ? .recovering : .live, isLost: stream.isLost, isConnected: true, content: content).record(
                of: SimulatedVenue.names[checkpointed]))
    }

    private mutating func publishFull(_ stream: Int) {
        passOn(stream, nil)
        publish(stream, .fetched(content(stream, SimulatedVenue.content(stream, streams[stream].count ?? 0), .full)))
    }

    /// The venue's own message, of a stream in which each one counts.
    private mutating func passOn(_ stream: Int, _ text: String?) {
        let name = SimulatedVenue.names[stream]
        guard name.needsEachMessage else { return }
        records.append(FeedRecord(VenueMessage(stream: name, text: text.map { Array($0.utf8) })))
    }

    private func content(_ stream: Int, _ rows: FeedRows, _ kind: FuturesServiceFeedContent.Kind) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: SimulatedVenue.names[stream], id: EventID(epoch: epoch, sequence: next), kind: kind, state: .live, source: .websocket,
            eventTime: streams[stream].count, receivedAt: World.wallClock(now), rows: rows)
    }

    private mutating func publish(_ stream: Int, _ kind: FeedEvent.Kind) {
        let id = EventID(epoch: epoch, sequence: next)
        switch kind {
        case .fetched, .updated: lastID[stream] = id
        default: break
        }
        let event = FeedEvent(stream: SimulatedVenue.names[stream], id: id, kind: kind)
        events.append(event)
        records.append(EncodedEvent(event, receivedAt: nil).record)
        next += 1
    }
}

extension FuturesServiceFeedContent {
    func with(id: EventID) -> Self {
        Self(
            streamName: streamName, id: id, kind: kind, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt, rows: rows)
    }
}
