/// What a stream is to the venue.
public struct StreamTraits: Sendable {
    /// Which of the upstream's connections carries it: an index the dialect understands, 0 to 15.
    public let endpoint: Int
    /// Whether REST has its complete data.
    public let hasSnapshotSource: Bool
    /// What a request for complete data costs of the venue's budget; zero where somebody else is asked, whose answers say nothing of the venue.
    public let fetchWeight: Int
    /// The same of a request for what is newest.
    public let inquiryWeight: Int
    /// How its messages come: what its silence means.
    public let rhythm: StreamRhythm
    /// How many rows are kept.
    public let limit: Int
    /// How many messages REST gives at once from an id on, so that missed ones can be fetched; nil where it gives none.
    public let backfillLimit: Int?
    /// How many streams of this endpoint share a connection; nil for the usual number.
    public let connectionLimit: Int?
    /// Whether it is asked for over REST again and again, so that no line but one is needed.
    public let isPolled: Bool
    /// Whether subscriptions are answered; where not, one stands once it has been sent for a while.
    public let isAcknowledged: Bool

    /// What a stream is, with the usual in what is left out.
    public init(
        endpoint: Int, hasSnapshotSource: Bool, fetchWeight: Int = 1, inquiryWeight: Int? = nil, rhythm: StreamRhythm, limit: Int,
        backfillLimit: Int? = nil,
        connectionLimit: Int? = nil, isPolled: Bool = false, isAcknowledged: Bool = true
    ) {
        self.isPolled = isPolled
        self.endpoint = endpoint
        self.hasSnapshotSource = hasSnapshotSource
        self.fetchWeight = fetchWeight
        self.inquiryWeight = inquiryWeight ?? fetchWeight
        self.rhythm = rhythm
        self.limit = limit
        self.backfillLimit = backfillLimit
        self.connectionLimit = connectionLimit
        self.isAcknowledged = isAcknowledged
    }
}

/// A party that reads streams: an observer of the library, or the gateway's hub.
package struct ObserverID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// One attempt at one connection; a new attempt has a new id, so that what a dead socket still says is recognised.
package struct ConnectionID: Hashable, Sendable {
    package let value: UInt64
    package init(_ value: UInt64) { self.value = value }
}

/// What a dialect read in one frame.
public enum UpstreamEvent: Sendable {
    /// Content of a stream, and when it happened by the upstream's clock, ms since 1970 UTC; nil where that is not told.
    case rows(FuturesServiceStreamName, FeedRows, eventTime: Int64?)
    /// A subscription, by its request's number, stands.
    case acknowledged(request: UInt64)
    /// A subscription was refused; nil where the answer does not say which.
    case rejected(request: UInt64?, FeedError)
    /// What cannot be read, in words, and the stream it is about where that can be told.
    case malformed(FuturesServiceStreamName?, String)
    /// Rows of a list that cannot be read; the others follow as `rows`.
    case leftOut(FuturesServiceStreamName, LeftOutRows)
    /// The venue is about to close the connection.
    case goingAway
    /// Something of no concern.
    case unknown(String)
    /// The upstream told of an error of the stream; the subscription goes on.
    case reported(FuturesServiceStreamName, FeedError)
    /// The upstream ended the subscription: for good where it says why, else it is to be asked for again.
    case ended(FuturesServiceStreamName, FeedError?)
}

/// Rows of a list of all symbols that could not be read. The rest of the list is used.
public struct LeftOutRows: Sendable, Equatable {
    /// The symbols of the rows that name one.
    public var symbols: [String] = []
    /// How many rows there are, with and without a symbol.
    public var count = 0
    /// Why the first one could not be read.
    public var reason = ""

    /// No rows.
    public init() {}

    /// Adds a row; nil if it names no symbol.
    public mutating func add(_ symbol: String?, _ reason: String) {
        if count == 0 { self.reason = reason }
        count += 1
        if let symbol { symbols.append(symbol) }
    }
}

/// What the venue says of itself.
public struct VenueListing: Sendable {
    /// The symbols of contracts that trade, or will, `BTCUSDT`.
    public var symbols: Set<String>
    /// The symbols of contracts that have been settled.
    public var settled: Set<String>
    /// The asset indices' symbols, `BTCUSD`.
    public var assetIndices: Set<String>
    /// Request weight per minute; nil where it is not told.
    public var weightLimit: Int?
    /// Entries that could not be read. A listing with any does not tell that a symbol is gone.
    public var leftOut = LeftOutRows()
    /// Whether the venue says that its data are made up, as a demo exchange does.
    public var isSimulated = false

