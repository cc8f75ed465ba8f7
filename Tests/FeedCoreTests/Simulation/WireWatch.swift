@testable import FeedCore

/// What is known of connections and requests from the outside: when they were heard, how often they were tried, what was sent on them.
struct WireWatch {
    let configuration: FeedCore.Configuration
    let lag: Nanoseconds
    private var lastHeard: [(id: ConnectionID, opened: Nanoseconds, at: Nanoseconds)] = []
    private var controls: [(id: ConnectionID, at: Nanoseconds)] = []
    private var requests: [(request: UInt64, streams: [Int], id: ConnectionID, at: Nanoseconds)] = []
    /// By place in the core's list: attempts in a row without data, and when the last one ended and how soon the next has to come.
    private var failures: [Int: Int] = [:]
    private var ends: [Int: (at: Nanoseconds, bound: Nanoseconds)] = [:]
    private var quickInARow: [Int: Int] = [:]
    /// The least wait behind a connection that ended soon after it had opened.
    private var leasts: [Int: Nanoseconds] = [:]
    private(set) var waitUntil: Nanoseconds = 0
    private var minute: (number: Int64, weight: Int) = (0, 0)
    private var weightLimit: Int
    private var lastConnect: Nanoseconds?
    private var slots: [(id: ConnectionID, slot: Int)] = []

    init(configuration: FeedCore.Configuration, lag: Nanoseconds) {
        self.configuration = configuration
        self.lag = lag
        weightLimit = configuration.weightLimit
    }

    mutating func opened(_ id: ConnectionID, _ now: Nanoseconds) {
        lastHeard.append((id, now, now))
        if lastHeard.count > 400 { lastHeard.removeFirst(100) }
    }

    mutating func heard(_ id: ConnectionID, _ now: Nanoseconds) {
        if let place = lastHeard.lastIndex(where: { $0.id == id }) { lastHeard[place].at = now }
    }

    func lastHeard(_ id: ConnectionID) -> Nanoseconds? { lastHeard.last { $0.id == id }?.at }

    private func slot(_ id: ConnectionID, _ core: FeedCore) -> Int? {
        core.connections.firstIndex { $0.id == id && $0.phase != .idle }
    }

    /// How long a connection lives until its data end the backoff.
    private static let proof = Nanoseconds.ms(500)

    /// By place in the core's list: how often in a row a connection ended before that.
    private var shortLives: [Int: Int] = [:]

    var dataOn: [ConnectionID] = []

    /// Data of a connection that has just opened show nothing yet: it may be closed at once again.
    mutating func gotData(_ id: ConnectionID, _ now: Nanoseconds) {
        guard let opened = lastHeard.last(where: { $0.id == id })?.opened, now - opened >= Self.proof else { return }
        if !dataOn.contains(id) { dataOn.append(id) }
        if dataOn.count > 100 { dataOn.removeFirst(10) }
    }

    /// A connection of the core's is about to end.
    mutating func closing(_ id: ConnectionID, _ core: FeedCore, _ now: Nanoseconds) {
        guard let slot = slot(id, core) else { return }
        let lines = [slot] + core.connections[slot].siblings
        guard lines.contains(where: { !core.connections[$0].membersByIndex.isEmpty }) else { return }
        switch core.connections[slot].phase {
        case .connecting, .open: ended(slot, id, now)
        default: break
        }
    }

    /// An attempt or a connection ended, and another has to follow within the bound.
    mutating func ended(_ slot: Int, _ id: ConnectionID, _ now: Nanoseconds) {
        retired(slot, id)
        let count = failures[slot] ?? 0
        failures[slot] = count + 1
        var bound = min(configuration.reconnectCap.nanoseconds, configuration.reconnectBase.nanoseconds << min(count, 20))
        leasts[slot] = 0
        if let opened = lastHeard.last(where: { $0.id == id })?.opened, now - opened < Self.proof {
            let lives = shortLives[slot] ?? 0
            let least = min(
                configuration.reconnectCap.nanoseconds, lives < 2 ? 0 : configuration.reconnectBase.nanoseconds * 16 << min(2 * (lives - 2), 20))
            (leasts[slot], bound) = (least, max(bound, least))
            shortLives[slot] = lives + 1
        }
        ends[slot] = (now, bound)
    }

