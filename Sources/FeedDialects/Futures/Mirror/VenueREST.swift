package import FeedCore

/// The venue's own REST, answered from streams: which path is which stream, and how the venue writes its content.
package struct VenueREST: Sendable {
    let dialect: FuturesDialect
    /// The venue, in the order of the upstreams.
    package let upstream: Int

    init(dialect: FuturesDialect, upstream: Int = 0) { (self.dialect, self.upstream) = (dialect, upstream) }

    /// The prefix of the venue's streams; nil if it is the first upstream.
    package var prefix: String? { dialect.prefix }

    /// Decides how to answer a request for one of the venue's paths.
    ///
    /// - Parameters:
    ///   - segments: The decoded segments of the path.
    ///   - query: The decoded parameters; parameters that the path does not have are ignored.
    ///   - now: The venue's time, ms since 1970 UTC.
    ///   - isListed: Whether the venue lists the symbol, or may list it.
    /// - Returns: The path's name for metrics, and the answer; nil if there is no such path.
    package func answer(
        _ segments: [String], _ query: [(name: String, value: String)], now: Int64?, isListed: (String) -> Bool
    ) -> (name: String, answer: VenueAnswer)? {
        guard let (path, target, listTarget) = VenuePath.find(segments) else {
            return VenuePath.needsAccount(segments) ? ("accounts", .refused(.keyed)) : nil
        }
        do throws(VenueRefusal) {
            let query = try VenueQuery(path, query, isListed: isListed)
            let listsAll = path.parameters.contains(.anySymbol) ? query.symbol == nil : path.path == "fapi/exchangeInfo"
            guard listsAll, listTarget != target else { return (path.path, try answer(path, target, query, now)) }
            let keep = path.path == "fapi/exchangeInfo" ? VenueKeep.milliseconds(60_000) : .milliseconds(1_000)
            return (
                path.path, .relay(VenueRelay(upstream: upstream, target: listTarget + query.text, weight: weight(path.weight, query), keep: keep))
            )
        } catch {
            return (path.path, .refused(path.path.hasPrefix("futures/") ? error.ofHistory : error))
        }
    }

    /// The names of the paths, for metrics.
    package var paths: [String] { VenuePath.names }

    /// How a stream is polled; nil if it is not.
    package func poll(of name: FuturesServiceStreamName) -> Poll? { dialect.poll(of: name, upstream: upstream) }

    /// Builds a polled stream's content from the answers to its parts; `now` is the venue's time, ms since 1970 UTC.
    package func content(of name: FuturesServiceStreamName, _ parts: [[UInt8]], now: Int64) -> Result<FetchedContent, FeedError> {
        dialect.content(of: name, parts, now: now)
    }

    /// The URL of a relayed request.
    package func url(_ relay: VenueRelay, host: Int) -> String { dialect.venue.restURLs[host % dialect.venue.restURLs.count] + relay.target }

    /// The venue's listing, if the answer to a relayed request contains it.
    package func listing(_ relay: VenueRelay, _ body: [UInt8]) -> VenueListing? {
        guard relay.target == "/fapi/v1/exchangeInfo" else { return nil }
        return try? dialect.decodeListing(RESTAnswer(status: 200, retryAfter: nil, body: body)).get()
    }

    /// The request for the venue's list.
    package var listingRelay: VenueRelay { VenueRelay(upstream: upstream, target: "/fapi/v1/exchangeInfo", weight: 1, keep: .milliseconds(60_000)) }

    /// Why an answer is not usable; nil if it is, even if it refuses the request.
    package func failure(_ answer: RESTAnswer) -> FeedError? {
        if let error = RESTFailure(answer).error { return error.code == .venueRejected ? nil : error }
        guard answer.status == 200 else { return nil }
        let isJSON = answer.body.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return (try? reader.skip()) != nil && (try? reader.end()) != nil
        }
        return isJSON ? nil : FeedError(.malformed, "The venue's answer is not JSON; it was ignored.", isTransient: true)
    }

    /// Why the answer to a relayed request is not usable; nil if it is. The venues answer with an object or a list, and only `ping` with an empty object.
    package func failure(_ answer: RESTAnswer, to relay: VenueRelay) -> FeedError? {
        if let failure = failure(answer) { return failure }
        guard answer.status == 200, !relay.target.hasSuffix("/ping") else { return nil }
        let isData = answer.body.first { $0 > 0x20 }.map { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") } ?? false
        let isEmpty = answer.body.lazy.filter { $0 > 0x20 }.elementsEqual("{}".utf8)
        return isData && !isEmpty ? nil : FeedError(.malformed, "The venue's answer has no data; it was ignored.", isTransient: true)
    }

    private func answer(_ path: VenuePath, _ target: String, _ query: VenueQuery, _ now: Int64?) throws(VenueRefusal) -> VenueAnswer {
        let weight = weight(path.weight, query)
        func relay(_ keep: VenueKeep) -> VenueRelay { VenueRelay(upstream: upstream, target: target + query.text, weight: weight, keep: keep) }
        func read(_ name: FuturesServiceStreamName, _ rows: VenueRows, instead keep: VenueKeep = .milliseconds(1_000)) -> VenueAnswer {
            let name = name.at(venue: dialect.prefix)
            return .stream(VenueReading(name: name, instead: relay(keep), newest: newest(of: name), rows: rows))
        }
        switch path.source {
        case .keyed: return .refused(.keyed)
        case .clock:
            let tellsTime = path.path.hasSuffix("/time")
            return .clock { tellsTime ? "{\"serverTime\":\($0)}" : "{}" }
        case .nothingListed:
            return .clock { "{\"timezone\":\"UTC\",\"serverTime\":\($0),\"rateLimits\":[],\"exchangeFilters\":[],\"symbols\":[]}" }
        case .venue(let keep): return .relay(relay(keep))
        case .venuePeriod:
            if let start = query.start, now.map({ start < $0 &- 30 * 86_400_000 }) ?? false || start > query.end ?? .max {
                throw .invalid("startTime")
            }
            return .relay(relay(query.period?.milliseconds.map { .period($0) } ?? .milliseconds(60_000)))
        case .venueBars:
            try checkOrder(query)
            return .relay(relay(keep(of: query, now)))
        case .premiumIndex: return read(.fastMarkPrices, .premiumIndex(symbol: query.symbol))
        case .ticker: return read(.tickers, .ticker(symbol: query.symbol))
        case .price: return read(.tickers, .price(symbol: query.symbol))
        case .assetIndex: return read(.assetIndex, .assetIndex(symbol: query.symbol))
        case .bookTicker: return read(query.symbol.map { .bookTicker(symbol: $0) } ?? .bookTickers, .bookTicker(symbol: query.symbol))
        case .depth:
            return query.symbol.map { read(.depth(symbol: $0, speed: .milliseconds100), .depth(limit: query.limit)) } ?? .refused(.missing("symbol"))
        case .trades:
            try checkWindow(query)
            // With a first id, the venue returns trades up to the newest and ignores the end.
            let isPast = if query.fromID == nil, let end = query.end, let now { VenueClock.isAhead(now, of: end) } else { false }
            guard let symbol = query.symbol else { throw .missing("symbol") }
            return read(
                .aggregateTrade(symbol: symbol), .trades(limit: query.limit, from: query.fromID, start: query.start, end: query.end),
                instead: .milliseconds(isPast ? 3_600_000 : 1_000))
        case .bars, .continuousBars:
            guard let interval = query.interval else { throw .missing("interval") }
            try checkOrder(query)
            let range = BarRange(interval: interval, start: query.start, end: query.end, limit: query.limit)
            let keep = isClosed(query, now) ? VenueKeep.milliseconds(3_600_000) : .streamedBar(interval.milliseconds ?? 86_400_000)
            if let symbol = query.symbol { return read(.kline(symbol: symbol, interval: interval), .bars(range), instead: keep) }
            guard dialect.venue.has(.continuousKline), let pair = query.pair, let contract = query.contractType else { return .relay(relay(keep)) }
            return read(.continuousKline(pair: pair, contract: contract, interval: interval), .bars(range), instead: keep)
        }
    }

    /// The request for the last two bars. If there are no trades, it shows the newest one.
    private func newest(of name: FuturesServiceStreamName) -> VenueRelay? {
        guard name.interval != nil, let url = dialect.newestRequest(of: name, host: 0, now: 0)?.url else { return nil }
        return VenueRelay(upstream: upstream, target: String(url.dropFirst(dialect.venue.restURLs[0].count)), weight: 1, keep: .milliseconds(0))
    }

    private func checkOrder(_ query: VenueQuery) throws(VenueRefusal) {
        if let start = query.start, let end = query.end, start > end { throw .reversedTimes }
    }

    /// The venue searches at most one hour of trades.
    private func checkWindow(_ query: VenueQuery) throws(VenueRefusal) {
        guard let start = query.start, let end = query.end else { return }
        guard end >= start, end.subtractingReportingOverflow(start).partialValue <= 3_600_000 else {
            throw VenueRefusal(code: -4166, "Search window is restricted to recent 1 hour.")
        }
    }

    /// Whether every requested bar has closed, so long ago that the venue has all its trades.
    private func isClosed(_ query: VenueQuery, _ now: Int64?) -> Bool {
        guard let end = query.end, let now else { return false }
        return VenueClock.isAhead(now.subtractingReportingOverflow(query.interval?.milliseconds ?? 31 * 86_400_000).partialValue, of: end)
    }

    private func keep(of query: VenueQuery, _ now: Int64?) -> VenueKeep {
        isClosed(query, now) ? .milliseconds(3_600_000) : .bar(query.interval?.milliseconds ?? 60_000)
    }

    private func weight(_ weight: VenuePath.Weight, _ query: VenueQuery) -> Int {
        switch weight {
        case .fixed(let weight): weight
        case .rows(let one, let all): query.symbol == nil ? all : one
        case .bars: Self.weight(bars: query.limit)
        case .levels: query.limit <= 50 ? 2 : query.limit <= 100 ? 5 : query.limit <= 500 ? 10 : 20
        }
    }

    static func weight(bars: Int) -> Int { bars < 100 ? 1 : bars < 500 ? 2 : bars <= 1_000 ? 5 : 10 }
}
