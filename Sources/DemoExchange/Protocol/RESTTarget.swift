/// Path and query of a request, percent-decoded.
struct RESTTarget: Equatable {
    let path: String
    /// The first value of each parameter.
    let query: [String: String]

    init(_ uri: String) {
        let parts = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = percentDecoded(parts.first ?? "")
        let pairs = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (percentDecoded(sides.first ?? ""), percentDecoded(sides.count > 1 ? sides[1] : ""))
        }
        query = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
}

/// `text` with its %XX sequences decoded; any other `%` stays as it is.
func percentDecoded(_ text: Substring) -> String {
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    var position = 0
    while position < bytes.count {
        if bytes[position] == UInt8(ascii: "%"), position + 2 < bytes.count,
            let high = hexDigit(bytes[position + 1]), let low = hexDigit(bytes[position + 2])
        {
            decoded.append(high << 4 | low)
            position += 3
        } else {
            decoded.append(bytes[position])
            position += 1
        }
    }
    return String(decoding: decoded, as: UTF8.self)
}

/// The parts of a WebSocket's URL: its route, whether frames have envelopes, and the first subscriptions.
struct WebSocketTarget: Equatable {
    /// Venues with a single path serve all streams on it; Binance has split its streams since 2026.
    enum Route {
        case everything
        case `public`
        case market

        /// Whether a stream of this name is ever delivered on this path.
        func carries(_ name: String) -> Bool {
            guard self != .everything else { return true }
            let type = name.hasPrefix("!") ? name.dropFirst() : name.drop { $0 != "@" }.dropFirst()
            let isPublic = type == "bookTicker" || type == "trade" || type.hasPrefix("depth") || type.hasPrefix("rpiDepth")
            return isPublic == (self == .public)
        }
    }

    let route: Route
    let combined: Bool
    let streams: [String]

    /// Nil if the address does not belong to a WebSocket.
    init?(_ uri: String) {
        let target = RESTTarget(uri)
        var segments = target.path.split(separator: "/").map(String.init)
        switch segments.first {
        case "public": route = .public
        case "market": route = .market
        default: route = .everything
        }
        if route != .everything { segments.removeFirst() }
        switch segments.first {
        case "ws":
            combined = false
            streams = Array(segments.dropFirst())
        case "stream" where segments.count == 1:
            combined = true
            streams = (target.query["streams"] ?? "").split(separator: "/").map(String.init)
        default:
            return nil
        }
    }
}
