import Foundation
import NIOCore
import NIOHTTP1

/// The prices behind the simulated Intrinio, its tokens and its sockets. Used on one event loop.
final class StockVenue {
    struct Price {
        var hundredths: Int64
        var size: UInt32 = 100
        /// ns since 1970 UTC.
        var time: UInt64 = 0
    }

    let ledger: Ledger
    private let apiKey: String
    let idle: TimeAmount
    var loginFault: (status: Int, retryAfter: Int?)?
    private let loop: any EventLoop
    private let interval: TimeAmount
    private var generator: SeededGenerator
    private var prices: [String: [Price]] = [:]
    private var volumes: [String: UInt32] = [:]
    private var tokens: Set<String> = []
    private var sockets: [ObjectIdentifier: StockSocket] = [:]
    private var ticks: RepeatedTask?

    init(_ configuration: StockServer.Configuration, ledger: Ledger, loop: any EventLoop) {
        self.ledger = ledger
        self.loop = loop
        apiKey = configuration.apiKey
        idle = TimeAmount(configuration.idle)
        interval = TimeAmount(configuration.interval)
        generator = SeededGenerator(seed: configuration.seed, purpose: 4)
        for (symbol, last) in [("AAPL", 16_691), ("MSFT", 41_120), ("BRK/B", 45_000)] as [(String, Int64)] {
            prices[symbol] = [last, last + 1, last - 1].map { Price(hundredths: $0, time: Self.now()) }
        }
    }

    private static func now() -> UInt64 { UInt64(wallClock()) * 1_000_000 + 325_000 }

    func open() {
        guard interval > .zero else { return }
        let venue = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in venue.value.tick() }
    }

    func close() {
        ticks?.cancel()
        ticks = nil
    }

    private func tick() {
        for symbol in prices.keys.sorted() {
            let last = max(100, (prices[symbol]?[0].hundredths ?? 0) + generator.integer(in: -5...5))
            publish(symbol, .bid, last - 1)
            publish(symbol, .ask, last + 1)
            publish(symbol, .trade, last)
        }
    }

    /// A token is valid for one connection.
    private func newToken() -> String {
        let token = "demo/\(generator.integer(in: 0...1 << 40))+="
        tokens.insert(token)
        return token
    }

    private func accepts(token: String?) -> Bool { token.map { tokens.remove($0) != nil } ?? false }

    func publish(_ symbol: String, _ side: StockServer.Side, _ hundredths: Int64) {
        guard prices[symbol] != nil else { return }
        let price = Price(hundredths: hundredths, time: Self.now())
        prices[symbol]?[side.rawValue] = price
        if side == .trade { volumes[symbol, default: 0] &+= price.size }
        let message = StockMessage(symbol: symbol, side: side, price: price, volume: volumes[symbol] ?? 0)
        for socket in Array(sockets.values) { socket.deliver(message) }
    }

    private func snapshot(_ symbol: String) -> String? {
        guard let price = prices[symbol] else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        func members(_ name: String, _ price: Price) -> String {
            let time = formatter.string(from: Date(timeIntervalSince1970: Double(price.time / 1_000_000) / 1_000))
            return #""\#(name)_price":\#(decimal(price.hundredths, 2)),"\#(name)_size":\#(price.size),"\#(name)_time":"\#(time)""#
        }
        return "{" + [members("last", price[0]), members("ask", price[1]), members("bid", price[2])].joined(separator: ",")
            + #","open_price":null,"source":"iex","security":{"ticker":\#(JSONValue.quoted(symbol))}}"#
    }

    func isListed(_ symbol: String) -> Bool { prices[symbol] != nil }

    func opened(_ socket: StockSocket) {
        sockets[ObjectIdentifier(socket)] = socket
        ledger.connected()
    }

    func closed(_ socket: StockSocket) {
        guard sockets.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
        for symbol in socket.channels.keys { ledger.unsubscribed([symbol]) }
        ledger.disconnected()
    }

    func say(_ text: String) { for socket in Array(sockets.values) { socket.send(text) } }

    func crash(_ symbol: String) { for socket in Array(sockets.values) { socket.crash(symbol) } }

    func dropConnections() {
        tokens = []
        for socket in Array(sockets.values) { socket.reset() }
    }
}

extension StockVenue: LoopbackService {
    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders? {
        let request = StockRequest(request)
        return request.path == "/socket/websocket" && accepts(token: request.query["token"]) ? HTTPHeaders() : nil
    }

    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)? {
        StockSocket(isBinary: request.headers.first(name: "UseNewEquitiesFormat") == "v2", venue: self)
    }

    func requestHandler() -> any ChannelHandler & RemovableChannelHandler { RESTHandler { request, _ in .now(self.answer(request)) } }

    private func answer(_ head: HTTPRequestHead) -> RESTReply {
        let (status, type, body) = answer(StockRequest(head), authorization: head.headers.first(name: "Authorization"))
        var reply = RESTReply(status: status, body: body, contentType: type)
        if status != 200, let seconds = loginFault?.retryAfter { reply.headers["Retry-After"] = String(seconds) }
        return reply
    }

    private func answer(_ request: StockRequest, authorization: String?) -> (Int, String, String) {
        ledger.note(.request(request.path)) { $0.requests[request.path, default: 0] += 1 }
        let basic = "Basic " + Data("demo:\(apiKey)".utf8).base64EncodedString()
        let isKnown = request.query["api_key"] == apiKey || authorization == basic
        let parts = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
        switch (parts.first, parts.count) {
        case ("socket", _): return (403, "text/plain", "bad token")
        case ("auth", 1):
            if let fault = loginFault { return (fault.status, "text/plain", "no") }
            return isKnown ? (200, "text/plain", newToken()) : (401, "text/plain", "bad credentials")
        case ("securities", 4):
            guard isKnown else { return (401, "application/json", #"{"error":"bad key"}"#) }
            guard let body = snapshot(parts[1]) else { return (404, "application/json", #"{"error":"no such security"}"#) }
            return (200, "application/json", body)
        default: return (404, "text/plain", "no such path")
        }
    }
}
