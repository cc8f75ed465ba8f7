import Testing

@testable import FeedCore

/// A core under a virtual clock, and everything it wanted done.
struct CoreHarness {
    var core: FeedCore
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var effects: [FeedEffect] = []

    init(
        seed: UInt64 = 1, hasSnapshotSource: Bool = true, fetchWeight: Int = 1, backfillLimit: Int? = nil,
        isAcknowledged: Bool = true, configuration: FeedCore.Configuration = FeedCore.Configuration()
    ) {
        core = FeedCore(configuration: configuration, epoch: 7, seed: seed) { name in
            guard name.channel != .ticker else { return nil }
            return StreamTraits(
                endpoint: name.channel == .bookTicker ? 1 : 0, hasSnapshotSource: hasSnapshotSource, fetchWeight: fetchWeight,
                staleAfter: name.channel == .markPrice ? .seconds(15) : nil, limit: 5,
                backfillLimit: name.channel == .aggregateTrade ? backfillLimit : nil, isAcknowledged: isAcknowledged)
        }
    }

    /// Steps the core and returns what this step wanted.
    @discardableResult
    mutating func step(_ input: FeedInput) -> [FeedEffect] {
        let new = core.step(input, now: Moment(instant: now, wallClock: now.nanoseconds / 1_000_000))
        effects += new
        return new
    }

    /// Lets time pass, meeting every deadline on the way at its moment.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = core.nextDeadline, deadline <= end {
            now = max(now, deadline)
            step(.deadline)
        }
        now = end
    }

    /// Lets time pass on connections that answer their pings.
    mutating func passAlive(_ duration: Duration) {
        let end = now + duration
        while now < end {
            for connection in core.connections where connection.phase == .open { step(.heard(connection.id)) }
            pass(.nanoseconds(min(10_000_000_000, end.nanoseconds - now.nanoseconds)))
        }
    }

    mutating func forgetEffects() { effects = [] }

    mutating func keep(_ kept: [FeedEffect]) { effects += kept }

    /// The current id of the only connection.
    var connection: ConnectionID { core.connections.first?.id ?? ConnectionID(0) }

    var attempts: [(name: FuturesServiceStreamName, attempt: UInt64)] {
        effects.compactMap { if case .fetch(let name, let request) = $0 { (name, request.attempt) } else { nil } }
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

extension ObserverID {
    static let one = ObserverID(1)
    static let two = ObserverID(2)
}

extension FuturesServiceStreamName {
    static let btc = markPrice(symbol: "BTCUSDT")
    static let trades = aggregateTrade(symbol: "BTCUSDT")
    static let bars = kline(symbol: "BTCUSDT", interval: .minute1)
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
