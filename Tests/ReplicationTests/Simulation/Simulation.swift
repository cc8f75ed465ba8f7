import FeedCore
import ReplicatedLog
import Replication
import SimulatedLog

/// What all nodes share.
struct World {
    static let tickLength: Int64 = 50_000_000

    var tick = 0
    let isTraced: Bool
    var venue = SimulatedVenue()
    var register = Register()
    var verdict = Verdict()
    var random: SplitMix64

    func trace(_ node: Int, _ words: @autoclosure () -> String) {
        if isTraced { print(tick, "node", node, words()) }
    }

    var now: Moment {
        let nanoseconds = Int64(tick) * Self.tickLength
        return Moment(instant: Instant(nanoseconds: nanoseconds), wallClock: Self.wallClock(tick))
    }

    static func wallClock(_ tick: Int) -> Int64 { wallClock(at: Instant(nanoseconds: Int64(tick) * tickLength)) }

    static func wallClock(at instant: Instant) -> Int64 { 1_763_679_600_000 + instant.nanoseconds / 1_000_000 }
}

/// Ingests, edges, their readers and an engine in one virtual world. One seed decides everything.
struct Simulation {
    let seed: UInt64
    private(set) var world: World
    private(set) var log: SimulatedLog
    private(set) var nodes: [SimulatedNode] = []
    /// Chances of 10,000 a tick, for each node.
    private var freezes = 0
    private var kills = 0
    private let ticks: Int
    private var readers: [EdgeBoard.Reader] = []
    private(set) var exact = 0
    private(set) var resets = 0
    private var losesData = false
    private var onlyStalls = false

    /// - Parameter trace: whether everything is printed.
    init(seed: UInt64, trace: Bool = false) {
        self.seed = seed
        var random = SplitMix64(seed: seed &* 0x9E37_79B9)
        func pick(_ values: Int...) -> Int { values.randomElement(using: &random) ?? 0 }
        var faults = SimulatedLog.Faults()
        onlyStalls = pick(0, 0, 0, 1) == 1
        faults.stall = pick(0, 3, 10)
        if !onlyStalls {
            (faults.lost, faults.unanswered, faults.repeated, faults.cut) = (pick(0, 2, 10), pick(0, 5, 20), pick(0, 10, 50), pick(0, 3, 10))
            faults.late = pick(0, 20, 100)
            if pick(0, 1) == 1 { (faults.truncation, faults.fork) = (pick(0, 2, 6), pick(0, 2, 6)) }
            (freezes, kills) = (pick(0, 10, 40), pick(0, 5, 20))
        }
        losesData = faults.truncation + faults.fork > 0
        ticks = pick(100, 200, 400)
        let (ingests, edges) = (pick(2, 2, 3), pick(1, 2, 3))
        log = SimulatedLog(seed: random.next(), clients: ingests + edges, maximumRecords: losesData ? pick(100, 400, 10_000) : 10_000, faults: faults)
        var settings = SimulatedNode.Settings()
        settings.limits.batches = pick(4, 8, 16)
        settings.limits.messageBytes = pick(600, 1500, 4000)
        settings.limits.longestWait = .seconds(onlyStalls ? 30 : pick(5, 30))
        for client in 0..<ingests + edges {
            settings.delay = .milliseconds(1000 + client * 250)
            // In half of the seeds, without another draw.
            settings.shadowSeed = seed % 4 < 2 ? seed &* 31 &+ UInt64(client) : nil
            nodes.append(SimulatedNode(client: client, isIngest: client < ingests, settings, seed: random.next()))
        }
        world = World(isTraced: trace, random: random)
        world.venue.pace = pick(3, 3, 30)
        for node in nodes.indices { nodes[node].start(&world) }
    }

    /// Runs to the end, or to the first broken invariant.
    mutating func run() {
        while world.verdict.broken == nil, world.tick < ticks { step(isHealed: false) }
        log.faults = .none
        let healed = world.tick + 300
        while world.verdict.broken == nil, world.tick < healed { step(isHealed: true) }
        let calm = world.tick + 60
        while world.verdict.broken == nil, world.tick < calm || (world.tick < calm + 200 && isBehind) { step(isHealed: true, isStill: true) }
        if world.verdict.broken == nil { checkEnd() }
    }

