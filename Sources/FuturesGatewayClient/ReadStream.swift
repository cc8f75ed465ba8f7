import FeedCore

/// A stream that observers read from a gateway: who reads it, and what of it has come.
struct ReadStream {
    struct Observer {
        let id: ObserverID
        var isPaused = false
        /// Whether the content changed while it was paused.
        var hasMissed = false
        /// How the connection was lost last, and came back, while it was paused.
        var connectionEvents: [FeedEvent] = []

        /// Keeps what it is told when it resumes.
        mutating func note(_ event: FeedEvent) {
            switch event.kind {
            case .fetched, .updated: hasMissed = true
            case .disconnected: connectionEvents = [event]
            case .connected, .recovered: if connectionEvents.count < 8 { connectionEvents.append(event) }
            case .status, .failed, .ended: break
            }
        }
    }

    /// The time in which this client cannot say what the content is.
    struct Outage {
        /// The last moment before it at which the gateway was heard.
        let since: Instant
        let toldAt: Instant
        /// Whether it takes a complete value to end it.
        var needsValue = false
        /// Whether the gateway has lost the stream too, so that it says when the outage ends.
        var isUpstreams = false
        var missed: UInt64?
    }

    enum Verdict {
        /// It has been taken.
        case known
        case follows
        /// Something is missing before it.
        case doesNotFollow
    }

    let name: FuturesServiceStreamName
    var observers: [Observer] = []
    /// When it is given up, as nobody observes it.
    var lingersUntil: Instant?
    private(set) var content = MergedContent()
    /// The content's id; nil if there is nothing that a change could follow.
    private(set) var id: EventID?
    private var verifiedAt = Instant(nanoseconds: 0)
    /// The state as the gateway tells it.
    var state = FeedState.connecting
    var outage: Outage?
    /// How many rows, or levels of a side, are kept.
    var limit = Catalogue.most
    /// Whether the gateway refuses this client.
    var isRefused = false
    /// Whether it is to be subscribed to anew, and before when that is not asked for again.
    var isBroken = false
    var renewAt = Instant(nanoseconds: .min)
    /// Whether somebody wants the gateway to fetch it.
    var wantsFetch = false

    init(_ name: FuturesServiceStreamName) { self.name = name }

    /// The state as observers are told it.
    var toldState: FeedState {
        if state == .ended { return .ended }
        return isRefused ? .failed : outage == nil ? state : .recovering
    }

    /// Whether it has observers, and all of them are paused.
    var isPaused: Bool { !observers.isEmpty && observers.allSatisfy(\.isPaused) }

    /// What to do with a value or change, by its id and by the numbers of a book.
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

    /// Takes a value, or a change that follows.
    mutating func take(_ new: FuturesServiceFeedContent, unverifiedMs: Int64, now: Instant) {
        content.merge(new, limit: limit)
        (id, state) = (new.id, new.state)
        verify(unverifiedMs, now)
    }

    /// There was evidence that nothing newer exists so long ago.
    mutating func verify(_ unverifiedMs: Int64, _ now: Instant) { verifiedAt = now + .milliseconds(-min(max(unverifiedMs, 0), 1 << 40)) }

    /// Nothing of what is here can be gone on with.
    mutating func forget() { (content, id) = (MergedContent(), nil) }

    /// The whole content, as fresh as it is now; nil if there is none.
    mutating func whole(_ now: Instant) -> FuturesServiceFeedContent? { content.whole().map { handedOut($0, now) } }

    /// A content as observers get it.
    func handedOut(_ content: FuturesServiceFeedContent, _ now: Instant) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: name, id: content.id, kind: content.kind, state: toldState, source: content.source, eventTime: content.eventTime,
            receivedAt: content.receivedAt, unverifiedMs: now.milliseconds(since: verifiedAt), rows: content.rows)
    }
}
