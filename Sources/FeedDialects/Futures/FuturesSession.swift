import FeedCore

/// One connection to the venue. Bars of seconds and early bars are made of the messages of other streams, which the venue sends once for all streams
/// that need them.
final class FuturesSession: DialectSession {
    private let dialect: FuturesDialect
    private let names = StreamNames()
    /// The streams that are made of a stream's messages, by that stream; empty if the connection has none.
    @exclusivity(unchecked) private var madeOf: [FuturesServiceStreamName: [FuturesServiceStreamName]] = [:]
    /// The streams of `madeOf` that are subscribed for their own sake.
    private var own: Set<FuturesServiceStreamName> = []

    init(_ dialect: FuturesDialect) { self.dialect = dialect }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        for name in names {
            let sources = name.sources
            if sources.isEmpty, name.mayBeSource { own.insert(name) }
            for source in sources where madeOf[source]?.contains(name) != true { madeOf[source, default: []].append(name) }
        }
        let wireNames = wireNames(names)
        // The core's own instances, so that the names of frames compare as equal quickly.
        for name in wireNames { self.names.remember(name) }
        return [dialect.subscribe(wireNames, request: request)]
    }

    /// Keeps a subscription that another stream needs.
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        for name in names {
            own.remove(name)
            for source in name.sources {
                madeOf[source]?.removeAll { $0 == name }
                if madeOf[source]?.isEmpty == true { madeOf[source] = nil }
            }
        }
        let unused = wireNames(names).filter { !own.contains($0) && madeOf[$0] == nil }
        return unused.isEmpty ? [] : [dialect.unsubscribe(unused, request: request)]
    }

    private func wireNames(_ names: [FuturesServiceStreamName]) -> [FuturesServiceStreamName] {
        var seen: Set<FuturesServiceStreamName> = []
        return names.flatMap { name in
            let sources = name.sources
            return sources.isEmpty ? [name] : sources
        }.filter { seen.insert($0).inserted }
    }

    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) { message.withUnsafeBufferPointer { read($0, emit) } }

    private func read(_ message: UnsafeBufferPointer<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        guard !madeOf.isEmpty else { return dialect.decode(message, names: names) { emit(.event($0)) } }
        dialect.decode(message, names: names) { event in
            switch event {
            case .rows(let name, let rows, let eventTime):
                for reader in readers(of: name) {
                    // An early bar needs the ids of trades, which rows of bars lack.
                    let own =
                        reader.channel == .earlyKline && name.channel == .kline ? dialect.rows(of: reader, in: message, names: names) ?? rows : rows
                    emit(.event(.rows(reader, own, eventTime: eventTime)))
                }
            case .malformed(let name?, let words):
                // Early bars notice missing trades by their ids.
                for reader in readers(of: name) where reader.channel != .earlyKline || name.channel == .kline {
                    emit(.event(.malformed(reader, words)))
                }
            default: emit(.event(event))
            }
        }
    }

    /// The streams that receive a stream's messages.
    private func readers(of name: FuturesServiceStreamName) -> [FuturesServiceStreamName] {
        guard let made = madeOf[name] else { return [name] }
        return own.contains(name) ? [name] + made : made
    }
}

extension FuturesServiceStreamName {
    /// The streams of the venue from whose messages this stream is made; empty for the venue's own streams.
    fileprivate var sources: [FuturesServiceStreamName] {
        guard let symbol else { return [] }
        let venue = prefix.map(String.init)
        let trades = Self.aggregateTrade(symbol: symbol).at(venue: venue)
        return switch (channel, interval) {
        case (.bar, _): [trades]
        case (.earlyKline, let interval?): [Self.kline(symbol: symbol, interval: interval).at(venue: venue), trades]
        default: []
        }
    }

    /// Whether other streams may be made of this one's messages.
    fileprivate var mayBeSource: Bool { channel == .aggregateTrade || channel == .kline }
}
