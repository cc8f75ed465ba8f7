/// How a stream's messages arrive, which decides what its silence means.
public enum StreamRhythm: Sendable, Equatable {
    /// At fixed intervals, independent of the market. A silence of two periods means a fault.
    case periodic(Duration)
    /// With the market. The gateway learns how often, and asks REST if a silence is longer than learned, or longer than `patience`.
    case ticking(patience: Duration)
    /// Occasionally. Silence means nothing, and the content stays current while its connection is alive.
    case sporadic

    var isPeriodic: Bool { if case .periodic = self { true } else { false } }
    var isTicking: Bool { if case .ticking = self { true } else { false } }
}

/// The freshness of one stream: when its content was last verified to be the newest, and how long its silence still counts as normal. A value without
/// IO; its owner sends the inquiries and reports the results.
struct Freshness: Sendable {
    /// A REST request to verify a silent stream.
    struct Inquiry: Sendable {
        let attempt: UInt64
        let askedAt: Instant
    }

    /// A time in which the content was not reliable.
    struct Outage: Sendable {
        /// The last moment at which the content was verified to be the newest.
        let since: Instant
        /// When it was reported to readers.
        let toldAt: Instant
        /// The last message before it, if messages are numbered.
        let lastID: UInt64?
        /// Whether only a message ends it: the connection is alive, but the stream has stalled on it.
        fileprivate(set) var awaitsMessage: Bool
        /// How many messages were missing in the data fetched to fill it.
        fileprivate(set) var holes: UInt64 = 0
        /// Whether its failure to recover was reported to readers.
        fileprivate(set) var isReported = false

        fileprivate func recovery(
            _ now: Instant, error: StreamSubscriberRecoverError?, method: FeedRecovery.Method, missed: UInt64?
        ) -> FeedRecovery {
            FeedRecovery(
                error: error, method: method, downMs: now.milliseconds(since: since), detectedMs: now.milliseconds(since: toldAt), missed: missed)
        }
    }

    let rhythm: StreamRhythm
    /// When the last news message arrived, or when waiting for the first message began.
    private(set) var heardAt: Instant?
    /// When the stream itself was last verified by a message or a REST answer.
    private(set) var provedAt: Instant?
    var inquiry: Inquiry?
    /// When the last inquiry was sent.
    private var inquiredAt: Instant?
    /// Since when REST has been ahead of the socket.
    private(set) var behindSince: Instant?
    /// Whether the socket delivers later than REST answers. Messages prove nothing until one of them arrives in time.
    private(set) var isLate = false
    /// When the first and the last unreadable message arrived that no later message has replaced. Each shows that newer data exists.
    private(set) var refuted: (since: Instant, at: Instant)?
    /// The delays between requests caused by unreadable messages.
    var refutations = Backoff(base: .seconds(1), cap: .seconds(60))
    private var cadence = Cadence()
    /// Whether a message arrived on the current connection.
    var hasMessage = false
    private(set) var outage: Outage?
    /// How many times in a row expected data did not arrive, and when the next recovery attempt starts.
    var stalls = 0
    var retryAt: Instant?
    /// When the silence is checked next.
    var lookAt: Instant?
    private var isPaused = false
    /// How many messages in a row were dropped because their number was far ahead.
    var leaps = 0

    // These values are used for every message. They are nanoseconds because arithmetic with `Duration` costs some hundred instructions.

    /// The longest silence that can be normal, nanoseconds.
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

    /// How long a silence counts as normal.
    var patience: Duration { .nanoseconds(believed) }

    // Functions that every message calls are inlined, because a call would copy the whole value.

    @inline(__always)
    private var believed: Int64 { rhythm.isTicking ? cadence.patience(atMost: ceiling, atFirst: ceiling / Self.firstPart) : ceiling }

    /// The longest silence without a fault. Before the cadence is known, REST checks a silence early, but the silence is not a fault yet.
    @inline(__always)
    private var longest: Int64 { cadence.patience(atMost: ceiling, atFirst: ceiling) }

