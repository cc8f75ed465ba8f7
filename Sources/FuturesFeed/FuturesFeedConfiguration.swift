public import FeedCore

/// How a feed service works. Times and limits have the venues' documented values as defaults.
public struct FuturesFeedConfiguration: Sendable {
    /// The venue.
    public var venue: FuturesVenue
    /// The lines to the venue, 1 to 4 connections that carry the same streams: the first copy of a message counts, what one line lacks another
    /// brings, and a loss is told when the last line is gone. Further entries are not used.
    public var lines = [UpstreamLine()]
    /// Other upstreams, whose streams are `name:stream`; see `readUpstreams`.
    package var upstreams: [(upstream: Upstream, dialect: any Dialect)] = []
    /// How long a subscription stays at the venue after its last reader left.
    public var linger: Duration
    /// The longest a connection may be silent before it is pinged; one that is usually heard more often is pinged sooner. If no answer comes within
    /// two round trips, two seconds at most, the connection ends.
    public var pingInterval: Duration
    /// The upper bound of the delay before the first reconnect. It doubles with every attempt up to 30 s; each delay is drawn at random below it.
    public var reconnectBase: Duration
    /// The age at which a fresh connection replaces a connection and delivers before the old one goes; the venues cut it at 24 h.
    public var rotateAfter: Duration
    /// How many bars of a stream are kept, 1 to 1,500.
    public var bars: Int
    /// How many trades or liquidations of a stream are kept, 1 to 1,000.
    public var trades: Int
    /// The seed of the jitter; nil draws one.
    public var seed: UInt64?
    /// Takes what the venue says, as it says it; nil for nobody.
    package var recorder: (any FrameRecorder)?

    /// A configuration with the defaults.
    public init(
        venue: FuturesVenue = .aster, linger: Duration = .seconds(60), pingInterval: Duration = .seconds(3),
        reconnectBase: Duration = .milliseconds(250), rotateAfter: Duration = .seconds(82_800), bars: Int = 500,
        trades: Int = 500,
        seed: UInt64? = nil
    ) {
        self.venue = venue
        self.linger = linger
        self.pingInterval = pingInterval
        self.reconnectBase = reconnectBase
        self.rotateAfter = rotateAfter
        self.bars = bars
        self.trades = trades
        self.seed = seed
    }

    /// The venue and the other upstreams as one dialect.
    package var dialect: any Dialect {
        let venue = FuturesDialect(venue: venue, bars: bars, trades: trades)
        return upstreams.isEmpty ? venue : CombinedDialect(venue: venue, others: upstreams)
    }

    /// The lines to each upstream, in the dialect's order.
    var linesByUpstream: [[UpstreamLine]] { [lines] + upstreams.map { Array(repeating: UpstreamLine(), count: $0.upstream.lines) } }

    /// The names of the other upstreams, in their order.
    public var upstreamNames: [String] { upstreams.map(\.upstream.name) }

    /// Adds other upstreams from the text of a configuration file, a JSON object: `{"NAME":{"kind":"graphql",…}}`. In its strings, `${NAME}` stands
    /// for what `secret` returns for the name.
    ///
    /// - Parameters:
    ///   - text: the file.
    ///   - kinds: kinds of your own, which win over known ones of the same name; see `docs/extend/write-a-dialect.md`.
    ///   - areSimulated: whether their data are made up; readers are told.
    ///   - secret: what a name in the file stands for; nil if there is nothing of that name.
    /// - Throws: `FeedError` with code `malformed`, which says what is wrong and where.
    public mutating func readUpstreams(
        _ text: String, kinds: [UpstreamKind] = [], areSimulated: Bool = false, secret: (String) -> String?
    ) throws(FeedError) {
        upstreams += try UpstreamsFile.read(text, further: kinds, secret: secret).map {
            (Upstream(name: $0.name, isSimulated: areSimulated, lines: $0.lines), $0.dialect)
        }
    }
}
