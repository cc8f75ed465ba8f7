import Foundation

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
    var relayWatch: RelayWatch?
    private var framesWatch = FramesWatch()
    var trace: Trace?
    /// Chooses the streams of rows. Its own dice leave the world of a seed as it is.
    var rowDice: Dice
    /// How many rows were looked at that were live, and others.
    var rows = (live: 0, others: 0)
    /// Who begins to read with the next step.
    var begins: [(stream: Int, reader: ObserverID)] = []
    /// How many connections were lost so far, and whether the core gave one up in this step.
    var disconnects: UInt64 = 0
    var linesReplaced: UInt64 = 0
    var givesUp = false
    /// The subscriptions that were acknowledged on connections that have not ended, and when.
    var standing: [ConnectionID: [Int: Nanoseconds]] = [:]
    /// The last request for each subscription on a connection; an answer to an older one says nothing.
    var pending: [ConnectionID: [Int: UInt64]] = [:]
    var lastEnded: ConnectionID?
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
    /// How long the silence of a stream that comes with the market is believed without asking.
    let patience: Duration
    let script: Script?
    /// When there was little left last of the weight for requests.
    var weightWasShortAt: Nanoseconds?
    /// What was published, where there is a script.
    var told: [(at: Nanoseconds, event: FeedEvent)] = []
    /// From then on readers want nothing new.
    private(set) var quietFrom = Nanoseconds.max

    init(seed: UInt64, trace: Trace? = nil, script: Script? = nil) {
        self.seed = seed
        self.script = script
        self.trace = trace
        rowDice = Dice(seed: seed ^ 0x6D61_726B_6574_7321)
        var dice = Dice(seed: seed)
        let history = script == nil ? dice.between(3, 30) : 100
        let bookDepth = script == nil ? dice.pick(5, 10, 20) : 20
        limits = (history, bookDepth)
        staleAfter = script?.staleAfter ?? .seconds(dice.between(3, 8))
        timerLag = script == nil ? dice.pick(0, 0, .ms(5), .ms(300)) : 0
        var configuration = script.map(Self.configuration) ?? Self.configuration(&dice)
        if script == nil { configuration.lines = [0: Self.lines(seed)] }
        self.configuration = configuration
        // Where weight is short there is none to ask with.
        patience = script == nil && configuration.weightLimit >= 1000 ? .seconds(dice.between(2, 30)) : .seconds(60)
        let backfillLimit = script == nil ? dice.pick(nil, 3, 10, 100) : 100
        let venue = SimulatedVenue(
            queue: queue, verdict: verdict, seed: seed, symbols: script == nil ? dice.between(1, 3) : 1, bookDepth: bookDepth, history: history,
            backfillLimit: backfillLimit, configuration: configuration, script: script)
        self.venue = venue
        var indices: [FuturesServiceStreamName: Int] = [:]
        for (place, stream) in venue.streams.enumerated() { indices[stream.name] = place }
        streamIndices = indices
        watches = [StreamWatch](repeating: StreamWatch(), count: venue.streams.count)
        wireWatch = WireWatch(configuration: configuration, lag: timerLag)
        relayWatch = script == nil ? RelayWatch(seed: seed, configuration) : nil
        let (stale, patience, known) = (staleAfter, patience, indices)
        core = FeedCore(configuration: configuration, epoch: 7, seed: seed) { name in
            guard let place = known[name] else { return nil }
            return StreamTraits(
                endpoint: name.channel == .depth || name.channel == .bookTicker || name.channel == .partialDepth ? 1 : 0,
                hasSnapshotSource: name.channel != .liquidation, fetchWeight: Self.weight(name), inquiryWeight: 1,
                rhythm: Self.rhythm(name, stale, patience),
                limit: name.channel == .depth ? bookDepth : place >= 0 && name.mergeRule != .replace && name.symbol != nil ? history : 1000,
                backfillLimit: name.channel == .aggregateTrade ? backfillLimit : nil)
        }
        for number in 0..<(script == nil ? dice.between(1, 4) : 1) {
            readers.append(SimulatedReader(id: ObserverID(UInt64(number) + 1), streams: venue.streams.count))
            queue.plan(script == nil ? .reader(number) : .script(-1), in: .ms(dice.between(0, 3000)))
        }
        self.dice = dice
        if let script { plan(script) } else { planEnd() }
    }

    /// `LINES=N` for all seeds; else one seed of four has two lines, and one of sixteen three.
    private static func lines(_ seed: UInt64) -> Int {
        ProcessInfo.processInfo.environment["LINES"].flatMap { Int($0) } ?? (seed % 16 == 8 ? 3 : seed % 4 == 0 ? 2 : 1)
    }

    private static func configuration(_ script: Script) -> FeedCore.Configuration {
        var configuration = FeedCore.Configuration()
        configuration.lines = [0: script.lines]
        if let rotateAfter = script.rotateAfter { configuration.rotateAfter = rotateAfter }
        return configuration
    }

    private static func configuration(_ dice: inout Dice) -> FeedCore.Configuration {
        var configuration = FeedCore.Configuration()
        configuration.linger = .milliseconds(dice.spread(200, 20_000))
        configuration.pingInterval = .seconds(dice.between(2, 10))
        configuration.reconnectCap = .seconds(dice.between(2, 30))
        configuration.fetchCap = .seconds(dice.between(2, 20))
        configuration.namesPerMessage = dice.pick(1, 3, 100)
        configuration.streamsPerConnection = dice.pick(2, 5, 200, 200)
        configuration.defaultRetryAfter = .seconds(dice.between(3, 20))
        configuration.hosts = [HostCount(webSocket: dice.pick(1, 1, 2, 3), rest: dice.pick(1, 1, 2))]
        configuration.attemptsPerHost = dice.between(1, 3)
        configuration.auditInterval = .seconds(dice.between(3, 20))
        configuration.backfillRequests = dice.pick(1, 3, 20)
        configuration.backfillHold = dice.pick(3, 30, 1000)
        configuration.backfillPatience = .seconds(dice.between(1, 5))
        if dice.chance(0.4) {
            configuration.rotateAfter = .seconds(dice.between(8, 40))
            configuration.rotationRetry = .seconds(dice.between(3, 20))
            configuration.overlap = .seconds(dice.between(1, 10))
        }
        if dice.chance(0.2) { configuration.weightLimit = dice.between(150, 400) }
        return configuration
    }

    static func rhythm(_ name: FuturesServiceStreamName, _ staleAfter: Duration, _ patience: Duration) -> StreamRhythm {
        switch name.channel {
        case .markPrice: .periodic((staleAfter - .milliseconds(1_400)) / 2)
        case .liquidation: .sporadic
        default: .ticking(patience: patience)
        }
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
        let connects = configuration.connectInterval * (2 + 2 * venue.streams.count / configuration.streamsPerConnection)
        let caps =
            configuration.reconnectCap * configuration.hosts[0].webSocket + configuration.fetchCap + configuration.deadAfter
            + configuration.defaultRetryAfter + max(staleAfter, patience) * 9 + configuration.auditInterval * 2 + connects
        let faults = Nanoseconds.ms(dice.spread(20_000, 160_000))
        var healed = faults + caps.nanoseconds + .seconds(45) + tight
        // The last frame of a bar that closes just then would still be on its way.
        if queue.wallClock(in: healed) % SimulatedSymbol.barLength < 3000 { healed += .seconds(3) }
        quietFrom = queue.now + healed - .seconds(22) - tight
        queue.plan(.check, in: .seconds(1))
        queue.plan(.list, in: dice.between(0, .seconds(10)))
        queue.plan(.heal, in: faults)
        if relayWatch != nil { queue.plan(.bots, in: .seconds(1)) }
        planVerdict(in: healed)
    }

    private func plan(_ script: Script) {
        queue.plan(.check, in: .seconds(1))
        for (place, act) in script.acts.enumerated() { queue.plan(.script(place), in: act.at) }
        planVerdict(in: script.duration)
    }

    private func planVerdict(in end: Nanoseconds) {
        queue.plan(.calm, in: end - .seconds(2))
        queue.plan(.verify, in: end)
        queue.plan(.leave, in: end + .ms(100))
        queue.plan(.empty, in: end + configuration.linger.nanoseconds + .seconds(15))
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
        let (before, divergences) = (core.sequence, core.counters.bookDivergences)
        let decided = decide(input)
        for (stream, reader) in begins { watches[stream].began(reader, core.sequence) }
        begins = []
        checkDeadline(after: input)
        check(decided, after: input, sequence: before)
        if core.counters.bookDivergences != divergences { checkDivergence() }
        if steps % 4 == 0 { checkRow() }
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
            if script == nil, dice.chance(0.004), !readers.isEmpty { act(dice.below(readers.count)) }
            perform(effect)
        }
        effects.removeAll(keepingCapacity: true)
        isPerforming = false
    }

    /// Every stream is also read by a socket.
    private func decide(_ input: FeedInput) -> [FeedEffect] {
        var decided: [FeedEffect] = []
        let text = framesWatch.text(of: input)
        (text ?? []).withUnsafeBufferPointer { core.step(input, now: moment, text: text == nil ? nil : MessageText($0), &decided) }
        framesWatch.look(decided, verdict)
        guard case .observe(_, let names, _) = input else { return decided }
        for name in names where core.streams[name]?.frames.isWanted == false {
            framesWatch.forget(name)
            core.step(.passOn(name, true), now: moment, &decided)
        }
        return decided
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
