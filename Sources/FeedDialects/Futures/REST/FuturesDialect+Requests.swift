package import FeedCore

extension FuturesDialect {
    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        url(of: name, from: from, host: host, isInquiry: false).map { RESTRequest(url: $0) }
    }

    /// Requests the best 50 levels of a book, which cost as much as five (docs/reference/venues.md §3), and the last trade or the last two bars.
    package func newestRequest(of name: FuturesServiceStreamName, host: Int, now: Int64) -> RESTRequest? {
        url(of: name, from: nil, host: host, isInquiry: true).map { RESTRequest(url: $0) }
    }

    private func url(of name: FuturesServiceStreamName, from: UInt64?, host: Int, isInquiry: Bool) -> String? {
        let symbol = name.symbol.map { "symbol=" + $0.percentEncoded }
        let interval = name.interval.map { "interval=\($0.rawValue)" }
        let query: (String, [String?]) =
            switch name.channel {
            case .markPrice: ("premiumIndex", [symbol])
            case .assetIndex: ("assetIndex", [symbol])
            case .bookTicker: ("ticker/bookTicker", [symbol])
            case .miniTicker, .ticker: ("ticker/24hr", [symbol])
            case .aggregateTrade, .bar:
                ("aggTrades", [symbol, from.map { "fromId=\($0)" }, "limit=\(isInquiry ? 1 : from == nil ? trades : Self.backfillLimit)"])
            case .trade: ("trades", [symbol, "limit=\(isInquiry ? 1 : trades)"])
            case .depth: ("depth", [symbol, "limit=\(isInquiry ? 50 : Self.bookDepth)"])
            case .rpiDepth: ("rpiDepth", [symbol, "limit=\(Self.bookDepth)"])
            case .partialDepth: ("depth", [symbol, name.levels.map { "limit=\($0.rawValue)" }])
            case .openInterest: ("openInterest", [symbol])
            case .fundingRate: ("fundingRate", [symbol, "limit=1"])
            case .longShortRatio:
                ("/futures/data/globalLongShortAccountRatio", [symbol, name.interval.map { "period=\($0.rawValue)" }, "limit=1"])
            case .liquidation, .tradingSession, .funding, .markets, .upstream: ("", [])
            case .kline, .earlyKline: ("klines", [symbol, interval, "limit=\(isInquiry ? 2 : snapshotBars)"])
            case .continuousKline:
                (
                    "continuousKlines",
                    [
                        name.continuous.map { "pair=\($0.pair.percentEncoded)" },
                        name.continuous.map { "contractType=\($0.contract.rawValue)" },
                        interval, "limit=\(isInquiry ? 2 : snapshotBars)",
                    ]
                )
            case .compositeIndex: ("indexInfo", [symbol])
            case .contractInfo: ("exchangeInfo", [])
            }
        guard !query.0.isEmpty else { return nil }
        let items = query.1.compactMap(\.self)
        let path = query.0.hasPrefix("/") ? venue.restURLs[host % venue.restURLs.count] + query.0 : base(host) + query.0
        return path + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    package func listingRequest(host: Int) -> RESTRequest? { RESTRequest(url: base(host) + "exchangeInfo") }

    package func sessionsRequest(host: Int, for listing: VenueListing) -> RESTRequest? {
        listing.markets.isEmpty ? nil : RESTRequest(url: base(host) + "tradingSchedule")
    }

    package func decodeSessions(_ answer: RESTAnswer) -> Result<[String: [Range<Int64>]], FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        do throws(JSONReader.Failure) { return .success(try JSONReader.read(answer.body, Self.closures)) } catch {
            return .failure(FeedError(.malformed, "The venue's trading sessions cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    /// `{"marketSchedules":{"EQUITY":{"sessions":[{"startTime":…,"endTime":…,"type":"NO_TRADING"},…]},…}}`.
    private static func closures(_ reader: inout JSONReader) throws(JSONReader.Failure) -> [String: [Range<Int64>]] {
        var closures: [String: [Range<Int64>]] = [:]
        try reader.object { (reader, key) throws(JSONReader.Failure) in
            guard key.isText("marketSchedules") else { return try reader.skip() }
            try reader.object { (reader, market) throws(JSONReader.Failure) in
                let sessions = try RowFields(&reader).list("sessions") { (session) throws(JSONReader.Failure) in
                    let (start, end): (Int64, Int64) = (try session.integer("startTime"), try session.integer("endTime"))
                    return try session.string("type") == "NO_TRADING" && start < end ? start..<end : nil
                }
                closures[String(decoding: market, as: UTF8.self)] = sessions?.compactMap(\.self)
            }
        }
        try reader.end()
        return closures
    }

    package func clockURL(host: Int) -> String? { base(host) + "time" }

    package func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        do throws(JSONReader.Failure) {
            let time = try JSONReader.read(answer.body) { (reader) throws(JSONReader.Failure) in
                let time = try RESTFields(&reader).integer("serverTime", Int64.self)
                try reader.end()
                return time
            }
            return .success(time)
        } catch {
            return .failure(FeedError(.malformed, "The venue's time cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    private func base(_ host: Int) -> String { venue.restURLs[host % venue.restURLs.count] + "/fapi/v1/" }

    package var usedWeightHeader: String? { "X-MBX-USED-WEIGHT-1M" }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        do throws(JSONReader.Failure) {
            let content = try JSONReader.read(answer.body) { (reader) throws(JSONReader.Failure) in
                let content = try RESTRows(name: name, now: now).read(&reader)
                try reader.end()
                return content
            }
            return .success(content)
        } catch {
            return .failure(
                FeedError(.malformed, "The venue's REST answer for \(name) cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    package func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> {
        if let error = RESTFailure(answer).error { return .failure(error) }
        do throws(JSONReader.Failure) {
            let listing = try JSONReader.read(answer.body, Self.listing)
            guard !listing.symbols.isEmpty else {
                return .failure(FeedError(.malformed, "The venue's list of symbols is empty; the request is retried."))
            }
            return .success(listing)
        } catch {
            return .failure(FeedError(.malformed, "The venue's list of symbols cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    private static func listing(_ reader: inout JSONReader) throws(JSONReader.Failure) -> VenueListing {
        var listing = VenueListing()
        try reader.object { (reader, key) throws(JSONReader.Failure) in
            switch String(decoding: key, as: UTF8.self) {
            case "symbols":
                try reader.array { (reader) throws(JSONReader.Failure) in
                    guard try reader.peek() == .object else {
                        try reader.skip()
                        return listing.leftOut.add(nil, "an entry is not an object")
                    }
                    let fields = try RESTFields(&reader)
                    guard let symbol = fields.symbolIfTold, !symbol.isEmpty else { return listing.leftOut.add(nil, "an entry has no symbol") }
                    if settledStatuses.contains(fields.word("status") ?? "") {
                        listing.settled.insert(symbol)
                    } else {
                        listing.symbols.insert(symbol)
                        if fields.word("status") == haltedStatus { listing.halted.insert(symbol) }
                        if fields.word("contractType") == tradFi, let market = fields.word("underlyingType") { listing.markets[symbol] = market }
                    }
                }
            case "assets":
                try reader.array { (reader) throws(JSONReader.Failure) in
                    guard try reader.peek() == .object else { return try reader.skip() }
                    if let asset = try RESTFields(&reader).word("asset") { listing.assetIndices.insert(asset + "USD") }
                }
            case "rateLimits":
                try reader.array { (reader) throws(JSONReader.Failure) in
                    guard try reader.peek() == .object else { return try reader.skip() }
                    let fields = try RESTFields(&reader)
                    guard fields.word("rateLimitType") == "REQUEST_WEIGHT", fields.word("interval") == "MINUTE",
                        let limit = try? fields.integer("limit", Int.self), let minutes = try? fields.integer("intervalNum", Int.self)
                    else { return }
                    listing.weightLimit = limit / max(1, minutes)
                }
            // No venue sends this; a demo exchange does.
            case "simulated":
                var value = reader
                listing.isSimulated = (try? value.boolean()) ?? false
                try reader.skip()
            default: try reader.skip()
            }
        }
        return listing
    }

    /// The states of a contract after which trading has ended (docs/reference/venues.md §3.1, §8).
    private static let haltedStatus = "TRADING_HALT"
    private static let tradFi = ContinuousContract.tradifiPerpetual.rawValue
    private static let settledStatuses: Set<String> = ["SETTLING", "DELIVERING", "DELIVERED", "CLOSE"]
}

/// The meaning of a REST answer other than 200 (docs/reference/venues.md §6).
struct RESTFailure {
    let error: FeedError?

    init(_ answer: RESTAnswer) {
        guard answer.status != 200 else {
            error = Self.hiddenError(answer.body)
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
            case 300...399, 403, 408, 425, 500...599:
                FeedError(
                    .unreachable, "The venue cannot answer now: \(words). The request is retried.", venueCode: code,
                    retryAfterMs: answer.retryAfter?.milliseconds)
            case _ where code.map(Self.passing.contains) == true:
                FeedError(.unreachable, "The venue cannot answer now: \(words). The request is retried.", venueCode: code)
            default:
                FeedError(.venueRejected, "The venue refused the request: \(words).", venueCode: code)
            }
    }

    /// Codes that are not caused by the request: unknown error, disconnected, unexpected response, timeout, overloaded (docs/reference/venues.md §6).
    private static let passing: Set<Int> = [-1000, -1001, -1006, -1007, -1008]

    /// An error in a body with the status 200: the venues use other statuses, but a proxy or a cache may not. Data begin with other members.
    private static func hiddenError(_ body: [UInt8]) -> FeedError? {
        let begins = String(decoding: body.prefix(64), as: UTF8.self)
        guard body.count < 1_024 || begins.contains("\"code\"") || begins.contains("\"msg\""), case let (code?, message?) = venueWords(body), code < 0
        else { return nil }
        return FeedError(
            .unreachable, "The venue answered with the error \(code) and the status 200: \(message).", venueCode: code, isTransient: true)
    }

    /// The venue's own code and message, if the body has them; error pages are HTML.
    private static func venueWords(_ body: [UInt8]) -> (Int?, String?) {
        var (code, message): (Int?, String?)
        do throws(JSONReader.Failure) {
            try JSONReader.read(body) { (reader) throws(JSONReader.Failure) in
                try reader.object { (reader, key) throws(JSONReader.Failure) in
                    if key.elementsEqual("code".utf8) {
                        code = try reader.integer()
                    } else if key.elementsEqual("msg".utf8) {
                        message = String(try reader.string().prefix(200))
                    } else {
                        try reader.skip()
                    }
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
