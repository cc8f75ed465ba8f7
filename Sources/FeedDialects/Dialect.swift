public import FeedCore

/// Translates between an upstream's protocol and the feed core: bytes to events, subscriptions to frames, snapshots to requests, streams to
/// endpoints. A dialect is a value without IO and without state. The state of one connection is in its session.
public protocol Dialect: Sendable {
    /// The upstream's properties of a stream; nil if it has no such stream.
    func traits(of name: FuturesServiceStreamName) -> StreamTraits?

    /// The kinds of streams, for people.
    var catalogue: [CatalogueEntry] { get }

    /// How many hosts the upstream has.
    var hosts: HostCount { get }

    /// The upstreams behind this dialect; at least one.
    var upstreams: [Upstream] { get }

    /// The index in `upstreams` of an endpoint's upstream.
    func upstream(of endpoint: Int) -> Int

    /// How to connect to an endpoint on one of the hosts.
    func route(endpoint: Int, host: Int) -> UpstreamRoute

    /// Creates a session, which holds the state of one connection.
    ///
    /// - Parameters:
    ///   - endpoint: The upstream's connection, as numbered by `StreamTraits.endpoint`.
    ///   - subprotocol: The server's choice; nil if it chose none or there is no WebSocket.
    func session(endpoint: Int, subprotocol: String?) -> any DialectSession

    /// The request for a stream's snapshot, or for its messages from an id on; nil if the upstream has neither. `now` is the upstream's time, or the time
    /// of this computer if that is unknown, ms since 1970 UTC.
    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest?

    /// The smallest request that returns a stream's newest data; the answer is parsed like a snapshot. Nil if there is none.
    func newestRequest(of name: FuturesServiceStreamName, host: Int, now: Int64) -> RESTRequest?

    /// Parses an answer with a snapshot. `now` is the upstream's time, ms since 1970 UTC, or `Int64.min` if unknown.
    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError>

    /// The request for the upstream's listing; nil if it has none.
    func listingRequest(host: Int) -> RESTRequest?

    /// Parses the upstream's listing.
    func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError>

    /// The request for the sessions of the markets behind listed contracts; nil if there are none.
    func sessionsRequest(host: Int, for listing: VenueListing) -> RESTRequest?

    /// Parses the sessions: when each market is closed, in ms since 1970 UTC.
    func decodeSessions(_ answer: RESTAnswer) -> Result<[String: [Range<Int64>]], FeedError>

    /// The URL of the upstream's time; nil if it has none.
    func clockURL(host: Int) -> String?

    /// Parses the upstream's time, ms since 1970 UTC.
    func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError>

    /// The header with the used request weight of the minute; nil if there is none.
    var usedWeightHeader: String? { get }
}

extension Dialect {
    /// One host of each.
    public var hosts: HostCount { HostCount() }
    /// One upstream.
    public var upstreams: [Upstream] { [Upstream(name: "venue")] }
    /// 0, the only upstream.
    public func upstream(of endpoint: Int) -> Int { 0 }
    /// Requests a snapshot.
    public func newestRequest(of name: FuturesServiceStreamName, host: Int, now: Int64) -> RESTRequest? {
        snapshotRequest(of: name, from: nil, host: host, now: now)
    }
    /// Nil: there is no listing.
    public func listingRequest(host: Int) -> RESTRequest? { nil }
    /// An empty listing.
    public func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> { .success(VenueListing()) }
    /// Nil: there are no sessions.
    public func sessionsRequest(host: Int, for listing: VenueListing) -> RESTRequest? { nil }
    /// No sessions.
    public func decodeSessions(_ answer: RESTAnswer) -> Result<[String: [Range<Int64>]], FeedError> { .success([:]) }
    /// Nil: the upstream has no time.
    public func clockURL(host: Int) -> String? { nil }
    /// An error: the upstream has no time.
    public func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError> {
        .failure(FeedError(.malformed, "The upstream does not report its time."))
    }
    /// Nil: there is no such header.
    public var usedWeightHeader: String? { nil }
}

/// An upstream as shown to people and in metrics.
public struct Upstream: Hashable, Sendable {
    /// Its name, which is the prefix of its streams, except for the first upstream.
    public let name: String
    /// The futures venue of its streams; nil if it has none.
    public let venue: String?
    /// Whether its data is simulated.
    public let isSimulated: Bool
    /// How many connections carry the same streams, 1 to 4. For the futures venue, the lines themselves set it.
    public let lines: Int

    /// Creates an upstream.
    public init(name: String, venue: String? = nil, isSimulated: Bool = false, lines: Int = 1) {
        self.lines = lines
        self.name = name
        self.venue = venue
        self.isSimulated = isSimulated
    }
}

/// The parts of a REST response that a dialect needs.
public struct RESTAnswer {
    /// The status code.
    public let status: Int
    /// The wait that the venue asked for, if any.
    public let retryAfter: Duration?
    /// The decompressed body.
    public let body: [UInt8]

    /// Creates an answer.
    public init(status: Int, retryAfter: Duration?, body: [UInt8]) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// One kind of stream.
public struct CatalogueEntry: Sendable {
    /// The name's pattern, such as `{symbol}@markPrice`.
    public let pattern: String
    /// The data that it carries.
    public let carries: String
    /// How updates merge.
    public let rule: MergeRule
    /// The member that identifies rows if updates merge by key; otherwise nil.
    public let key: String?
    /// How many rows, or levels per side, are kept; nil for all.
    public let keep: Int?
    /// Whether `refetch` is supported.
    public let hasSnapshotSource: Bool

    /// Creates a catalog entry.
    public init(pattern: String, carries: String, rule: MergeRule, key: String?, keep: Int?, hasSnapshotSource: Bool) {
        self.pattern = pattern
        self.carries = carries
        self.rule = rule
        self.key = key
        self.keep = keep
        self.hasSnapshotSource = hasSnapshotSource
    }
}
