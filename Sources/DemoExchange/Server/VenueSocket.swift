import NIOCore
import NIOWebSocket

/// A data frame for all subscribers: encoded once, with and without its envelope.
struct DataFrame {
    let payload: ByteBuffer
    let envelope: ByteBuffer

    init(stream: String, payload: String) {
        self.init(payload: payload, envelope: #"{"stream":\#(JSONValue.quoted(stream)),"data":\#(payload)}"#)
    }

    init(payload: String, envelope: String) {
        self.payload = ByteBuffer(string: payload)
        self.envelope = ByteBuffer(string: envelope)
    }

    /// The first half of the text, in a complete WebSocket frame.
    var truncated: DataFrame {
        func half(_ buffer: ByteBuffer) -> String {
            let text = String(buffer: buffer)
            return String(text.prefix(text.count / 2))
        }
        return DataFrame(payload: half(payload), envelope: half(envelope))
    }
}

/// The server side of one WebSocket: RFC 6455 duties, and the text between the socket and its ``ControlSession``. Used on the exchange's event loop.
final class VenueSocket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private static let maxMessageSize = 1 << 16

    private(set) var session: ControlSession
    private let target: WebSocketTarget
    private let venue: Venue
    private let pingInterval: TimeAmount
    private var context: ChannelHandlerContext?
    private var fragments: ByteBuffer?
    private var isClosing = false
    private var hasQueued = false
    private var ping: Scheduled<Void>?
    private var lastPong = monotonicClock()

    init(_ target: WebSocketTarget, venue: Venue, pingInterval: TimeAmount) {
        self.target = target
        self.venue = venue
        self.pingInterval = pingInterval
        session = ControlSession(target)
    }

    var isWritable: Bool { context?.channel.isWritable ?? true }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        venue.opened(self)
        act(on: session.open(target.streams))
        schedulePing(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { ended() }

    private func ended() {
        ping?.cancel()
        guard context != nil else { return }
        context = nil
        venue.closed(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return close(.protocolError, "") }
        switch frame.opcode {
        case .connectionClose:
            if !isClosing { write(WebSocketFrame(fin: true, opcode: .connectionClose, data: frame.unmaskedData)) }
            context.flush()
            context.close(promise: nil)
        case .ping:
            guard admit() else { return }
            write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
            context.flush()
        case .pong:
            lastPong = monotonicClock()
            _ = admit()
        case .text where fragments == nil:
            gather(frame.unmaskedData, isLast: frame.fin)
        case .continuation where fragments != nil:
            gather(frame.unmaskedData, isLast: frame.fin)
        case .binary:
            close(.unacceptableData, "")
        default:
            close(.protocolError, "")
        }
    }

    private func gather(_ part: ByteBuffer, isLast: Bool) {
        var part = part
        var whole = fragments ?? ByteBuffer()
        whole.writeBuffer(&part)
        guard whole.readableBytes <= Self.maxMessageSize else { return close(.messageTooLarge, "") }
        fragments = isLast ? nil : whole
        guard isLast, !isClosing else { return }
        venue.receivedControlMessage()
        guard admit() else { return }
        guard let text = String(validating: whole.readableBytesView, as: UTF8.self) else { return close(.dataInconsistentWithMessage, "") }
        act(on: session.receive(text))
    }

    /// Counts a message, and closes the connection if there were too many.
    private func admit() -> Bool {
        guard !isClosing else { return false }
        guard session.admitsMessage(now: monotonicClock()) else {
            close(.policyViolation, "Too many requests")
            return false
        }
        return true
    }

    private func act(on answer: ControlSession.Answer) {
        if let delay = venue.faults.ackDelay {
            context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { [weak self] in self?.send(answer.replies) }
        } else {
            send(answer.replies)
        }
        if !answer.subscribed.isEmpty { venue.subscribed(self, answer.subscribed) }
        if !answer.unsubscribed.isEmpty { venue.unsubscribed(self, answer.unsubscribed) }
        if let reason = answer.close { close(.policyViolation, reason) }
    }

    private func send(_ replies: [String]) {
        for reply in replies { write(text: ByteBuffer(string: reply)) }
        context?.flush()
    }

    /// Queues a data frame; ``flush()`` sends it.
    func deliver(_ frame: DataFrame) {
        hasQueued = true
        write(text: session.combined ? frame.envelope : frame.payload)
    }

    /// Sends the text now. A reader is not disconnected while it receives it, unless data frames wait behind it.
    func inject(_ text: ByteBuffer) {
        write(text: text)
        context?.flush()
    }

    private func write(text: ByteBuffer) {
        guard !isClosing else { return }
        write(WebSocketFrame(fin: true, opcode: .text, data: text))
    }

    /// Sends the queued data frames. If `cutting`, disconnects a reader that has fallen too far behind.
    func flush(cutting: Bool = true) {
        guard let context, hasQueued else { return }
        hasQueued = false
        context.flush()
        if cutting, !context.channel.isWritable { reset() }
    }

    private func write(_ frame: WebSocketFrame) {
        context?.write(Self.wrapOutboundOut(frame), promise: nil)
    }

    /// Starts the closing handshake; the socket is closed when the peer answers, or after five seconds.
    func close(_ code: WebSocketErrorCode, _ reason: String) {
        guard let context, !isClosing else { return }
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        data.writeString(reason)
        write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
        context.flush()
        isClosing = true
        venue.unsubscribedAll(self)
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(5)) { context.close(promise: nil) }
    }

    /// Ends the connection with a TCP reset.
    func reset() {
        context?.channel.reset()
    }

    private func schedulePing(_ context: ChannelHandlerContext) {
        ping = context.eventLoop.assumeIsolated().scheduleTask(in: pingInterval) { [weak self] in
            guard let self, self.context != nil, !isClosing else { return }
            guard monotonicClock() - lastPong < max(600_000, 3 * pingInterval.nanoseconds / 1_000_000) else {
                return close(.policyViolation, "Pong timeout")
            }
            write(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: String(wallClock()))))
            context.flush()
            schedulePing(context)
        }
    }
}
