/// A bounded number of accounts, which hold what callers have and have used. If there is no room, accounts without connections and streams whose
/// budgets are full again are removed. If there is still no room, new callers share one account.
struct Accounts<Name: Hashable & Sendable> {
    private struct Account {
        var connections = 0
        var streams = 0
        var requests = TokenBucket()
        var refetches = TokenBucket()
        var weight = TokenBucket()
    }

    /// A caller's account: its own, or the shared one.
    struct Place: Equatable, Sendable {
        let name: Name
        let isShared: Bool
    }

    private let maximum: Int
    private var accounts: [Name: Account] = [:]
    private var rest = Account()
    private var sweptAt: Int64?
    /// Each caller's share of the venue's request weight per minute, from the last cost.
    private var weightLimit = 1

    init(maximum: Int) { self.maximum = maximum }

    var count: Int { accounts.count }

    /// - Parameter now: Monotonic nanoseconds.
    mutating func place(of name: Name, _ limits: CallerLimits, now: Int64) -> Place {
        if accounts[name] == nil, accounts.count >= maximum { sweep(limits, now) }
        guard accounts[name] != nil || accounts.count < maximum else { return Place(name: name, isShared: true) }
        if accounts[name] == nil { accounts[name] = Account() }
        return Place(name: name, isShared: false)
    }

    /// Uses one request.
    mutating func request(_ place: Place, _ limits: CallerLimits, now: Int64) -> Refusal? {
        guard limits.requests > 0, let wait = self[place].requests.take(1, .perSecond(limits.requests), now: now) else { return nil }
        return Refusal(kind: .requests, limit: limits.requests, retryAfter: wait)
    }

    /// The remaining requests, and the seconds until the burst is full again.
    mutating func left(_ place: Place, _ limits: CallerLimits, now: Int64) -> (count: Int, full: Int) {
        self[place].requests.left(.perSecond(limits.requests), now: now)
    }

    /// Charges a caller's venue cost, or nothing of it.
    mutating func spend(_ place: Place, _ cost: VenueCost, _ limits: CallerLimits, now: Int64) -> Refusal? {
        if limits.refetches > 0, let wait = self[place].refetches.take(cost.refetches, .perMinute(limits.refetches), now: now) {
            return Refusal(kind: .refetches, limit: limits.refetches, retryAfter: wait)
        }
        weightLimit = max(1, cost.share)
        if cost.share > 0, let wait = self[place].weight.take(cost.weight, .perMinute(cost.share), now: now) {
            self[place].refetches.giveBack(cost.refetches)
            return Refusal(kind: .weight, limit: cost.share, retryAfter: wait)
        }
        return nil
    }

    /// The limit that these additional connections and streams would exceed, if any.
    mutating func refusal(_ place: Place, connections: Int, streams: Int, _ limits: CallerLimits) -> Refusal? {
        let account = self[place]
        if limits.connections > 0, connections > 0, account.connections + connections > limits.connections {
            return Refusal(kind: .connections, limit: limits.connections, retryAfter: 5)
        }
        if limits.streams > 0, streams > 0, account.streams + streams > limits.streams {
            return Refusal(kind: .streams, limit: limits.streams, retryAfter: 5)
        }
        return nil
    }

    /// Undoes a `spend`.
    mutating func giveBack(_ place: Place, _ cost: VenueCost) {
        self[place].refetches.giveBack(cost.refetches)
        self[place].weight.giveBack(cost.weight)
    }

    /// Adds to the counts; negative numbers subtract.
    mutating func count(_ place: Place, connections: Int, streams: Int) {
        self[place].connections += connections
        self[place].streams += streams
    }

    private subscript(place: Place) -> Account {
        get { place.isShared ? rest : accounts[place.name, default: Account()] }
        set {
            if place.isShared { rest = newValue } else { accounts[place.name] = newValue }
        }
    }

    /// Runs at most once per second, because it visits all accounts.
    private mutating func sweep(_ limits: CallerLimits, _ now: Int64) {
        if let sweptAt, now - sweptAt < 1_000_000_000 { return }
        sweptAt = now
        accounts = accounts.filter { _, account in
            account.connections > 0 || account.streams > 0 || !account.requests.isFull(.perSecond(limits.requests), now: now)
                || !account.refetches.isFull(.perMinute(limits.refetches), now: now) || !account.weight.isFull(.perMinute(weightLimit), now: now)
        }
    }
}

/// A reached limit of a key or an address.
struct Refusal: Equatable {
    let kind: LimitReached.Kind
    let limit: Int
    let retryAfter: Int
}