    /// Whether a node has still to read what was published.
    private var isBehind: Bool {
        guard let next = nodes.first(where: \.isLeading)?.writer?.next else { return false }
        return nodes.contains { $0.mirror.epochs.head + 1 != next }
    }

    private mutating func step(isHealed: Bool, isStill: Bool = false) {
        world.tick += 1
        for (client, event) in log.step() where !nodes[client].isDead { nodes[client].inbox.append(event) }
        if !isStill { world.venue.tick(world.tick, &world.random) }
        for node in nodes.indices {
            // Of what came while a process was frozen, it hears in no time or bit by bit.
            let wakes = live(node, isHealed: isHealed)
            if nodes[node].runs {
                nodes[node].receive(atMost: wakes ? Int.random(in: 0...nodes[node].inbox.count, using: &world.random) : .max, &world)
                nodes[node].tick(isCalm: isHealed, &world)
                checkFreshness(node)
            }
            for command in nodes[node].takeCommands() {
                world.trace(node, command.words)
                log.perform(command, by: node)
            }
        }
        moveReaders()
        if world.tick % 64 == 0 { for node in nodes.indices { checkContent(node) } }
    }

    /// Returns whether the node was frozen until now.
    private mutating func live(_ node: Int, isHealed: Bool) -> Bool {
        switch nodes[node].life {
        case .runs:
            guard !isHealed else { break }
            if happens(freezes) {
                let longest = Int.random(in: 0..<4, using: &world.random) == 0 ? 200 : 40
                nodes[node].life = .frozen(until: world.tick + Int.random(in: 5...longest, using: &world.random))
            } else if happens(kills) {
                nodes[node].end(for: Int.random(in: 2...60, using: &world.random), at: world.tick)
            }
        case .frozen(let until):
            guard until <= world.tick else { break }
            nodes[node].life = .runs
            return true
        case .dead(let until):
            guard until <= world.tick else { break }
            nodes[node].life = .runs
            nodes[node].start(&world)
        }
        return false
    }

    private mutating func happens(_ chance: Int) -> Bool { chance > 0 && Int.random(in: 0..<10_000, using: &world.random) < chance }

    /// Readers leave edges, and come to others a little later.
    private mutating func moveReaders() {
        for node in nodes.indices where !nodes[node].isIngest && nodes[node].runs {
            if Int.random(in: 0..<8, using: &world.random) == 0, let reader = nodes[node].board.reader { readers.append(reader) }
            guard nodes[node].board.isServing, nodes[node].mirror.isFollowing, Int.random(in: 0..<4, using: &world.random) == 0,
                let place = readers.indices.randomElement(using: &world.random)
            else { continue }
            let reader = readers.remove(at: place)
            if nodes[node].board.resume(reader, nodes[node].mirror, world.register, &world.verdict) { exact += 1 } else { resets += 1 }
        }
        if readers.count > 20 { readers.removeFirst() }
    }

    /// What an edge calls live is no older than it says, but for the time that each new message of the writer was under way at least. An edge that is
    /// behind the log, and has told its readers, calls nothing live.
    private mutating func checkFreshness(_ node: Int) {
        // An edge cannot account for messages that it has not read yet.
        guard !nodes[node].isIngest, nodes[node].board.isServing, nodes[node].inbox.isEmpty else { return }
        let slack = (nodes[node].underWay ?? 0) + Self.slack
        for (stream, name) in SimulatedVenue.names.enumerated() {
            let isLive = nodes[node].mirror.streams[name].map { !$0.isDown && $0.state == .live } ?? false
            let isBehind = nodes[node].mirror.isAway && nodes[node].mirror.lagMs >= 2_000
            world.verdict.expect(!isLive || !isBehind, .freshness, "\(name) of node \(node) is live, and the node is behind the log")
            guard let status = nodes[node].mirror.streams[name]?.status(nodes[node].mirror.clock, now: world.now.instant), status.state == .live,
                let unverified = status.unverifiedMs, let content = nodes[node].mirror.content(of: name), let count = content.eventTime,
                let sentAt = world.venue.sentAt(behind: count, of: stream)
            else { continue }
            // A frozen ingest stamps messages with the time at which it reads them, not the time of their arrival.
            let nextAt = world.register.givenOutAt(count + 1, of: stream) ?? sentAt
            let age = world.now.wallClock - max(World.wallClock(nextAt), content.receivedAt)
            world.verdict.expect(
                age <= unverified + slack, .freshness, "\(name) of node \(node) is outdated for \(age) ms, and verified \(unverified) ms ago")
        }
    }

