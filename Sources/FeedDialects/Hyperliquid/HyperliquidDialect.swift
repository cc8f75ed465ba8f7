import FeedCore

/// Hyperliquid as a dialect. A stream is a coin and a channel, such as `hyperliquid:BTC@book`; its content is the venue's own object, or a list of them.
///
/// Messages have no numbers. A book, the best prices, a context and the middle prices are whole with each message, so nothing can be missing in them.
/// Trades have ids without an order, and bars are known by their times; see docs/read/freshness.md.
struct HyperliquidDialect: Dialect {
    let name: String
    /// `ws://` or `wss://`, with the path `/ws`.
    let url: String
    /// `http://` or `https://`, with the path `/info`.
    let infoURL: String

    /// Parses an upstream's configuration; docs/extend/upstreams.md shows one.
    init(name: String, _ members: JSONMembers) throws(FeedError) {
        var faults = MemberFaults()
        faults.gather { () throws(FeedError) in try members.check(["kind", "url", "network"]) }
        let url = faults.gather { () throws(FeedError) in try Self.url(members) }
        if !FuturesServiceStreamName.isHyperliquid(name) {
            faults.add(FeedError(member: "kind", rule: "must not be hyperliquid, unless the name is hyperliquid or begins with hyperliquid-"))
        }
        try faults.check()
        (self.name, self.url) = (name, url ?? "")
        infoURL = "http" + (self.url.hasSuffix("/ws") ? self.url.dropLast(3) : self.url[...]).dropFirst(2) + "/info"
    }

    private static func url(_ members: JSONMembers) throws(FeedError) -> String {
        if let url = try members.string("url") {
            guard url.hasPrefix("ws://") || url.hasPrefix("wss://") else {
                throw FeedError(member: "url", rule: "must be an address, ws:// or wss://")
            }
            return url
        }
        switch try members.string("network") {
        case nil, "mainnet": return "wss://api.hyperliquid.xyz/ws"
        case "testnet": return "wss://api.hyperliquid-testnet.xyz/ws"
        default: throw FeedError(member: "network", rule: "must be mainnet or testnet")
        }
    }

    /// A stream of an upstream with this name; nil if there is no such stream.
    static func stream(_ name: FuturesServiceStreamName, of upstream: String) -> HyperliquidStream? {
        guard let (prefix, stream) = name.upstream, prefix == upstream else { return nil }
        return HyperliquidStream(stream)
    }

    func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard let stream = Self.stream(name, of: self.name) else { return nil }
        let isPolled = stream.channel == .contexts
        return StreamTraits(
            endpoint: isPolled ? Self.pollEndpoint : 0, hasSnapshotSource: stream.channel.fetchWeight != nil,
            fetchWeight: stream.channel.fetchWeight ?? 0, rhythm: stream.channel.rhythm, limit: stream.channel.keep ?? 1,
            connectionLimit: HyperliquidLimits.streamsPerSocket, isPolled: isPolled, repeatsNewest: stream.channel == .trades)
    }

    /// The endpoint for polled streams, which has no connection.
    private static let pollEndpoint = 1

    var catalogue: [CatalogueEntry] {
        let kinds: [(String, HyperliquidStream.Channel, String)] = [
            ("{COIN}@book", .book, "the order book, 20 levels per side"),
            ("{COIN}@fastBook", .fastBook, "the order book, 5 levels per side, sooner"), ("{COIN}@bbo", .bestPrices, "best bid and ask"),
            ("{COIN}@trades", .trades, "trades; a snapshot holds the last \(HyperliquidLimits.trades)"),
            ("{COIN}@context", .context, "mark and oracle price, funding per hour, open interest, 24-hour volume"),
            ("{COIN}@candle_{interval}", .candle(""), "bars; a snapshot holds the last \(HyperliquidLimits.bars)"),
            ("!mids", .mids, "the middle prices of all coins"),
            ("!contexts", .contexts, "the contexts of all contracts, polled over REST every 10 s"),
        ]
        return kinds.map { pattern, channel, carries in
            let areBars = channel == .candle("")
            return CatalogueEntry(
                pattern: "\(name):\(pattern)", carries: carries, rule: areBars ? .byKey : channel == .trades ? .append : .replace,
                key: areBars ? "t" : nil, keep: channel.keep, hasSnapshotSource: channel.fetchWeight != nil)
        }
    }

    func route(endpoint: Int, host: Int) -> UpstreamRoute {
        endpoint == Self.pollEndpoint ? .polled : .webSocket(url: url, headers: [], subprotocols: [])
    }

    func session(endpoint: Int, subprotocol: String?) -> any DialectSession { HyperliquidSession(upstream: name) }
}

extension HyperliquidStream.Channel {
    /// The request weight of a snapshot; nil if REST has none.
    fileprivate var fetchWeight: Int? {
        switch self {
        case .book: HyperliquidREST.bookWeight
        case .candle: HyperliquidREST.barsWeight
        case .trades: HyperliquidREST.tradesWeight
        case .fastBook, .bestPrices, .context, .mids, .contexts: nil
        }
    }

    /// How many rows are kept; nil for a single value.
    fileprivate var keep: Int? {
        switch self {
        case .candle: HyperliquidLimits.bars
        case .trades: HyperliquidLimits.trades
        case .book, .fastBook, .bestPrices, .context, .mids, .contexts: nil
        }
    }

    /// The venue sends books and middle prices with its blocks, and the others when they change.
    fileprivate var rhythm: StreamRhythm {
        switch self {
        case .book, .fastBook, .mids: .periodic(HyperliquidLimits.period)
        case .contexts: .periodic(HyperliquidLimits.contexts)
        case .bestPrices, .trades, .context, .candle: .sporadic
        }
    }
}
