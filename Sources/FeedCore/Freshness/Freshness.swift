/// How a stream's messages come, which decides what its silence means.
public enum StreamRhythm: Sendable, Equatable {
    /// By the clock, one in each period, whatever the market does: silence for two periods means that something is wrong.
    case periodic(Duration)
    /// With the market. The gateway learns how often, and asks REST once a silence is longer than it has learned, or than `patience`.
    case ticking(patience: Duration)
    /// Now and then; silence says nothing, and what there is stays true for as long as its connection is heard.
    case sporadic

    var isPeriodic: Bool { if case .periodic = self { true } else { false } }
    var isTicking: Bool { if case .ticking = self { true } else { false } }
}

/// What is known of a stream's freshness: when there was evidence last that nothing newer exists, and how long silence is still believed to be
/// calm. A value without IO; whoever holds it asks and tells.
struct Freshness: Sendable {
    /// What a late message is given beyond two periods, and what an answer over REST is waited for at least: both leave readers told within two
    /// seconds of doubt.
    private static let lateness: Int64 = 1_400_000_000
    private static let shortestWait: Int64 = 1_400_000_000
    /// How long what REST has and the socket has not is waited for: both are on their way at the same time.
    private static let grace: Int64 = 750_000_000

    /// A request over REST that is to confirm a silence.
    struct Inquiry: Sendable {
        let attempt: UInt64
        let askedAt: Instant
    }

    /// A time in which the content was not to be relied on.
    struct Outage: Sendable {
        /// The last moment of which there is evidence that the content was the newest.
        let since: Instant
        /// When readers were told.
        let toldAt: Instant
        /// The last message before it, if messages are counted.
        let lastID: UInt64?
        /// Whether a message alone ends it: the connection lives, and the stream has stalled on it.
        fileprivate(set) var awaitsMessage: Bool
        /// How many messages were missing within what was fetched to fill it.
        fileprivate(set) var holes: UInt64 = 0
        /// Whether readers were told that it could not be ended.
        fileprivate(set) var isReported = false

        fileprivate func recovery(
            _ now: Instant, error: StreamSubscriberRecoverError?, method: FeedRecovery.Method, missed: UInt64?
        ) -> FeedRecovery {
            FeedRecovery(
                error: error, method: method, downMs: now.milliseconds(since: since), detectedMs: now.milliseconds(since: toldAt), missed: missed)
        }
    }

    let rhythm: StreamRhythm
    /// When the last message came that was news, or when the first one began to be waited for.
    private(set) var heardAt: Instant?
    /// When there was evidence last of this stream's own: a message, or an answer over REST.
    private(set) var provedAt: Instant?
    var inquiry: Inquiry?
    /// When the last inquiry was sent.
    private var inquiredAt: Instant?
    /// Since when REST has been known to be ahead of the socket.
    private(set) var behindSince: Instant?
    /// When the first and the last message came that could not be read, and that nothing has replaced yet. Each is evidence of newer data.
    private(set) var refuted: (since: Instant, at: Instant)?
    /// The pace of the requests that unreadable messages cause.
    var refutations = Backoff(base: .seconds(1), cap: .seconds(60))
    private var cadence = Cadence()
    /// Whether a message came since the connection stands.
    var hasMessage = false
    private(set) var outage: Outage?
    /// How often in a row what should have come did not, and when the next try to bring it back begins.
    var stalls = 0
    var retryAt: Instant?
    /// When the silence is looked at next.
    var lookAt: Instant?
    /// How many messages in a row were left out for a number far ahead.
    var leaps = 0

    // All of this is asked for with every message: in nanoseconds, since arithmetic with `Duration` costs some hundred instructions.

    /// The longest that a silence is believed, nanoseconds.
    private let ceiling: Int64

    init(_ rhythm: StreamRhythm) {
        self.rhythm = rhythm
        ceiling =
            switch rhythm {
            case .periodic(let period): (period * 2).nanoseconds
            case .ticking(let patience): patience.nanoseconds
            case .sporadic: .max / 4
            }
    }

    /// How long a silence is believed.
    var patience: Duration { .nanoseconds(believed) }

    private var believed: Int64 { rhythm.isTicking ? cadence.patience(atMost: ceiling) : ceiling }

    /// Since when it has been silent.
    private var silentSince: Instant? {
        switch rhythm {
        case .periodic: heardAt
        case .ticking: heardAt.map { max($0, provedAt ?? $0) }
        case .sporadic: nil
        }
    }

    /// How long a message is waited for that replaces an unreadable one, nanoseconds: where messages come by the clock, the next one.
    private var replacement: Int64 { rhythm.isPeriodic ? min(ceiling / 2, 5_000_000_000) &+ 400_000_000 : Self.grace }

    /// Until when other signs of life of its connection are evidence for this stream too.
    var trustedUntil: Instant? {
        guard behindSince == nil, refuted == nil else { return provedAt }
        if case .sporadic = rhythm { return Instant(nanoseconds: .max) }
        return silentSince?.after(believed)
    }

    /// The most that may have gone by since the last evidence of a stream that is called live, nanoseconds; nil where its connection alone decides.
    var bound: Int64? {
        switch rhythm {
        case .periodic: ceiling &+ Self.lateness
        case .ticking: believed &+ max(Self.shortestWait, believed)
        case .sporadic: nil
        }
    }

    /// From now on the first message, or the next one, is waited for.
    mutating func beginWaiting(_ now: Instant) {
        heardAt = now
        inquiry = nil
        behindSince = nil
    }

