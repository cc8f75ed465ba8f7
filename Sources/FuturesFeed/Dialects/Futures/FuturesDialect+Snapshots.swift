package import FeedCore

extension FuturesDialect {
    package func snapshotURL(of name: FuturesServiceStreamName) -> String? {
        let symbol = name.symbol.map { "symbol=" + $0.percentEncoded }
        let base = venue.restURL + "/fapi/v1/"
        let query: (String, [String?]) =
            switch name.channel {
            case .markPrice: ("premiumIndex", [symbol])
            case .assetIndex: ("assetIndex", [symbol])
            case .bookTicker: ("ticker/bookTicker", [symbol])
            case .miniTicker, .ticker: ("ticker/24hr", [symbol])
            case .aggregateTrade: ("aggTrades", [symbol, "limit=\(history)"])
            case .trade: ("trades", [symbol, "limit=\(history)"])
            case .depth: ("depth", [symbol, "limit=\(Self.bookDepth)"])
            case .partialDepth: ("depth", [symbol, name.levels.map { "limit=\($0.rawValue)" }])
            case .liquidation: ("", [])
            case .kline: ("klines", [symbol, name.interval.map { "interval=\($0.rawValue)" }, "limit=\(history)"])
            }
        guard !query.0.isEmpty else { return nil }
        let items = query.1.compactMap(\.self)
        return base + query.0 + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    package var listingURL: String? { venue.restURL + "/fapi/v1/exchangeInfo" }

    package var usedWeightHeader: String? { "X-MBX-USED-WEIGHT-1M" }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        do throws(JSONReader.Failure) {
            var reader = JSONReader(answer.body)
            let content = try RESTRows(name: name, now: now).read(&reader)
            try reader.end()
            return .success(content)
        } catch {
            return .failure(
                FeedError(.malformed, "The venue's REST answer for \(name) cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    package func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        var listing = VenueListing()
        do throws(JSONReader.Failure) {
            var reader = JSONReader(answer.body)
            try reader.object { (reader, key) throws(JSONReader.Failure) in
                switch String(decoding: key, as: UTF8.self) {
                case "symbols": try Self.collect("symbol", &reader) { listing.symbols.insert($0) }
                case "assets": try Self.collect("asset", &reader) { listing.assetIndices.insert($0 + "USD") }
                case "rateLimits":
                    try reader.array { (reader) throws(JSONReader.Failure) in
                        let fields = try RESTFields(&reader)
                        guard fields.word("rateLimitType") == "REQUEST_WEIGHT", fields.word("interval") == "MINUTE" else { return }
                        listing.weightLimit = try fields.integer("limit", Int.self) / max(1, fields.integer("intervalNum", Int.self))
                    }
                default: try reader.skip()
                }
            }
        } catch {
            return .failure(FeedError(.malformed, "The venue's list of symbols cannot be read: \(error.reason) at byte \(error.offset)."))
        }
        return .success(listing)
    }

    private static func collect(_ wanted: String, _ reader: inout JSONReader, _ take: (String) -> Void) throws(JSONReader.Failure) {
        try reader.array { (reader) throws(JSONReader.Failure) in
            try reader.object { (reader, key) throws(JSONReader.Failure) in
                if key.elementsEqual(wanted.utf8), try reader.peek() == .string { take(try reader.string()) } else { try reader.skip() }
            }
        }
    }
}

/// What a REST answer other than 200 means (venue.md §6).
private struct RESTFailure {
    let error: FeedError?

    init(_ answer: RESTAnswer) {
        guard answer.status != 200 else {
            error = nil
            return
        }
        let (code, message) = Self.venueWords(answer.body)
        let words = message.map { "\($0) (\(code.map(String.init) ?? "no code"))" } ?? "HTTP status \(answer.status)"
        error =
            switch answer.status {
            case 429, 418:
                FeedError(
                    .rateLimited, "The venue asked to wait: \(words).", venueCode: code,
                    retryAfterMs: (answer.retryAfter ?? (answer.status == 418 ? .seconds(120) : .seconds(60))).milliseconds)
            case 403, 500...599:
                FeedError(.unreachable, "The venue cannot answer now: \(words). It is tried again.", venueCode: code)
            default:
                FeedError(.venueRejected, "The venue refused the request: \(words).", venueCode: code)
            }
    }

    /// The venue's own code and message, where the body has them; fault pages are HTML.
    private static func venueWords(_ body: UnsafeBufferPointer<UInt8>) -> (Int?, String?) {
        var (code, message): (Int?, String?)
        do throws(JSONReader.Failure) {
            var reader = JSONReader(body)
            try reader.object { (reader, key) throws(JSONReader.Failure) in
                if key.elementsEqual("code".utf8) {
                    code = try reader.integer()
                } else if key.elementsEqual("msg".utf8) {
                    message = String(try reader.string().prefix(200))
                } else {
                    try reader.skip()
                }
            }
        } catch {
            return (nil, nil)
        }
        return (code, message)
    }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    var milliseconds: Int64 { (nanoseconds &+ 999_999) / 1_000_000 }
}
