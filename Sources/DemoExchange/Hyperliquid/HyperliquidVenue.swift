import NIOCore
import NIOHTTP1

/// The coins of the simulated Hyperliquid, and its sockets. Used on one event loop.
final class HyperliquidVenue {
    let ledger: Ledger
    let idle: TimeAmount
    let limit: Int
    private let loop: any EventLoop
    private let interval: TimeAmount
    private(set) var coins: [HyperliquidCoin]
    private var sockets: [ObjectIdentifier: HyperliquidSocket] = [:]
    private var subscribed = 0
    private var ticks: RepeatedTask?

    init(_ configuration: HyperliquidServer.Configuration, ledger: Ledger, loop: any EventLoop) {
        self.ledger = ledger
        self.loop = loop
        idle = TimeAmount(configuration.idle)
        interval = TimeAmount(configuration.interval)
        limit = configuration.subscriptions
        coins = HyperliquidCoin.all(seed: configuration.seed, now: wallClock())
    }

    func open() {
        let venue = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in venue.value.block() }
    }

    func close() {
        ticks?.cancel()
        ticks = nil
    }

    /// Moves all prices, and sends the messages of the block.
    func block() {
        let now = wallClock()
        for place in coins.indices { coins[place].move(now) }
        for coin in coins {
            send(coin.bookMessage(levels: 20), of: HyperliquidSubscription("l2Book", coin: coin.name))
            send(coin.bookMessage(levels: 5, isFast: true), of: HyperliquidSubscription("l2Book", coin: coin.name, isFast: true))
            send(coin.contextMessage, of: HyperliquidSubscription("activeAssetCtx", coin: coin.name))
            if coin.isMoved { send(coin.bestMessage, of: HyperliquidSubscription("bbo", coin: coin.name)) }
            if !coin.newTrades.isEmpty { send(coin.tradesMessage(coin.newTrades), of: HyperliquidSubscription("trades", coin: coin.name)) }
            for interval in Interval.allCases where !coin.newTrades.isEmpty {
                let subscription = HyperliquidSubscription("candle", coin: coin.name, interval: interval.rawValue)
                guard sockets.values.contains(where: { $0.subscriptions.contains(subscription) }) else { continue }
                send(coin.candleMessage(interval), of: subscription)
            }
        }
        send(midsMessage, of: HyperliquidSubscription("allMids", coin: ""))
    }

    private func send(_ message: String, of subscription: HyperliquidSubscription) {
        for socket in sockets.values { socket.deliver(message, of: subscription) }
    }

    private func coin(_ name: String) -> HyperliquidCoin? { coins.first { $0.name == name } }

    func knows(_ subscription: HyperliquidSubscription) -> Bool {
        guard subscription.type != "allMids" else { return true }
        let hasInterval = subscription.type != "candle" || Interval(rawValue: subscription.interval) != nil
        return coin(subscription.coin) != nil && hasInterval
    }

    /// The messages that begin a subscription: the current value, or past trades.
    func first(_ subscription: HyperliquidSubscription) -> [String] {
        guard subscription.type != "allMids" else { return [midsMessage] }
        guard let coin = coin(subscription.coin) else { return [] }
        switch subscription.type {
        case "l2Book": return [coin.bookMessage(levels: subscription.isFast ? 5 : 20, isFast: subscription.isFast)]
        case "bbo": return [coin.bestMessage]
        case "activeAssetCtx": return [coin.contextMessage]
        case "trades": return coin.trades.isEmpty ? [] : [coin.tradesMessage(coin.trades)]
        case "candle": return Interval(rawValue: subscription.interval).map { [coin.candleMessage($0)] } ?? []
        default: return []
        }
    }

    private var mids: String { "{" + coins.map { "\(JSONValue.quoted($0.name)):\"\($0.mid)\"" }.joined(separator: ",") + "}" }
    private var midsMessage: String { #"{"channel":"allMids","data":{"mids":\#(mids)}}"# }

    /// Counts one more subscription; false if there is no room.
    func takeSubscription() -> Bool {
        guard subscribed < limit else { return false }
        subscribed += 1
        return true
    }

    func free(_ count: Int) { subscribed -= count }

    func silence(_ streams: Set<String>) { for socket in sockets.values { socket.silence(streams) } }

    func opened(_ socket: HyperliquidSocket) {
        sockets[ObjectIdentifier(socket)] = socket
        ledger.connected()
    }

    func closed(_ socket: HyperliquidSocket, _ left: Set<HyperliquidSubscription>) {
        guard sockets.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
        free(left.count)
        ledger.unsubscribed(left.map(\.name).sorted())
        ledger.disconnected()
    }

    func endAll() { for socket in Array(sockets.values) { socket.reset() } }
}

extension HyperliquidVenue: LoopbackService {
    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders? { request.uri == "/ws" ? HTTPHeaders() : nil }

    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)? { HyperliquidSocket(venue: self) }

    func requestHandler() -> any ChannelHandler & RemovableChannelHandler {
        RESTHandler { request, body in .now(self.answer(request, String(buffer: body))) }
    }

    private func answer(_ request: HTTPRequestHead, _ body: String) -> RESTReply {
        guard request.method == .POST, request.uri == "/info", let question = try? JSONValue(parsing: body), let type = question["type"]?.string
        else { return RESTReply(status: 422, body: "Failed to deserialize the JSON body into the target type") }
        ledger.note(.request(type)) { $0.requests[type, default: 0] += 1 }
        let coin = coin(question["coin"]?.string ?? question["req"]?["coin"]?.string ?? "")
        switch type {
        case "meta": return RESTReply(body: universe)
        case "spotMeta": return RESTReply(body: #"{"universe":[],"tokens":[]}"#)
        case "metaAndAssetCtxs": return RESTReply(body: "[\(universe),[\(listed.map(\.context).joined(separator: ","))]]")
        case "allMids": return RESTReply(body: mids)
        case "l2Book": return RESTReply(body: coin.map { $0.book(levels: 20) } ?? "null")
        // The venue returns the newest ten, the newest one first.
        case "recentTrades": return RESTReply(body: coin.map { "[\($0.trades.suffix(10).reversed().joined(separator: ","))]" } ?? "null")
        case "candleSnapshot":
            guard let asked = question["req"], let coin, let interval = asked["interval"]?.string.flatMap(Interval.init(rawValue:)),
                let from = asked["startTime"]?.integer
            else { return RESTReply(status: 422, body: "Failed to deserialize the JSON body into the target type") }
            return RESTReply(body: coin.candles(interval, from: from, to: asked["endTime"]?.integer ?? .max))
        default: return RESTReply(status: 422, body: "Failed to deserialize the JSON body into the target type")
        }
    }

    /// The contracts of the venue itself. Those of other exchanges on it have a prefix.
    private var listed: [HyperliquidCoin] { coins.filter { !$0.name.contains(":") } }

    private var universe: String {
        #"{"universe":["# + listed.map { #"{"szDecimals":5,"name":"\#($0.name)","maxLeverage":40,"marginTableId":56}"# }.joined(separator: ",")
            + #"],"marginTables":[],"collateralToken":0}"#
    }
}
