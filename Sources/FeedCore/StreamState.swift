/// The state of one stream that has observers or lingers.
///
/// A value in a box: passing it on, or reading one of its fields, costs a reference and not a copy of all fields.
@dynamicMemberLookup
struct StreamState: Sendable {
    /// The progress of the stream's subscription on its connection.
    enum Subscription: Sendable {
        /// Not subscribed: the connection is down, or the upstream ended the subscription and it is requested again at that moment.
        case none(again: Instant?)
        /// Waiting in the paced sender.
        case queued
        /// Sent. If the upstream sends no acknowledgment, the subscription counts as active from that moment.
        case requested(standsAt: Instant?)
        /// Active since that moment: it was acknowledged, or data arrived.
        case effective(since: Instant)

        var isNone: Bool { if case .none = self { true } else { false } }
        var isQueued: Bool { if case .queued = self { true } else { false } }
        var isRequested: Bool { if case .requested = self { true } else { false } }
        var isEffective: Bool { effectiveSince != nil }
        var effectiveSince: Instant? { if case .effective(let since) = self { since } else { nil } }
    }

    struct Observer: Sendable {
        let id: ObserverID
        /// The newest event when it started to read. Earlier events are not news to it.
        var since: UInt64
        /// The newest event it received, or started with.
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

    /// A gap in a stream in which every message counts.
    enum Backfill: Sendable {
        case none
        /// The stream is lost. The next messages can be joined to the content.
        case possible
        /// Messages from `next` on are being fetched. Messages from the socket are held back in the meantime.
        case running(next: UInt64, requests: Int, held: [HeldMessage])
    }

    /// A message that waits for missing messages before it.
    struct HeldMessage: Sendable {
        let slot: Int
        let rows: FeedRows
        let eventTime: Int64?
        /// When it arrived. It is evidence for that moment, whenever it is applied.
        let arrivedAt: Instant
    }

    /// The book's comparisons with REST.
    struct Audit: Sendable {
        /// One comparison: a second book, built from the REST answer and the same updates.
        struct Comparison: Sendable {
            let attempt: UInt64
            var book: OrderBook
        }

        var running: Comparison?
        /// When the next comparison starts.
        var at: Instant?
    }

    /// The observers of the stream, and the connection state they know.
    struct Audience: Sendable {
        var observers: [Observer] = []
        /// How many readers are behind the observers; zero if unknown.
        var readers = 0
        var lingersUntil: Instant?
        /// The newest published event.
        var lastEvent: UInt64 = 0
        /// The connection state last published to observers; nil at first.
        var isConnected: Bool?
        /// The last loss of the connection and the following recoveries, for paused observers.
        var connectionEvents: [FeedEvent] = []
    }

    /// The REST requests for the stream.
    struct Fetching: Sendable {
        /// The data that the content needs from a snapshot.
        enum Need: Int, Comparable, Sendable {
            case nothing
            /// It is complete, but may have changed unnoticed, or is about to run short.
            case confirmation
            /// Rows are missing, or may be.
            case completion

            static func < (one: Need, other: Need) -> Bool { one.rawValue < other.rawValue }
        }

        struct Request: Sendable {
            let attempt: UInt64
            /// Whether the subscription was active before the request, so that no update is lost between the two.
            var followsSubscription: Bool
            let askedAt: Instant
            /// Whether an unreadable message arrived in the meantime that the answer may lack.
            var isRefuted = false
        }

        /// The missing data. Only a snapshot satisfies it, never an error.
        var need: Need
        var running: Request?
        /// When the next request is due.
        var at: Instant?
        /// Until then, requests of readers share one fetch.
        var allowedAt: Instant?
        var backoff: Backoff
        var backfill = Backfill.none

        /// Whether a snapshot is requested until one arrives.
        var isNeeded: Bool { need != .nothing }

        /// Raises the need to at least this level.
        mutating func require(_ least: Need) { need = max(need, least) }

        /// Cancels all requests.
        mutating func end() { self = Fetching(need: .nothing, allowedAt: allowedAt, backoff: backoff) }
    }

    /// The stream's data from several lines.
    struct Lines: Sendable {
        var awaitedCopy: AwaitedCopy?
        /// When the line that the stream is read from last delivered a message of the stream.
        var readAt: Instant?
        var values = ValueMerge()
        /// Messages after a gap that another line may fill, and how long to wait for that.
        var held: [HeldMessage] = []
        var heldUntil: Instant?
        /// A message that could not be read on one line while another may deliver a readable copy.
        var unreadable: (slot: Int, at: Instant)?
    }

    private final class Box: @unchecked Sendable {
        // The holder of the enclosing value already has exclusive access. Checking it again costs 5 % of the time per frame.
        @exclusivity(unchecked) var fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    // Only a sole owner writes to it; see the setter.
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

    // These properties read only the fields they need. A function called on `Fields` would copy all of them.

    /// Whether the next frame makes the content complete.
    var isWholeAfterUpdate: Bool { self.rule == .replace || !self.fetching.isNeeded }

    /// Whether the content was verified after the subscription became active. Earlier content may have changed unnoticed.
    var isConfirmed: Bool {
        guard !self.freshness.hasMessage, self.traits.hasSnapshotSource, let since = self.subscription.effectiveSince else { return true }
        return self.freshness.provedAt.map { $0 >= since } ?? false
    }

    /// The content as sent to observers; nil if there is none yet.
    func contentAsHandedOut(
        _ kind: FuturesServiceFeedContent.Kind, _ delta: FeedRows?, unverifiedMs: Int64
    ) -> FuturesServiceFeedContent? {
        guard let contentID = self.contentID else { return nil }
        let changed = kind == .delta || self.rule == .replace ? delta : nil
        return FuturesServiceFeedContent(
            streamName: self.name, id: contentID, kind: kind, state: self.state, source: self.source, eventTime: self.eventTime,
            receivedAt: self.receivedAt, unverifiedMs: unverifiedMs, rows: changed ?? self.content.rows)
    }

    /// Ends the stream. The cached content stays readable, and all activity stops.
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
        /// The latest 100 faults and their outcomes.
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
