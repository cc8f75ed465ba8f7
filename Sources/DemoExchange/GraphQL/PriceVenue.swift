import NIOCore
import NIOHTTP1

/// Receives the results of operations, on the server's event loop.
protocol PriceReader: AnyObject {
    func deliver(_ result: String, to operation: String)
    func complete(_ operation: String)
    /// Ends the reader's connection: a WebSocket with a close frame of this code; otherwise, or without a code, with a reset.
    func end(_ code: UInt16?)
}

/// The prices of the simulated GraphQL server, and their subscribers. Used on one event loop.
final class PriceVenue {
    struct Operation: Hashable {
        let reader: ObjectIdentifier
        let id: String
    }

    private struct Subscription {
        let reader: any PriceReader
        let query: PriceQuery
        /// Results still to be sent; nil if the subscription never ends.
        var remaining: Int?
    }

    let ledger: Ledger
    let token: String?
    private let loop: any EventLoop
    private let interval: TimeAmount
    private let keepAlive: TimeAmount
    private var generator: SeededGenerator
    private var prices: [String: Price] = [:]
    private var sequence: UInt64 = 0
    private var subscriptions: [Operation: Subscription] = [:]
    private var readers: [ObjectIdentifier: any PriceReader] = [:]
    private var ticks: RepeatedTask?
    var isStalled = false

    init(_ configuration: GraphQLServer.Configuration, ledger: Ledger, loop: any EventLoop) {
        self.ledger = ledger
        self.loop = loop
        token = configuration.token
        interval = TimeAmount(configuration.interval)
        keepAlive = TimeAmount(configuration.keepAlive)
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
        ledger.connected()
    }

    func closed(_ reader: any PriceReader) {
        guard readers.removeValue(forKey: ObjectIdentifier(reader)) != nil else { return }
        for operation in subscriptions.keys where operation.reader == ObjectIdentifier(reader) { unsubscribed(reader, operation.id) }
        ledger.disconnected()
    }

    /// Subscribes; false if the symbol does not exist.
    func subscribed(_ reader: any PriceReader, _ id: String, _ query: PriceQuery) -> Bool {
        guard prices[query.symbol] != nil else { return false }
        let operation = Operation(reader: ObjectIdentifier(reader), id: id)
        subscriptions[operation] = Subscription(reader: reader, query: query, remaining: query.field == .finite ? 3 : nil)
        ledger.subscribed([query.symbol])
        return true
    }

    func unsubscribed(_ reader: any PriceReader, _ id: String) {
        let operation = Operation(reader: ObjectIdentifier(reader), id: id)
        guard let symbol = subscriptions.removeValue(forKey: operation)?.query.symbol else { return }
        ledger.unsubscribed([symbol])
    }

    func endAll(_ code: UInt16?) {
        for reader in Array(readers.values) { reader.end(code) }
    }
}

extension PriceVenue: LoopbackService {
    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders? {
        Self.subprotocol(request).map { ["Sec-WebSocket-Protocol": $0] }
    }

    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)? {
        GraphQLSocket(isLegacy: Self.subprotocol(request) == "graphql-ws", venue: self, keepAlive: keepAlive)
    }

    func requestHandler() -> any ChannelHandler & RemovableChannelHandler { GraphQLRequestHandler(venue: self, keepAlive: keepAlive) }

    /// The first offered protocol that this server supports.
    private static func subprotocol(_ request: HTTPRequestHead) -> String? {
        guard request.uri == "/graphql" else { return nil }
        let offered = request.headers[canonicalForm: "Sec-WebSocket-Protocol"].map(String.init)
        return offered.first { ["graphql-transport-ws", "graphql-ws"].contains($0) }
    }
}
