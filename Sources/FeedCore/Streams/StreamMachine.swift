/// The life of one stream that has observers or lingers: its audience, subscription, content, requests and freshness.
///
/// `FeedCore` routes the inputs to it. It decides for itself, and changes nothing of other streams. The shared state is in `FeedContext`.
struct StreamMachine: Sendable {
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
        /// Its text, if readers of the venue's sockets want it.
        var text: [UInt8]?
    }

    /// The book's comparisons with REST.
    struct Audit: Sendable {
        /// One comparison: a second book, built from the REST answer and the same updates.
        struct Comparison: Sendable {
            let attempt: UInt64
            let askedAt: Instant
            var book: OrderBook
        }

        var running: Comparison?
        /// When the next comparison starts.
        var at: Instant?
        /// When the book was complete for the first time, or last found equal to REST.
        var soundAt: Instant?
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
        /// The last lost connection, and the recoveries after it, for paused observers.
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
            /// The content when it was asked for. An answer that was made before it proves nothing.
            let known: StreamContent
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
        /// When the first of the implausible answers in a row arrived.
        fileprivate(set) var doubtedAt: Instant?

        /// Whether to refuse an implausible answer. If the venue says so for `patience`, it is taken.
        mutating func doubts(_ now: Instant, patience: Duration) -> Bool {
            let since = doubtedAt ?? now
            doubtedAt = since
            return now < since + patience
        }

        mutating func believe() { doubtedAt = nil }

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

    /// The stream's place in the core, by which the connections know it.
    let index: Int
    let name: FuturesServiceStreamName
    let traits: StreamTraits
    let policy: any StreamPolicy.Type
    var audience = Audience()
    var frames = Frames()

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
    /// The symbols whose rows the newest answer lacked, or that could not be read, in a list of all symbols.
    var leftOutSymbols: Set<String> = []

    var fetching: Fetching
    var audit = Audit()
    var lines = Lines()
    /// What REST had and the socket has not delivered yet, and when REST said so.
    var ahead: (rows: FeedRows, since: Instant)?
    var barEnd = BarEnd()

    /// A new stream in its initial state.
    ///
    /// - Parameter connection: The slot of the connection that it is read from.
    init(_ index: Int, _ name: FuturesServiceStreamName, _ traits: StreamTraits, connection: Int, _ configuration: FeedCore.Settings) {
        (self.index, self.name, self.traits, self.connection) = (index, name, traits, connection)
        policy = name.messageRule.policy
        freshness = Freshness(traits.rhythm)
        content = StreamContent(name, limit: traits.limit)
        fetching = Fetching(need: traits.needsSnapshot ? .completion : .nothing, backoff: policy.backoff(configuration))
    }

    /// How many readers would notice that the stream waits.
    var readers: Int { max(audience.readers, audience.observers.count) }

    mutating func publish(_ kind: FeedEvent.Kind, _ feed: inout FeedContext) {
        note(kind, feed.now)
        let id = feed.nextID()
        audience.lastEvent = id.sequence
        let event = FeedEvent(stream: name, id: id, kind: kind)
        audience.keepForPaused(event)
        feed.decisions.effects.append(.publish(event))
    }

    mutating func setState(_ state: FeedState, _ feed: inout FeedContext) {
        let previous = self.state
        guard previous != state else { return }
        self.state = state
        guard !(previous == .connecting && state == .live) else { return }
        let now = feed.now.instant
        let age = receivedInstant.map { now.milliseconds(since: $0) }
        publish(.status(state, ageMs: age, unverifiedMs: verifiedAt(feed.pool).map { now.milliseconds(since: $0) }), &feed)
    }

    /// Processes everything of the stream that is due.
    mutating func passDeadlines(_ feed: inout FeedContext) {
        passSubscription(&feed)
        passHeld(&feed)
        passBehind(&feed)
        passUnreadable(&feed)
        passSilence(&feed)
        passBarEnd(&feed)
        if let at = fetching.at, at > feed.now.instant { feed.wake(at: at) }
    }

    /// Whether the next frame makes the content complete.
    var isWholeAfterUpdate: Bool { policy.isWholeWithEachMessage || !fetching.isNeeded }

    /// Whether the content was verified after the subscription became active. Earlier content may have changed unnoticed.
    var isConfirmed: Bool {
        guard !freshness.hasMessage, traits.hasSnapshotSource, let since = subscription.effectiveSince else { return true }
        return freshness.provedAt.map { $0 >= since } ?? false
    }

    /// The content as sent to observers; nil if there is none yet.
    func content(
        _ kind: FuturesServiceFeedContent.Kind, delta: FeedRows? = nil, at instant: Instant, _ feed: borrowing FeedContext
    ) -> FuturesServiceFeedContent? {
        contentID.map { content(kind, $0, delta: delta, at: instant, feed) }
    }

    @inline(__always)
    func content(
        _ kind: FuturesServiceFeedContent.Kind, _ id: EventID, delta: FeedRows?, at instant: Instant, _ feed: borrowing FeedContext
    ) -> FuturesServiceFeedContent {
        let rows = if let delta, kind == .delta || policy.isWholeWithEachMessage { delta } else { content.rows }
        return FuturesServiceFeedContent(
            streamName: name, id: id, kind: kind, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt,
            unverifiedMs: verifiedAt(feed.pool).map { instant.milliseconds(since: $0) } ?? 0, rows: rows)
    }

    func status(at instant: Instant, _ feed: borrowing FeedContext) -> StreamStatus {
        // A stream is read between two deadlines, and after a suspension of the process before its silence is judged.
        let isTooOld = state == .live && contentID != nil && !isWithinBound(at: instant, feed)
        return StreamStatus(
            name: name, state: isTooOld ? .stale : state, contentID: contentID, isWhole: isWholeAfterUpdate && !lacksRows(feed),
            ageMs: receivedInstant.map { instant.milliseconds(since: $0) },
            unverifiedMs: verifiedAt(feed.pool).map { instant.milliseconds(since: $0) }, source: source, isConnected: audience.isConnected == true,
            observers: audience.observers.count, market: market(at: instant, feed))
    }

    mutating func note(_ kind: StreamIncident.Kind, _ detail: String, _ now: Moment) {
        incidents.append(StreamIncident(at: now.wallClock, kind: kind, detail: detail))
        if incidents.count > 100 { incidents.removeFirst() }
    }

    /// Records the event as an incident if it is one.
    private mutating func note(_ event: FeedEvent.Kind, _ now: Moment) {
        switch event {
        case .disconnected(let reason): note(.disconnect, reason, now)
        case .recovered(let recovery):
            let outcome = recovery.error.map { "not recovered: \($0.reason.message)" } ?? "recovered, \(recovery.method.rawValue)"
            note(.recover, "\(outcome) after \(recovery.downMs) ms, reported for \(recovery.detectedMs) ms", now)
        case .failed(let error, _): note(.fail, error.description, now)
        case .status(.failed, _, _): note(.failed, "the stream is not available now", now)
        case .status(.ended, _, _): note(.ended, "the venue has settled the symbol", now)
        case .fetched, .updated, .connected, .status, .ended: break
        }
    }
}
