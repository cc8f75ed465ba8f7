import Synchronization

/// Counts and limits of callers.
extension Gatekeeper {
    /// The address from which a request came, taking trusted proxies into account.
    public func client(peer: String, forwarded: String?, forwardedFor: String?) -> Address {
        guard let peer = Address(peer) else { return .unknown }
        return ForwardedFor.client(peer: peer, forwarded: forwarded, forwardedFor: forwardedFor, proxies: state.withLock { $0.rules.proxies })
    }

    /// Uses one of the address's requests. Local addresses have no limit.
    ///
    /// - Throws: `LimitReached`.
    public func request(from address: Address?, at now: ClockReading) throws(LimitReached) -> RequestsLeft? {
        guard let name = Self.name(address) else { return nil }
        return try limiting { (state) throws(LimitReached) in
            try Self.request(&state.addresses, name, state.rules.addressLimits, .address, now)
        }
    }

    /// Uses one of the principal's requests.
    ///
    /// - Throws: `LimitReached`.
    public func request(by principal: Principal, at now: ClockReading) throws(LimitReached) -> RequestsLeft? {
        guard let name = principal.identity else { return nil }
        return try limiting { (state) throws(LimitReached) in
            try Self.request(&state.keys, name, state.rules.keyLimits, .key, now)
        }
    }

    /// Whether connections from this address need no credential and have no limit; cheaper than counting.
    public func isOpen(to peer: @autoclosure () -> String) -> Bool {
        state.withLock { state in
            guard !state.rules.hasCredentials else { return false }
            return state.rules.addressLimits.requests == 0 || state.rules.proxies.isEmpty && ["127.0.0.1", "::1"].contains(peer())
        }
    }

    /// Uses one request of both; if either has none left, uses none and returns false.
    public func takeRequest(by principal: Principal, from address: Address?, at now: ClockReading) -> Bool {
        state.withLock { state in
            let rules = state.rules
            let (key, address) = (
                rules.keyLimits.requests > 0 ? principal.identity : nil, rules.addressLimits.requests > 0 ? Self.name(address) : nil
            )
            guard key != nil || address != nil else { return true }
            let keyPlace = key.map { state.keys.place(of: $0, rules.keyLimits, now: now.nanoseconds) }
            let addressPlace = address.map { state.addresses.place(of: $0, rules.addressLimits, now: now.nanoseconds) }
            if let keyPlace, state.keys.left(keyPlace, rules.keyLimits, now: now.nanoseconds).count < 1 { return false }
            if let addressPlace, state.addresses.left(addressPlace, rules.addressLimits, now: now.nanoseconds).count < 1 { return false }
            if let keyPlace { _ = state.keys.request(keyPlace, rules.keyLimits, now: now.nanoseconds) }
            if let addressPlace { _ = state.addresses.request(addressPlace, rules.addressLimits, now: now.nanoseconds) }
            return true
        }
    }

    /// The remaining requests.
    public struct RequestsLeft: Sendable, Equatable {
        /// Requests per second.
        public let limit: Int
        /// Requests that may be made now without waiting.
        public let count: Int
        /// Seconds until the burst is full again.
        public let full: Int
    }

    private func limiting<Result: Sendable>(
        _ body: (inout State) throws(LimitReached) -> sending Result
    ) throws(LimitReached) -> Result {
        try state.withLock { (state) throws(LimitReached) in
            do throws(LimitReached) { return try body(&state) } catch {
                state.refusals[.limit(error.holder, error.kind), default: 0] &+= 1
                throw error
            }
        }
    }

    private static func request<Name>(
        _ accounts: inout Accounts<Name>, _ name: Name, _ limits: CallerLimits, _ holder: LimitReached.Holder, _ now: ClockReading
    ) throws(LimitReached) -> RequestsLeft? {
        guard limits.requests > 0 else { return nil }
        let place = accounts.place(of: name, limits, now: now.nanoseconds)
        if let refusal = accounts.request(place, limits, now: now.nanoseconds) { throw LimitReached(holder, refusal) }
        let (count, full) = accounts.left(place, limits, now: now.nanoseconds)
        return RequestsLeft(limit: limits.requests, count: count, full: full)
    }

    /// Charges the venue cost of a request to both; if either has too little left, charges nothing.
    ///
    /// - Throws: `LimitReached`.
    public func spend(_ cost: VenueCost, by principal: Principal, from address: Address?, at now: ClockReading) throws(LimitReached) {
        guard cost.refetches > 0 || cost.weight > 0 else { return }
        try limiting { (state) throws(LimitReached) in
            let address = Self.name(address).map { state.addresses.place(of: $0, state.rules.addressLimits, now: now.nanoseconds) }
            if let address, let refusal = state.addresses.spend(address, cost, state.rules.addressLimits, now: now.nanoseconds) {
                throw LimitReached(.address, refusal)
            }
            guard let name = principal.identity else { return }
            let key = state.keys.place(of: name, state.rules.keyLimits, now: now.nanoseconds)
            if let refusal = state.keys.spend(key, cost, state.rules.keyLimits, now: now.nanoseconds) {
                if let address { state.addresses.giveBack(address, cost) }
                throw LimitReached(.key, refusal)
            }
        }
    }

