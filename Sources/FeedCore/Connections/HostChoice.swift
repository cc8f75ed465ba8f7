/// Decides when the next connection attempt may start and to which of an upstream's hosts it goes. Attempts to one upstream are spaced, whichever
/// connection makes them. A host that fails several times in a row is replaced by the next one. A host that sent `Retry-After` is not tried until
/// that time.
struct HostChoice: Sendable {
    enum Choice: Sendable {
        case host(Int)
        /// Another attempt was made just now; this one may start at that moment.
        case turn(at: Instant)
        /// All hosts asked for no connections until then.
        case wait(until: Instant)
    }

    private let configuration: FeedCore.Settings
    /// By upstream: when the next attempt is allowed.
    private var allowedAt: [Int: Instant] = [:]
    /// Until when a host of an upstream asked for no connections. This also applies to connections that are created in the meantime.
    private var hostAllowedAt: [Int: [Int: Instant]] = [:]
    /// The host that last delivered data, for each line of each upstream. Initially each line has another host.
    private var favourites: [Int]

    init(_ configuration: FeedCore.Settings) {
        self.configuration = configuration
        favourites = (0..<configuration.all.upstreams * ConnectionPool.mostLines).map { $0 % ConnectionPool.mostLines }
    }

    /// Decides what an attempt does now. If it returns a host, the attempt counts as made.
    ///
    /// - Parameter attempts: How many attempts have failed in a row.
    mutating func choose(upstream: Int, line: Int, after attempts: Int, _ now: Instant) -> Choice {
        if let allowedAt = allowedAt[upstream], allowedAt > now { return .turn(at: allowedAt) }
        let hosts = hosts(of: upstream, line: line, after: attempts / max(1, configuration.attemptsPerHost))
        let waits = hosts.map { hostAllowedAt[upstream]?[$0] ?? now }
        guard let host = zip(hosts, waits).first(where: { $0.1 <= now })?.0 else { return .wait(until: waits.min() ?? now) }
        allowedAt[upstream] = now + configuration.connectInterval
        return .host(host)
    }

    /// The hosts in the order in which to try them after this many failovers.
    private func hosts(of upstream: Int, line: Int, after failovers: Int) -> [Int] {
        let count = configuration.all.hosts(of: upstream).webSocket
        let place = upstream * ConnectionPool.mostLines + line
        let favourite = favourites.indices.contains(place) ? favourites[place] : line
        return (0..<count).map { (favourite &+ failovers &+ $0) % count }
    }

    /// Blocks a host for the duration that it asked for. The block outlives the connection and applies to other connections too.
    mutating func leave(_ host: Int, of upstream: Int, for duration: Duration, _ now: Instant) {
        hostAllowedAt[upstream, default: [:]][host] = now + min(duration, configuration.longestRetryAfter)
    }

    /// Records that the host delivered data.
    mutating func favour(_ host: Int, of upstream: Int, line: Int) {
        let place = upstream * ConnectionPool.mostLines + line
        if favourites.indices.contains(place), favourites[place] != host { favourites[place] = host }
    }
}
