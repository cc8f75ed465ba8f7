import FeedCore

/// A futures venue: its addresses and paths. All venues use the dialect of `FuturesDialect`.
public struct FuturesVenue: Hashable, Sendable {
    /// The venue's short name, as on the command line.
    public let name: String
    /// The REST base URLs, without a path. If one cannot answer, the next is used.
    public let restURLs: [String]
    /// The WebSocket base URLs, without a path. If one cannot be reached, the next is used.
    public let webSocketURLs: [String]
    /// The path of each endpoint's combined stream.
    let combinedPaths: [String]
    /// Streams that only this venue has (docs/reference/venues.md §2).
    let additions: Set<FuturesServiceStreamName.Channel>
    /// The simulator's name; nil for the venue itself.
    private var simulator: String?

    /// Aster (formerly ApolloX), <https://github.com/asterdex/api-docs>.
    public static let aster = Self(
        name: "aster", restURLs: ["https://fapi.asterdex.com"], webSocketURLs: ["wss://fstream.asterdex.com"], combinedPaths: ["/stream"],
        additions: [])
    /// ApolloX, <https://github.com/apollox-finance/apollox-finance-api-docs>.
    public static let apollox = Self(
        name: "apollox", restURLs: ["https://fapi.apollox.finance"], webSocketURLs: ["wss://fstream.apollox.finance"], combinedPaths: ["/stream"],
        additions: [])
    /// Binance USDⓈ-M futures. Since April 2026, books and book tickers are on `/public`, everything else on `/market`.
    public static let binance = Self(
        name: "binance", restURLs: ["https://fapi.binance.com"], webSocketURLs: ["wss://fstream.binance.com"],
        combinedPaths: ["/market/stream", "/public/stream"],
        additions: [.continuousKline, .compositeIndex, .contractInfo, .rpiDepth, .tradingSession])

    /// The venues, each with one of `FuturesServiceStreamName.venues` as its name.
    public static let all = [aster, apollox, binance]

    /// The same venue at other hosts; nil or an empty list keeps its own hosts.
    public func at(restURLs: [String]?, webSocketURLs: [String]?) -> FuturesVenue {
        let kept: ([String]?, [String]) -> [String] = { other, own in other.flatMap { $0.isEmpty ? nil : $0 } ?? own }
        return FuturesVenue(
            name: name, restURLs: kept(restURLs, self.restURLs), webSocketURLs: kept(webSocketURLs, self.webSocketURLs),
            combinedPaths: combinedPaths, additions: additions, simulator: simulator)
    }

    /// The same venue simulated by a program of this name, which metrics and readers see.
    public func simulated(by name: String) -> FuturesVenue {
        var venue = self
        venue.simulator = name
        return venue
    }

    /// The name for people and metrics.
    public var upstream: Upstream { Upstream(name: simulator ?? name, venue: name, isSimulated: simulator != nil) }

    /// Whether the venue has streams of this kind.
    func has(_ channel: FuturesServiceStreamName.Channel) -> Bool {
        switch channel {
        case .continuousKline, .compositeIndex, .contractInfo, .rpiDepth, .tradingSession: additions.contains(channel)
        case .funding: name != "apollox"
        case .upstream: false
        default: true
        }
    }

    /// The endpoint whose path carries book tickers.
    var bookEndpoint: Int { combinedPaths.count - 1 }
}