    /// Since when the stream has been silent.
    @inline(__always)
    private var silentSince: Instant? {
        switch rhythm {
        case .periodic: heardAt
        case .ticking: heardAt.map { max($0, provedAt ?? $0) }
        case .sporadic: nil
        }
    }

    /// How long to wait for a message that replaces an unreadable one, nanoseconds. For periodic streams this is the next message.
    @inline(__always)
    private var replacement: Int64 { rhythm.isPeriodic ? min(ceiling / 2, 5_000_000_000) &+ 400_000_000 : Self.grace }

    /// Until when other signs of life of the connection also verify this stream.
    @inline(__always)
    var trustedUntil: Instant? {
        guard behindSince == nil, refuted == nil else { return provedAt }
        if case .sporadic = rhythm { return Instant(nanoseconds: .max) }
        return silentSince?.after(believed)
    }

    /// The longest time since the last verification in the state `live`, nanoseconds; nil if only the connection decides.
    @inline(__always)
    var bound: Int64? {
        switch rhythm {
        case .periodic: ceiling &+ Self.lateness
        case .ticking: longest &+ max(Self.shortestWait, longest)
        case .sporadic: nil
        }
    }

    /// Starts waiting for the first or the next message.
    mutating func beginWaiting(_ now: Instant) {
        heardAt = now
        inquiry = nil
        behindSince = nil
    }

    /// Whether the silence is not judged now, because the contract is not traded. When it is again, the wait for its next message begins.
    mutating func pause(_ isPaused: Bool, _ now: Instant) {
        if self.isPaused, !isPaused { beginWaiting(now) }
        self.isPaused = isPaused
    }

    /// Records that a news message arrived at that moment.
    ///
    /// - Parameter proof: The moment for which it is evidence: earlier, if it waited while the process was suspended.
    mutating func hear(_ moment: Instant, proves proof: Instant, learns: Bool) {
        if learns, let heardAt { cadence.learn(moment.nanoseconds &- heardAt.nanoseconds) }
        heardAt = max(heardAt ?? moment, moment)
        prove(proof)
        behindSince = nil
    }

    /// Records that the content was the newest at that moment.
    mutating func prove(_ moment: Instant) { provedAt = max(provedAt ?? moment, moment) }

    /// Records an unreadable message. It shows that newer data exists, so signs of life of the connection no longer verify the content.
    mutating func refute(_ now: Instant) {
        if let last = refuted?.at, now.milliseconds(since: last) > 60_000 { refutations.reset() }
        refuted = (refuted?.since ?? now, now)
    }

    /// Clears the unreadable messages because another message replaced them, or because their loss was reported to readers.
    mutating func forgetRefutation() { refuted = nil }

    /// Records that the content is complete as of that moment.
    mutating func settle(_ moment: Instant) {
        if let refuted, refuted.at >= moment { return }
        refuted = nil
        prove(moment)
    }

    /// Records that REST confirmed the content: the silence was normal.
    mutating func confirm(_ moment: Instant) {
        if let refuted, refuted.at >= moment { return }
        refuted = nil
        if let heardAt, moment > heardAt { cadence.learn(moment.nanoseconds &- heardAt.nanoseconds) }
        prove(moment)
        behindSince = nil
    }

    /// Resumes a stalled stream because REST showed at that moment that there is no newer data. The length of the silence is not learned, because it
    /// says nothing about the market.
    mutating func resumeWaiting(_ moment: Instant) {
        refuted = nil
        beginWaiting(moment)
        prove(moment)
    }

    /// Records that REST has data that the socket has not delivered.
    mutating func fallBehind(_ now: Instant) { behindSince = behindSince ?? now }

    /// Records that the socket has not delivered in time what REST had.
    mutating func beLate() { isLate = true }

    /// Records that the socket delivered in time at that moment. Unverified messages arrived before, so that time is not learned as a silence.
    mutating func catchUp(_ moment: Instant) {
        guard isLate else { return }
        isLate = false
        heardAt = heardAt.map { max($0, moment) }
    }

    /// Whether the stream is live, but only REST can verify that its messages are in time.
    var needsAnswer: Bool { isLate && outage == nil }

    mutating func inquire(_ attempt: UInt64, _ now: Instant) {
        inquiry = Inquiry(attempt: attempt, askedAt: now)
        inquiredAt = now
    }

