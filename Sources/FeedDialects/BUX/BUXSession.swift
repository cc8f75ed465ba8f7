import FeedCore

/// One socket to a BUX server. Nothing may be sent before the server has accepted the connection. The server does not acknowledge subscriptions.
final class BUXSession: DialectSession {
    private(set) var isReady = false
    /// Streams by their product's id in lower case, because readers and the server may use different case.
    private var streams: [String: [FuturesServiceStreamName]] = [:]

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        var products: [String] = []
        for name in names {
            guard let product = name.upstream?.stream, !streams[product.lowercased(), default: []].contains(name) else { continue }
            if streams[product.lowercased()] == nil { products.append(String(product)) }
            streams[product.lowercased(), default: []].append(name)
        }
        return frame("subscribeTo", products)
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) -> [String] {
        var products: [String] = []
        for name in names {
            guard let product = name.upstream?.stream, let held = streams[product.lowercased()], held.contains(name) else { continue }
            let left = held.filter { $0 != name }
            streams[product.lowercased()] = left.isEmpty ? nil : left
            if left.isEmpty { products.append(String(product)) }
        }
        return frame("unsubscribeFrom", products)
    }

    private func frame(_ member: String, _ products: [String]) -> [String] {
        let ids = products.map { "trading.product.\($0)".quotedAsJSON }
        return ids.isEmpty ? [] : [#"{"\#(member)":[\#(ids.joined(separator: ","))]}"#]
    }

    func receive(_ message: Span<UInt8>, _ emit: (consuming SessionEvent) -> Void) {
        let read: BUXMessage
        do {
            read = try message.withUnsafeBufferPointer { (bytes) throws(JSONReader.Failure) in try BUXMessage(bytes) }
        } catch {
            return emit(.event(.malformed(nil, "The server sent a message that is not a JSON object: \(error.reason).")))
        }
        switch read {
        case .connected:
            guard !isReady else { return }
            isReady = true
            emit(.ready)
        case .refused(let error): emit(.refused(error))
        case .quote(let product, let row, let time):
            for name in streams[product.lowercased()] ?? [] { emit(.event(.rows(name, .json([JSONRow(checked: row)]), eventTime: time))) }
        case .badQuote(let product, let words):
            guard let names = product.flatMap({ streams[$0.lowercased()] }) else { return emit(.event(.malformed(nil, words))) }
            for name in names { emit(.event(.malformed(name, words))) }
        case .other: break
        }
    }

    func refusal(closeCode: UInt16?, status: Int?) -> FeedError? {
        switch status {
        case 401, 403: BUXMembers.refusal("it answered \(status ?? 0)")
        case 400, 404, 405: FeedError(.venueRejected, "The server answered \(status ?? 0): check the address.", venueCode: status)
        default: nil
        }
    }
}
