import NIOCore
import NIOWebSocket

/// One WebSocket of the simulated Intrinio, in either wire format.
final class StockSocket: LoopbackSocket {
    private struct Refused: Error {}

    /// The joined channels with their references, which are empty in the binary format.
    private(set) var channels: [String: String] = [:]
    private var tradesOnly: Set<String> = []
    private let isBinary: Bool
    private let venue: StockVenue
    private var patience: Scheduled<Void>?

    private static let everything = "$FIREHOSE"

    init(isBinary: Bool, venue: StockVenue) {
        self.isBinary = isBinary
        self.venue = venue
    }

    override func opened() {
        venue.opened(self)
        wait()
    }

    override func closed() {
        patience?.cancel()
        venue.closed(self)
    }

    /// Closes a Phoenix socket if its client stays silent.
    private func wait() {
        guard !isBinary, let context else { return }
        patience?.cancel()
        patience = context.eventLoop.assumeIsolated().scheduleTask(in: venue.idle) { context.close(promise: nil) }
    }

    override func receive(_ message: ByteBuffer, _ opcode: WebSocketOpcode) -> Bool {
        guard opcode == (isBinary ? .binary : .text) else { return false }
        if isBinary {
            read(message)
            return true
        }
        wait()
        return (try? read(String(buffer: message))) != nil
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
            venue.ledger.subscribed([symbol])
        case 0x4C:
            let symbol = String(buffer: message)
            if channels.removeValue(forKey: symbol) != nil { venue.ledger.unsubscribed([symbol]) }
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
                venue.ledger.subscribed([symbol])
            }
            reply(topic, ref, "ok", "{}")
        case "phx_join": reply(topic, ref, "error", #"{"reason":"unmatched topic"}"#)
        case "phx_leave":
            reply(topic, ref, "ok", "{}")
            guard let joined = channels.removeValue(forKey: symbol) else { return }
            venue.ledger.unsubscribed([symbol])
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
        venue.ledger.unsubscribed([symbol])
        send(#"{"topic":\#(JSONValue.quoted(topic(symbol))),"event":"phx_error","payload":{},"ref":\#(ref)}"#)
    }
}
