import FeedCore

/// One connection to the venue. Bars of seconds are built from aggregate trades, which the venue sends once for all streams that need them.
final class FuturesSession: DialectSession {
    private let dialect: FuturesDialect
    private let names = StreamNames()
    /// The streams built from a symbol's aggregate trades, by the stream of those trades; empty if the connection has no bars.
    private var madeOfTrades: [FuturesServiceStreamName: [FuturesServiceStreamName]] = [:]
    /// The streams of aggregate trades that are subscribed for their own sake.
    private var trades: Set<FuturesServiceStreamName> = []

    init(_ dialect: FuturesDialect) { self.dialect = dialect }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        for name in names {
            if name.channel == .aggregateTrade { trades.insert(name) }
            guard let source = name.tradesOfBars, madeOfTrades[source]?.contains(name) != true else { continue }
            madeOfTrades[source, default: []].append(name)
        }
        let wireNames = wireNames(names)
        // The core's own instances, so that the names of frames compare as equal quickly.
        for name in wireNames { self.names.remember(name) }
        return [dialect.subscribe(wireNames, request: request)]
    }

    /// Keeps a subscription that another stream needs.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        for name in names {
            trades.remove(name)
            guard let source = name.tradesOfBars else { continue }
            madeOfTrades[source]?.removeAll { $0 == name }
            if madeOfTrades[source]?.isEmpty == true { madeOfTrades[source] = nil }
        }
        let unused = wireNames(names).filter { !trades.contains($0) && madeOfTrades[$0] == nil }
        return unused.isEmpty ? [] : [dialect.unsubscribe(unused, request: request)]
    }

    private func wireNames(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        var seen: Set<FuturesServiceStreamName> = []
        return names.map { $0.tradesOfBars ?? $0 }.filter { seen.insert($0).inserted }
    }

    func receive(_ message: Span<UInt8>, _ emit: (SessionEvent) -> Void) { message.withUnsafeBufferPointer { read($0, emit) } }

    private func read(_ message: UnsafeBufferPointer<UInt8>, _ emit: (SessionEvent) -> Void) {
        guard !madeOfTrades.isEmpty else { return dialect.decode(message, names: names) { emit(.event($0)) } }
        dialect.decode(message, names: names) { event in
            switch event {
            case .rows(let name, let rows, let eventTime):
                for name in readers(of: name) { emit(.event(.rows(name, rows, eventTime: eventTime))) }
            case .malformed(let name?, let words):
                for name in readers(of: name) { emit(.event(.malformed(name, words))) }
            default: emit(.event(event))
            }
        }
    }

    /// The streams that receive a stream's messages.
    private func readers(of name: FuturesServiceStreamName) -> [FuturesServiceStreamName] {
        guard let bars = madeOfTrades[name] else { return [name] }
        return trades.contains(name) ? [name] + bars : bars
    }
}

extension FuturesServiceStreamName {
    /// The stream of aggregate trades from which bars of seconds are built; nil for any other stream.
    fileprivate var tradesOfBars: FuturesServiceStreamName? {
        guard channel == .bar, let symbol else { return nil }
        return .aggregateTrade(symbol: symbol).at(venue: prefix.map(String.init))
    }
}
