package import FeedCore

/// The USDⓈ-M futures dialect of ApolloX, Aster and Binance (docs/reference/venues.md): combined JSON frames, decimal strings, REST under `/fapi/v1`.
package struct FuturesDialect: Dialect {
    let venue: FuturesVenue
    /// The number of bars in a snapshot, 1 to 1,500, and of trades, 1 to 1,000, which are the limits of REST.
    let bars: Int
    let trades: Int
    /// The prefix of the streams' names; nil if the venue is the first upstream.
    let prefix: String?

    package init(venue: FuturesVenue, bars: Int = 500, trades: Int = 500, prefix: String? = nil) {
        self.venue = venue
        self.prefix = prefix
        self.bars = min(max(bars, 1), 1500)
        self.trades = min(max(trades, 1), 1000)
    }

    /// The number of bars per request: 500 weigh more than twice as much as 499 (docs/reference/venues.md §3).
    var snapshotBars: Int { bars == 500 ? 499 : bars }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard venue.has(name.channel), name.prefix == prefix.map({ $0[...] }), prefix == nil || name.channel != .markets else { return nil }
        return StreamTraits(
            endpoint: endpoint(name), hasSnapshotSource: ![.liquidation, .tradingSession, .funding, .markets].contains(name.channel),
            fetchWeight: fetchWeight(name), inquiryWeight: inquiryWeight(name), rhythm: rhythm(name),
            limit: limit(name), backfillLimit: [.aggregateTrade, .bar].contains(name.channel) ? Self.backfillLimit : nil,
            subscriptions: name.channel == .earlyKline ? 2 : 1, isPolled: poll(of: name) != nil || name.channel == .markets)
    }

    private func endpoint(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .bookTicker, .depth, .partialDepth, .rpiDepth, .trade: venue.bookEndpoint
        case .openInterest, .fundingRate, .funding, .longShortRatio: pollEndpoint
        case .markets: marketsEndpoint
        default: 0
        }
    }

    /// The endpoint for polled streams, which has no connection.
    private var pollEndpoint: Int { venue.combinedPaths.count }

    /// The endpoint for the table of all venues, which has no connection either.
    private var marketsEndpoint: Int { pollEndpoint + 1 }

    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        if endpoint == marketsEndpoint { return .markets }
        return endpoint == pollEndpoint ? .polled : .webSocket(url: webSocketURL(endpoint: endpoint, host: host))
    }

    /// The largest weight that any of the venues charges (docs/reference/venues.md §3).
    private func fetchWeight(_ name: FuturesServiceStreamName) -> Int {
        let isAll = name.symbol == nil
        return switch name.channel {
        case .markPrice, .assetIndex: isAll ? 10 : 1
        case .bookTicker: isAll ? 5 : 2
        case .miniTicker, .ticker: isAll ? 40 : 1
        case .kline, .earlyKline, .continuousKline: VenueREST.weight(bars: snapshotBars)
        case .trade: 5
        case .aggregateTrade, .bar, .depth, .rpiDepth: 20
        case .partialDepth: 2
        case .compositeIndex, .contractInfo, .openInterest, .fundingRate, .longShortRatio: 1
        case .funding, .liquidation, .tradingSession, .markets, .upstream: 0
        }
    }

    private func limit(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .depth, .rpiDepth: Self.bookDepth
        case .kline, .earlyKline, .continuousKline, .bar: bars
        case .aggregateTrade, .trade, .liquidation: trades
        default: 100_000
        }
    }

    /// The weight of a request for only the newest data; see `newestRequest`.
    private func inquiryWeight(_ name: FuturesServiceStreamName) -> Int {
        switch name.channel {
        case .depth: 2
        case .kline, .earlyKline, .continuousKline: 1
        default: fetchWeight(name)
        }
    }

    /// How a stream's messages arrive. Prices arrive at fixed intervals (docs/reference/venues.md §2). Streams whose silence can be checked over REST follow the
    /// market. A request for trades costs ten times as much as one for a book, so a longer silence of trades is accepted.
    private func rhythm(_ name: FuturesServiceStreamName) -> StreamRhythm {
        switch name.channel {
        case .markPrice: .periodic(.seconds(name.speed == .everySecond ? 1 : 3))
        case .assetIndex: .periodic(.seconds(3))
        case .compositeIndex, .tradingSession, .markets: .periodic(.seconds(1))
        case .bookTicker, .partialDepth, .depth, .rpiDepth, .miniTicker, .ticker, .kline, .earlyKline, .continuousKline:
            .ticking(patience: .seconds(60))
        case .aggregateTrade, .bar, .trade: .ticking(patience: .seconds(300))
        case .openInterest, .fundingRate, .funding, .longShortRatio: .periodic(poll(of: name)?.interval ?? .seconds(30))
        case .liquidation, .contractInfo, .upstream: .sporadic
        }
    }

    package var upstreams: [Upstream] { [venue.upstream] }

    package var hosts: HostCount { HostCount(webSocket: venue.webSocketURLs.count, rest: venue.restURLs.count) }

    package func webSocketURL(endpoint: Int, host: Int) -> String {
        venue.webSocketURLs[host % venue.webSocketURLs.count]
            + (venue.combinedPaths.indices.contains(endpoint) ? venue.combinedPaths[endpoint] : venue.combinedPaths[0])
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession { FuturesSession(self) }

    package func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String { control("SUBSCRIBE", names, request) }

    package func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String { control("UNSUBSCRIBE", names, request) }

    /// Names consist only of letters, digits and `_ @ !`, so they need no escaping.
    private func control(_ method: String, _ names: [FuturesServiceStreamName], _ request: UInt64) -> String {
        let quoted = names.map { "\"\($0.local)\"" }.joined(separator: ",")
        return "{\"method\":\"\(method)\",\"params\":[\(quoted)],\"id\":\(request)}"
    }
}
