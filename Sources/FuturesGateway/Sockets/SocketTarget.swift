import MicroHTTP

/// The request of a socket's path: `/ws`, `/ws/{name}…` or `/stream?streams=…`, each also below one of the venue's routes, and below the name of a
/// venue other than the first one.
struct SocketTarget: Equatable, Sendable {
    /// The first segments of the paths. `fstream` is for ccxt, which recognizes a market of Aster by that word in a URL.
    static let routes = ["public", "market", "private", "fstream"]

    let isCombined: Bool
    /// Whether the path has one of the routes that Binance added in 2026.
    let isRouted: Bool
    let names: [String]
    /// The venue, in the order of the upstreams.
    let upstream: Int

    /// Nil if a name is malformed.
    ///
    /// - Parameters:
    ///   - segments: The segments of the path, without a key.
    ///   - streams: The values of the parameter `streams`.
    ///   - venues: The names of the venues, each with its place among the upstreams.
    init?(_ segments: [String], streams: [String], venues: [String: Int] = [:]) {
        var rest = segments[...]
        upstream = rest.first.flatMap { venues[$0] } ?? 0
        if upstream > 0 { rest = rest.dropFirst() }
        isRouted = rest.first.map { Self.routes.prefix(3).contains($0) } ?? false
        if let first = rest.first, Self.routes.contains(first) { rest = rest.dropFirst() }
        isCombined = rest.first == "stream"
        rest = rest.dropFirst()
        // ccxt ends a path with the number of its connection.
        if let last = rest.last, last.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) { rest = rest.dropLast() }
        let listed = isCombined ? streams.flatMap { $0.split(separator: "/").map(String.init) } : rest.filter { !$0.isEmpty }
        guard listed.allSatisfy(SocketSession.isName) else { return nil }
        names = listed
    }
}
