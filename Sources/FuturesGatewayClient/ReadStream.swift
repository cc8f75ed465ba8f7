import FeedCore

/// A stream that observers read from a gateway: its observers, and its content so far.
struct ReadStream {
    struct Observer {
        let id: ObserverID
        var isPaused = false
        /// Whether the content changed while it was paused.
        var hasMissed = false
        /// The last lost connection during the pause, and the recoveries after it.
        var connectionEvents: [FeedEvent] = []

        /// Keeps an event for when the observer resumes.
        mutating func note(_ event: FeedEvent) {
            switch event.kind {
            case .fetched, .updated: hasMissed = true
            case .disconnected: connectionEvents = [event]
            case .connected, .recovered: if connectionEvents.count < 8 { connectionEvents.append(event) }
            case .status, .failed, .ended: break
            }
        }
    }

    /// A time in which this client does not know whether the content is current.
    struct Outage {
        /// When the gateway was last heard before it.
        let since: Instant
        let toldAt: Instant
        /// Whether only a snapshot ends it.
        var needsValue = false
        /// Whether the gateway has lost the stream too, so that it reports the end of the outage.
        var isUpstreams = false
        var missed: UInt64?
    }

    enum Verdict {
        /// It was already applied.
        case known
        case follows
        /// Something is missing before it.
        case doesNotFollow
    }

    let name: FuturesServiceStreamName
    var observers: [Observer] = []
    /// When it is dropped because it has no observers.
    var lingersUntil: Instant?
    private(set) var content = MergedContent()
    /// The content's id; nil if there is no content that a change could follow.
    private(set) var id: EventID?
    private var verifiedAt = Instant(nanoseconds: 0)
    /// The state reported by the gateway.
    var state = FeedState.connecting
    var outage: Outage?
    /// Whether the gateway has paused it and has not sent it since.
    var isHeld = false
    /// How many rows, or levels per side, are kept.
    var limit = Catalogue.most
    /// Whether the gateway refuses this client.
    var isRefused = false
    /// Whether it must be resubscribed, and until when no further attempt is made.
    var isBroken = false
    var renewAt = Instant(nanoseconds: .min)
    /// Whether an observer wants the gateway to fetch it.
    var wantsFetch = false

    init(_ name: FuturesServiceStreamName) { self.name = name }

    /// The state reported to observers.
    var toldState: FeedState {
        if state == .ended { return .ended }
        if isRefused { return .failed }
        if outage != nil { return .recovering }
        return isHeld && state == .live ? .stale : state
    }

    /// Whether it has observers, and all of them are paused.
    var isPaused: Bool { !observers.isEmpty && observers.allSatisfy(\.isPaused) }

    /// How to treat a snapshot or update, by its id and by the numbers of a book.
    func judge(_ new: FuturesServiceFeedContent) -> Verdict {
        let isFull = new.kind == .full
        if let id, id.epoch == new.id.epoch, isFull ? new.id.sequence < id.sequence : new.id.sequence <= id.sequence { return .known }
        if isFull || name.mergeRule == .replace { return .follows }
        guard let id, id.epoch == new.id.epoch else { return .doesNotFollow }
        guard name.mergeRule == .book else { return .follows }
        guard case .depth(let rows) = new.rows, let change = rows.last, let last = content.lastUpdateID else { return .doesNotFollow }
        if change.lastUpdateID <= last { return .known }
        return change.previousUpdateID.map { $0 <= last } == true ? .follows : .doesNotFollow
    }

    /// Applies a snapshot, or an update that follows.
    mutating func take(_ new: FuturesServiceFeedContent, unverifiedMs: Int64, now: Instant) {
        content.merge(new, limit: limit)
        (id, state, isHeld) = (new.id, new.state, false)
        verify(unverifiedMs, now)
    }

    /// Records that the content was verified this long ago.
    mutating func verify(_ unverifiedMs: Int64, _ now: Instant) { verifiedAt = now + .milliseconds(-min(max(unverifiedMs, 0), 1 << 40)) }

    /// Discards the content, because no event can follow it.
    mutating func forget() { (content, id) = (MergedContent(), nil) }

    /// The complete content with its current freshness; nil if there is none.
    mutating func whole(_ now: Instant) -> FuturesServiceFeedContent? { content.whole().map { handedOut($0, now) } }

    /// A content as sent to observers.
    func handedOut(_ content: FuturesServiceFeedContent, _ now: Instant) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: name, id: content.id, kind: content.kind, state: toldState, source: content.source, eventTime: content.eventTime,
            receivedAt: content.receivedAt, unverifiedMs: now.milliseconds(since: verifiedAt), rows: content.rows)
    }
}