    private static let slack: Int64 = 400

    private mutating func checkContent(_ node: Int) {
        guard nodes[node].runs, nodes[node].mirror.isFollowing else { return }
        for (stream, name) in SimulatedVenue.names.enumerated() {
            guard let content = nodes[node].mirror.content(of: name), let count = content.eventTime else { continue }
            world.verdict.expect(
                content.rows.sorted == SimulatedVenue.content(stream, count), .content, "\(name) at \(content.id) of node \(node): \(content.rows)")
            world.verdict.expect(
                world.register.entries[content.id]?.count == count, .content, "\(name) of node \(node) is \(count), not what \(content.id) is")
        }
    }

    private mutating func checkEnd() {
        var way = EpochTable()
        for record in log.records { if let message = LogMessage(record.body) { _ = way.judge(message, inOrder: true) } }
        let leaders = nodes.filter(\.isLeading)
        world.verdict.expect(leaders.count == 1, .convergence, "\(leaders.count) ingests write")
        for (place, node) in nodes.enumerated() {
            checkContent(place)
            world.verdict.expect(node.runs && node.mirror.isFollowing, .convergence, "node \(place) does not follow")
            world.verdict.expect(
                node.mirror.epochs.headID == way.headID, .oneWay,
                "node \(place) is at \(node.mirror.epochs.headID.map(\.description) ?? "-"), the log at \(way.headID.map(\.description) ?? "-")")
            for (mine, its) in zip(node.mirror.epochs.epochs.reversed(), way.epochs.reversed()) {
                world.verdict.expect(
                    mine.id == its.id && mine.end == its.end, .oneWay, "node \(place) has \(mine) where the log has \(its)")
            }
            for (stream, name) in SimulatedVenue.names.enumerated() {
                let known = node.mirror.streams[name]
                world.verdict.expect(known?.isDown == false, .convergence, "\(name) is down at node \(place)")
                world.verdict.expect(known?.isWhole == true, .convergence, "\(name) is not whole at node \(place)")
                guard !node.isIngest else { continue }
                let told = node.board.streams[stream]
                world.verdict.expect(
                    told.count == world.venue.counts[stream] && !told.isDown, .convergence,
                    "\(name) of node \(place) is \(told.count ?? 0)\(told.isDown ? ", down" : ""), the venue's \(world.venue.counts[stream])")
            }
            world.verdict.expect(losesData || node.mirror.resets == 0, .resetsHaveCause, "node \(place) began anew")
            let isHealthy = onlyStalls && !node.deposals.isEmpty
            world.verdict.expect(!isHealthy, .ingestStays, "node \(place) was deposed: \(node.deposals)")
        }
    }

    /// What a person needs.
    var report: String {
        world.verdict.broken.map { "SEED=\(seed) breaks \"\($0.invariant.rawValue)\" at tick \(world.tick): \($0.detail)" }
            ?? "seed \(seed): nothing broke in \(world.tick) ticks"
    }
}

extension FeedRows {
    /// Tickers in the order of their symbols: a reader has them in the order in which they came.
    fileprivate var sorted: FeedRows { if case .miniTicker(let rows) = self { .miniTicker(rows.sorted { $0.symbol < $1.symbol }) } else { self } }
}
