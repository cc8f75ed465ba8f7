@testable import FeedCore

/// The core, a venue and readers in one virtual world. One seed decides everything; a seed that breaks an invariant breaks it again.
final class Simulation {
    let seed: UInt64
    let queue = EventQueue()
    let verdict = Verdict()
    let venue: SimulatedVenue
    let configuration: FeedCore.Configuration
    var core: FeedCore
    var dice: Dice
    var readers: [SimulatedReader] = []
    var watches: [StreamWatch]
    var wireWatch: WireWatch
    var trace: Trace?
    /// Who begins to read with the next step.
    var begins: [(stream: Int, reader: ObserverID)] = []
    /// How much is done in one run.
    private(set) var steps = 0

    /// Late by at most this much is every timer.
    let timerLag: Nanoseconds
    private var deadline: (due: Instant, at: Nanoseconds)?
    private var spins = 0
    private var effects: [FeedEffect] = []
    private var isPerforming = false
    private let streamIndices: [FuturesServiceStreamName: Int]
    private let limits: (history: Int, book: Int)
    let staleAfter: Duration
    /// From then on readers want nothing new.
    private(set) var quietFrom = Nanoseconds.max

    init(seed: UInt64, traces: Bool = false) {
        self.seed = seed
        trace = traces ? Trace() : nil
        var dice = Dice(seed: seed)
        let history = dice.between(3, 30)
        let bookDepth = dice.pick(5, 10, 20)
        limits = (history, bookDepth)
        staleAfter = .seconds(dice.between(3, 8))
        timerLag = dice.pick(0, 0, .ms(5), .ms(300))
        configuration = Self.configuration(&dice)
        let venue = SimulatedVenue(
            queue: queue, verdict: verdict, seed: seed, symbols: dice.between(1, 3), bookDepth: bookDepth, history: history,
            wireLimit: configuration.streamsPerConnection)
        self.venue = venue
        var indices: [FuturesServiceStreamName: Int] = [:]
        for (place, stream) in venue.streams.enumerated() { indices[stream.name] = place }
        streamIndices = indices
        watches = [StreamWatch](repeating: StreamWatch(), count: venue.streams.count)
        wireWatch = WireWatch(configuration: configuration, lag: timerLag)
        let (stale, known) = (staleAfter, indices)
        core = FeedCore(configuration: configuration, epoch: 7, seed: seed) { name in
            guard let place = known[name] else { return nil }
            return StreamTraits(
                endpoint: name.channel == .depth || name.channel == .bookTicker || name.channel == .partialDepth ? 1 : 0,
                hasSnapshotSource: name.channel != .liquidation, fetchWeight: Self.weight(name), staleAfter: name.channel == .markPrice ? stale : nil,
                limit: name.channel == .depth ? bookDepth : place >= 0 && name.mergeRule != .replace && name.symbol != nil ? history : 1000)
        }
        self.dice = dice
        for number in 0..<dice.between(1, 4) {
            readers.append(SimulatedReader(id: ObserverID(UInt64(number) + 1), streams: venue.streams.count))
            queue.plan(.reader(number), in: .ms(dice.between(0, 3000)))
        }
        self.dice = dice
        planEnd()
    }

    private static func configuration(_ dice: inout Dice) -> FeedCore.Configuration {
        var configuration = FeedCore.Configuration()
        configuration.linger = .milliseconds(dice.spread(200, 20_000))
        configuration.pingInterval = .seconds(dice.between(3, 20))
        configuration.deadAfter = configuration.pingInterval + .seconds(dice.between(2, 10))
        configuration.reconnectCap = .seconds(dice.between(2, 30))
        configuration.fetchCap = .seconds(dice.between(2, 20))
        configuration.namesPerMessage = dice.pick(1, 3, 100)
        configuration.streamsPerConnection = dice.pick(2, 5, 200, 200)
        configuration.defaultRetryAfter = .seconds(dice.between(3, 20))
        if dice.chance(0.4) {
            configuration.rotateAfter = .seconds(dice.between(8, 40))
            configuration.rotationRetry = .seconds(dice.between(3, 20))
            configuration.overlap = .seconds(dice.between(1, 10))
        }
        if dice.chance(0.2) { configuration.weightLimit = dice.between(150, 400) }
        return configuration
    }

