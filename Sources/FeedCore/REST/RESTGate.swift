/// Decides whether a REST request may be sent to an upstream, and to which of its hosts. It tracks the minute's weight, the pauses the venue asked for, and
/// hosts that do not answer.
struct RESTGate: Sendable {
    /// The longest pause that is honored, and the pause if the venue names none.
    private let longestPause: Duration
    private let defaultPause: Duration
    private let leastPause: Duration
    private let hosts: Int
    private let attemptsPerHost: Int

    private var budget: WeightBudget
    /// Until when the venue asked for no requests.
    private(set) var blockedUntil: Instant?
    /// Until when a due request waits for weight.
    private var waitsUntil: Instant?
    /// The host in use, and how many times in a row it failed to answer.
    private(set) var host = 0
    private var failures = 0
    /// The last request that was sent to the hosts before it.
    private var lastBefore: UInt64 = 0
    /// How many answers in a row asked for a pause.
    private var refusals = 0

    init(_ configuration: FeedCore.Settings, hosts: Int) {
        longestPause = configuration.longestRetryAfter
        defaultPause = configuration.defaultRetryAfter
        leastPause = configuration.leastRetryAfter
        self.hosts = max(1, hosts)
        attemptsPerHost = configuration.attemptsPerHost
        budget = WeightBudget(limit: configuration.weightLimit, reserve: configuration.weightReserve)
    }

    /// How long from now the venue wants no requests; nil if it did not ask.
    func pause(_ now: Instant) -> Duration? {
        blockedUntil.flatMap { $0 > now ? .nanoseconds($0.nanoseconds &- now.nanoseconds) : nil }
    }

    /// Reserves the weight of a request, or returns how long the request must wait.
    ///
    /// - Parameter share: The share of the minute's weight to leave to others. A request with share 0 has priority over spare requests.
    mutating func admit(_ weight: Int, leaving share: Double, _ now: Moment) -> Duration? {
        guard let wait = pause(now.instant) ?? budget.take(weight, leaving: share, now: now) else { return nil }
        if share == 0 { waitsUntil = now.instant + wait }
        return wait
    }

    /// Reserves the weight of an optional request if no other request waits; false if it must be skipped.
    mutating func admitSpare(_ weight: Int, leaving share: Double, _ now: Moment) -> Bool {
        guard pause(now.instant) == nil, waitsUntil.map({ $0 <= now.instant }) ?? true else { return false }
        return budget.take(weight, leaving: share, now: now)
    }

    /// Records the result of a request. If the venue asks for a pause, requests stop; if a host fails several times in a row, the next one is used.
    ///
    /// - Parameters:
    ///   - attempt: The number of the request; nil if it has none. The result of a request to an earlier host says nothing about this one.
    ///   - last: The number of the last request that was sent.
    mutating func answered(_ error: FeedError?, to attempt: UInt64? = nil, last: UInt64, _ now: Instant) {
        if let error, error.code == .rateLimited {
            let asked = error.retryAfterMs.map { Duration.milliseconds(min($0, 1 << 40)) } ?? defaultPause
            let least = min(leastPause * (1 << min(refusals, 6)), .seconds(60))
            let until = now + min(max(asked, least), longestPause)
            blockedUntil = max(blockedUntil ?? until, until)
            refusals += 1
        } else if error == nil {
            refusals = 0
        }
        if let attempt, attempt <= lastBefore { return }
        guard let error, error.code == .unreachable || error.code == .timedOut else {
            failures = 0
            return
        }
        failures += 1
        guard failures >= attemptsPerHost else { return }
        failures = 0
        host = (host &+ 1) % hosts
        lastBefore = last
    }

    /// Records the weight that the venue reported for this minute.
    mutating func observe(used: Int, _ now: Moment) { budget.observe(used: used, now: now) }

    /// Sets the venue's weight limit per minute.
    mutating func limit(_ limit: Int) { if limit > 0 { budget.limit = limit } }

    /// The weight used in this minute, and its limit.
    func weight(_ now: Moment) -> (used: Int, limit: Int) { (budget.used(now: now), budget.limit) }
}
