import FeedCore
package import ReplicatedLog

/// A replicated log and its faults in memory, a value: the same seed and the same commands give the same events.
///
/// Clients are numbers from 0 on. Commands go in by `perform`, and `step` lets a tick pass and gives what clients are told, in order. What a real engine
/// may do to its users happens by chance: it loses commands and answers, executes a command twice, stalls, cuts connections, loses its newest records
/// and goes on densely, or splits, so that two sides take different records for one place until one side is thrown away.
package struct SimulatedLog {
    /// Chances of 1,000: `lost`, `unanswered`, `repeated` and `late` for each command, the others for each tick.
    package struct Faults: Sendable {
        /// The command never arrives.
        package var lost = 0
        /// The command is carried out, and nobody hears of it.
        package var unanswered = 0
        /// The command arrives once more, later.
        package var repeated = 0
        /// The answer comes late, behind records that are younger, or after nobody waits for it any more.
        package var late = 0
        /// A client's connection breaks.
        package var cut = 0
        package var stall = 0
        package var truncation = 0
        package var fork = 0

        package init() {}

        package static let none = Faults()
        package static let all: Faults = {
            var faults = Faults()
            (faults.lost, faults.unanswered, faults.repeated, faults.cut) = (10, 10, 10, 5)
            (faults.late, faults.stall, faults.truncation, faults.fork) = (20, 5, 3, 3)
            return faults
        }()
    }

    /// One side of the log.
    struct Copy {
        var first: UInt64 = 1
        var bodies: [[UInt8]] = []
        var last: UInt64 { first &+ UInt64(bodies.count) &- 1 }
        var extent: LogExtent { LogExtent(first: first, last: last) }

        subscript(sequence: UInt64) -> LogRecord? {
            guard sequence >= first, sequence <= last else { return nil }
            return LogRecord(sequence: sequence, body: bodies[Int(sequence - first)])
        }
    }

    struct Sent {
        let command: LogCommand
        let at: Int
        var isLost = false
        /// Whether nobody waits for the outcome any more.
        var isForgotten = false
    }

    /// An answer that is on its way.
    struct Answer {
        let sent: Sent
        let event: LogEvent
        let due: Int
    }

    struct Client {
        var side = 0
        /// The tick at which it is connected again.
        var backAt: Int?
        var commands: [Sent] = []
        var answers: [Answer] = []
        /// The reading's next sequence.
        var next: UInt64?
        /// Whether the reading goes on, as far as the client was told.
        var isReading = false
        var hears: [String] = []
        var told: [LogEvent] = []
    }

    /// How many ticks an answer is waited for.
    package var patience = 20
    /// For how many a client takes the log's silence for a lull.
    private static let lull = 30

    package var faults: Faults
    /// Without it two writers overwrite each other: a control for what rests on it.
    package var checksExpectations = true
    let maximumRecords: Int
    var random: SplitMix64
    private(set) var now = 0
    var copies = [Copy()]
    var clients: [Client]
    private var stall: Range<Int>?
    private var forkedUntil: Int?
    var requests: [(address: String, client: Int, id: UInt64, at: Int)] = []
    var lastAddress = 0

    /// - Parameters:
    ///   - clients: how many there are.
    ///   - maximumRecords: above it the oldest records go.
    package init(seed: UInt64, clients: Int, maximumRecords: Int = 10_000, faults: Faults = .none) {
        random = SplitMix64(seed: seed)
        self.clients = Array(repeating: Client(), count: clients)
        self.maximumRecords = maximumRecords
        self.faults = faults
    }

    /// What the log holds now, on the side that stays.
    package var records: [LogRecord] { (copies[0].first..<copies[0].last + 1).compactMap { copies[0][$0] } }

    package mutating func perform(_ command: LogCommand, by client: Int) {
        switch command {
        case .read(let from):
            (clients[client].next, clients[client].isReading) = (max(1, from), false)
            if clients[client].backAt == nil, stall == nil { judge(client) }
        case .stopReading: (clients[client].next, clients[client].isReading) = (nil, false)
        case .hear(let subject): clients[client].hears.append(subject)
        case .ignore(let subject): clients[client].hears.removeAll { $0 == subject }
        case _ where clients[client].backAt != nil: refuse(command, client, LogError(.unavailable, "There is no connection."))
        default:
            clients[client].commands.append(Sent(command: command, at: now, isLost: happens(faults.lost)))
            if happens(faults.repeated) { clients[client].commands.append(Sent(command: command, at: now, isForgotten: true)) }
        }
    }

    /// The client goes for good.
    package mutating func leave(_ client: Int) { clients[client] = Client() }

    /// Lets a tick pass.
    package mutating func step() -> [(client: Int, event: LogEvent)] {
        now += 1
        endFaults()
        beginFaults()
        for client in clients.indices.shuffled(using: &random) {
            if let backAt = clients[client].backAt, backAt <= now {
                clients[client].backAt = nil
                clients[client].told.append(.connected)
                if stall == nil { judge(client) }
            }
            if stall == nil {
                let answersFirst = Bool.random(using: &random)
                if answersFirst { answer(client) }
                work(client)
                if !answersFirst { answer(client) }
            }
            loseHope(client)
        }
        let overdue = requests.filter { $0.at + patience <= now }
        requests.removeAll { $0.at + patience <= now }
        for request in overdue { clients[request.client].told.append(.answered(id: request.id, .failure(.noAnswer))) }
        return clients.indices.flatMap { client in
            defer { clients[client].told = [] }
            return clients[client].told.map { (client, $0) }
        }
    }

    mutating func happens(_ chance: Int) -> Bool { chance > 0 && Int.random(in: 0..<1000, using: &random) < chance }

    private mutating func beginFaults() {
        for client in clients.indices where happens(faults.cut) { cut(client) }
        if stall == nil, happens(faults.stall) { stall = now..<now + Int.random(in: 2...50, using: &random) }
        if let stall, stall.lowerBound + Self.lull == now {
            for client in clients.indices where clients[client].isReading {
                clients[client].isReading = false
                clients[client].told.append(.stalled(LogError(.unavailable, "The log is silent.")))
            }
        }
        if forkedUntil == nil, !copies[0].bodies.isEmpty, happens(faults.truncation) {
            copies[0].bodies.removeLast(Int.random(in: 1...min(20, copies[0].bodies.count), using: &random))
            for client in clients.indices { cut(client) }
        }
        if forkedUntil == nil, happens(faults.fork) {
            forkedUntil = now + Int.random(in: 2...40, using: &random)
            copies.append(copies[0])
            for client in clients.indices { clients[client].side = Int.random(in: 0...1, using: &random) }
        }
    }

    private mutating func endFaults() {
        if let end = stall?.upperBound, end <= now {
            stall = nil
            for client in clients.indices where clients[client].backAt == nil && !clients[client].isReading { judge(client) }
        }
        if let end = forkedUntil, end <= now {
            forkedUntil = nil
            for client in clients.indices where clients[client].side == 1 {
                cut(client)
                clients[client].side = 0
            }
            copies.removeLast()
        }
    }

    /// The connection breaks. What was on its way may still arrive.
    private mutating func cut(_ client: Int) {
        guard clients[client].backAt == nil else { return }
        clients[client].backAt = now + Int.random(in: 1...10, using: &random)
        clients[client].isReading = false
        forget(client) { _ in true }
        clients[client].told.append(.disconnected(LogError(.unavailable, "The connection broke.")))
    }

    private mutating func loseHope(_ client: Int) {
        forget(client) { [now, patience] in $0.at + patience <= now }
    }

    private mutating func forget(_ client: Int, _ isDue: (Sent) -> Bool) {
        for answer in clients[client].answers where isDue(answer.sent) { refuse(answer.sent.command, client, .noAnswer) }
        clients[client].answers.removeAll { isDue($0.sent) }
        var kept: [Sent] = []
        for var sent in clients[client].commands {
            if !sent.isForgotten, isDue(sent) {
                refuse(sent.command, client, .noAnswer)
                sent.isForgotten = true
                if Bool.random(using: &random) { continue }
            }
            kept.append(sent)
        }
        clients[client].commands = kept
    }

    mutating func refuse(_ command: LogCommand, _ client: Int, _ error: LogError) {
        if let event = command.failure(error) { clients[client].told.append(event) }
    }
}
