import DequeModule

/// Everything known of one stream that somebody wants, or wanted a moment ago.
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
    }

    struct Outage: Sendable {
        let since: Instant
        /// The last message before it, where messages are counted.
        let lastID: UInt64?
        var isReported = false
    }

    struct Fetch: Sendable {
        let attempt: UInt64
        /// Whether the subscription was effective before the request, so that nothing falls between the two.
        var followsSubscription: Bool
    }

    let name: FuturesServiceStreamName
    let traits: StreamTraits
    let rule: MergeRule
    var observers: [Observer] = []
    var lingersUntil: Instant?

    var connection: Int
    var subscription = Subscription.none
    /// What the observers were last told; nil at first.
    var isConnected: Bool?
    var outage: Outage?

    var state = FeedState.connecting
    var staleAt: Instant?
    /// Whether a frame came since the subscription.
    var hasFrame = false
    /// How often in a row data that should have come did not.
    var stalls = 0
    /// The last hundred things that went wrong, and how they ended.
    var incidents: Deque<StreamIncident> = []

    /// The newest event that was published.
    var lastEvent: UInt64 = 0

    var content: StreamContent
    var contentID: EventID?
    var source = FeedSource.websocket
    var eventTime: Int64?
    var receivedAt: Int64 = 0
    var receivedInstant: Instant?

    var needsFetch: Bool
    var fetch: Fetch?
    var fetchAt: Instant?
    var fetchBackoff: Backoff

    /// Whether one frame is enough to have the content whole again.
    var isWholeAfterUpdate: Bool { rule == .replace || !needsFetch }
}
