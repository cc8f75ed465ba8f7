import NIOCore

/// Takes the results of operations, on the server's event loop.
protocol PriceReader: AnyObject {
    func deliver(_ result: String, to operation: String)
    func complete(_ operation: String)
    /// Ends the reader's connection: with a close frame of that code where it has such, else with a reset.
    func end(_ code: UInt16?)
}

/// The prices behind the simulated GraphQL server, and who is subscribed to which. Lives on one event loop.
final class PriceVenue {
    struct Operation: Hashable {
        let reader: ObjectIdentifier
        let id: String
    }

    private struct Subscription {
        let reader: any PriceReader
        let query: PriceQuery
        /// Results that are still to come; nil where there is no end.
        var remaining: Int?
    }

    let ledger: Ledger
    let token: String?
    private let loop: any EventLoop
    private let interval: TimeAmount
    private var generator: SeededGenerator
    private var prices: [String: Price] = [:]
    private var sequence: UInt64 = 0
    private var subscriptions: [Operation: Subscription] = [:]
    private var readers: [ObjectIdentifier: any PriceReader] = [:]
    private var ticks: RepeatedTask?
    var isStalled = false

    init(_ configuration: GraphQLExchange.Configuration, ledger: Ledger, loop: any EventLoop) {
        self.ledger = ledger
        self.loop = loop
        token = configuration.token
        interval = TimeAmount(configuration.interval)
        generator = SeededGenerator(seed: configuration.seed, purpose: 3)
        for (symbol, last) in [("AAPL", 18_950), ("MSFT", 41_120), ("BTC-USD", 6_425_010)] as [(String, Int64)] { set(symbol, last) }
    }

    func open() {
        guard interval > .zero else { return }
        let venue = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in venue.value.tick() }
    }

    private func tick() {
        for symbol in prices.keys.sorted() where !isStalled { publish(symbol, (prices[symbol]?.last ?? 0) + generator.integer(in: -5...5)) }
    }

    func close() {
        ticks?.cancel()
        ticks = nil
    }

    func price(_ symbol: String) -> Price? { prices[symbol] }

    func publish(_ symbol: String, _ last: Int64) {
        let price = set(symbol, last)
        for (operation, subscription) in subscriptions where subscription.query.symbol == symbol {
            subscription.reader.deliver(subscription.query.result(price), to: operation.id)
            guard let remaining = subscription.remaining else { continue }
            subscriptions[operation]?.remaining = remaining - 1
            guard remaining <= 1 else { continue }
            unsubscribed(subscription.reader, operation.id)
            subscription.reader.complete(operation.id)
        }
    }

    @discardableResult
    private func set(_ symbol: String, _ last: Int64) -> Price {
        sequence += 1
        let price = Price(symbol: symbol, last: max(last, 1), sequence: sequence, time: wallClock())
        prices[symbol] = price
        return price
    }

    func opened(_ reader: any PriceReader) {
        readers[ObjectIdentifier(reader)] = reader
        ledger.note(.connected) {
            $0.connectionsEver += 1
            $0.connectionsNow += 1
        }
    }

    func closed(_ reader: any PriceReader) {
        guard readers.removeValue(forKey: ObjectIdentifier(reader)) != nil else { return }
        for operation in subscriptions.keys where operation.reader == ObjectIdentifier(reader) { unsubscribed(reader, operation.id) }
        ledger.note(.disconnected) { $0.connectionsNow -= 1 }
    }

    /// Subscribes; false where there is no such symbol.
    func subscribed(_ reader: any PriceReader, _ id: String, _ query: PriceQuery) -> Bool {
        guard prices[query.symbol] != nil else { return false }
        let operation = Operation(reader: ObjectIdentifier(reader), id: id)
        subscriptions[operation] = Subscription(reader: reader, query: query, remaining: query.field == .finite ? 3 : nil)
        ledger.note(.subscribed([query.symbol])) { statistics in
            statistics.subscribes[query.symbol, default: 0] += 1
            statistics.activeSubscriptions[query.symbol, default: 0] += 1
        }
        return true
    }

    func unsubscribed(_ reader: any PriceReader, _ id: String) {
        let operation = Operation(reader: ObjectIdentifier(reader), id: id)
        guard let symbol = subscriptions.removeValue(forKey: operation)?.query.symbol else { return }
        ledger.note(.unsubscribed([symbol])) { statistics in
            statistics.unsubscribes[symbol, default: 0] += 1
            let left = statistics.activeSubscriptions[symbol, default: 1] - 1
            statistics.activeSubscriptions[symbol] = left > 0 ? left : nil
        }
    }

    func endAll(_ code: UInt16?) {
        for reader in Array(readers.values) { reader.end(code) }
    }
}