    /// A listing; one that names no symbol lists nothing, and rules nothing out.
    public init(symbols: Set<String> = [], settled: Set<String> = [], assetIndices: Set<String> = [], weightLimit: Int? = nil) {
        self.symbols = symbols
        self.settled = settled
        self.assetIndices = assetIndices
        self.weightLimit = weightLimit
    }
}

/// Complete data as REST gave it.
public struct FetchedContent: Sendable {
    /// The complete content.
    public let rows: FeedRows
    /// When it was so by the upstream's clock, ms since 1970 UTC; nil where that is not told.
    public let eventTime: Int64?
    /// Rows of a list that could not be read, and are not in `rows`.
    public let leftOut: LeftOutRows

    /// Complete data.
    public init(rows: FeedRows, eventTime: Int64?, leftOut: LeftOutRows = LeftOutRows()) {
        self.rows = rows
        self.eventTime = eventTime
        self.leftOut = leftOut
    }
}

/// A request for a stream's complete data, or for what it missed.
package struct FetchRequest: Sendable, Equatable {
    /// What is asked for.
    package enum Part: Sendable, Equatable {
        /// Complete data.
        case complete
        /// Messages from an id on.
        case from(UInt64)
        /// No more than tells what is newest.
        case newest
    }

    /// Tells this request's answer from an older one's.
    package let attempt: UInt64
    package let part: Part
    /// Which of the venue's REST hosts is to be asked.
    package let host: Int
}

/// Everything that can happen to the core.
package enum FeedInput: Sendable {
    case observe(ObserverID, [FuturesServiceStreamName], forceFetch: Bool)
    /// Nil: all streams of the observer.
    case unobserve(ObserverID, [FuturesServiceStreamName]?)
    case pause(ObserverID, [FuturesServiceStreamName]?)
    case resume(ObserverID, [FuturesServiceStreamName]?)
    case refetch(FuturesServiceStreamName)
    case listed(Result<VenueListing, FeedError>)
    /// How many readers the one observer of a stream stands for.
    case readers(FuturesServiceStreamName, Int)
    /// REST says how much weight this minute has cost so far.
    case usedWeight(Int)
    case opened(ConnectionID)
    /// `retryAfter`: the least wait that the server asked for.
    case closed(ConnectionID, reason: String, retryAfter: Duration? = nil)
    /// The upstream does not take this client, so that coming back soon cannot help; also ends the connection.
    case refused(ConnectionID, FeedError)
    /// A frame came of which nothing is received: a ping, a pong, or a part of a message.
    case heard(ConnectionID)
    case received(ConnectionID, UpstreamEvent)
    case fetched(FuturesServiceStreamName, attempt: UInt64, Result<FetchedContent, FeedError>)
    /// A reader's own request brought what REST has newest of a stream.
    case told(FuturesServiceStreamName, FetchedContent)
    /// A reader wants a request answered that is to be passed on to the venue's REST as it is.
    case relay(RelayID, weight: Int)
    /// The venue answered such a request; with an error if it could not.
    case relayed(RelayID, FeedError?)
    /// The time `FeedCore.nextDeadline` named has come.
    case deadline
}

/// What the core wants done. Effects are to be carried out in order.
package enum FeedEffect: Sendable {
    /// `host`: which of the venue's WebSocket hosts; `line`: which of the lines to the upstream.
    case connect(ConnectionID, endpoint: Int, host: Int, line: Int)
    case subscribe(ConnectionID, [FuturesServiceStreamName], request: UInt64)
    case unsubscribe(ConnectionID, [FuturesServiceStreamName], request: UInt64)
    case ping(ConnectionID)
    case disconnect(ConnectionID)
    case fetch(FuturesServiceStreamName, FetchRequest)
    /// Pass a reader's request on to one of the venue's REST hosts.
    case relay(RelayID, host: Int)
    /// Nobody is asked: all who want it are told why.
    case refuseRelay(RelayID, FeedError)
    /// For every observer of the stream that is not paused.
    case publish(FeedEvent)
    /// For one observer.
    case tell(ObserverID, FeedEvent)
}