    /// A message that was news came at that moment.
    mutating func hear(_ moment: Instant, learns: Bool) {
        if learns, let heardAt { cadence.learn(moment.nanoseconds &- heardAt.nanoseconds) }
        heardAt = max(heardAt ?? moment, moment)
        prove(moment)
        behindSince = nil
    }

    /// There is evidence of that moment that nothing newer existed.
    mutating func prove(_ moment: Instant) { provedAt = max(provedAt ?? moment, moment) }

    /// A message came that cannot be read: something newer exists, and no sign of life of the connection is evidence against that.
    mutating func refute(_ now: Instant) {
        if let last = refuted?.at, now.milliseconds(since: last) > 60_000 { refutations.reset() }
        refuted = (refuted?.since ?? now, now)
    }

    /// Another message replaces the unreadable ones, or readers know that they are lost.
    mutating func forgetRefutation() { refuted = nil }

    /// The content is complete as of that moment.
    mutating func settle(_ moment: Instant) {
        if let refuted, refuted.at >= moment { return }
        refuted = nil
        prove(moment)
    }

    /// REST has confirmed what is here: the silence was calm.
    mutating func confirm(_ moment: Instant) {
        if let refuted, refuted.at >= moment { return }
        refuted = nil
        if let heardAt, moment > heardAt { cadence.learn(moment.nanoseconds &- heardAt.nanoseconds) }
        prove(moment)
        behindSince = nil
    }

    /// A stream that had stalled has nothing to give: REST said so at that moment. How long it was silent tells nothing of the market's gaps.
    mutating func resumeWaiting(_ moment: Instant) {
        refuted = nil
        beginWaiting(moment)
        prove(moment)
    }

    /// REST has what the socket has not.
    mutating func fallBehind(_ now: Instant) { behindSince = behindSince ?? now }

    mutating func inquire(_ attempt: UInt64, _ now: Instant) {
        inquiry = Inquiry(attempt: attempt, askedAt: now)
        inquiredAt = now
    }

    /// The inquiry was of no use; another may be sent.
    mutating func forgetInquiry() { inquiredAt = nil }

    /// The connection is lost, and with it what was asked and doubted.
    mutating func lose() {
        inquiry = nil
        behindSince = nil
        refuted = nil
        heardAt = nil
        hasMessage = false
        stalls = 0
        endStall()
    }

    /// The content is not to be relied on from now on, if it still was.
    ///
    /// - Parameter since: the last moment of which there is evidence that it was the newest.
    mutating func beginOutage(_ now: Instant, since: Instant, lastID: UInt64?, awaitsMessage: Bool = false) {
        guard outage == nil else { return }
        outage = Outage(since: min(since, now), toldAt: now, lastID: lastID, awaitsMessage: awaitsMessage)
    }

    /// A stream that had stalled gives messages again, or there is nothing to give.
    mutating func endStall() { outage?.awaitsMessage = false }

    /// Messages were missing within what was fetched to fill the outage.
    mutating func countHoles(_ count: UInt64) { outage?.holes &+= count }

    /// The stream is back, unless it has stalled and a message alone says so: what its outage cost, if readers do not know yet that it failed.
    mutating func endOutage(_ now: Instant, by method: FeedRecovery.Method, missed: UInt64?) -> FeedRecovery? {
        guard let outage, !outage.awaitsMessage else { return nil }
        self.outage = nil
        stalls = 0
        return outage.isReported ? nil : outage.recovery(now, error: nil, method: method, missed: missed)
    }

    /// The outage could not be ended: what it has cost so far, the first time. It goes on being worked at.
    mutating func reportOutage(_ now: Instant, _ error: StreamSubscriberRecoverError) -> FeedRecovery? {
        guard let outage, !outage.isReported else { return nil }
        self.outage?.isReported = true
        return outage.recovery(now, error: error, method: .snapshot, missed: nil)
    }

    /// Nothing more comes: what was proved stays so.
    mutating func end() {
        let provedAt = provedAt
        self = Freshness(rhythm)
        self.provedAt = provedAt
    }

    /// What a look at the silence finds.
    enum Finding: Equatable {
        /// All is well until then.
        case calm(until: Instant)
        /// The silence is longer than is believed; the stream is stale at that moment unless it is confirmed.
        case doubtful(until: Instant)
        /// What should have come did not.
        case silent
        /// REST has had something newer for too long, or a message that could not be read was not replaced.
        case stalled
    }

    /// Looks at the silence; nil where none is watched.
    func look(_ now: Instant) -> Finding? {
        // In an outage readers know already.
        let unreadableAt = outage == nil ? refuted.map { $0.since.after(replacement) } : nil
        let behindAt = behindSince?.after(Self.grace)
        let stalledAt = unreadableAt.map { min($0, behindAt ?? $0) } ?? behindAt
        if let stalledAt, stalledAt <= now { return .stalled }
        guard let silentSince, let bound else { return nil }
        let silentAt = silentSince.after(bound)
        if silentAt <= now { return .silent }
        let doubtAt = silentSince.after(believed)
        guard doubtAt <= now else { return .calm(until: stalledAt.map { min(doubtAt, $0) } ?? doubtAt) }
        return .doubtful(until: stalledAt.map { min(silentAt, $0) } ?? silentAt)
    }

    /// When an inquiry may be sent: one is not out, and the last one was long enough ago.
    func mayInquire(_ now: Instant) -> Bool {
        guard inquiry == nil, !rhythm.isPeriodic else { return false }
        return inquiredAt.map { $0 + min(max(patience, .seconds(1)), .seconds(10)) <= now } ?? true
    }
}
