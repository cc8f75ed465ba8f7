import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated BUX server.
final class BUXSocket: LoopbackSocket {
    private static let prefix = "trading.product."

    private let venue: ProductVenue
    private let isKnown: Bool
    private var products: Set<String> = []

    init(venue: ProductVenue, isKnown: Bool) {
        self.venue = venue
        self.isKnown = isKnown
    }

    override func opened() {
        venue.opened(self)
        guard isKnown else {
            return send(#"{"t":"connect.failed","body":{"developerMessage":"The JWT Access Token is not valid","errorCode":"RTF_002"}}"#)
        }
        send(#"{"t":"connect.connected","body":{"userId":"demo","sessionId":"demo","time":\#(wallClock())}}"#)
        send(#"{"t":"portfolio.performance","id":"p","v":1,"body":{}}"#)
    }

    override func closed() {
        change(products, isSubscribing: false)
        venue.closed(self)
    }

    override func receive(_ message: ByteBuffer, _ opcode: WebSocketOpcode) -> Bool {
        guard opcode == .text || opcode == .binary else { return false }
        receive(String(buffer: message))
        return true
    }

    private func receive(_ text: String) {
        venue.ledger.update { $0.controlMessages += 1 }
        guard isKnown, let message = try? JSONValue(parsing: text) else { return }
        change(ids(message["subscribeTo"]), isSubscribing: true)
        change(ids(message["unsubscribeFrom"]), isSubscribing: false)
        send(text.uppercased())
    }

    private func ids(_ list: JSONValue?) -> Set<String> {
        guard case .array(let elements) = list else { return [] }
        let names = elements.compactMap { $0.string?.lowercased() }
        return Set(names.filter { $0.hasPrefix(Self.prefix) }.map { String($0.dropFirst(Self.prefix.count)) })
    }

    private func change(_ ids: Set<String>, isSubscribing: Bool) {
        let ids = isSubscribing ? ids.subtracting(products) : ids.intersection(products)
        guard !ids.isEmpty else { return }
        products = isSubscribing ? products.union(ids) : products.subtracting(ids)
        if isSubscribing { venue.ledger.subscribed(ids.sorted()) } else { venue.ledger.unsubscribed(ids.sorted()) }
    }

    func deliver(_ quote: String, of product: String) {
        if products.contains(product) { send(quote) }
    }
}
