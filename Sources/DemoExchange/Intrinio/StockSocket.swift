import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated Intrinio, of either wire. Lives on the server's event loop.
final class StockSocket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private struct Refused: Error {}

    /// What is joined, and by which reference; empty where the wire has none.
    private(set) var channels: [String: String] = [:]
    private var tradesOnly: Set<String> = []
    private let isBinary: Bool
    private let venue: StockVenue
    private var context: ChannelHandlerContext?
    private var patience: Scheduled<Void>?

    private static let everything = "$FIREHOSE"

    init(isBinary: Bool, venue: StockVenue) {
        self.isBinary = isBinary
        self.venue = venue
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        venue.opened(self)
        wait(context)
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
        patience?.cancel()
        venue.closed(self)
    }

    /// A Phoenix socket whose client says nothing is closed.
    private func wait(_ context: ChannelHandlerContext) {
        guard !isBinary else { return }
        patience?.cancel()
        patience = context.eventLoop.assumeIsolated().scheduleTask(in: venue.idle) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .binary where frame.fin && isBinary: read(frame.unmaskedData)
        case .text where frame.fin && !isBinary:
            wait(context)
            guard (try? read(String(buffer: frame.unmaskedData))) != nil else { return context.close(promise: nil) }
        case .ping: write(frame.unmaskedData, .pong)
        case .pong: break
        case .connectionClose:
            write(frame.unmaskedData, .connectionClose)
            context.close(promise: nil)
        default: context.close(promise: nil)
        }
    }

    private func read(_ message: ByteBuffer) {
        var message = message
        switch message.readInteger(as: UInt8.self) {
        case 0x4A:
            guard let mask = message.readInteger(as: UInt8.self), mask <= 1 else { return send("bad join") }
            let symbol = String(buffer: message)
            guard symbol == Self.everything || venue.isListed(symbol) else { return send("unknown symbol \(symbol)") }
            if mask == 1 { tradesOnly.insert(symbol) }
            guard channels.updateValue("", forKey: symbol) == nil else { return }
            venue.note(joined: symbol)
        case 0x4C:
            let symbol = String(buffer: message)
            if channels.removeValue(forKey: symbol) != nil { venue.note(left: symbol) }
        default: send("not understood")
        }
    }

    private func read(_ text: String) throws {
        let message = try JSONValue(parsing: text)
        guard let topic = message["topic"]?.string, let event = message["event"]?.string, message["payload"] != nil, let value = message["ref"] else {
            throw Refused()
        }
        let ref = value.string.map(JSONValue.quoted) ?? "null"
        let symbol = topic == "iex:lobby" ? Self.everything : String(topic.dropFirst("iex:securities:".count))
        switch event {
        case "heartbeat": reply(topic, ref, "ok", "{}")
        case "phx_join" where symbol == Self.everything || (topic.hasPrefix("iex:securities:") && venue.isListed(symbol)):
            if let earlier = channels.updateValue(ref, forKey: symbol) {
                send(#"{"topic":\#(JSONValue.quoted(topic)),"event":"phx_close","payload":{},"ref":\#(earlier)}"#)
            } else {
                venue.note(joined: symbol)
            }
            reply(topic, ref, "ok", "{}")
        case "phx_join": reply(topic, ref, "error", #"{"reason":"unmatched topic"}"#)
        case "phx_leave":
            reply(topic, ref, "ok", "{}")
            guard let joined = channels.removeValue(forKey: symbol) else { return }
            venue.note(left: symbol)
            send(#"{"topic":\#(JSONValue.quoted(topic)),"event":"phx_close","payload":{},"ref":\#(joined)}"#)
        default: reply(topic, ref, "error", #"{"reason":"unmatched topic"}"#)
        }
    }

    private func reply(_ topic: String, _ ref: String, _ status: String, _ response: String) {
        send(
            #"{"topic":\#(JSONValue.quoted(topic)),"event":"phx_reply","ref":\#(ref),"payload":{"status":"\#(status)","response":\#(response)}}"#)
    }

    private func topic(_ symbol: String) -> String { symbol == Self.everything ? "iex:lobby" : "iex:securities:\(symbol)" }

    func deliver(_ message: StockMessage) {
        for symbol in [message.symbol, Self.everything] where channels[symbol] != nil {
            if message.side != .trade, tradesOnly.contains(symbol) { continue }
            if isBinary {
                write(message.binary, .binary)
                break
            }
            send(message.text(topic: topic(symbol)))
        }
    }

    func crash(_ symbol: String) {
        guard !isBinary, let ref = channels.removeValue(forKey: symbol) else { return }
        venue.note(left: symbol)
        send(#"{"topic":\#(JSONValue.quoted(topic(symbol))),"event":"phx_error","payload":{},"ref":\#(ref)}"#)
    }

    func reset() {
        if let channel = context?.channel { DemoExchange.reset(channel) }
    }

    func send(_ text: String) { write(ByteBuffer(string: text), .text) }

    private func write(_ payload: ByteBuffer, _ opcode: WebSocketOpcode) {
        context?.writeAndFlush(Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: payload)), promise: nil)
    }
}
