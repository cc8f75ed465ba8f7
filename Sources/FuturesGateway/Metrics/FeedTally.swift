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
        let upstream = name.upstream.flatMap { prefix in upstreams.dropFirst().firstIndex { $0 == prefix.name } } ?? 0
        if let known = kinds.firstIndex(where: { $0.upstream == upstream && $0.channel == name.channel }) { return known }
        kinds.append(Kind(upstream: upstream, channel: name.channel, events: Self.events.map { _ in 0 }))
        return kinds.count - 1
    }

    mutating func count(_ event: FeedEvent.Kind, _ kind: Int) {
        switch event {
        case .fetched: kinds[kind].events[0] &+= 1
        case .updated(let content):
            kinds[kind].events[1] &+= 1
            recordDelay(content.eventTime, content.receivedAt, content.source, kind)
        case .recovered(let recovery):
            kinds[kind].events[2] &+= 1
            if recovery.error == nil { outages[kinds[kind].upstream].record(nanoseconds: min(max(0, recovery.downMs), 1_000_000_000) * 1_000_000) }
        case .failed: kinds[kind].events[3] &+= 1
        case .connected: kinds[kind].events[4] &+= 1
        case .disconnected: kinds[kind].events[5] &+= 1
        case .status: kinds[kind].events[6] &+= 1
        case .ended: break
        }
    }

    @inline(__always)
    private mutating func recordDelay(_ eventTime: Int64?, _ receivedAt: Int64, _ source: FeedSource, _ kind: Int) {
        guard let eventTime, source == .websocket else { return }
        let (delay, isAbsurd) = receivedAt.subtractingReportingOverflow(eventTime)
        if !isAbsurd { delays[kinds[kind].upstream].record(nanoseconds: min(max(0, delay), 1_000_000_000) * 1_000_000) }
    }

    /// Counts an event from a cluster's log.
    mutating func count(_ event: MirroredEvent, _ kind: Int) {
        switch event.kind {
        case .fetchedValue, .fetchedChange: kinds[kind].events[0] &+= 1
        case .value, .change:
            kinds[kind].events[1] &+= 1
            if let head = event.head { recordDelay(head.eventTime, head.receivedAt, head.source, kind) }
        case .recovered, .notRecovered:
            kinds[kind].events[2] &+= 1
            guard event.kind == .recovered, let downMs = MirroredWords.downMs(event.body) else { return }
            outages[kinds[kind].upstream].record(nanoseconds: min(max(0, downMs), 1_000_000_000) * 1_000_000)
        case .failed, .fetchFailed: kinds[kind].events[3] &+= 1
        case .connected: kinds[kind].events[4] &+= 1
        case .disconnected: kinds[kind].events[5] &+= 1
        case .status: kinds[kind].events[6] &+= 1
        default: break
        }
    }
}
