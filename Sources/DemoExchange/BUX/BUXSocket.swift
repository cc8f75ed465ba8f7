import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated BUX server. Lives on the server's event loop.
final class BUXSocket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private static let prefix = "trading.product."

    private let venue: ProductVenue
    private let isKnown: Bool
    private var products: Set<String> = []
    private var context: ChannelHandlerContext?

    init(venue: ProductVenue, isKnown: Bool) {
        self.venue = venue
        self.isKnown = isKnown
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        venue.opened(self)
        guard isKnown else {
            return send(#"{"t":"connect.failed","body":{"developerMessage":"The JWT Access Token is not valid","errorCode":"RTF_002"}}"#)
        }
        send(#"{"t":"connect.connected","body":{"userId":"demo","sessionId":"demo","time":\#(wallClock())}}"#)
        send(#"{"t":"portfolio.performance","id":"p","v":1,"body":{}}"#)
    }

    func handlerRemoved(context: ChannelHandlerContext) { ended() }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func ended() {
        guard context != nil else { return }
        context = nil
        change(products, isSubscribing: false)
        venue.closed(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text where frame.fin, .binary where frame.fin: receive(String(buffer: frame.unmaskedData))
        case .ping: write(frame.unmaskedData, .pong)
        case .pong: break
        case .connectionClose:
            write(frame.unmaskedData, .connectionClose)
            context.close(promise: nil)
        default: context.close(promise: nil)
        }
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
        venue.ledger.note(isSubscribing ? .subscribed(ids.sorted()) : .unsubscribed(ids.sorted())) { statistics in
            for id in ids {
                let now = statistics.activeSubscriptions[id, default: 0] + (isSubscribing ? 1 : -1)
                statistics.activeSubscriptions[id] = now > 0 ? now : nil
                if isSubscribing { statistics.subscribes[id, default: 0] += 1 } else { statistics.unsubscribes[id, default: 0] += 1 }
            }
        }
    }

    func deliver(_ quote: String, of product: String) {
        if products.contains(product) { send(quote) }
    }

    func reset() {
        if let channel = context?.channel { DemoExchange.reset(channel) }
    }

    private func send(_ text: String) { write(ByteBuffer(string: text), .text) }

    private func write(_ payload: ByteBuffer, _ opcode: WebSocketOpcode) {
        context?.writeAndFlush(Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: payload)), promise: nil)
    }
}
