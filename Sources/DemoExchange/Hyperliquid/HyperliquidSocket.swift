import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated Hyperliquid.
final class HyperliquidSocket: LoopbackSocket {
    private let venue: HyperliquidVenue
    private(set) var subscriptions: Set<HyperliquidSubscription> = []
    /// The subscriptions that get no messages.
    private var silent: Set<HyperliquidSubscription> = []
    private var patience: Scheduled<Void>?

    init(venue: HyperliquidVenue) { self.venue = venue }

    override func opened() {
        venue.opened(self)
        say("Websocket connection established.")
    }

    override func closed() {
        patience?.cancel()
        let left = subscriptions
        subscriptions = []
        venue.closed(self, left)
    }

    /// Closes the socket if nothing is sent on it for long.
    private func wait() {
        patience?.cancel()
        guard let context else { return }
        patience = context.eventLoop.assumeIsolated().scheduleTask(in: venue.idle) { context.close(promise: nil) }
    }

    func say(_ text: String) {
        send(text)
        wait()
    }

    override func receive(_ message: ByteBuffer, _ opcode: WebSocketOpcode) -> Bool {
        guard opcode == .text else { return false }
        let text = String(buffer: message)
        venue.ledger.update { $0.controlMessages += 1 }
        guard let request = try? JSONValue(parsing: text), let method = request["method"]?.string else {
            error("Error parsing JSON into valid websocket request: \(text)")
            return true
        }
        switch method {
        case "ping": say(#"{"channel":"pong"}"#)
        case "subscribe": subscribe(request["subscription"])
        case "unsubscribe": unsubscribe(request["subscription"])
        default: error("Error parsing JSON into valid websocket request: \(text)")
        }
        return true
    }

    private func error(_ words: String) { say(#"{"channel":"error","data":\#(JSONValue.quoted(words))}"#) }

    private func subscribe(_ value: JSONValue?) {
        guard let subscription = HyperliquidSubscription(value), venue.knows(subscription) else {
            return error("Invalid subscription \(HyperliquidSubscription.text(value))")
        }
        guard !subscriptions.contains(subscription) else { return error("Already subscribed: \(subscription.json)") }
        guard venue.takeSubscription() else { return error("Cannot track more than \(venue.limit) subscriptions in total.") }
        subscriptions.insert(subscription)
        silent.remove(subscription)
        venue.ledger.subscribed([subscription.name])
        answer("subscribe", subscription)
        for message in venue.first(subscription) { say(message) }
    }

    private func unsubscribe(_ value: JSONValue?) {
        guard let subscription = HyperliquidSubscription(value), subscriptions.remove(subscription) != nil else {
            return error("Already unsubscribed: \(HyperliquidSubscription.text(value))")
        }
        venue.free(1)
        venue.ledger.unsubscribed([subscription.name])
        answer("unsubscribe", subscription)
    }

    private func answer(_ method: String, _ subscription: HyperliquidSubscription) {
        say(#"{"channel":"subscriptionResponse","data":{"method":"\#(method)","subscription":\#(subscription.json)}}"#)
    }

    func silence(_ streams: Set<String>) { silent.formUnion(subscriptions.filter { streams.contains($0.name) }) }

    func deliver(_ message: String, of subscription: HyperliquidSubscription) {
        guard subscriptions.contains(subscription), !silent.contains(subscription) else { return }
        venue.ledger.update { $0.framesSent[subscription.name, default: 0] += 1 }
        say(message)
    }
}

/// One subscription of a client. The server prints defaults where the client gave none.
struct HyperliquidSubscription: Hashable {
    let type: String
    let coin: String
    var interval = ""
    var isFast = false

    init(_ type: String, coin: String, interval: String = "", isFast: Bool = false) {
        (self.type, self.coin, self.interval, self.isFast) = (type, coin, interval, isFast)
    }

    init?(_ value: JSONValue?) {
        guard let type = value?["type"]?.string else { return nil }
        let (coin, interval) = (value?["coin"]?.string ?? "", value?["interval"]?.string ?? "")
        switch type {
        case "allMids": self.init(type, coin: "")
        case "candle": self.init(type, coin: coin, interval: interval)
        case "l2Book": self.init(type, coin: coin, isFast: value?["fast"]?.bool == true)
        case "bbo", "trades", "activeAssetCtx": self.init(type, coin: coin)
        default: return nil
        }
    }

    /// The stream's name in statistics.
    var name: String { [type + (isFast ? "Fast" : ""), coin, interval].filter { !$0.isEmpty }.joined(separator: ":") }

    var json: String {
        switch type {
        case "allMids": #"{"type":"allMids"}"#
        case "candle": #"{"type":"candle","interval":"\#(interval)","coin":\#(JSONValue.quoted(coin))}"#
        case "l2Book":
            #"{"type":"l2Book","coin":\#(JSONValue.quoted(coin)),"nSigFigs":null,"mantissa":null\#(isFast ? #","fast":true"# : "")}"#
        default: #"{"type":"\#(type)","coin":\#(JSONValue.quoted(coin))}"#
        }
    }

    /// A refused subscription as the server quotes it.
    static func text(_ value: JSONValue?) -> String {
        guard case .object(let members) = value else { return "null" }
        let texts = members.sorted { $0.key < $1.key }.map { "\(JSONValue.quoted($0.key)):\($0.value.scalarText ?? "null")" }
        return "{" + texts.joined(separator: ",") + "}"
    }
}