    /// A counted event connection; `add`, `remove` and `close` update the counts.
    public struct Lease: Sendable {
        private let identity: String?
        /// The address for which the connection counts; nil for local addresses, which have no limits.
        public let address: Address?
        private let keyIsShared: Bool
        private let addressIsShared: Bool

        init(key: Accounts<String>.Place?, address: Accounts<Address>.Place?) {
            (identity, keyIsShared) = (key?.name, key?.isShared ?? false)
            (self.address, addressIsShared) = (address?.name, address?.isShared ?? false)
        }

        var keyPlace: Accounts<String>.Place? { identity.map { Accounts.Place(name: $0, isShared: keyIsShared) } }
        var addressPlace: Accounts<Address>.Place? { address.map { Accounts.Place(name: $0, isShared: addressIsShared) } }
    }

    /// Counts one more event connection with this many streams.
    ///
    /// - Throws: `LimitReached`, and nothing is counted.
    public func open(_ principal: Principal, from address: Address?, streams: Int, at now: ClockReading) throws(LimitReached) -> Lease {
        try limiting { (state) throws(LimitReached) in
            let key = principal.identity.map { state.keys.place(of: $0, state.rules.keyLimits, now: now.nanoseconds) }
            let address = Self.name(address).map { state.addresses.place(of: $0, state.rules.addressLimits, now: now.nanoseconds) }
            let lease = Lease(key: key, address: address)
            try Self.add(&state, lease, principal, connections: 1, streams: streams)
            return lease
        }
    }

    /// Checks whether an address may start this many streams without readers, besides the `begun` ones that still exist.
    ///
    /// - Throws: `LimitReached`.
    public func begin(streams: Int, besides begun: Int) throws(LimitReached) {
        try limiting { (state) throws(LimitReached) in
            let limit = state.rules.addressLimits.streams
            guard limit == 0 || streams <= limit - begun else {
                throw LimitReached(holder: .address, kind: .streams, limit: limit, retryAfter: 60)
            }
        }
    }

    /// Counts a request that is answered later as one of the address's connections, until `close`.
    ///
    /// - Throws: `LimitReached`, and nothing is counted.
    public func wait(from address: Address?, at now: ClockReading) throws(LimitReached) -> Lease {
        try limiting { (state) throws(LimitReached) in
            let address = Self.name(address).map { state.addresses.place(of: $0, state.rules.addressLimits, now: now.nanoseconds) }
            if let address {
                if let refusal = state.addresses.refusal(address, connections: 1, streams: 0, state.rules.addressLimits) {
                    throw LimitReached(.address, refusal)
                }
                state.addresses.count(address, connections: 1, streams: 0)
            }
            return Lease(key: nil, address: address)
        }
    }

    /// Counts more streams.
    ///
    /// - Throws: `LimitReached`, and nothing is counted.
    public func add(streams: Int, to lease: Lease, of principal: Principal) throws(LimitReached) {
        try limiting { (state) throws(LimitReached) in try Self.add(&state, lease, principal, connections: 0, streams: streams) }
    }

    /// Counts fewer streams.
    public func remove(streams: Int, from lease: Lease) { remove(lease, connections: 0, streams: streams) }

    /// Stops counting the connection and its remaining streams.
    public func close(_ lease: Lease, streams: Int) { remove(lease, connections: 1, streams: streams) }

    private func remove(_ lease: Lease, connections: Int, streams: Int) {
        state.withLock { state in
            if let place = lease.keyPlace { state.keys.count(place, connections: -connections, streams: -streams) }
            if let place = lease.addressPlace { state.addresses.count(place, connections: -connections, streams: -streams) }
        }
    }

    private static func add(
        _ state: inout State, _ lease: Lease, _ principal: Principal, connections: Int, streams: Int
    ) throws(LimitReached) {
        if let place = lease.addressPlace,
            let refusal = state.addresses.refusal(place, connections: connections, streams: streams, state.rules.addressLimits)
        {
            throw LimitReached(.address, refusal)
        }
        if let place = lease.keyPlace {
            var limits = state.rules.keyLimits
            // In the rules, zero means no limit; in a permission it means none at all.
            if principal.permission.maxConnections == 0 || principal.permission.maxStreams == 0 && streams > 0 {
                let kind = principal.permission.maxConnections == 0 ? LimitReached.Kind.connections : .streams
                throw LimitReached(holder: .key, kind: kind, limit: 0, retryAfter: 60)
            }
            limits.connections = principal.permission.maxConnections ?? limits.connections
            limits.streams = principal.permission.maxStreams ?? limits.streams
            if let refusal = state.keys.refusal(place, connections: connections, streams: streams, limits) { throw LimitReached(.key, refusal) }
        }
        if let place = lease.keyPlace { state.keys.count(place, connections: connections, streams: streams) }
        if let place = lease.addressPlace { state.addresses.count(place, connections: connections, streams: streams) }
    }

    private static func name(_ address: Address?) -> Address? { address?.limited }
}

extension LimitReached {
    fileprivate init(_ holder: Holder, _ refusal: Refusal) {
        self.init(holder: holder, kind: refusal.kind, limit: refusal.limit, retryAfter: refusal.retryAfter)
    }
}
