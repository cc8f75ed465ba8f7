import FeedCore

/// The `info` requests of Hyperliquid: the list of contracts, order books, and the contexts of all contracts.
struct HyperliquidREST: UpstreamREST {
    let dialect: HyperliquidDialect
    let upstream: Int

    /// The weights are from the venue's documentation of rate limits.
    private static let weight = 20
    static let bookWeight = 2

    private func relay(_ body: String) -> VenueRelay {
        VenueRelay(upstream: upstream, target: "/info", body: body, weight: Self.weight, keep: .milliseconds(0))
    }

    var probe: VenueRelay {
        VenueRelay(upstream: upstream, target: "/info", body: #"{"type":"allMids"}"#, weight: Self.bookWeight, keep: .milliseconds(0))
    }

    func poll(of name: FuturesServiceStreamName) -> Poll? {
        guard HyperliquidDialect.stream(name, of: dialect.name)?.channel == .contexts else { return nil }
        return Poll(interval: HyperliquidLimits.contexts, parts: [relay(#"{"type":"metaAndAssetCtxs"}"#)])
    }

    func content(of name: FuturesServiceStreamName, _ parts: [[UInt8]], now: Int64) -> Result<FetchedContent, FeedError> {
        do throws(JSONReader.Failure) {
            let text = try JSONReader.read(parts.first ?? [], Self.contexts)
            return .success(FetchedContent(rows: .json([JSONRow(checked: text)]), eventTime: nil))
        } catch {
            return .failure(FeedError(.malformed, "The contexts of Hyperliquid cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    func request(_ relay: VenueRelay, host: Int) -> RESTRequest { dialect.info(relay.body ?? "{}") }

    func failure(_ answer: RESTAnswer, to relay: VenueRelay) -> FeedError? { HyperliquidDialect.failure(answer) }

    func listing(_ relay: VenueRelay, _ body: [UInt8]) -> VenueListing? { nil }

    /// `[{"universe":[{"name":"BTC",…},…]},[context,…]]` as one object, `{"contexts":{"BTC":context,…}}`. The venue pairs both lists by their order.
    private static func contexts(_ reader: inout JSONReader) throws(JSONReader.Failure) -> String {
        var (names, contexts, place) = ([String](), [String](), 0)
        try reader.array { (reader) throws(JSONReader.Failure) in
            place += 1
            switch place {
            case 1: names = try HyperliquidDialect.universe(&reader).map(\.name)
            case 2:
                try reader.array { (reader) throws(JSONReader.Failure) in
                    guard try reader.peek() == .object else { throw reader.failure("a context is not an object") }
                    contexts.append(String(decoding: try reader.raw(), as: UTF8.self))
                }
            default: try reader.skip()
            }
        }
        try reader.end()
        guard !names.isEmpty, names.count == contexts.count else { throw reader.failure("the numbers of contracts and contexts differ") }
        return #"{"contexts":{"# + zip(names, contexts).map { "\($0.quotedAsJSON):\($1)" }.joined(separator: ",") + "}}"
    }
}

extension HyperliquidDialect: RESTDialect {
    package func rest(of upstream: Int) -> any UpstreamREST { HyperliquidREST(dialect: self, upstream: upstream) }

    func info(_ body: String) -> RESTRequest { RESTRequest(url: infoURL, body: body) }

    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> RESTRequest? {
        guard let stream = Self.stream(name, of: self.name), stream.channel == .book else { return nil }
        return info(#"{"type":"l2Book","coin":"\#(stream.coin)"}"#)
    }

    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        if let failure = Self.failure(answer) { return .failure(failure) }
        let read = answer.body.withUnsafeBufferPointer { HyperliquidMessage(book: $0) }
        guard case .content(let stream, let row, let time) = read, stream == Self.stream(name, of: self.name) else {
            return .failure(FeedError(.malformed, "The answer of Hyperliquid for \(name) cannot be read."))
        }
        return .success(FetchedContent(rows: .json([JSONRow(checked: row, time: time)]), eventTime: time))
    }

    func listingRequest(host: Int) -> RESTRequest? { info(#"{"type":"meta"}"#) }

    func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> {
        if let failure = Self.failure(answer) { return .failure(failure) }
        do throws(JSONReader.Failure) {
            let contracts = try JSONReader.read(answer.body) { (reader) throws(JSONReader.Failure) in
                let contracts = try Self.universe(&reader)
                try reader.end()
                return contracts
            }
            var listing = VenueListing(weightLimit: HyperliquidLimits.weight)
            for contract in contracts {
                if contract.isDelisted { listing.settled.insert(contract.name) } else { listing.symbols.insert(contract.name) }
            }
            return listing.symbols.isEmpty
                ? .failure(FeedError(.malformed, "The list of Hyperliquid's contracts is empty; the request is retried.")) : .success(listing)
        } catch {
            return .failure(FeedError(.malformed, "The list of Hyperliquid's contracts cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    /// `{"universe":[{"name":"BTC",…},…],…}`.
    fileprivate static func universe(_ reader: inout JSONReader) throws(JSONReader.Failure) -> [(name: String, isDelisted: Bool)] {
        var contracts: [(name: String, isDelisted: Bool)] = []
        try reader.object { (reader, key) throws(JSONReader.Failure) in
            guard key.isText("universe") else { return try reader.skip() }
            try reader.array { (reader) throws(JSONReader.Failure) in
                let contract = try RowFields(&reader)
                contracts.append((try contract.string("name"), contract["isDelisted"]?.isText("true") ?? false))
            }
        }
        return contracts
    }

    /// The venue answers an unknown coin or a wrong body with 422 or 500 and text, and an excess of requests with 429.
    fileprivate static func failure(_ answer: RESTAnswer) -> FeedError? {
        guard answer.status != 200 else { return nil }
        let words = String(decoding: answer.body, as: UTF8.self).utf8.excerpt
        if answer.status == 429 {
            return FeedError(
                .rateLimited, "Hyperliquid limits the requests (429): \(words)", venueCode: 429,
                retryAfterMs: (answer.retryAfter ?? .seconds(10)).milliseconds)
        }
        return FeedError(
            answer.status >= 500 ? .unreachable : .venueRejected, "Hyperliquid answered with HTTP status \(answer.status): \(words)",
            venueCode: answer.status, isTransient: answer.status >= 500)
    }
}
