import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated GraphQL server. Lives on the server's event loop.
final class GraphQLSocket: ChannelInboundHandler, PriceReader {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var session: GraphQLSocketSession
    private let venue: PriceVenue
    private let keepAlive: TimeAmount
    private var alive: RepeatedTask?
    private var context: ChannelHandlerContext?
    private var isClosing = false

    init(isLegacy: Bool, venue: PriceVenue, keepAlive: TimeAmount) {
        session = GraphQLSocketSession(isLegacy: isLegacy, token: venue.token)
        self.venue = venue
        self.keepAlive = keepAlive
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        venue.opened(self)
        let socket = NIOLoopBound(self, eventLoop: context.eventLoop)
        alive = context.eventLoop.scheduleRepeatedTask(initialDelay: keepAlive, delay: keepAlive) { _ in socket.value.sendAlive() }
    }

    private func sendAlive() {
        if session.isAccepted, !venue.isStalled { send(session.isLegacy ? #"{"type":"ka"}"# : #"{"type":"ping"}"#) }
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
        alive?.cancel()
        venue.closed(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text where frame.fin:
            for answer in session.receive(String(buffer: frame.unmaskedData)) { act(on: answer) }
        case .ping: write(frame.unmaskedData, .pong)
        case .pong: break
        case .connectionClose:
            if !isClosing { write(frame.unmaskedData, .connectionClose) }
            context.close(promise: nil)
        default: end(session.isLegacy ? 1003 : 4400)
        }
    }

    private func act(on answer: GraphQLSocketSession.Answer) {
        switch answer {
        case .send(let text): send(text)
        case .close(let code, let reason): end(UInt16(clamping: code), reason)
        case .unsubscribe(let id): venue.unsubscribed(self, id)
        case .subscribe(let id, let query) where query.field == .price:
            send(session.next(id: id, query.result(venue.price(query.symbol))))
            send(session.complete(id: id))
        case .subscribe(let id, let query):
            guard !venue.subscribed(self, id, query) else { return }
            send(session.next(id: id, #"{"data":null,"errors":[\#(PriceQuery.failure("unknown symbol \(query.symbol)"))]}"#))
            send(session.complete(id: id))
        }
    }

    func deliver(_ result: String, to operation: String) { send(session.next(id: operation, result)) }

    func complete(_ operation: String) { send(session.complete(id: operation)) }

    func end(_ code: UInt16?) { end(code, "") }

    private func end(_ code: UInt16?, _ reason: String) {
        guard let context, !isClosing else { return }
        guard let code else { return DemoExchange.reset(context.channel) }
        var payload = ByteBuffer(integer: code)
        payload.writeString(reason)
        write(payload, .connectionClose)
        isClosing = true
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(2)) { context.close(promise: nil) }
    }

    private func send(_ text: String) { write(ByteBuffer(string: text), .text) }

    private func write(_ payload: ByteBuffer, _ opcode: WebSocketOpcode) {
        guard !isClosing else { return }
        context?.writeAndFlush(Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: payload)), promise: nil)
    }
}
