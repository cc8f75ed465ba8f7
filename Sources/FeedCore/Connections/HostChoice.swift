/// When the next attempt to connect may begin, and to which of an upstream's hosts it goes. Attempts of an upstream keep a distance, whatever
/// connection makes them; a host that fails several times in a row gives way to the next, and one that asked to be left alone is left alone.
struct HostChoice: Sendable {
    enum Choice: Sendable {
        case host(Int)
        /// Another attempt was made just now: this one has its turn at that moment.
        case turn(at: Instant)
        /// All hosts asked to be left alone until then.
        case wait(until: Instant)
    }

    private let configuration: FeedCore.Settings
    /// By upstream: when the next attempt may be made.
    private var allowedAt: [Int: Instant] = [:]
    /// Until when a host of an upstream asked not to be connected to. Also holds for connections that are made meanwhile.
    private var hostAllowedAt: [Int: [Int: Instant]] = [:]
    /// By line, the venue's host that gave data last; at first each line has another.
    private var favourites = Array(0..<ConnectionPool.mostLines)

    init(_ configuration: FeedCore.Settings) { self.configuration = configuration }

    /// What an attempt does now. One that is given a host counts as made.
    ///
    /// - Parameter attempts: how many have failed in a row.
    mutating func choose(upstream: Int, line: Int, after attempts: Int, _ now: Instant) -> Choice {
        if let allowedAt = allowedAt[upstream], allowedAt > now { return .turn(at: allowedAt) }
        let hosts = hosts(of: upstream, line: line, after: attempts / max(1, configuration.attemptsPerHost))
        let waits = hosts.map { hostAllowedAt[upstream]?[$0] ?? now }
        guard let host = zip(hosts, waits).first(where: { $0.1 <= now })?.0 else { return .wait(until: waits.min() ?? now) }
        allowedAt[upstream] = now + configuration.connectInterval
        return .host(host)
    }

    /// In the order they are to be tried in, after so many have failed. Only the venue has several.
    private func hosts(of upstream: Int, line: Int, after failovers: Int) -> [Int] {
        let count = upstream == 0 ? max(1, configuration.webSocketHosts) : 1
        return (0..<count).map { (favourites[line] &+ failovers &+ $0) % count }
    }

    /// The host asked not to be connected to for so long. It outlives the connection, and other connections wait too.
    mutating func leave(_ host: Int, of upstream: Int, for duration: Duration, _ now: Instant) {
        hostAllowedAt[upstream, default: [:]][host] = now + min(duration, configuration.longestRetryAfter)
    }

    /// The host gave data.
    mutating func favour(_ host: Int, of upstream: Int, line: Int) {
        if upstream == 0 { favourites[line] = host }
    }
}
