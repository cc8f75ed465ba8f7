public import FeedCore

/// Translates between an upstream's wire and the feed core: bytes to events, subscriptions to frames, a request for a snapshot, a stream's path. A
/// dialect is a value; it opens nothing, waits for nothing and remembers nothing. What one connection has to remember is its session.
public protocol Dialect: Sendable {
    /// What the upstream says of a stream; nil if it has no stream of that name.
    func traits(of name: FuturesServiceStreamName) -> StreamTraits?

    /// The kinds of streams, for people.
    var catalogue: [CatalogueEntry] { get }

    /// How many hosts serve the WebSocket, and how many REST; at least one each.
    var hosts: (webSocket: Int, rest: Int) { get }

    /// The upstreams behind this dialect; at least one.
    var upstreams: [Upstream] { get }

    /// The place in `upstreams` of the upstream that an endpoint belongs to.
    func upstream(of endpoint: Int) -> Int

    /// How to connect to an endpoint, on one of the hosts.
    func route(endpoint: Int, host: Int) -> UpstreamRoute

    /// A new session, which remembers one connection while it lasts.
    ///
    /// - Parameters:
    ///   - endpoint: the upstream's connection, as `StreamTraits.endpoint` numbers them.
    ///   - subprotocol: the server's choice; nil if it chose none or there is no WebSocket.
    func session(endpoint: Int, subprotocol: String?) -> any DialectSession

    /// The request for a stream's snapshot, or for its messages from an id on; nil if the upstream has neither.
    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> RESTRequest?

    /// The smallest request that tells what is newest of a stream; the answer is read like a snapshot. Nil if there is none.
    func newestRequest(of name: FuturesServiceStreamName, host: Int) -> RESTRequest?

    /// Reads an answer with a snapshot. `now` is the upstream's time, ms since 1970 UTC, or `Int64.min` if it has not told one.
    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError>

    /// Where the venue says what it lists and allows; nil if it does not.
    func listingURL(host: Int) -> String?

    /// Reads what the venue lists and allows.
    func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError>

    /// Where the venue tells its time; nil if it does not.
    func clockURL(host: Int) -> String?

    /// Reads the venue's time, ms since 1970 UTC.
    func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError>

    /// The header that tells how much of the minute's request weight is used; nil if there is none.
    var usedWeightHeader: String? { get }
}

extension Dialect {
    /// One host of each.
    public var hosts: (webSocket: Int, rest: Int) { (1, 1) }
    /// One upstream.
    public var upstreams: [Upstream] { [Upstream(name: "venue")] }
    /// The only one.
    public func upstream(of endpoint: Int) -> Int { 0 }
    /// Asks for a snapshot.
    public func newestRequest(of name: FuturesServiceStreamName, host: Int) -> RESTRequest? { snapshotRequest(of: name, from: nil, host: host) }
    /// Nothing is listed.
    public func listingURL(host: Int) -> String? { nil }
    /// Nothing is listed.
    public func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> { .success(VenueListing()) }
    /// It does not.
    public func clockURL(host: Int) -> String? { nil }
    /// It does not.
    public func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError> { .failure(FeedError(.malformed, "The upstream tells no time.")) }
    /// There is none.
    public var usedWeightHeader: String? { nil }
}

/// An upstream as people and metrics know it.
public struct Upstream: Hashable, Sendable {
    /// Its name, which is the prefix of its streams, except for the first upstream's.
    public let name: String
    /// The venue whose streams these are; nil if it is no futures venue.
    public let venue: String?
    /// Whether its data are made up.
    public let isSimulated: Bool
    /// How many connections carry the same streams, 1 to 4. For the futures venue it is set with the lines themselves.
    public let lines: Int

    /// An upstream.
    public init(name: String, venue: String? = nil, isSimulated: Bool = false, lines: Int = 1) {
        self.lines = lines
        self.name = name
        self.venue = venue
        self.isSimulated = isSimulated
    }
}

/// The parts of a REST answer that a dialect needs.
public struct RESTAnswer {
    /// The status code.
    public let status: Int
    /// The wait that the venue asked for, if any.
    public let retryAfter: Duration?
    /// The body, decompressed.
    public let body: [UInt8]

    /// An answer.
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
    /// What it carries.
    public let carries: String
    /// How updates merge.
    public let rule: MergeRule
    /// The member that tells rows apart if updates merge by key; else nil.
    public let key: String?
    /// How many rows, or levels of a side, are kept; nil for all.
    public let keep: Int?
    /// Whether `refetch` works.
    public let hasSnapshotSource: Bool

    /// An entry of the catalogue.
    public init(pattern: String, carries: String, rule: MergeRule, key: String?, keep: Int?, hasSnapshotSource: Bool) {
        self.pattern = pattern
        self.carries = carries
        self.rule = rule
        self.key = key
        self.keep = keep
        self.hasSnapshotSource = hasSnapshotSource
    }
}
