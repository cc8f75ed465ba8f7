import FeedCore

/// One connection of the Phoenix protocol: a channel per stream. References are unique on a connection, so late messages of an earlier channel of a
/// topic are recognized.
final class PhoenixSession: DialectSession {
    private struct Channel {
        let name: FuturesServiceStreamName
        let ref: String
        var isJoined = false
    }

    private let everything: String
    private var channels: [String: Channel] = [:]
    private var lastRef = 0

    init(_ upstream: IntrinioUpstream) {
        everything = upstream.everything
    }

    /// The server closes a socket after a minute of silence; newer servers do so sooner.
    var heartbeat: Duration? { .seconds(20) }

    func ping() -> String? { Self.frame("phoenix", "heartbeat", nextRef()) }

    private static let provider = "iex"

    private func topic(_ symbol: Substring) -> String {
        symbol == everything ? "\(Self.provider):lobby" : "\(Self.provider):securities:\(symbol)"
    }

    private static func frame(_ topic: String, _ event: String, _ ref: String) -> String {
        #"{"topic":\#(topic.quotedAsJSON),"event":"\#(event)","payload":{},"ref":"\#(ref)"}"#
    }

    private func nextRef() -> String {
        lastRef &+= 1
        return String(lastRef)
    }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let symbol = name.upstream?.stream else { return nil }
            let (topic, ref) = (topic(symbol), nextRef())
            channels[topic] = Channel(name: name, ref: ref)
            return Self.frame(topic, "phx_join", ref)
        }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let symbol = name.upstream?.stream, channels.removeValue(forKey: topic(symbol)) != nil else { return nil }
            return Self.frame(topic(symbol), "phx_leave", nextRef())
        }
    }

    func receive(_ text: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        let message: PhoenixMessage
        do {
            message = try text.withUnsafeBufferPointer { (bytes) throws(JSONReader.Failure) in try PhoenixMessage(bytes) }
        } catch {
            return emit(.event(.malformed(nil, "The server sent a message that is not a Phoenix message: \(error.reason).")))
        }
        switch message.event {
        case "quote": read(message, emit)
        case "phx_reply": readReply(message, emit)
        case "phx_error", "phx_close":
            guard let channel = channels[message.topic], concerns(message, channel) else { return }
            channels[message.topic] = nil
            // The core subscribes again, with growing delays.
            emit(.event(.ended(channel.name, nil)))
        default: emit(.event(.unknown(message.event)))
        }
    }

    /// Whether the message belongs to the current channel, and not to one that was left or rejoined.
    private func concerns(_ message: PhoenixMessage, _ channel: Channel) -> Bool {
        message.ref.map { $0 == channel.ref } ?? (channel.isJoined || message.event == "phx_error")
    }

    private func readReply(_ message: PhoenixMessage, _ emit: (consuming SessionEvent) -> Void) {
        guard let channel = channels[message.topic], message.ref == nil || message.ref == channel.ref else { return }
        guard message.status == "error" else {
            channels[message.topic]?.isJoined = true
            return
        }
        channels[message.topic] = nil
        let reason = (message.reason ?? "no reason given").utf8.excerpt
        emit(.event(.ended(channel.name, FeedError(.subscriptionRejected, "The server refused \(channel.name): \(reason)."))))
    }

    private func read(_ message: PhoenixMessage, _ emit: (consuming SessionEvent) -> Void) {
        let everything = channels["\(Self.provider):lobby"]
        guard let ticker = message.quote.ticker, let member = message.quote.member else {
            return emit(.event(.malformed(channels[message.topic]?.name, "The server sent a quote without a known type, ticker and price.")))
        }
        let row = JSONRow(checked: [JSONRow.Member("symbol", ticker.quotedAsJSON, time: 0), member])
        let time = member.time > 0 ? member.time / 1_000_000 : nil
        if let channel = channels["\(Self.provider):securities:\(ticker)"] {
            emit(.event(.rows(channel.name, .json([row]), eventTime: time)))
        }
        if let everything { emit(.event(.rows(everything.name, .json([JSONRow(checked: row.text)]), eventTime: time))) }
    }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        status.flatMap { [401, 403].contains($0) ? IntrinioUpstream.refused($0) : nil }
    }
}
