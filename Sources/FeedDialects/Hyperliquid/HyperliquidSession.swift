import FeedCore

/// One socket to Hyperliquid. Each subscription has its own frame and its own answer, and no message has a number.
final class HyperliquidSession: DialectSession {
    private let upstream: String
    /// The names of the subscribed streams.
    private var names: [HyperliquidStream: FuturesServiceStreamName] = [:]
    /// The subscriptions of each request that are not confirmed yet.
    private var unconfirmed: [UInt64: Set<HyperliquidStream>] = [:]

    init(upstream: String) { self.upstream = upstream }

    /// The server closes a socket on which it has sent nothing for 60 s.
    var heartbeat: Duration? { HyperliquidLimits.heartbeat }

    func ping() -> String? { #"{"method":"ping"}"# }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let stream = HyperliquidDialect.stream(name, of: upstream), let subscription = stream.subscription else { return nil }
            self.names[stream] = name
            unconfirmed[request, default: []].insert(stream)
            return #"{"method":"subscribe","subscription":\#(subscription)}"#
        }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let stream = HyperliquidDialect.stream(name, of: upstream), let subscription = stream.subscription,
                self.names.removeValue(forKey: stream) != nil
            else { return nil }
            for request in unconfirmed.keys { unconfirmed[request]?.remove(stream) }
            return #"{"method":"unsubscribe","subscription":\#(subscription)}"#
        }
    }

    /// Events are passed on after the message is parsed, because an event may call this session again.
    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        let read: HyperliquidMessage
        do {
            read = try message.withUnsafeBufferPointer { (bytes) throws(JSONReader.Failure) in try HyperliquidMessage(bytes) }
        } catch {
            return emit(.event(.malformed(nil, "The server sent a message that is not a JSON object: \(error.reason).")))
        }
        confirmEmptied(emit)
        switch read {
        case .content(let stream, let row, let time):
            // The last messages of an ended subscription are late.
            if let name = names[stream] { emit(.event(.rows(name, .json([JSONRow(checked: row, time: time)]), eventTime: time))) }
        case .trades(let stream, let trades):
            if let name = names[stream] { emit(.event(.rows(name, .upstreamTrade(trades), eventTime: trades.last?.time))) }
        case .bars(let stream, let bars): if let name = names[stream] { emit(.event(.rows(name, .upstreamBar(bars), eventTime: nil))) }
        case .subscribed(let stream): confirm(stream, emit)
        case .error(let words): report(words, emit)
        case .unusable(let stream, let words): emit(.event(.malformed(stream.flatMap { names[$0] }, words)))
        case .other: break
        }
    }

    /// A request is confirmed with the last of its subscriptions.
    private func confirm(_ stream: HyperliquidStream, _ emit: (consuming SessionEvent) -> Void) {
        for request in unconfirmed.keys { unconfirmed[request]?.remove(stream) }
        confirmEmptied(emit)
    }

    /// Confirms the requests of which no subscription is open. The last one may have ended before its answer.
    private func confirmEmptied(_ emit: (consuming SessionEvent) -> Void) {
        guard !unconfirmed.isEmpty else { return }
        let confirmed = unconfirmed.filter(\.value.isEmpty).keys.sorted()
        for request in confirmed { unconfirmed[request] = nil }
        for request in confirmed { emit(.event(.acknowledged(request: request))) }
    }

    /// An error has no id. It quotes the subscription that it refuses, or concerns every one that waits for an answer.
    private func report(_ words: String, _ emit: (consuming SessionEvent) -> Void) {
        let waiting = Set(unconfirmed.values.joined())
        guard let stream = waiting.first(where: { words.quotes($0) }) else {
            // The server may have forgotten a subscription before the gateway ends it. Then no subscription waits.
            let affected = waiting.compactMap { names[$0] }.sorted { $0.description < $1.description }
            if affected.isEmpty || words.hasPrefix("Already unsubscribed") { return emit(.event(.unknown("an error: \(words.utf8.excerpt)"))) }
            let error = FeedError(.venueRejected, "The server reports: \(words.utf8.excerpt)")
            for name in affected { emit(.event(.reported(name, error))) }
            return
        }
        if words.hasPrefix("Already subscribed") { return confirm(stream, emit) }
        let name = names.removeValue(forKey: stream)
        confirm(stream, emit)
        let refusal = "The server refused the subscription: \(words.utf8.excerpt). Check the coin, whose case matters."
        if let name { emit(.event(.ended(name, FeedError(.subscriptionRejected, refusal)))) }
    }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        switch status {
        case 400, 404, 405: FeedError(.venueRejected, "The server answered \(status ?? 0): check the address.", venueCode: status)
        default: nil
        }
    }
}

extension String {
    /// Whether an error quotes the subscription, in whatever order its members are.
    fileprivate func quotes(_ stream: HyperliquidStream) -> Bool {
        guard let start = firstIndex(of: "{"), let end = lastIndex(of: "}"), start < end,
            let quoted = try? JSONMembers(String(self[start...end])), let own = stream.subscription.flatMap({ try? JSONMembers($0) })
        else { return false }
        return own.values.allSatisfy { member in quoted.text(member.name) == member.text }
            && (quoted.text("fast") == "true") == (own.text("fast") == "true")
    }
}