    /// A line is left for another attempt.
    mutating func replaced(_ id: ConnectionID) { if let slot = slots.last(where: { $0.id == id })?.slot { retired(slot, id) } }

    /// A connection is not wanted any more.
    mutating func retired(_ slot: Int, _ id: ConnectionID) {
        ends[slot] = nil
        guard dataOn.contains(id) else { return }
        dataOn.removeAll { $0 == id }
        failures[slot] = 0
        shortLives[slot] = 0
        quickInARow[slot] = 0
    }

    /// A new attempt: not before the floor, not after the bound, and not always near the floor once the bound is high.
    mutating func connects(_ id: ConnectionID, _ core: FeedCore, _ now: Nanoseconds, _ verdict: Verdict) {
        let since = lastConnect.map { now - $0 } ?? .max
        verdict.expect(since >= configuration.connectInterval.nanoseconds, .connectPace, "\(id.value) is tried \(since / 1_000_000) ms after another")
        lastConnect = now
        guard let slot = slot(id, core) else { return }
        slots.append((id, slot))
        if slots.count > 4000 { slots.removeFirst(1000) }
        guard let (at, bound) = ends.removeValue(forKey: slot) else { return }
        let delay = now - at
        let least = (leasts[slot] ?? 0) / 1_000_000
        let words = "connection \(id.value) is tried after \(delay / 1_000_000) ms of \(least) to \(bound / 1_000_000) (\(shortLives[slot] ?? 0))"
        let queue = Nanoseconds(core.connections.count + 3) * (configuration.connectInterval.nanoseconds + lag)
        verdict.expect(delay >= max(.ms(100), leasts[slot] ?? 0) && delay <= max(bound, .ms(100)) + queue + lag, .reconnectDelay, words)
        guard bound > .seconds(4) else { return }
        let isQuick = delay <= configuration.connectInterval.nanoseconds + lag
        quickInARow[slot] = isQuick ? (quickInARow[slot] ?? 0) + 1 : 0
        verdict.expect(quickInARow[slot] ?? 0 < 12, .reconnectDelay, "12 times in a row as soon as it may be, without data in between")
    }

    mutating func sends(_ request: UInt64, _ streams: [Int], on id: ConnectionID, _ now: Nanoseconds, _ verdict: Verdict) {
        if !streams.isEmpty { requests.append((request, streams, id, now)) }
        if requests.count > 400 { requests.removeFirst(200) }
        controls.removeAll { $0.at <= now - .seconds(1) }
        controls.append((id, now))
        let count = controls.count { $0.id == id }
        verdict.expect(count <= 5, .controlPace, "\(count) within a second on \(id.value)")
    }

    /// Whether a subscription on the connection has had no answer for so long that another connection is tried.
    func isUnanswered(_ id: ConnectionID, _ now: Nanoseconds) -> Bool {
        requests.contains { $0.id == id && now - $0.at >= Connection.answerPatience.nanoseconds }
    }

    mutating func subscribed(_ request: UInt64) -> [Int] {
        guard let place = requests.firstIndex(where: { $0.request == request }) else { return [] }
        return requests.remove(at: place).streams
    }

    mutating func told(toWait wait: Duration, _ now: Nanoseconds) { waitUntil = max(waitUntil, now + wait.nanoseconds) }

    /// - Parameter share: what the request leaves of the minute's weight to others.
    mutating func spends(_ weight: Int, leaving share: Double = 0, wallClock: Int64, _ verdict: Verdict) {
        enter(wallClock)
        minute.weight += weight
        let allowed = Int(Double(weightLimit) * (1 - max(share, configuration.weightReserve)))
        verdict.expect(minute.weight <= max(allowed, weight), .waitIsKept, "\(minute.weight) of \(allowed) spent in a minute")
    }

    /// The venue told what was spent, also by others.
    mutating func told(used: Int, wallClock: Int64) {
        enter(wallClock)
        minute.weight = max(minute.weight, used)
    }

    mutating func told(weightLimit limit: Int) { weightLimit = limit }

    private mutating func enter(_ wallClock: Int64) {
        if minute.number != wallClock / 60_000 { minute = (wallClock / 60_000, 0) }
    }
}
