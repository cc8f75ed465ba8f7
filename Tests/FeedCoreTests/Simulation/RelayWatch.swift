@testable import FeedCore

/// Requests for the venue's REST that bots want passed on, as they are seen from outside the core: each is passed on once, or refused, and in time.
struct RelayWatch {
    private struct Wanted {
        let weight: Int
        let since: Nanoseconds
        var isOut = false
    }

    let configuration: FeedCore.Configuration
    /// Chance of its own, so that the same seeds without bots stay as they are.
    private var dice: Dice
    private var wanted: [RelayID: Wanted] = [:]
    private var count: UInt64 = 0

    /// Bots ask in one seed of five.
    init?(seed: UInt64, _ configuration: FeedCore.Configuration) {
        guard seed % 5 == 2 else { return nil }
        self.configuration = configuration
        dice = Dice(seed: ~seed)
    }

    /// How many ask at once.
    mutating func crowd() -> Int { dice.chance(0.2) ? dice.between(5, 60) : 1 }

    /// What the next one asks for: something new, or what others wait for.
    mutating func ask(_ now: Nanoseconds) -> (id: RelayID, weight: Int) {
        if dice.chance(0.3), let id = dice.pick(wanted.keys.sorted { $0.value < $1.value }), let known = wanted[id] { return (id, known.weight) }
        count += 1
        let (id, weight) = (RelayID(count), dice.pick(1, 1, 2, 5, 20, 40))
        wanted[id] = Wanted(weight: weight, since: now)
        return (id, weight)
    }

    /// When bots ask next.
    mutating func pause() -> Nanoseconds { .ms(dice.spread(20, 20_000)) }

    /// Whether REST also tells somebody the newest bars.
    mutating func tellsBars() -> Bool { dice.chance(0.5) }

    /// - Returns: the weight of the request that is passed on.
    mutating func sent(_ id: RelayID, _ verdict: Verdict) -> Int {
        guard let known = wanted[id], !known.isOut else {
            verdict.expect(false, .relays, "\(id.value) is passed on, and nobody wants it, or it is out")
            return 0
        }
        wanted[id]?.isOut = true
        let running = wanted.values.count(where: \.isOut)
        verdict.expect(running <= configuration.relaysAtOnce, .relays, "\(running) are out at once")
        return known.weight
    }

    mutating func refused(_ id: RelayID, _ error: FeedError, _ verdict: Verdict) {
        let isWaiting = wanted.removeValue(forKey: id).map { !$0.isOut } ?? false
        verdict.expect(isWaiting && (error.retryAfterMs ?? 0) >= 1, .relays, "\(id.value) is refused, and does not wait, or is not told how long")
    }

    mutating func answered(_ id: RelayID) { wanted[id] = nil }

    /// Nobody waits for longer than bots do.
    func check(_ now: Nanoseconds, slack: Nanoseconds, _ verdict: Verdict) {
        for (id, known) in wanted where !known.isOut {
            let waited = now - known.since
            verdict.expect(waited <= configuration.relayPatience.nanoseconds + slack, .relays, "\(id.value) waits for \(waited / 1_000_000) ms")
        }
    }

    var isEmpty: Bool { wanted.isEmpty }
}

extension Simulation {
    func askAsBots() {
        guard queue.now < quietFrom else { return }
        for _ in 0..<(relayWatch?.crowd() ?? 0) {
            if let (id, weight) = relayWatch?.ask(queue.now) { step(.relay(upstream: 0, id, weight: weight)) }
        }
        if relayWatch?.tellsBars() == true { for stream in watches.indices { venue.tellNewestBars(stream) } }
        if let pause = relayWatch?.pause() { queue.plan(.bots, in: pause) }
    }

    func checkRelay(_ id: RelayID, host: Int) {
        guard let weight = relayWatch?.sent(id, verdict) else { return verdict.expect(false, .effects, "a request that nobody wants passed on") }
        verdict.expect(queue.now >= wireWatch.waitUntil, .waitIsKept, "a request is passed on while told to wait")
        verdict.expect((0..<configuration.hosts[0].rest).contains(host), .effects, "REST host \(host)")
        wireWatch.spends(weight, leaving: configuration.recoveryReserve, wallClock: queue.wallClock, verdict)
    }
}

extension SimulatedVenue {
    /// Answers a request that was passed on.
    func relay(_ id: RelayID, host: Int) {
        let way = Nanoseconds.ms(dice.spread(2, queue.now < slowUntil ? 9000 : 200))
        if let (failure, delay) = failure(host: host) { return queue.plan(.input(.relayed(upstream: 0, id, failure)), in: delay ?? way) }
        queue.plan(.input(.relayed(upstream: 0, id, faults.occurs(.refusedAnswer, &dice) ? FeedError(.venueRejected, "400") : nil)), in: way)
    }

    /// The last two bars are told to somebody who asked for them.
    func tellNewestBars(_ stream: Int) {
        guard streams[stream].name.channel == .kline, let symbol = streams[stream].symbol, !settled.contains(symbol) else { return }
        var market = markets[symbol]
        market.closeBars(time: queue.wallClock)
        let content = FetchedContent(rows: .kline(market.bars.suffix(2).compactMap(market.kline)), eventTime: queue.wallClock)
        queue.plan(.input(.told(streams[stream].name, content)), in: .ms(dice.spread(1, 300)))
    }
}
