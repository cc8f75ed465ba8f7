import FeedCore
import ReplicatedLog
import Replication
import SimulatedLog

/// One process: a mirror, and a standby or a writer with its feed if it may be the ingest.
struct SimulatedNode {
    enum Life { case runs, frozen(until: Int), dead(until: Int) }

    let client: Int
    let isIngest: Bool
    let settings: Settings
    var life = Life.runs
    var mirror: FeedMirror
    var standby: Standby?
    var writer: LogWriter?
    var feed: SimulatedFeed?
    /// What it holds while it stands by, if it is hot.
    private var shadow: SimulatedShadow?
    var board = EdgeBoard()
    var inbox: [LogEvent] = []
    /// Why it was deposed, how often it led, and how many runs it had: ids of commands of an earlier one mean nothing.
    var deposals: [LogWriter.Reason] = []
    var terms = 0
    /// How many streams it had whole when it began to lead.
    var joins = 0
    /// How long the fastest new message of this writer was under way, ms. A node that knows no faster one takes the delay for a difference of the
    /// clocks.
    private(set) var underWay: Int64?
    private var writers: UInt64 = 0
    private var wordOfAnother: LastWord?
    private var run: UInt64 = 0
    private var lastID: UInt64 = 0
    private var commands: [LogCommand] = []

    struct Settings {
        var patience = Duration.seconds(2)
        var delay = Duration.seconds(1)
        /// Of what a hot standby meets; nil for a warm one.
        var shadowSeed: UInt64?
        var limits = LogWriter.Limits()
    }

    init(client: Int, isIngest: Bool, _ settings: Settings, seed: UInt64) {
        (self.client, self.isIngest, self.settings) = (client, isIngest, settings)
        mirror = Self.mirror(settings)
        if isIngest { standby = Standby(delay: settings.delay, seed: seed) }
    }

    private static func mirror(_ settings: Settings) -> FeedMirror { FeedMirror(patience: settings.patience) { _ in SimulatedVenue.limit } }

    var runs: Bool { if case .runs = life { true } else { false } }
    var isDead: Bool { if case .dead = life { true } else { false } }
    var isLeading: Bool { writer?.isDeposed == false }

    /// The process begins.
    mutating func start(_ world: inout World) {
        run += 1
        mirror = Self.mirror(settings)
        if isIngest { standby = Standby(delay: settings.delay, seed: world.random.next()) }
        (writer, feed, shadow, board, inbox, lastID) = (nil, nil, nil, EdgeBoard(), [], 0)
        perform(mirror.start(now: world.now), &world)
    }

    mutating func end(for ticks: Int, at tick: Int) {
        life = .dead(until: tick + ticks)
        (writer, feed, shadow, inbox) = (nil, nil, nil, [])
        commands.append(.stopReading)
    }

    /// The commands since the last call.
    mutating func takeCommands() -> [LogCommand] {
        defer { commands = [] }
        return commands
    }

    /// Takes what the engine told, or some of it.
    mutating func receive(atMost most: Int = .max, _ world: inout World) {
        var (next, taken) = (0, 0)
        while runs, next < inbox.count, taken < most {
            taken += 1
            let event = inbox[next]
            next += 1
            let count = commands.count
            receive(event, &world)
            guard runs, commands[min(count, commands.count)...].contains(where: \.isReading) else { continue }
            // An engine hands over nothing more of a reading that was given up.
            inbox = inbox[next...].filter { !$0.isOfReading }
            next = 0
        }
        if runs { inbox = Array(inbox[next...]) }
    }

    private mutating func receive(_ event: LogEvent, _ world: inout World) {
        guard let event = event.of(run: run) else { return }
        world.trace(client, event.words)
        let effects = mirror.step(event, now: world.now)
        noteDelay(isAnew: effects.contains(.emptyRings), world.now)
        perform(effects, &world)
        if writer != nil {
            if let effects = writer?.step(event, now: world.now) { perform(effects, &world) }
        } else if let effects = standby?.step(event, mirror, now: world.now) {
            perform(effects, &world)
        }
    }

    private mutating func noteDelay(isAnew: Bool, _ now: Moment) {
        if isAnew || writers != mirror.takeovers {
            (writers, underWay, wordOfAnother) = (mirror.takeovers, nil, mirror.lastWord)
        }
        guard let word = mirror.lastWord, !word.isOfThePast, word != wordOfAnother else { return }
        let delay = World.wallClock(at: now.instant) - word.sentAt
        underWay = min(underWay ?? delay, delay)
    }

