@testable import FeedCore

/// The venue's REST side: complete data as it is at the moment of serving, which may reach the asker long after.
extension SimulatedVenue {
    func serve(_ stream: Int, _ request: FetchRequest) {
        let (result, delay) = answer(stream, request)
        let isSlow = queue.now < slowUntil && dice.chance(0.7)
        let way = isSlow ? Nanoseconds.ms(dice.spread(100, 9000)) : Nanoseconds.ms(dice.spread(1, 150))
        queue.plan(.input(.fetched(streams[stream].name, attempt: request.attempt, result)), in: delay ?? way)
        guard faults.occurs(.otherUsers, &dice) else { return }
        queue.plan(.input(.usedWeight(upstream: 0, dice.between(configuration.weightLimit / 4, configuration.weightLimit))), in: way)
    }

    /// Tells which symbols there are, and comes again.
    ///
    /// - Parameter cut: a symbol that this list lacks, though it trades.
    func list(without cut: Int? = nil) {
        let names = Set(markets.indices.filter { !settled.contains($0) && $0 != cut }.map { markets[$0].symbol })
        let gone = Set(settled.map { markets[$0].symbol })
        let listing = VenueListing(symbols: names, settled: gone, weightLimit: configuration.weightLimit)
        let isLost = queue.now < max(downUntil, listingFailsUntil)
        if !isLost, cut == nil { hasListedAll = true }
        queue.plan(.input(.listed(upstream: 0, isLost ? .failure(FeedError(.unreachable, "503")) : .success(listing))), in: .ms(dice.spread(5, 500)))
    }

    private func answer(_ stream: Int, _ request: FetchRequest) -> (Result<FetchedContent, FeedError>, Nanoseconds?) {
        if let (failure, delay) = failure(host: request.host) { return (.failure(failure), delay) }
        if faults.occurs(.malformedAnswer, &dice) { return (.failure(FeedError(.malformed, "garbled")), nil) }
        if faults.occurs(.refusedAnswer, &dice) { return (.failure(refusal()), nil) }
        let channel = streams[stream].name.channel
        if faults.occurs(.otherAnswer, &dice) { return (.success(FetchedContent(rows: otherRows(than: channel), eventTime: nil)), nil) }
        if let symbol = streams[stream].symbol, settled.contains(symbol) { return (.failure(FeedError(.venueRejected, "no such symbol")), nil) }
        var from: UInt64?
        if case .from(let id) = request.part { from = id }
        guard let rows = rows(stream, from: from) else { return (.failure(FeedError(.noSnapshotSource, "none")), nil) }
        return (.success(FetchedContent(rows: rows, eventTime: queue.wallClock)), nil)
    }

    /// A refusal with any status, read as the dialect reads it; its `Retry-After` may be nothing, 0 or a time.
    private func refusal() -> FeedError {
        let status = dice.between(300, 599)
        let wait: Int64? = dice.pick(nil, 0, 0, Int64(dice.between(1, 5_000)))
        return switch status {
        case 418, 429: FeedError(.rateLimited, "HTTP \(status)", retryAfterMs: wait)
        case 403, 500...599: FeedError(.unreachable, "HTTP \(status)", retryAfterMs: wait)
        default: dice.chance(0.2) ? FeedError(.malformed, "HTML for HTTP \(status)") : FeedError(.venueRejected, "HTTP \(status)", venueCode: -1007)
        }
    }

    /// Why the venue answers nothing, and after which time if it takes long.
    func failure(host: Int) -> (FeedError, Nanoseconds?)? {
        let timeOut: Nanoseconds = .seconds(10)
        if queue.now < bannedUntil {
            let left = (bannedUntil - queue.now) / 1_000_000 + 1
            return (FeedError(.rateLimited, "too many requests", retryAfterMs: bansWithoutWord ? nil : left), nil)
        }
        if queue.now < downUntil || host == deadRESTHost {
            return dice.chance(0.5) ? (FeedError(.unreachable, "503"), nil) : (FeedError(.timedOut, "no answer"), timeOut)
        }
        if faults.occurs(.serverError, &dice) { return (FeedError(.unreachable, "502"), nil) }
        if faults.occurs(.timeOut, &dice) { return (FeedError(.timedOut, "no answer"), timeOut) }
        return nil
    }

    private func rows(_ stream: Int, from: UInt64?) -> FeedRows? {
        guard let symbol = streams[stream].symbol else {
            return .markPrice(markets.map { $0.markPriceRow(queue.wallClock, isREST: true) })
        }
        let market = markets[symbol]
        switch streams[stream].name.channel {
        case .depth:
            if faults.occurs(.crossedAnswer, &dice) { return .depth([Self.crossed(market.depth(bookDepth, id: market.lastID))]) }
            if faults.occurs(.oldAnswer, &dice), let ids = market.lives.last?.ids {
                return .depth([market.depth(bookDepth, at: ids[max(0, ids.count - dice.between(1, 30))])])
            }
            return .depth([market.depth(bookDepth, id: dice.chance(0.5) ? market.lastID : lastUpdateID)])
        case .partialDepth: return .depth([market.depth(5, id: market.lastID)])
        case .aggregateTrade:
            let lag = faults.occurs(.laggingAnswer, &dice) ? dice.between(1, 5) : 0
            if let from { return .aggregateTrade(market.trades(from: from, count: backfillLimit ?? 0, lag: lag)) }
            return .aggregateTrade(market.lastTrades(history, lag: lag))
        case .markPrice: return .markPrice([market.markPriceRow(queue.wallClock, isREST: true)])
        case .bookTicker: return market.bookTicker(isREST: true).map { .bookTicker([$0]) }
        case .kline:
            var market = market
            market.closeBars(time: queue.wallClock)
            return .kline(market.bars.suffix(history).compactMap(market.kline))
        default: return nil
        }
    }
}
