/// A stream's properties at the venue.
public struct StreamTraits: Sendable {
    /// Which of the upstream's connections carries the stream: an index that the dialect defines, 0 to 15.
    public let endpoint: Int
    /// Whether REST has a snapshot of the stream.
    public let hasSnapshotSource: Bool
    /// The request weight of a snapshot at the venue. Zero if another server is asked, whose answers say nothing about the venue.
    public let fetchWeight: Int
    /// The request weight of an inquiry for the newest data.
    public let inquiryWeight: Int
    /// How its messages arrive, which decides what silence means.
    public let rhythm: StreamRhythm
    /// How many rows are kept.
    public let limit: Int
    /// How many messages one REST request returns, starting at an id, so that missed ones can be fetched; nil if REST cannot.
    public let backfillLimit: Int?
    /// How many subscriptions of this endpoint share a connection; nil for the default.
    public let connectionLimit: Int?
    /// How many subscriptions the stream needs, at least 1.
    public let subscriptions: Int
    /// Whether the stream is polled over REST, so that it needs only one line.
    public let isPolled: Bool
    /// Whether the upstream acknowledges subscriptions. If not, a subscription counts as active some time after it was sent.
    public let isAcknowledged: Bool
    /// Whether the upstream answers pings on the stream's connection. If not, its own heartbeats must show that the connection lives.
    public let answersPings: Bool
    /// Whether each subscription begins with a repetition of the newest messages, which shows whether messages before them are missing.
    public let repeatsNewest: Bool

    /// Whether an answer over REST completes the content. A subscription that begins with a repetition completes it by itself.
    var needsSnapshot: Bool { hasSnapshotSource && !repeatsNewest }

    /// The upstream that has the stream, in the dialect's order.
    var upstream: Int { endpoint / FeedCore.endpointsPerUpstream }

    /// Creates the traits of a stream. Omitted parameters have the usual values.
    public init(
        endpoint: Int, hasSnapshotSource: Bool, fetchWeight: Int = 1, inquiryWeight: Int? = nil, rhythm: StreamRhythm, limit: Int,
        backfillLimit: Int? = nil,
        connectionLimit: Int? = nil, subscriptions: Int = 1, isPolled: Bool = false, isAcknowledged: Bool = true,
        answersPings: Bool = true, repeatsNewest: Bool = false
    ) {
        self.repeatsNewest = repeatsNewest
        self.isPolled = isPolled
        self.endpoint = endpoint
        self.hasSnapshotSource = hasSnapshotSource
        self.fetchWeight = fetchWeight
        self.inquiryWeight = inquiryWeight ?? fetchWeight
        self.rhythm = rhythm
        self.limit = limit
        self.backfillLimit = backfillLimit
        self.connectionLimit = connectionLimit
        self.subscriptions = max(1, subscriptions)
        self.isAcknowledged = isAcknowledged
        self.answersPings = answersPings
    }
}

/// An observer of streams: an observer of the library, or the gateway's hub.
package struct ObserverID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// One attempt at one connection. Each attempt has a new id, so that late messages of a dead socket are recognized.
package struct ConnectionID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// An event that a dialect read from a frame.
///
/// Large and rare cases are indirect, here and in inputs and effects, because each frame copies some of them.
public enum UpstreamEvent: Sendable {
    /// Content of a stream, with its time by the upstream's clock, ms since 1970 UTC; nil if the message has none.
    case rows(FuturesServiceStreamName, FeedRows, eventTime: Int64?)
    /// A subscription is active, identified by its request's number.
    case acknowledged(request: UInt64)
    /// A subscription was refused; nil if the answer does not say which.
    indirect case rejected(request: UInt64?, FeedError)
    /// A description of an unreadable message, and the stream it concerns if known.
    indirect case malformed(FuturesServiceStreamName?, String)
    /// Unreadable rows of a list. The other rows follow as `rows`.
    indirect case leftOut(FuturesServiceStreamName, LeftOutRows)
    /// The venue is about to close the connection.
    case goingAway
    /// A message that the gateway does not need.
    case unknown(String)
    /// The upstream reported an error of the stream; the subscription continues.
    indirect case reported(FuturesServiceStreamName, FeedError)
    /// The upstream ended the subscription. It is final if there is an error; otherwise the stream is subscribed again.
    indirect case ended(FuturesServiceStreamName, FeedError?)
}

/// Rows of a list of all symbols that could not be read. The rest of the list is used.
public struct LeftOutRows: Sendable, Equatable {
    /// The symbols of those rows that name one.
    public var symbols: [String] = []
    /// How many rows there are, with and without a symbol.
    public var count = 0
    /// Why the first one could not be read.
    public var reason = ""

    /// No rows.
    public init() {}

    /// Adds a row; `symbol` is nil if the row names none.
    public mutating func add(_ symbol: String?, _ reason: String) {
        if count == 0 { self.reason = reason }
        count += 1
        if let symbol { symbols.append(symbol) }
    }
}

/// The venue's description of itself.
public struct VenueListing: Sendable {
    /// The symbols of contracts that trade or will trade, such as `BTCUSDT`.
    public var symbols: Set<String>
    /// The symbols of contracts that have been settled.
    public var settled: Set<String>
    /// The symbols of contracts that the venue has halted.
    public var halted: Set<String> = []
    /// The markets behind contracts on shares, commodities and currencies, such as `EQUITY`, by symbol.
    public var markets: [String: String] = [:]
    /// When these markets are closed: from ms since 1970 UTC to ms since 1970 UTC, exclusive, by market.
    public var closures: [String: [Range<Int64>]] = [:]
    /// The symbols of the asset indices, such as `BTCUSD`.
    public var assetIndices: Set<String>
    /// The request weight allowed per minute; nil if unknown.
    public var weightLimit: Int?
    /// Entries that could not be read. If there are any, a symbol missing from the listing may still exist.
    public var leftOut = LeftOutRows()
    /// Whether the venue says that its data is simulated, as a demo exchange does.
    public var isSimulated = false

