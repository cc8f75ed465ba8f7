import FeedCore

/// One connection of the binary equities protocol. The server does not acknowledge joins and leaves.
final class EquitiesSession: DialectSession {
    private let upstream: IntrinioUpstream
    private var joined: [String: FuturesServiceStreamName] = [:]

    init(_ upstream: IntrinioUpstream) {
        self.upstream = upstream
    }

    /// Every byte of a join is ASCII.
    var sendsBinary: Bool { true }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let symbol = name.upstream?.stream else { return nil }
            joined[String(symbol)] = name
            return "J" + (upstream.tradesOnly ? "\u{1}" : "\u{0}") + symbol
        }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        names.compactMap { name in
            guard let symbol = name.upstream?.stream, joined.removeValue(forKey: String(symbol)) != nil else { return nil }
            return "L" + symbol
        }
    }

    /// The server reports an error as text for people, without the symbol.
    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        let words = message.withUnsafeBufferPointer { $0.excerpt }
        let error = FeedError(.venueRejected, "The server reports: \(words)")
        if joined.isEmpty { emit(.event(.malformed(nil, error.message))) }
        for name in Array(joined.values) { emit(.event(.reported(name, error))) }
    }

    func receiveBinary(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        let everything = joined[upstream.everything]
        let trouble = message.withUnsafeBufferPointer { bytes in read(bytes, everything, emit) }
        if let trouble { emit(.event(.malformed(nil, "The server sent \(trouble)."))) }
    }

    private func read(_ bytes: UnsafeBufferPointer<UInt8>, _ everything: FuturesServiceStreamName?, _ emit: (consuming SessionEvent) -> Void)
        -> String?
    {
        EquitiesMessage.read(bytes) { message in
            guard let json = message.json else {
                return emit(.event(.malformed(joined[message.symbol], "The price of \(message.symbol) is not a number.")))
            }
            let members = [
                JSONRow.Member("symbol", message.symbol.quotedAsJSON, time: 0),
                JSONRow.Member("\(message.kind)", json, time: Int64(clamping: message.timestamp)),
            ]
            if let name = joined[message.symbol] {
                emit(.event(.rows(name, .json([JSONRow(checked: members)]), eventTime: message.time)))
            }
            if let everything {
                emit(.event(.rows(everything, .json([JSONRow(checked: JSONRow(checked: members).text)]), eventTime: message.time)))
            }
        }
    }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        status.flatMap { [401, 403].contains($0) ? IntrinioUpstream.refused($0) : nil }
    }
}