    static func weight(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .depth, .aggregateTrade: 20
        default: 1
        }
    }

    func limit(of name: FuturesServiceStreamName) -> Int {
        name.channel == .depth ? limits.book : name.mergeRule != .replace && name.symbol != nil ? limits.history : 1000
    }

    func index(_ name: FuturesServiceStreamName) -> Int? { streamIndices[name] }

    /// The faults end, all heals, the market stands still, everything is compared, everybody leaves, and nothing is left.
    private func planEnd() {
        let tight: Nanoseconds = configuration.weightLimit < 1000 ? .seconds(130) : 0
        let caps = configuration.reconnectCap + configuration.fetchCap + configuration.deadAfter + configuration.defaultRetryAfter + staleAfter * 9
        let faults = Nanoseconds.ms(dice.spread(20_000, 160_000))
        var healed = faults + caps.nanoseconds + .seconds(45) + tight
        // The last frame of a bar that closes just then would still be on its way.
        if queue.wallClock(in: healed) % SymbolMarket.barLength < 3000 { healed += .seconds(3) }
        quietFrom = queue.now + healed - .seconds(22)
        queue.plan(.check, in: .seconds(1))
        queue.plan(.heal, in: faults)
        queue.plan(.calm, in: healed - .seconds(2))
        queue.plan(.verify, in: healed)
        queue.plan(.leave, in: healed + .ms(100))
        queue.plan(.empty, in: healed + configuration.linger.nanoseconds + .seconds(15))
    }

    var moment: Moment { Moment(instant: Instant(nanoseconds: queue.now), wallClock: queue.wallClock) }

    /// Runs to the end, or to the first broken invariant.
    func run() {
        var isOver = false
        while verdict.broken == nil, !isOver {
            if let at = timer, at <= queue.next ?? .max {
                queue.now = max(queue.now, at)
                step(.deadline)
                continue
            }
            guard let happening = queue.pop() else { return }
            isOver = happen(happening)
        }
    }

    /// When the timer goes off: at the core's deadline, or somewhat late.
    private var timer: Nanoseconds? {
        guard let due = core.nextDeadline else {
            deadline = nil
            return nil
        }
        if deadline?.due != due { deadline = (due, max(queue.now, due.nanoseconds + dice.between(0, timerLag))) }
        return deadline?.at
    }

    /// Steps the core, checks what it decided, and carries it out; as in the engine, what readers do meanwhile queues up behind.
    func step(_ input: FeedInput) {
        guard verdict.broken == nil else { return }
        steps += 1
        trace?.note(queue, input)
        let before = core.sequence
        let decided = core.step(input, now: moment)
        for (stream, reader) in begins { watches[stream].began(reader, core.sequence) }
        begins = []
        checkDeadline(after: input)
        check(decided, after: input, sequence: before)
        effects += decided
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < effects.count, verdict.broken == nil {
            let effect = effects[next]
            next += 1
            if next > 256 {
                effects.removeFirst(next)
                next = 0
            }
            if dice.chance(0.004), !readers.isEmpty { act(dice.below(readers.count)) }
            perform(effect)
        }
        effects.removeAll(keepingCapacity: true)
        isPerforming = false
    }

    private func checkDeadline(after input: FeedInput) {
        guard let due = core.nextDeadline else { return spins = 0 }
        var wasDeadline = false
        if case .deadline = input { wasDeadline = true }
        spins = wasDeadline && due.nanoseconds <= queue.now ? spins + 1 : 0
        verdict.expect(spins < 3, .deadline, "it stays at \(due.nanoseconds), now is \(queue.now)")
        if wasDeadline || timerLag == 0 {
            verdict.expect(due.nanoseconds >= queue.now, .deadline, "\(due.nanoseconds) is before \(queue.now)")
        }
    }
}
