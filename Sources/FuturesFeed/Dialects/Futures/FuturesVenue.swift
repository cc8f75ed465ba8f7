/// A futures venue: where it is and how its paths are cut. All of them speak the dialect of `FuturesDialect`.
public struct FuturesVenue: Hashable, Sendable {
    /// The venue's short name, as on the command line.
    public let name: String
    /// The REST base, without a path.
    public var restURL: String
    /// The WebSocket base, without a path.
    public var webSocketURL: String
    /// The path of each endpoint's combined stream.
    let combinedPaths: [String]

    /// Aster (formerly ApolloX), <https://github.com/asterdex/api-docs>.
    public static let aster = Self(
        name: "aster", restURL: "https://fapi.asterdex.com", webSocketURL: "wss://fstream.asterdex.com", combinedPaths: ["/stream"])
    /// ApolloX, <https://github.com/apollox-finance/apollox-finance-api-docs>.
    public static let apollox = Self(
        name: "apollox", restURL: "https://fapi.apollox.finance", webSocketURL: "wss://fstream.apollox.finance", combinedPaths: ["/stream"])
    /// Binance USDⓈ-M futures; since April 2026 books and book tickers are on `/public`, everything else on `/market`.
    public static let binance = Self(
        name: "binance", restURL: "https://fapi.binance.com", webSocketURL: "wss://fstream.binance.com",
        combinedPaths: ["/market/stream", "/public/stream"])

    /// The venues by their names.
    public static let all = [aster, apollox, binance]

    /// Which of the paths carries book tickers.
    var bookEndpoint: Int { combinedPaths.count - 1 }
}
