import FuturesFeed

/// Decides how one request for a path of the venue is answered from its stream. Each remedy is tried once, so the plan always ends.
struct AnswerPlan {
    /// The data of the hub for the request.
    enum Found {
        /// The stream does not exist, or has ended.
        case noStream
        /// The stream's content may not be returned as current. `isComing`: it probably may soon. `isUsed`: the stream has readers.
        case unverified(isComing: Bool, isUsed: Bool)
        case rendering(VenueRendering)
    }

    enum Step: Equatable {
        case respond([UInt8], until: Int64?)
        /// Waits for an event of the stream, then continues.
        case wait(AwaitedEvent, Duration)
        /// Fetches the newest bars into the stream, then continues.
        case fetchNewest(VenueRelay)
        /// Fetches bars from before the stream's first one, then continues.
        case fetchBars([VenueRelay])
        /// Fetches a snapshot of the book into the stream, because the market has moved away from the last one, then continues.
        case refill
        /// Renders again, because `believesSilence` has changed.
        case renderAgain
        /// Passes the request on to the venue.
        case relay
    }

    private(set) var reading: VenueReading
    /// Whether the answer must join the messages of a socket. It is then neither older than the subscription nor one of the venue's kept answers.
    private(set) var isForSocket = false
    /// Whether the last bar counts as the newest although its end has passed.
    private(set) var believesSilence = false
    private var contentDeadline: Instant?
    private var hasFetchedNewest = false
    private var hasFetchedBars = false
    private var hasRefilled = false

    init(_ reading: VenueReading) { self.reading = reading }

    /// Answers from this book, which sockets read: the client of one of them may have asked.
    mutating func join(_ book: FuturesServiceStreamName) {
        (reading, isForSocket) = (reading.from(book), true)
        reading.missingLevels = .tenth
    }

    /// Answers with the levels that the book has, because the venue cannot be asked for more.
    mutating func readAlone() { reading.missingLevels = .any }

    /// Answers from this book of the same symbol.
    mutating func read(_ book: FuturesServiceStreamName) { reading = reading.from(book) }

    /// Whether the answer is a book, to which a client may join the messages of a socket that it is about to open.
    var isBook: Bool { reading.name.channel == .depth }

    /// The next step.
    ///
    /// - Parameters:
    ///   - venueNow: The venue's time, ms since 1970 UTC.
    ///   - patience: How long to wait for a stream that has no data yet.
    ///   - mayAsk: Whether the venue may be asked for the newest bars of a quiet market.
    mutating func next(_ found: Found, now: Instant, venueNow: Int64, patience: Duration, mayAsk: (VenueRelay) -> Bool) -> Step {
        switch found {
        case .noStream: return .relay
        case .rendering(.lacks):
            guard isForSocket, !hasRefilled else { return .relay }
            hasRefilled = true
            return .refill
        case .rendering(.body(let body, let until)): return .respond(body, until: until)
        case .unverified(let isComing, let isUsed):
            let deadline = contentDeadline ?? now + patience
            contentDeadline = deadline
            guard isComing || isForSocket, now < deadline else { return .relay }
            return .wait(isUsed ? .change : .value, .nanoseconds(deadline.nanoseconds &- now.nanoseconds))
        case .rendering(.needs(let relays)):
            guard !hasFetchedBars else { return .relay }
            hasFetchedBars = true
            return .fetchBars(relays)
        case .rendering(.isBehind(let since)):
            // If the next bar does not arrive because there were no trades, REST has it, and is asked as often as is cheap. After that the last bar
            // is returned as the newest, as everywhere else while the stream is live.
            let patience = Duration.milliseconds(since &- venueNow) + VenueMirror.barPatience
            guard patience <= .zero else { return .wait(.change, patience) }
            guard !hasFetchedNewest, let newest = reading.newest else { return .relay }
            guard believesSilence || mayAsk(newest) else {
                believesSilence = true
                return .renderAgain
            }
            hasFetchedNewest = true
            return .fetchNewest(newest)
        }
    }
}
