public import FeedCore

/// Translates between an upstream's wire and the feed core, and does nothing else: bytes to events, wishes to frames, a request for complete
/// data, a stream's path. A dialect is a value; it opens nothing, waits for nothing and remembers nothing: what one connection has to remember is its session.
public protocol Dialect: Sendable {
    /// What a stream is to this upstream; nil where it has none of that name.
    func traits(of name: FuturesServiceStreamName) -> StreamTraits?

    /// The kinds of streams there are, for people.
    var catalogue: [CatalogueEntry] { get }

    /// How many hosts serve the WebSocket, and how many REST; at least one.
    var hosts: (webSocket: Int, rest: Int) { get }

    /// The upstreams behind it; one at least.
    var upstreams: [Upstream] { get }

    /// Which of them an endpoint belongs to.
    func upstream(of endpoint: Int) -> Int

    /// How the connection of an endpoint is made, on one of the hosts.
    func route(endpoint: Int, host: Int) -> UpstreamRoute

    /// What is to be known of one connection while it lasts; made anew for each.
    ///
    /// - Parameter subprotocol: What the server chose; nil where it chose none, and where there is no WebSocket.
    func session(endpoint: Int, subprotocol: String?) -> any DialectSession

    /// The request for the complete data of a stream, or for its messages from an id on; nil where nothing gives them.
    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> RESTRequest?

    /// The request for no more of a stream's data than tells what is newest, read as complete data is; nil where nothing gives it.
    func newestRequest(of name: FuturesServiceStreamName, host: Int) -> RESTRequest?

    /// Reads an answer to a request for complete data. `now` is the upstream's time, ms since 1970 UTC; the
    /// least there is where it has not told one.
    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError>

    /// Where the venue says what it lists and allows; nil where it does not.
    func listingURL(host: Int) -> String?

    /// Reads what the venue lists and allows.
    func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError>

    /// The header that tells how much of the minute's request weight is used; nil where there is none.
    var usedWeightHeader: String? { get }
}

extension Dialect {
    /// One of each.
    public var hosts: (webSocket: Int, rest: Int) { (1, 1) }
    /// One.
    public var upstreams: [Upstream] { [Upstream(name: "venue")] }
    /// The only one.
    public func upstream(of endpoint: Int) -> Int { 0 }
    /// Complete data.
    public func newestRequest(of name: FuturesServiceStreamName, host: Int) -> RESTRequest? { snapshotRequest(of: name, from: nil, host: host) }
    /// Nothing is listed.
    public func listingURL(host: Int) -> String? { nil }
    /// Nothing is listed.
    public func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> { .success(VenueListing()) }
    /// There is none.
    public var usedWeightHeader: String? { nil }
}

/// An upstream as people and metrics know it.
public struct Upstream: Hashable, Sendable {
    /// Its name, the prefix of its streams but for the first one's.
    public let name: String
    /// The venue whose streams these are; nil where it is no futures venue.
    public let venue: String?
    /// Whether its data are made up.
    public let isSimulated: Bool

    /// An upstream.
    public init(name: String, venue: String? = nil, isSimulated: Bool = false) {
        self.name = name
        self.venue = venue
        self.isSimulated = isSimulated
    }
}

/// A dialect over a WebSocket whose connections have nothing to remember.
package protocol PlainDialect: Dialect {
    /// Where the WebSocket of an endpoint is, on one of the hosts.
    func webSocketURL(endpoint: Int, host: Int) -> String

    /// The frame that subscribes to streams.
    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String

    /// The frame that ends subscriptions.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> String

    /// Reads one text frame. Bad data becomes `.malformed`; nothing traps. `names` are those of the frame's connection.
    func decode(_ frame: UnsafeBufferPointer<UInt8>, names: StreamNames, _ emit: (UpstreamEvent) -> Void)

    /// Where the complete data of a stream is, or its messages from an id on; nil where REST has none.
    func snapshotURL(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> String?
}

extension PlainDialect {
    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        .webSocket(url: webSocketURL(endpoint: endpoint, host: host), headers: [], subprotocols: [])
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession { PlainSession(self) }

    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> RESTRequest? {
        snapshotURL(of: name, from: from, host: host).map { RESTRequest(url: $0) }
    }
}

/// A REST answer as far as a dialect needs it.
public struct RESTAnswer {
    /// The status code.
    public let status: Int
    /// The wait the venue asked for, where it did.
    public let retryAfter: Duration?
    /// The body, decompressed; to be used while the answer is read and not after.
    public let body: UnsafeBufferPointer<UInt8>

    /// An answer.
    public init(status: Int, retryAfter: Duration?, body: UnsafeBufferPointer<UInt8>) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// One kind of stream a venue has.
public struct CatalogueEntry: Sendable {
    /// The name's pattern, `{symbol}@markPrice`.
    public let pattern: String
    /// What it carries.
    public let carries: String
    /// How updates merge.
    public let rule: MergeRule
    /// The member that tells rows apart where updates merge by key; nil elsewhere.
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
