import FeedCore

/// The `info` requests of Hyperliquid: the list of contracts, the contexts of all contracts, and snapshots of books, bars and trades.
struct HyperliquidREST: UpstreamREST {
    let dialect: HyperliquidDialect
    let upstream: Int

    /// 20, and 1 for each 60 bars.
    static let barsWeight = weight + (HyperliquidLimits.bars + 59) / 60
    /// 20, and 1 for each 20 trades. The venue returns the newest ten.
    static let tradesWeight = weight + 1

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

    func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        guard let stream = Self.stream(name, of: self.name) else { return nil }
        switch stream.channel {
        case .book: return info(#"{"type":"l2Book","coin":"\#(stream.coin)"}"#)
        case .trades: return info(#"{"type":"recentTrades","coin":"\#(stream.coin)"}"#)
        case .candle(let interval):
            guard let length = HyperliquidStream.intervals[interval] else { return nil }
            // The current bar is one of the bars. The end is a day ahead, so that a clock that is slow cuts none off.
            let (start, end) = (max(0, now &- length &* Int64(HyperliquidLimits.bars - 1)), now &+ 86_400_000)
            let times = #""startTime":\#(start),"endTime":\#(end)"#
            return info(#"{"type":"candleSnapshot","req":{"coin":"\#(stream.coin)","interval":"\#(interval)",\#(times)}}"#)
        case .fastBook, .bestPrices, .context, .mids, .contexts: return nil
        }
    }

    func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        if let failure = Self.failure(answer) { return .failure(failure) }
        let stream = Self.stream(name, of: self.name)
        let read = answer.body.withUnsafeBufferPointer { HyperliquidMessage(answer: $0, for: stream) }
        switch read {
        case .content(stream, let row, let time): return .success(FetchedContent(rows: .json([JSONRow(checked: row, time: time)]), eventTime: time))
        case .bars(stream, let bars): return .success(FetchedContent(rows: .upstreamBar(bars), eventTime: nil))
        case .trades(stream, let trades): return .success(FetchedContent(rows: .upstreamTrade(trades), eventTime: trades.last?.time))
        case .unusable(_, let words): return .failure(FeedError(.malformed, "The answer of Hyperliquid for \(name) cannot be read. \(words)"))
        default: return .failure(FeedError(.malformed, "The answer of Hyperliquid for \(name) is about another stream."))
        }
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
