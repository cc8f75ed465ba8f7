import Testing

@testable import FeedCore

/// Ends a loop over deadlines, and fails the test, if a core asks to be called again and again at the same moment.
struct SpinWatch {
    private var spins = 0

    mutating func isSpinning(_ deadline: Instant, _ now: Instant) -> Bool {
        spins = deadline <= now ? spins + 1 : 0
        guard spins >= 1000 else { return false }
        Issue.record("the core's deadline stays at \(deadline.nanoseconds), now is \(now.nanoseconds)")
        return true
    }
}

/// A core under a virtual clock, and everything it wanted done.
struct CoreHarness {
    var core: FeedCore
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var effects: [FeedEffect] = []
    /// Whether the connections answer their pings at once.
    var answersPings = true

    init(
        seed: UInt64 = 1, hasSnapshotSource: Bool = true, fetchWeight: Int = 1, backfillLimit: Int? = nil, limit: Int = 5,
        isAcknowledged: Bool = true, repeatsNewest: Bool = false, configuration: FeedCore.Configuration = FeedCore.Configuration()
    ) {
        core = FeedCore(configuration: configuration, epoch: 7, seed: seed) { name in
            guard name.channel != .ticker else { return nil }
            return StreamTraits(
                endpoint: name.channel == .bookTicker ? 1 : 0, hasSnapshotSource: hasSnapshotSource, fetchWeight: fetchWeight,
                rhythm: name.channel == .markPrice
                    ? .periodic(.milliseconds(6_800))
                    : [.liquidation, .upstream].contains(name.channel) ? .sporadic : .ticking(patience: .seconds(60)), limit: limit,
                backfillLimit: [.aggregateTrade, .bar].contains(name.channel) ? backfillLimit : nil, isAcknowledged: isAcknowledged,
                repeatsNewest: repeatsNewest)
        }
    }

    /// Steps the core and returns what this step wanted.
    @discardableResult
    mutating func step(_ input: FeedInput) -> [FeedEffect] {
        let new = core.step(input, now: Moment(instant: now, wallClock: now.nanoseconds / 1_000_000))
        effects += new
        guard answersPings else { return new }
        for case .ping(let id) in new { step(.heard(id)) }
        return new
    }

    /// Lets time pass, meeting every deadline on the way at its moment.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        var spins = SpinWatch()
        while let deadline = core.nextDeadline, deadline <= end, !spins.isSpinning(deadline, now) {
            now = max(now, deadline)
            step(.deadline)
        }
        now = end
    }

    /// Suspends the process, and then handles the missed deadline.
    mutating func oversleep(_ duration: Duration) {
        suspend(for: duration)
        let answers = answersPings
        answersPings = false
        step(.deadline)
        answersPings = answers
    }

    /// Advances the virtual clock without a step, as if the process were suspended. The next step is the first input after the suspension.
    mutating func suspend(for duration: Duration) { now = now + duration }

    /// Makes the stream of trades live with trade 1.
    mutating func goLiveWithTrades() {
        goLive([.trades])
        receive(.trades, AggregateTrade.trades(1...1))
        answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...1), eventTime: nil)) }
    }

    mutating func forgetEffects() { effects = [] }

    mutating func keep(_ kept: [FeedEffect]) { effects += kept }

    /// The current id of the only connection.
    var connection: ConnectionID { core.connections.first?.id ?? ConnectionID(0) }

    /// The requests for complete data, or for what was missed.
    var attempts: [(name: FuturesServiceStreamName, attempt: UInt64)] {
        effects.compactMap { if case .fetch(let name, let request) = $0, request.part != .newest { (name, request.attempt) } else { nil } }
    }

    /// The requests for no more than what is newest.
    var inquiries: [(name: FuturesServiceStreamName, attempt: UInt64)] {
        effects.compactMap { if case .fetch(let name, let request) = $0, request.part == .newest { (name, request.attempt) } else { nil } }
    }

    /// The connections that were asked for.
    var connects: [ConnectionID] {
        effects.compactMap { if case .connect(let id, _, _, _) = $0 { id } else { nil } }
    }

    var events: [FeedEvent] {
        effects.compactMap { if case .publish(let event) = $0 { event } else { nil } }
    }

    var kinds: [String] { events.map { Self.kind($0) } }

    static func kind(_ event: FeedEvent) -> String {
        switch event.kind {
        case .fetched: "fetch"
        case .updated(let content): "update \(content.kind.rawValue)"
        case .recovered(let recovery): "recover \(recovery.error == nil ? "success" : "failure")"
        case .failed(let error, _): "fail \(error.code.rawValue)"
        case .connected: "connect"
        case .disconnected: "disconnect"
        case .status(let state, _, _): "status \(state.rawValue)"
        case .ended: "ended"
        }
    }

    /// Observes the names and brings the connection up with every subscription acknowledged.
    mutating func goLive(_ names: [FuturesServiceStreamName], observer: ObserverID = .one) {
        step(.observe(observer, names, forceFetch: false))
        step(.opened(connection))
        acknowledge()
    }

    /// The connection is lost, and opens again seconds later: of what was wanted done only what follows that is kept.
    mutating func reconnect(after wait: Duration = .seconds(3)) {
        step(.closed(connection, reason: "gone"))
        pass(wait)
        forgetEffects()
        step(.opened(connection))
    }

    /// Acknowledges every SUBSCRIBE there was.
    mutating func acknowledge() {
        for effect in effects {
            if case .subscribe(let id, _, let request) = effect { step(.received(id, .acknowledged(request: request))) }
        }
    }

    mutating func receive(_ name: FuturesServiceStreamName, _ rows: FeedRows) {
        step(.received(connection, .rows(name, rows, eventTime: nil)))
    }

    mutating func answerFetches(_ content: (FuturesServiceStreamName) -> Result<FetchedContent, FeedError>) {
        for (name, attempt) in attempts { step(.fetched(name, attempt: attempt, content(name))) }
    }
}

