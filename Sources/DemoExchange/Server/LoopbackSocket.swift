import NIOCore
import NIOWebSocket

/// One WebSocket of a simulator. It answers control frames and closes; a subclass reads the messages. Used on the server's event loop.
class LoopbackSocket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// Nil once the connection has ended.
    private(set) var context: ChannelHandlerContext?
    private var isClosing = false

    func opened() {}

    /// Called once, when the connection has ended.
    func closed() {}

    /// Handles a message; false if its opcode is not allowed here.
    func receive(_ message: ByteBuffer, _ opcode: WebSocketOpcode) -> Bool { false }

    /// Answers a frame that is not a message.
    func refuse() { context?.close(promise: nil) }

    final func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        opened()
    }

    final func handlerRemoved(context: ChannelHandlerContext) { end() }

    final func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    final func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func end() {
        guard context != nil else { return }
        context = nil
        closed()
    }

    final func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .ping: write(frame.unmaskedData, .pong)
        case .pong: break
        case .connectionClose:
            write(frame.unmaskedData, .connectionClose)
            context.close(promise: nil)
        default:
            if !frame.fin || !receive(frame.unmaskedData, frame.opcode) { refuse() }
        }
    }

    final func reset() { context?.channel.reset() }

    /// Starts the closing handshake; the socket is closed when the peer answers, or after two seconds.
    final func close(_ code: UInt16, _ reason: String) {
        guard let context, !isClosing else { return }
        var payload = ByteBuffer(integer: code)
        payload.writeString(reason)
        write(payload, .connectionClose)
        isClosing = true
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(2)) { context.close(promise: nil) }
    }

    final func send(_ text: String) { write(ByteBuffer(string: text), .text) }

    final func write(_ payload: ByteBuffer, _ opcode: WebSocketOpcode) {
        guard !isClosing else { return }
        context?.writeAndFlush(Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: payload)), promise: nil)
    }
}