    /// Allows another inquiry because the last one had no result.
    mutating func forgetInquiry() { inquiredAt = nil }

    /// Resets inquiries and doubts because the connection is lost.
    mutating func lose() {
        inquiry = nil
        behindSince = nil
        refuted = nil
        isLate = false
        heardAt = nil
        hasMessage = false
        stalls = 0
        endStall()
    }

    /// Starts an outage, unless one is in progress.
    ///
    /// - Parameter since: The last moment at which the content was verified to be the newest.
    mutating func beginOutage(_ now: Instant, since: Instant, lastID: UInt64?, awaitsMessage: Bool = false) {
        guard outage == nil else { return }
        outage = Outage(since: min(since, now), toldAt: now, lastID: lastID, awaitsMessage: awaitsMessage)
    }

    /// Ends a stall because messages arrive again or there is no newer data.
    mutating func endStall() { outage?.awaitsMessage = false }

    /// Records messages that were missing in the data fetched to fill the outage.
    mutating func countHoles(_ count: UInt64) { outage?.holes &+= count }

    /// Ends the outage, unless it needs a message to end. Returns its cost, or nil if its failure was already reported to readers.
    mutating func endOutage(_ now: Instant, by method: FeedRecovery.Method, missed: UInt64?) -> FeedRecovery? {
        guard let outage, !outage.awaitsMessage else { return nil }
        self.outage = nil
        stalls = 0
        return outage.isReported ? nil : outage.recovery(now, error: nil, method: method, missed: missed)
    }

    /// Reports once that the outage could not be ended, and its cost so far. The recovery attempts continue.
    mutating func reportOutage(_ now: Instant, _ error: StreamSubscriberRecoverError) -> FeedRecovery? {
        guard let outage, !outage.isReported else { return nil }
        self.outage?.isReported = true
        return outage.recovery(now, error: error, method: .snapshot, missed: nil)
    }

    /// Ends the stream. The time of the last verification stays.
    mutating func end() {
        let provedAt = provedAt
        self = Freshness(rhythm)
        self.provedAt = provedAt
    }

    /// The result of a check of the silence.
    enum Finding: Equatable {
        /// Normal until then.
        case calm(until: Instant)
        /// The silence is unusually long. The stream becomes stale at that moment unless it is verified.
        case doubtful(until: Instant)
        /// Expected data did not arrive.
        case silent
        /// REST has had newer data for too long, or no message replaced an unreadable one.
        case stalled
    }

    /// Checks the silence; nil if this stream's silence means nothing and no unreadable message waits for another.
    @inline(__always)
    func look(_ now: Instant) -> Finding? {
        // In an outage, readers already know.
        let unreadableAt = outage == nil ? refuted.map { $0.since.after(replacement) } : nil
        let behindAt = behindSince?.after(Self.grace)
        let stalledAt = unreadableAt.map { min($0, behindAt ?? $0) } ?? behindAt
        if let stalledAt, stalledAt <= now { return .stalled }
        guard let silentSince, let bound else { return stalledAt.map { .calm(until: $0) } }
        let silentAt = silentSince.after(bound)
        if silentAt <= now { return .silent }
        let doubtAt = silentSince.after(believed)
        guard doubtAt <= now else { return .calm(until: stalledAt.map { min(doubtAt, $0) } ?? doubtAt) }
        return .doubtful(until: stalledAt.map { min(silentAt, $0) } ?? silentAt)
    }

    /// Whether an inquiry may be sent: none is outstanding, and the last one was long enough ago. A stream that follows a clock needs messages, unless
    /// its contract is not traded.
    func mayInquire(_ now: Instant) -> Bool {
        // A message since the last inquiry has made its answer unnecessary.
        guard inquiry.map({ $0.askedAt < heardAt ?? $0.askedAt }) ?? true, isPaused || !rhythm.isPeriodic else { return false }
        let pause = needsAnswer ? .seconds(1) : min(max(patience, .seconds(1)), .seconds(10))
        return inquiredAt.map { $0 + pause <= now } ?? true
    }
}
