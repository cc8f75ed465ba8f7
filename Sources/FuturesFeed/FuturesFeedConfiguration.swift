public import FeedCore

/// The configuration of a feed service. The defaults for times and limits are the venues' documented values.
public struct FuturesFeedConfiguration: Sendable {
    /// The first venue, whose streams have no prefix.
    public var venue: FuturesVenue
    /// The lines to the venue: 1 to 4 connections that carry the same streams. The first copy of a message counts, and a message that one line lacks
    /// is taken from another. A loss is reported when the last line is gone. Entries after the fourth are ignored.
    public var lines = [UpstreamLine()]
    /// Other upstreams, whose streams are `name:stream`; see `readUpstreams`.
    package var upstreams: [(upstream: Upstream, dialect: any Dialect)] = []
    /// How long a subscription stays at the venue after its last reader left.
    public var linger: Duration
    /// The longest silence before a connection is pinged; one that is usually heard more often is pinged sooner. If no answer arrives within two
    /// round trips, at most two seconds, the connection ends.
    public var pingInterval: Duration
    /// The upper bound of the delay before the first reconnect. It doubles with every attempt up to 30 s; each delay is random below it.
    public var reconnectBase: Duration
    /// The age at which a new connection replaces the current one. The new one delivers before the old one is closed. The venues close connections at
    /// 24 h.
    public var rotateAfter: Duration
    /// How many bars of a stream are kept, 1 to 1,500.
    public var bars: Int
    /// How many trades or liquidations of a stream are kept, 1 to 1,000.
    public var trades: Int
    /// The seed of random delays; nil for a random one.
    public var seed: UInt64?
    /// Records the venue's messages unchanged; nil for no recording.
    package var recorder: (any FrameRecorder)?

    /// Creates a configuration with the defaults.
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

    /// Adds other upstreams from the text of a configuration file, a JSON object: `{"NAME":{"kind":"graphql",…}}`. In its strings, `${NAME}` is
    /// replaced by the result of `secret` for that name.
    ///
    /// - Parameters:
    ///   - text: The content of the file.
    ///   - kinds: Your own kinds, which replace built-in ones of the same name; see `docs/extend/write-a-dialect.md`.
    ///   - areSimulated: Whether their data is simulated; readers are informed of that.
    ///   - secret: Returns the value of a name in the file; nil if there is none.
    /// - Throws: `FeedError` with code `malformed`, which names the mistake and its place.
    public mutating func readUpstreams(
        _ text: String, kinds: [UpstreamKind] = [], areSimulated: Bool = false, secret: (String) -> String?
    ) throws(FeedError) {
        let read = try UpstreamsFile.read(text, further: kinds, secret: secret).map {
            let venue = $0.dialect is FuturesDialect ? $0.name : nil
            return (upstream: Upstream(name: $0.name, venue: venue, isSimulated: areSimulated, lines: $0.lines), dialect: $0.dialect)
        }
        guard upstreams.count + read.count <= Self.mostUpstreams else {
            throw FeedError(.malformed, "There are more than \(Self.mostUpstreams) upstreams; use several gateways.")
        }
        upstreams += read
    }
}
