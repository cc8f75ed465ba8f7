import DequeModule

/// Everything known of one stream that somebody wants, or wanted a moment ago.
///
/// A value in a box: handing it around, or looking at one of its fields, costs a reference and not a copy of them all.
@dynamicMemberLookup
struct StreamState: Sendable {
    enum Subscription: Sendable {
        case none
        /// Waiting for its turn on the paced sender.
        case queued
        /// Asked for; the venue's answer is out.
        case requested
        /// Acknowledged, or data came.
        case effective
    }

    struct Observer: Sendable {
        let id: ObserverID
        /// The newest event when it began to read; what is older is no news to it.
        var since: UInt64
        /// The newest event it was handed, or began with.
        var told: UInt64 = 0
        var isPaused = false
        /// The newest event when it subscribed.
        let subscribedAt: UInt64

        init(id: ObserverID, since: UInt64) {
            self.id = id
            self.since = since
            subscribedAt = since
        }
    }

    struct Outage: Sendable {
        /// The last moment of which there is evidence that the content was the newest.
        let since: Instant
        /// When readers were told.
        let toldAt: Instant
        /// The last message before it, where messages are counted.
        let lastID: UInt64?
        /// Whether a message alone ends it: the connection lives, and the stream has stalled on it.
        var awaitsMessage = false
        /// How many messages were missing within what was fetched to fill it.
        var holes: UInt64 = 0
        var isReported = false
    }

    /// A hole in a stream of which every message counts.
    enum Backfill: Sendable {
        case none
        /// The stream is lost; what comes next can be joined to what is here.
        case possible
        /// Messages from `next` on are fetched; what the socket brought meanwhile is held back.
        case running(next: UInt64, requests: Int, held: [(rows: FeedRows, eventTime: Int64?)])
    }

    /// A comparison of the book with REST: a second book, built from the answer and the same updates.
    struct Audit: Sendable {
        let attempt: UInt64
        var book: OrderBook
    }

    struct Fetch: Sendable {
        let attempt: UInt64
        /// Whether the subscription was effective before the request, so that nothing falls between the two.
        var followsSubscription: Bool
        let askedAt: Instant
    }

    private final class Box: @unchecked Sendable {
        var fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    // Written to by a sole owner only, see the setter.
    private var box: Box

    init(_ fields: Fields) { box = Box(fields) }

    subscript<Value>(dynamicMember field: KeyPath<Fields, Value>) -> Value {
        @inline(__always) get { box.fields[keyPath: field] }
    }

    subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
        @inline(__always) get { box.fields[keyPath: field] }
        @inline(__always) _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.fields) }
            yield &box.fields[keyPath: field]
        }
    }

    /// The content as observers get it; nil where there is none yet.
    func contentAsHandedOut(
        _ kind: FuturesServiceFeedContent.Kind, _ delta: FeedRows?, unverifiedMs: Int64
    ) -> FuturesServiceFeedContent? {
        box.fields.contentAsHandedOut(kind, delta, unverifiedMs: unverifiedMs)
    }

    struct Fields: Sendable {
        let name: FuturesServiceStreamName
        let traits: StreamTraits
        let rule: MergeRule
        var observers: [Observer] = []
        /// How many readers there are behind the observers; zero where nobody told.
        var readers = 0
        var lingersUntil: Instant?

        var connection: Int
        var subscription = Subscription.none
        /// When it is asked for again after the upstream had ended it.
        var resubscribeAt: Instant?
        /// When a subscription that nobody answers is taken to stand.
        var standsAt: Instant?
        /// What the observers were last told; nil at first.
        var isConnected: Bool?
        var outage: Outage?

        var state = FeedState.connecting
        var freshness: Freshness
        /// When its silence is looked at next.
        var lookAt: Instant?
        /// How many messages in a row were left out for a number far ahead.
        var leaps = 0
        /// When the subscription became effective.
        var effectiveAt: Instant?
        /// Whether a frame came since the subscription.
        var hasFrame = false
        /// How often in a row a look found that data that should have come did not.
        var stalls = 0
        /// When the next of them begins.
        var retryAt: Instant?
        /// The last hundred things that went wrong, and how they ended.
        var incidents: Deque<StreamIncident> = []

        /// The newest event that was published.
        var lastEvent: UInt64 = 0
        /// How the connection was lost last, and came back: for who was paused meanwhile.
        var connectionEvents: [FeedEvent] = []

        var content: StreamContent
        var contentID: EventID?
        var source = FeedSource.websocket
        var eventTime: Int64?
        var receivedAt: Int64 = 0
        var receivedInstant: Instant?

        var needsFetch: Bool
        var fetch: Fetch?
        var fetchAt: Instant?
        /// Before this readers are given a fetch together.
        var refetchableAt: Instant?
        var fetchBackoff: Backoff
        var backfill = Backfill.none
        var audit: Audit?
        var auditAt: Instant?

        /// Whether one frame is enough to have the content whole again.
        var isWholeAfterUpdate: Bool { rule == .replace || !needsFetch }

        /// Whether there was evidence of the content since the subscription stands: what was there before may have changed unseen until then.
        var isConfirmed: Bool {
            guard !hasFrame, traits.hasSnapshotSource, let effectiveAt else { return true }
            return freshness.provedAt.map { $0 >= effectiveAt } ?? false
        }

        /// The content as observers get it; nil where there is none yet.
        func contentAsHandedOut(
            _ kind: FuturesServiceFeedContent.Kind, _ delta: FeedRows?, unverifiedMs: Int64
        ) -> FuturesServiceFeedContent? {
            guard let contentID else { return nil }
            let changed = kind == .delta || rule == .replace ? delta : nil
            return FuturesServiceFeedContent(
                streamName: name, id: contentID, kind: kind, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt,
                unverifiedMs: unverifiedMs, rows: changed ?? content.rows)
        }
    }
}