    /// Creates a listing. One without symbols lists nothing and rules nothing out.
    public init(symbols: Set<String> = [], settled: Set<String> = [], assetIndices: Set<String> = [], weightLimit: Int? = nil) {
        self.symbols = symbols
        self.settled = settled
        self.assetIndices = assetIndices
        self.weightLimit = weightLimit
    }
}

/// A snapshot from REST.
public struct FetchedContent: Sendable {
    /// The complete content.
    public let rows: FeedRows
    /// The snapshot's time by the upstream's clock, ms since 1970 UTC; nil if the answer has none.
    public let eventTime: Int64?
    /// Rows of a list that could not be read and are not in `rows`.
    public let leftOut: LeftOutRows

    /// Creates a snapshot.
    public init(rows: FeedRows, eventTime: Int64?, leftOut: LeftOutRows = LeftOutRows()) {
        self.rows = rows
        self.eventTime = eventTime
        self.leftOut = leftOut
    }
}

/// A request for a stream's snapshot or its missed messages.
package struct FetchRequest: Sendable, Equatable {
    /// The requested data.
    package enum Part: Sendable, Equatable {
        /// The snapshot.
        case complete
        /// Messages starting at an id.
        case from(UInt64)
        /// Only enough to identify the newest data.
        case newest
    }

    /// Distinguishes the answer to this request from answers to earlier ones.
    package let attempt: UInt64
    package let part: Part
    /// Which of the upstream's REST hosts to ask.
    package let host: Int
}

/// All inputs of the core.
package enum FeedInput: Sendable {
    case observe(ObserverID, [FuturesServiceStreamName], forceFetch: Bool)
    /// Nil: all streams of the observer.
    case unobserve(ObserverID, [FuturesServiceStreamName]?)
    case pause(ObserverID, [FuturesServiceStreamName]?)
    case resume(ObserverID, [FuturesServiceStreamName]?)
    case refetch(FuturesServiceStreamName)
    /// Whether to pass on the venue's own messages of a stream, for readers of its sockets. The stream must have an observer. With `fromNewest`, an order
    /// book's newest message is passed on first, if messages were not passed on before.
    case passOn(FuturesServiceStreamName, Bool, fromNewest: Bool = false)
    indirect case listed(upstream: Int, Result<VenueListing, FeedError>)
    /// The number of readers behind the single observer of a stream.
    case readers(FuturesServiceStreamName, Int)
    /// The REST of an upstream reported the weight used in this minute.
    case usedWeight(upstream: Int, Int)
    case opened(ConnectionID)
    /// `retryAfter`: the shortest wait that the server asked for.
    indirect case closed(ConnectionID, reason: String, retryAfter: Duration? = nil)
    /// The upstream refuses this client, so an early retry cannot help. The connection ends.
    indirect case refused(ConnectionID, FeedError)
    /// A frame without content arrived: a ping, a pong, or a part of a message.
    case heard(ConnectionID)
    case received(ConnectionID, UpstreamEvent)
    indirect case fetched(FuturesServiceStreamName, attempt: UInt64, Result<FetchedContent, FeedError>)
    /// A reader's own request returned the newest REST data of a stream.
    indirect case told(FuturesServiceStreamName, FetchedContent)
    /// A reader's request is to be passed on to the REST of an upstream unchanged.
    case relay(upstream: Int, RelayID, weight: Int)
    /// The venue answered such a request, or it failed with an error.
    indirect case relayed(upstream: Int, RelayID, FeedError?)
    /// The time of `FeedCore.nextDeadline` has come.
    case deadline
}

/// An action that the core requests. Effects must be carried out in order.
package enum FeedEffect: Sendable {
    /// `host`: which of the upstream's WebSocket hosts; `line`: which of the lines to the upstream.
    case connect(ConnectionID, endpoint: Int, host: Int, line: Int)
    case subscribe(ConnectionID, [FuturesServiceStreamName], request: UInt64)
    case unsubscribe(ConnectionID, [FuturesServiceStreamName], request: UInt64)
    case ping(ConnectionID)
    case disconnect(ConnectionID)
    indirect case fetch(FuturesServiceStreamName, FetchRequest)
    /// Pass a reader's request on to one of the REST hosts of an upstream.
    case relay(upstream: Int, RelayID, host: Int)
    /// Send no request; report the error to all readers that wait for it.
    indirect case refuseRelay(RelayID, FeedError)
    /// Read the listing of an upstream, unless it was read within `age`: a stream is silent, and its contract may have been halted.
    case readListing(upstream: Int, age: Duration)
    /// For every observer of the stream that is not paused.
    case publish(FeedEvent)
    /// For one observer.
    case tell(ObserverID, FeedEvent)
    /// For readers of the venue's sockets. It follows the event with the content that the message changed.
    case passOn(VenueMessage)
    /// The same for a bar that was closed or corrected without a message of the venue. `eventTime`: ms since 1970 UTC.
    indirect case passOnBar(FuturesServiceStreamName, EarlyBar, eventTime: Int64)
}
