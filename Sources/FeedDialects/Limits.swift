// The numbers of the dialects that you may want to change, by the type that uses each.

extension Excerpt {
    /// Its maximum size in bytes.
    package static let maximumBytes = 512
}

extension FuturesDialect {
    /// The maximum number of a book's levels, and of trades, in one REST answer.
    static let bookDepth = 1000
    static let backfillLimit = 1000
}

extension GraphQLDialect {
    /// A common server's maximum number of subscriptions per socket.
    static let operationsPerSocket = 100
}

/// The numbers of Hyperliquid, from its documentation of rate limits and time-outs.
enum HyperliquidLimits {
    /// The server closes a socket on which it has sent nothing for 60 s.
    static let heartbeat = Duration.seconds(50)
    /// The streams of a socket. An address may have 1,000 subscriptions on 10 sockets.
    static let streamsPerSocket = 500
    /// A book or the middle prices are sent with each block that is at least 0.5 s after the previous message. After two of these periods without
    /// a message, they are stale.
    static let period = Duration.seconds(5)
    /// How often the contexts of all contracts are requested. A request has the weight 20.
    static let contexts = Duration.seconds(10)
    /// The request weight that an address has in a minute.
    static let weight = 1200
    /// The trades that are kept. Each subscription repeats the newest 30; REST has only the newest ten.
    static let trades = 500
    /// The bars that are requested and kept.
    static let bars = 500
}

extension HyperliquidREST {
    /// The weights are from the venue's documentation of rate limits.
    static let weight = 20
    static let bookWeight = 2
}

extension UTCTime {
    /// The longest wait that a server may ask for, ms: 30 days.
    package static let longestWait: Int64 = 2_592_000_000
}

extension VenueREST {
    /// The number of bars in a block: as many as weigh 2.
    static let block = 499
    /// How long after a bar's end the next one may still be in transit, ms.
    static let proof: Int64 = 1_000
    /// How much older than the venue's messages its REST may be, ms.
    static let patience: Int64 = 1_000
}
