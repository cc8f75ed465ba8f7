import NIOCore
import NIOPosix
import NIOSSL
import NIOWebSocket
import WebSockets

/// Implements the parts of RFC 6455 that NIO's frame decoder leaves to its user: masks, reserved bits and opcodes, fragments, UTF-8, ping and pong,
/// and the closing handshake. Used on its event loop.
final class WebSocketMessageHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    typealias Opcode = WebSocketOpcode

    private enum State {
        case open
        /// Our close frame is sent and the peer's is awaited; anything else from the peer is dropped.
        case closing
        /// The close has been reported; the handler only waits for the end of the socket and drops further data.
        case closed
    }

    /// A message whose last fragment has not arrived yet (§5.4).
    private struct Fragments {
        let isText: Bool
        var payload: ByteBuffer
    }

    /// Held until the close is reported, like the receiver.
    var connection: WebSocketConnection?
    private var receiver: (any WebSocketReceiver)?
    private let limits: WebSocketLimits
    private var state = State.open
    private var fragments: Fragments?
    private var text = UTF8Validator()
    /// The latest ping that arrived while the socket was full; only this one is answered later (§5.5.3).
    private var owedPong: ByteBuffer?
    private var closeTimer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(receiver: any WebSocketReceiver, limits: WebSocketLimits) {
        self.receiver = receiver
        self.limits = limits
    }

    func send(_ payload: ByteBuffer, opcode: Opcode) {
        guard case .open = state, let context else { return }
        if !context.channel.isWritable, bufferedBytes(context) > limits.maximumOutboundBytes {
            report(nil, "", .init(.peerNotReading, "The server stopped reading: connect again."))
            return context.channel.cut()
        }
        write(payload, opcode: opcode)
    }

    func close(code: UInt16, reason: String) {
        guard case .open = state else { return }
        state = .closing
        write(ClosePayload.bytes(code: code, reason: reason), opcode: .connectionClose)
        cutLater()
    }

    func abort() {
        guard state != .closed else { return }
        report(nil, "", .init(.cancelled, "The connection was aborted by this side."))
        context?.channel.cut()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        closeTimer?.cancel()
        report(nil, "", Self.lost)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        guard state != .closed, let connection, let receiver else { return }
        if !frame.endsMessage {
            receiver.webSocketDidHear(connection)
            guard state != .closed else { return }
        }
        if state == .closing, frame.opcode != .connectionClose { return }

        // No extension is ever offered, so no reserved bit has a meaning (§5.2); a server never masks (§5.1).
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return violation("set a reserved bit") }
        guard frame.maskKey == nil else { return violation("masked a frame") }
        switch frame.opcode {
        case .text, .binary: begin(frame)
        case .continuation: proceed(frame)
        case .ping: answer(frame.data)
        case .pong: break
        case .connectionClose: closed(by: frame.data)
        default: violation("used a reserved opcode")
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, state == .open, let payload = owedPong {
            owedPong = nil
            write(payload, opcode: .pong)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        closeTimer?.cancel()
        report(nil, "", Self.lost)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard state != .closed else { return }
        switch error {
        case NIOWebSocketError.invalidFrameLength: tooLarge()
        case NIOWebSocketError.fragmentedControlFrame: violation("fragmented a control frame")
        case NIOWebSocketError.multiByteControlFrameLength: violation("sent a control frame above 125 bytes")
        default:
            report(nil, "", .init(.closed, "The connection broke without a closing handshake: \(plainWords(error))."))
            context.channel.cut()
        }
    }

    private func begin(_ frame: WebSocketFrame) {
        guard fragments == nil else { return violation("began a message before the previous one ended") }
        let isText = frame.opcode == .text
        let payload = frame.data
        guard payload.readableBytes <= limits.maximumMessageBytes else { return tooLarge() }
        guard !isText || accepts(payload, isLast: frame.fin) else { return notUTF8() }
        if frame.fin {
            deliver(payload, isText: isText)
        } else {
            fragments = Fragments(isText: isText, payload: payload)
        }
    }

    private func proceed(_ frame: WebSocketFrame) {
        guard var message = fragments.take() else { return violation("continued a message that was not begun") }
        var payload = frame.data
        guard payload.readableBytes <= limits.maximumMessageBytes - message.payload.readableBytes else { return tooLarge() }
        guard !message.isText || accepts(payload, isLast: frame.fin) else { return notUTF8() }
        message.payload.writeBuffer(&payload)
        if frame.fin {
            deliver(message.payload, isText: message.isText)
        } else {
            fragments = message
        }
    }

    private func accepts(_ payload: ByteBuffer, isLast: Bool) -> Bool {
        guard payload.withUnsafeReadableBytes({ text.accepts($0) }) else { return false }
        return !isLast || text.isComplete
    }

    private func deliver(_ payload: ByteBuffer, isText: Bool) {
        guard let connection, let receiver else { return }
        if isText {
            receiver.webSocket(connection, didReceive: payload)
        } else {
            receiver.webSocket(connection, didReceiveBinary: payload)
        }
    }

    private func answer(_ payload: ByteBuffer) {
        if context?.channel.isWritable ?? false {
            write(payload, opcode: .pong)
        } else {
            owedPong = payload
        }
    }

    /// Answers the peer's close frame, unless it is itself an answer, and waits for the server to end the connection (§5.5.1, §7.1.1).
    private func closed(by payload: ByteBuffer) {
        do {
            let (code, reason) = try ClosePayload.parse(payload)
            if state == .open { write(code.map { ClosePayload.bytes(code: $0, reason: "") } ?? ByteBuffer(), opcode: .connectionClose) }
            report(code, reason, nil)
            cutLater()
        } catch {
            fail(error.code == .invalidUTF8 ? CloseCode.invalidPayload : CloseCode.protocolError, error)
        }
    }

    private func violation(_ what: String) {
        fail(CloseCode.protocolError, .init(.protocolViolation, "The server \(what): report it to the server's operator and connect again."))
    }

    private func notUTF8() {
        fail(CloseCode.invalidPayload, .init(.invalidUTF8, "The server sent a text message that is not UTF-8: report it to its operator."))
    }

    private func tooLarge() {
        let error = TransportError(
            .messageTooLarge,
            "The server sent more than \(min(limits.maximumFrameBytes, limits.maximumMessageBytes)) bytes in one message: subscribe to fewer streams or raise the limit."
        )
        fail(CloseCode.messageTooBig, error)
    }

    /// Fails the connection (§7.1.7): sends the reason in a close frame, reports it, and gives the peer `closeTimeout` to end the connection.
    private func fail(_ code: UInt16, _ error: TransportError) {
        let wasOpen = state == .open
        // Before the write, which may fail immediately and must not become the reason.
        report(code, error.code.rawValue, error)
        if wasOpen { write(ClosePayload.bytes(code: code, reason: error.code.rawValue), opcode: .connectionClose) }
        cutLater()
    }

    private func report(_ code: UInt16?, _ reason: String, _ error: TransportError?) {
        guard state != .closed else { return }
        state = .closed
        fragments = nil
        owedPong = nil
        guard let connection = connection.take(), let receiver = receiver.take() else { return }
        receiver.webSocket(connection, didClose: WebSocketCloseReason(code: code, reason: reason, error: error))
    }

    private func cutLater() {
        guard closeTimer == nil, let context else { return }
        closeTimer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.closeTimeout) {
            self.report(nil, "", .init(.timedOut, "The server did not answer the close frame in time: the connection was cut."))
            self.context?.channel.cut()
        }
    }

    /// Sends a frame masked with four new bytes from the system's generator (§5.3).
    private func write(_ payload: ByteBuffer, opcode: Opcode) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: payload)
        context?.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
    }

    private func bufferedBytes(_ context: ChannelHandlerContext) -> Int {
        (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    private static let lost = TransportError(.closed, "The connection ended without a closing handshake.")
}

extension WebSocketFrame {
    /// Whether this fragment completes the message, which is then delivered.
    fileprivate var endsMessage: Bool { fin && (opcode == .text || opcode == .binary || opcode == .continuation) }
}
