import FeedCore

/// A stream of Hyperliquid: a coin and a channel, such as `BTC@book`, or `!mids` for all coins.
///
/// Coins are case-sensitive, and contain `:` (`xyz:SPCX`), `/` (`PURR/USDC`) or `@` (`@142`). The channel therefore follows the last `@`.
struct HyperliquidStream: Hashable, Sendable {
    /// The data that a stream carries.
    enum Channel: Hashable, Sendable {
        /// The order book of 20 levels per side, whole each time.
        case book
        /// The order book of 5 levels per side, whole each time and sooner.
        case fastBook
        /// The best bid and ask.
        case bestPrices
        /// Trades.
        case trades
        /// Mark price, oracle price, funding, open interest and volume.
        case context
        /// The bars of an interval, such as `1m`.
        case candle(Substring)
        /// The middle prices of all coins.
        case mids
        /// The contexts of all contracts, polled over REST.
        case contexts
    }

    let channel: Channel
    /// The coin; empty for `mids` and `contexts`.
    let coin: Substring

    /// Parses a stream's name without the upstream's; nil if there is no such stream.
    init?(_ text: Substring) {
        if let channel = Self.ofAllCoins[text] {
            (self.channel, coin) = (channel, "")
            return
        }
        guard let at = text.lastIndex(of: "@"), let channel = Self.channel(text[text.index(after: at)...]) else { return nil }
        (self.channel, coin) = (channel, text[..<at])
        guard Self.isCoin(coin) else { return nil }
    }

    /// The stream of a message; nil if the coin or the interval is not one.
    init?(_ channel: Channel, coin: String) {
        if case .candle(let interval) = channel, Self.intervals[interval] == nil { return nil }
        let isOfAllCoins = Self.ofAllCoins.values.contains(channel)
        guard isOfAllCoins || Self.isCoin(coin[...]) else { return nil }
        (self.channel, self.coin) = (channel, isOfAllCoins ? "" : coin[...])
    }

    private static let ofAllCoins: [Substring: Channel] = ["!mids": .mids, "!contexts": .contexts]
    /// The lengths of bars, ms; of a month, the longest one.
    static let intervals: [Substring: Int64] = {
        let (minute, hour, day): (Int64, Int64, Int64) = (60_000, 3_600_000, 86_400_000)
        return [
            "1m": minute, "3m": 3 * minute, "5m": 5 * minute, "15m": 15 * minute, "30m": 30 * minute, "1h": hour, "2h": 2 * hour, "4h": 4 * hour,
            "8h": 8 * hour, "12h": 12 * hour, "1d": day, "3d": 3 * day, "1w": 7 * day, "1M": 31 * day,
        ]
    }()

    private static func channel(_ text: Substring) -> Channel? {
        switch text {
        case "book": .book
        case "fastBook": .fastBook
        case "bbo": .bestPrices
        case "trades": .trades
        case "context": .context
        case _ where text.hasPrefix("candle_") && intervals[text.dropFirst(7)] != nil: .candle(text.dropFirst(7))
        default: nil
        }
    }

    private static func isCoin(_ text: Substring) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: ":/@._-".utf8.contains(byte)
                }
            }
    }

    /// The stream's name without the upstream's.
    var description: String {
        switch channel {
        case .book: "\(coin)@book"
        case .fastBook: "\(coin)@fastBook"
        case .bestPrices: "\(coin)@bbo"
        case .trades: "\(coin)@trades"
        case .context: "\(coin)@context"
        case .candle(let interval): "\(coin)@candle_\(interval)"
        case .mids: "!mids"
        case .contexts: "!contexts"
        }
    }

    /// The venue's object that subscribes to the stream; nil if it is polled. Coins need no escapes.
    var subscription: String? {
        switch channel {
        case .book: #"{"type":"l2Book","coin":"\#(coin)"}"#
        case .fastBook: #"{"type":"l2Book","coin":"\#(coin)","fast":true}"#
        case .bestPrices: #"{"type":"bbo","coin":"\#(coin)"}"#
        case .trades: #"{"type":"trades","coin":"\#(coin)"}"#
        case .context: #"{"type":"activeAssetCtx","coin":"\#(coin)"}"#
        case .candle(let interval): #"{"type":"candle","coin":"\#(coin)","interval":"\#(interval)"}"#
        case .mids: #"{"type":"allMids"}"#
        case .contexts: nil
        }
    }
}
