/// Whether the venue may be asked over REST, and which of its hosts: the minute's weight, how long the venue asked to be left alone, and hosts that
/// do not answer.
struct RESTGate: Sendable {
    /// The longest pause that is kept, however long the venue asks for one, and the pause if it names none.
    private let longestPause: Duration
    private let defaultPause: Duration
    private let leastPause: Duration
    private let hosts: Int
    private let attemptsPerHost: Int

    private var budget: WeightBudget
    /// Until when the venue asked not to be asked.
    private(set) var blockedUntil: Instant?
    /// Until when a request that is due waits for weight.
    private var waitsUntil: Instant?
    /// The host that is asked, and how often in a row it could not answer.
    private(set) var host = 0
    private var failures = 0
    /// How many answers in a row asked to wait.
    private var refusals = 0

    init(_ configuration: FeedCore.Settings) {
        longestPause = configuration.longestRetryAfter
        defaultPause = configuration.defaultRetryAfter
        leastPause = configuration.leastRetryAfter
        hosts = max(1, configuration.restHosts)
        attemptsPerHost = configuration.attemptsPerHost
        budget = WeightBudget(limit: configuration.weightLimit, reserve: configuration.weightReserve)
    }

    /// How long the venue wants not to be asked, from now; nil if it does not mind.
    func pause(_ now: Instant) -> Duration? {
        blockedUntil.flatMap { $0 > now ? .nanoseconds($0.nanoseconds &- now.nanoseconds) : nil }
    }

    /// Takes the weight of a request, or says how long it has to wait.
    ///
    /// - Parameter share: what is left to others of the minute's weight. A request that leaves none goes before spare ones.
    mutating func admit(_ weight: Int, leaving share: Double, _ now: Moment) -> Duration? {
        guard let wait = pause(now.instant) ?? budget.take(weight, leaving: share, now: now) else { return nil }
        if share == 0 { waitsUntil = now.instant + wait }
        return wait
    }

    /// Takes the weight of a request that can be left out, if no other one waits; false if it has to be left out.
    mutating func admitSpare(_ weight: Int, leaving share: Double, _ now: Moment) -> Bool {
        guard pause(now.instant) == nil, waitsUntil.map({ $0 <= now.instant }) ?? true else { return false }
        return budget.take(weight, leaving: share, now: now)
    }

    /// An answer came, or none did: a venue that asks to wait is left alone, and a host that fails several times in a row gives way to the next.
    mutating func answered(_ error: FeedError?, _ now: Instant) {
        if let error, error.code == .rateLimited {
            let asked = error.retryAfterMs.map { Duration.milliseconds(min($0, 1 << 40)) } ?? defaultPause
            let least = min(leastPause * (1 << min(refusals, 6)), .seconds(60))
            let until = now + min(max(asked, least), longestPause)
            blockedUntil = max(blockedUntil ?? until, until)
            refusals += 1
        } else if error == nil {
            refusals = 0
        }
        guard let error, error.code == .unreachable || error.code == .timedOut else {
            failures = 0
            return
        }
        failures += 1
        guard failures >= attemptsPerHost else { return }
        failures = 0
        host = (host &+ 1) % hosts
    }

    /// The venue tells what the minute has cost so far.
    mutating func observe(used: Int, _ now: Moment) { budget.observe(used: used, now: now) }

    /// The venue tells what a minute may cost.
    mutating func limit(_ limit: Int) { if limit > 0 { budget.limit = limit } }

    /// What this minute has cost, and what it may.
    func weight(_ now: Moment) -> (used: Int, limit: Int) { (budget.used(now: now), budget.limit) }
}
