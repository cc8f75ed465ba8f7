/// Everything known of one stream that somebody wants, or wanted a moment ago.
///
/// A value in a box: handing it around, or looking at one of its fields, costs a reference and not a copy of them all.
@dynamicMemberLookup
struct StreamState: Sendable {
    /// How far the stream is subscribed to on its connection.
    enum Subscription: Sendable {
        /// Not asked for: the connection is down, or the upstream ended it, and it is asked for again at that moment.
        case none(again: Instant?)
        /// Waits for its turn on the paced sender.
        case queued
        /// Asked for. If the upstream answers no subscription, it is taken to stand from that moment on.
        case requested(standsAt: Instant?)
        /// Acknowledged, or data came, at that moment.
        case effective(since: Instant)

        var isNone: Bool { if case .none = self { true } else { false } }
        var isQueued: Bool { if case .queued = self { true } else { false } }
        var isRequested: Bool { if case .requested = self { true } else { false } }
        var isEffective: Bool { effectiveSince != nil }
        var effectiveSince: Instant? { if case .effective(let since) = self { since } else { nil } }
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

    /// A hole in a stream of which every message counts.
    enum Backfill: Sendable {
        case none
        /// The stream is lost; what comes next can be joined to what is here.
        case possible
        /// Messages from `next` on are fetched; what the socket brought meanwhile is held back.
        case running(next: UInt64, requests: Int, held: [HeldMessage])
    }

    /// A message that waits for what is missing before it.
    struct HeldMessage: Sendable {
        let slot: Int
        let rows: FeedRows
        let eventTime: Int64?
        /// It is evidence of that moment, whenever it is taken.
        let arrivedAt: Instant
    }

    /// The book's comparisons with REST.
    struct Audit: Sendable {
        /// One comparison: a second book, built from the answer and the same updates.
        struct Comparison: Sendable {
            let attempt: UInt64
            var book: OrderBook
        }

        var running: Comparison?
        /// When the next one begins.
        var at: Instant?
    }

    /// Who reads the stream, and what they were told of its connection.
    struct Audience: Sendable {
        var observers: [Observer] = []
        /// How many readers there are behind the observers; zero if nobody told.
        var readers = 0
        var lingersUntil: Instant?
        /// The newest event that was published.
        var lastEvent: UInt64 = 0
        /// What the observers were last told; nil at first.
        var isConnected: Bool?
        /// How the connection was lost last, and came back: for who was paused meanwhile.
        var connectionEvents: [FeedEvent] = []
    }

    /// What is asked over REST for it.
    struct Fetching: Sendable {
        /// What the content lacks until complete data comes.
        enum Need: Int, Comparable, Sendable {
            case nothing
            /// It is complete, but may have changed unseen, or is about to run short.
            case confirmation
            /// Rows are missing, or may be.
            case completion

            static func < (one: Need, other: Need) -> Bool { one.rawValue < other.rawValue }
        }

        struct Request: Sendable {
            let attempt: UInt64
            /// Whether the subscription was effective before the request, so that nothing falls between the two.
            var followsSubscription: Bool
            let askedAt: Instant
            /// Whether a message came meanwhile that could not be read, and that the answer may lack.
            var isRefuted = false
        }

        /// What the content lacks. Only complete data takes it away, never a refusal.
        var need: Need
        var running: Request?
        /// When the next request is due.
        var at: Instant?
        /// Before this readers are given a fetch together.
        var allowedAt: Instant?
        var backoff: Backoff
        var backfill = Backfill.none

        /// Whether complete data is asked for until it comes.
        var isNeeded: Bool { need != .nothing }

        /// Complete data is needed at least for this.
        mutating func require(_ least: Need) { need = max(need, least) }

        /// Nothing is asked any more.
        mutating func end() { self = Fetching(need: .nothing, allowedAt: allowedAt, backoff: backoff) }
    }

    /// What several lines bring of it.
    struct Lines: Sendable {
        var awaitedCopy: AwaitedCopy?
        /// When the line that the stream is read from brought anything of it last.
        var readAt: Instant?
        var values = ValueMerge()
        /// Messages after a hole that another line may fill, and until when that is waited for.
        var held: [HeldMessage] = []
        var heldUntil: Instant?
        /// A message that could not be read on one line, while another may bring its copy.
        var unreadable: (slot: Int, at: Instant)?
    }

    private final class Box: @unchecked Sendable {
        // Whoever holds the value that holds the box has exclusive access already; to check it again costs a twentieth of a frame.
        @exclusivity(unchecked) var fields: Fields
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

    // These read the fields that they need: called on all of the fields together, they would copy them.

    /// Whether one frame is enough to have the content whole again.
    var isWholeAfterUpdate: Bool { self.rule == .replace || !self.fetching.isNeeded }

    /// Whether there was evidence of the content since the subscription stands: what was there before may have changed unseen until then.
    var isConfirmed: Bool {
        guard !self.freshness.hasMessage, self.traits.hasSnapshotSource, let since = self.subscription.effectiveSince else { return true }
        return self.freshness.provedAt.map { $0 >= since } ?? false
    }

    /// The content as observers get it; nil where there is none yet.
    func contentAsHandedOut(
        _ kind: FuturesServiceFeedContent.Kind, _ delta: FeedRows?, unverifiedMs: Int64
    ) -> FuturesServiceFeedContent? {
        guard let contentID = self.contentID else { return nil }
        let changed = kind == .delta || self.rule == .replace ? delta : nil
        return FuturesServiceFeedContent(
            streamName: self.name, id: contentID, kind: kind, state: self.state, source: self.source, eventTime: self.eventTime,
            receivedAt: self.receivedAt, unverifiedMs: unverifiedMs, rows: changed ?? self.content.rows)
    }

    /// Nothing more comes of it. What is cached stays to be read, and nothing that was under way goes on.
    mutating func end() {
        self.subscription = .none(again: nil)
        self.freshness.end()
        self.fetching.end()
        self.audit = Audit()
        self.lines = Lines()
        self.audience.isConnected = nil
    }

    struct Fields: Sendable {
        let name: FuturesServiceStreamName
        let traits: StreamTraits
        let rule: MergeRule
        var audience = Audience()

        var connection: Int
        var subscription = Subscription.none(again: nil)
        var state = FeedState.connecting
        var freshness: Freshness
        /// The last hundred things that went wrong, and how they ended.
        var incidents: [StreamIncident] = []

        var content: StreamContent
        var contentID: EventID?
        var source = FeedSource.websocket
        var eventTime: Int64?
        var receivedAt: Int64 = 0
        var receivedInstant: Instant?

        var fetching: Fetching
        var audit = Audit()
        var lines = Lines()
    }
}