extension FeedEvent {
    /// The content of a fetch or an update; nil for other events.
    var content: FuturesServiceFeedContent? {
        switch kind {
        case .fetched(let content), .updated(let content): content
        default: nil
        }
    }
}

extension ObserverID {
    static let one = ObserverID(1)
    static let two = ObserverID(2)
}

extension FuturesServiceStreamName {
    static let btc = markPrice(symbol: "BTCUSDT")
    static let trades = aggregateTrade(symbol: "BTCUSDT")
    static let bars = kline(symbol: "BTCUSDT", interval: .minute1)
    static let ticker = bookTicker(symbol: "BTCUSDT")
}

extension FeedRows {
    static func ticker(_ price: Int) -> FeedRows {
        let number = DecimalString(price)
        return .bookTicker([
            BookTicker(symbol: "BTCUSDT", bidPrice: number, bidQuantity: number, askPrice: number, askQuantity: number, time: Int64(price))
        ])
    }

    static func bar(_ trades: Int, openTime: Int64 = 60_000) -> FeedRows {
        let number = DecimalString(trades)
        return .kline([
            Kline(
                openTime: openTime, closeTime: openTime + 59_999, open: number, high: number, low: number, close: number, volume: number,
                quoteVolume: number,
                tradeCount: UInt64(trades), takerBuyVolume: number, takerBuyQuoteVolume: number, isClosed: false)
        ])
    }
}

extension DecimalString {
    init(_ number: Int) { self.init(checked: String(number)) }
}

extension MarkPrice {
    static func price(_ price: Int, symbol: String = "BTCUSDT", time: Int64 = 1, interestRate: Int? = nil) -> MarkPrice {
        MarkPrice(symbol: symbol, markPrice: DecimalString(price), interestRate: interestRate.map { DecimalString($0) }, time: time)
    }
}

extension AggregateTrade {
    static func trade(_ id: UInt64) -> AggregateTrade {
        AggregateTrade(
            id: id, price: DecimalString(1), quantity: DecimalString(1), firstTradeID: id, lastTradeID: id, time: 1, isBuyerMaker: false)
    }

    static func trades(_ ids: ClosedRange<UInt64>) -> FeedRows { .aggregateTrade(ids.map(trade)) }
}
