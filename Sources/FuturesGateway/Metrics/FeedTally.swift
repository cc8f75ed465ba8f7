import FuturesFeed
import Replication

/// Counts the hub's events, by upstream and kind of stream. Used on the feed's thread.
struct FeedTally: Sendable {
    /// An upstream's streams of one kind.
    struct Kind: Sendable {
        let upstream: Int
        let channel: FuturesServiceStreamName.Channel
        /// In the order of `FeedTally.events`.
        var events: [UInt64]
    }

    static let events = ["fetch", "update", "recover", "fail", "connect", "disconnect", "status"]

    let upstreams: [String]
    private(set) var kinds: [Kind] = []
    /// By upstream: the time from an event's venue time to its receipt, and the duration of outages.
    private(set) var delays: [Histogram]
    private(set) var outages: [Histogram]

    init(upstreams: [String]) {
        self.upstreams = upstreams
        delays = upstreams.map { _ in Histogram() }
        outages = upstreams.map { _ in Histogram(bounds: Histogram.outages) }
    }

    /// The index of a stream's kind in `kinds`; the first stream of a kind adds it. The number of kinds is bounded by the upstreams' kinds of
    /// streams.
    mutating func kind(of name: FuturesServiceStreamName) -> Int {
        let upstream = name.prefix.flatMap { prefix in upstreams.dropFirst().firstIndex { $0 == prefix } } ?? 0
        if let known = kinds.firstIndex(where: { $0.upstream == upstream && $0.channel == name.channel }) { return known }
        kinds.append(Kind(upstream: upstream, channel: name.channel, events: Self.events.map { _ in 0 }))
        return kinds.count - 1
    }

    mutating func count(_ event: EncodedEvent, _ kind: Int) {
        guard let place = Self.place(of: event.kind) else { return }
        kinds[kind].events[place] &+= 1
        switch event.detail {
        case .content(let eventTime?, let receivedAt, .websocket) where place == 1:
            let (delay, isAbsurd) = receivedAt.subtractingReportingOverflow(eventTime)
            if !isAbsurd { delays[kinds[kind].upstream].record(nanoseconds: min(max(0, delay), 1_000_000_000) * 1_000_000) }
        case .recovered(let downMs) where event.kind == .recovered:
            outages[kinds[kind].upstream].record(nanoseconds: min(max(0, downMs), 1_000_000_000) * 1_000_000)
        default: break
        }
    }

    /// The place of an event's name in `events`; nil for records that are not counted.
    private static func place(of kind: FeedRecord.Kind) -> Int? {
        switch kind {
        case .fetchedValue, .fetchedChange: 0
        case .value, .change: 1
        case .recovered, .notRecovered: 2
        case .failed, .fetchFailed: 3
        case .connected: 4
        case .disconnected: 5
        case .status: 6
        default: nil
        }
    }
}
