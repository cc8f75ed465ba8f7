import NIOCore
import NIOHTTP1

/// The products of the simulated BUX server, and its sockets. Used on one event loop.
final class ProductVenue {
    let ledger: Ledger
    private let token: String?
    private let loop: any EventLoop
    private let interval: TimeAmount
    private var generator: SeededGenerator
    private var products: [String: (name: String, price: Int64, closing: Int64)] = [
        "sb26493": ("Germany 40", 146_385, 146_100), "sb26496": ("US 500", 39_091, 38_893), "26608": ("French Exchange", 106_923, 107_000),
    ]
    private var sockets: [ObjectIdentifier: BUXSocket] = [:]
    private var ticks: RepeatedTask?

    init(_ configuration: BUXServer.Configuration, ledger: Ledger, loop: any EventLoop) {
        self.ledger = ledger
        self.loop = loop
        token = configuration.token
        interval = TimeAmount(configuration.interval)
        generator = SeededGenerator(seed: configuration.seed, purpose: 4)
    }

    private func knows(_ head: HTTPRequestHead) -> Bool { token.map { head.headers.first(name: "Authorization") == "Bearer \($0)" } ?? true }

    func open() {
        guard interval > .zero else { return }
        let venue = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in venue.value.tick() }
    }

    private func tick() {
        for (id, product) in products.sorted(by: { $0.key < $1.key }) { publish(id, product.price + generator.integer(in: -5...5)) }
    }

    func close() {
        ticks?.cancel()
        ticks = nil
    }

    func publish(_ id: String, _ tenths: Int64) {
        products[id]?.price = max(tenths, 1)
        guard let product = products[id] else { return }
        let body = #"{"securityId":"\#(id)","currentPrice":"\#(decimal(product.price, 1))","timeStamp":\#(wallClock())}"#
        for socket in sockets.values { socket.deliver(#"{"t":"trading.quote","id":"q-\#(id)","v":2,"body":\#(body)}"#, of: id) }
    }

    /// A product's JSON document; nil if no product has this id.
    private func document(_ id: String) -> String? {
        guard let product = products[id.lowercased()] else { return nil }
        func amount(_ tenths: Int64) -> String { #"{"currency":"EUR","decimals":1,"amount":"\#(decimal(tenths, 1))"}"# }
        return #"{"symbol":\#(JSONValue.quoted(product.name.uppercased())),"securityId":"\#(id.lowercased())","#
            + #""displayName":\#(JSONValue.quoted(product.name)),"quoteCurrency":"EUR","displayDecimals":1,"maxLeverage":10,"multiplier":1,"#
            + #""currentPrice":\#(amount(product.price)),"closingPrice":\#(amount(product.closing)),"favorite":false,"#
            + #""productMarketStatus":"OPEN","tags":[]}"#
    }

    func opened(_ socket: BUXSocket) {
        sockets[ObjectIdentifier(socket)] = socket
        ledger.connected()
    }

    func closed(_ socket: BUXSocket) {
        guard sockets.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
        ledger.disconnected()
    }

    func endAll() {
        for socket in Array(sockets.values) { socket.reset() }
    }
}

extension ProductVenue: LoopbackService {
    private static let path = "/core/21/products/"

    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders? { request.uri == "/subscriptions/me" ? HTTPHeaders() : nil }

    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)? { BUXSocket(venue: self, isKnown: knows(request)) }

    func requestHandler() -> any ChannelHandler & RemovableChannelHandler { RESTHandler { request, _ in .now(self.answer(request)) } }

    private func answer(_ request: HTTPRequestHead) -> RESTReply {
        ledger.note(.request(request.uri)) { $0.requests[request.uri, default: 0] += 1 }
        guard knows(request) else { return Self.failure(401, "The access token is not valid", "AUTH_007") }
        guard request.method == .GET, request.uri.hasPrefix(Self.path), let document = document(String(request.uri.dropFirst(Self.path.count)))
        else { return Self.failure(404, "No such product", "CORE_002") }
        return RESTReply(body: document)
    }

    private static func failure(_ status: Int, _ words: String, _ code: String) -> RESTReply {
        RESTReply(status: status, body: #"{"message":null,"developerMessage":"\#(words)","errorCode":"\#(code)"}"#)
    }
}