    mutating func tick(isCalm: Bool, _ world: inout World) {
        if let deadline = mirror.deadline, deadline <= world.now.instant {
            perform(mirror.passDeadline(now: world.now), &world)
        }
        if writer == nil, let deadline = standby?.deadline(mirror), deadline <= world.now.instant,
            let effects = standby?.passDeadline(mirror, now: world.now)
        {
            perform(effects, &world)
        }
        if writer == nil, mirror.isFollowing, isIngest, let seed = settings.shadowSeed {
            shadow = shadow ?? SimulatedShadow(seed: seed &+ UInt64(world.tick) << 8)
            shadow?.tick(Set(mirror.streams.keys), world.venue, tick: world.tick, now: world.now)
        }
        guard isLeading, feed != nil else { return }
        feed?.tick(world.venue, now: world.tick, isCalm: isCalm, &world.random)
        if let (events, records) = feed?.take() {
            for (event, record) in zip(events, records.lazy.filter(\.kind.isNumbered)) {
                world.register.add(event, record, at: world.tick, &world.verdict)
            }
            if !records.isEmpty, let effects = writer?.append(records, from: events.first?.id.sequence, now: world.now) { perform(effects, &world) }
        }
        if let deadline = writer?.deadline, deadline <= world.now.instant, let effects = writer?.passDeadline(now: world.now) {
            perform(effects, &world)
        }
    }

    private mutating func perform(_ effects: [FeedMirror.Effect], _ world: inout World) {
        for effect in effects {
            world.trace(client, effect.words)
            switch effect {
            case .perform(let command): commands.append(command.of(run: run))
            case .tell(let event): if !isIngest { board.tell(event, world.register, &world.verdict) }
            case .emptyRings: if !isIngest { board.empty(&mirror) }
            case .passOn(let message): if !isIngest { board.passOn(message, &world.verdict) }
            case .messagesLost: if !isIngest { board.loseMessages() }
            case .restored(let name): if !isIngest { board.restore(name, &mirror) }
            case .serve: if !isIngest { board.serve(mirror) }
            }
        }
    }

    private mutating func perform(_ effects: [Standby.Effect], _ world: inout World) {
        for effect in effects {
            switch effect {
            case .perform(let command): commands.append(command.of(run: run))
            case .lead(let claim):
                writer = LogWriter(epochs: mirror.epochs, claim: claim, limits: settings.limits, behind: lastID, now: world.now)
                let told = shadow?.inherit(&mirror, because: SimulatedFeed.takeover, now: world.now)
                shadow = nil
                feed = SimulatedFeed(resuming: mirror, told, now: world.tick, &world.random)
                joins += told?.count { if case .recovered = $0.kind { true } else { false } } ?? 0
                terms += 1
            }
        }
    }

    private mutating func perform(_ effects: [LogWriter.Effect], _ world: inout World) {
        for effect in effects {
            switch effect {
            case .perform(let command): commands.append(command.of(run: run))
            case .deposed(let reason):
                deposals.append(reason)
                lastID = writer?.lastID ?? lastID
                (writer, feed) = (nil, nil)
            }
        }
    }
}

extension LogCommand {
    fileprivate var isReading: Bool { if case .read = self { true } else { false } }

    /// The command with an id that no other run of the process gives out.
    fileprivate func of(run: UInt64) -> LogCommand {
        switch self {
        case .append(let id, let body, let expecting): .append(id: id | run << 40, body, expecting: expecting)
        case .inspect(let id): .inspect(id: id | run << 40)
        case .fetch(let id, let sequence): .fetch(id: id | run << 40, sequence: sequence)
        default: self
        }
    }
}

extension LogEvent {
    fileprivate var isOfReading: Bool {
        switch self {
        case .reading, .record, .trimmed, .regressed, .stalled: true
        default: false
        }
    }

    /// The event as this run of the process knows it; nil if it answers an earlier one.
    fileprivate func of(run: UInt64) -> LogEvent? {
        let mask: UInt64 = 1 << 40 - 1
        func isMine(_ id: UInt64) -> Bool { id >> 40 == run }
        switch self {
        case .appended(let id, let sequence): return isMine(id) ? .appended(id: id & mask, sequence: sequence) : nil
        case .notAppended(let id, let error): return isMine(id) ? .notAppended(id: id & mask, error) : nil
        case .inspected(let id, let result): return isMine(id) ? .inspected(id: id & mask, result) : nil
        case .fetched(let id, let result): return isMine(id) ? .fetched(id: id & mask, result) : nil
        default: return self
        }
    }
}
