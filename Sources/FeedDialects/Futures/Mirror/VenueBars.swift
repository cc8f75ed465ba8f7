import FeedCore

/// Renders the requested bars. The stream has the newest ones. Older bars are final, so they are fetched once, in blocks of as many as have a low
/// weight, and kept.
extension VenueREST {
    /// Later times are invalid.
    private static let latest: Int64 = 1 << 52

    func render(
        _ rows: [Kline], _ range: BarRange, _ reading: VenueReading, _ times: VenueTimes, _ kept: (VenueRelay) -> [UInt8]?
    ) -> VenueRendering {
        guard let first = rows.first, let last = rows.last, first.openTime >= 0, last.closeTime < Self.latest else { return .lacks }
        let end = range.end ?? .max
        guard let length = range.interval.milliseconds, rows.count >= dialect.snapshotBars else {
            // Only the venue knows whether there are earlier bars: a snapshot may have come short. Months have no blocks.
            let isWithin = range.start.map { $0 >= first.openTime } ?? (rows.count { $0.openTime <= end } >= range.limit)
            return isWithin ? render(rows[...], range, times) : .lacks
        }
        let phase = first.openTime % length
        // The number of the first requested bar, in bar lengths since 1970.
        let lowest: Int64
        if let start = range.start {
            guard start < first.openTime else { return render(rows[...], range, times) }
            lowest = (start - phase + length - 1) / length
        } else {
            lowest = (min(end, last.openTime) - phase) / length - Int64(range.limit) + 1
            guard lowest * length + phase < first.openTime else { return render(rows[...], range, times) }
        }
        let highest = min((first.openTime - phase) / length - 1, (end - phase) / length, lowest + Int64(range.limit) - 1)
        guard lowest >= 0, highest >= lowest else { return lowest < 0 ? .lacks : render(rows[...], range, times) }
        let size = Int64(Self.block)
        var (bars, missing): ([Kline], [VenueRelay]) = ([], [])
        for number in lowest / size...highest / size {
            let relay = block(number * size * length + phase, length, of: reading, times.now)
            guard let body = kept(relay) else {
                missing.append(relay)
                continue
            }
            guard let older = self.bars(body, of: reading.name) else { return .lacks }
            bars += older.filter { $0.openTime < first.openTime }
        }
        guard missing.isEmpty else { return .needs(missing) }
        // Only the venue knows whether there is an earlier bar. If the start is before the first bar of all, it returns that one, wherever it is.
        if !bars.contains(where: { $0.openTime == lowest * length + phase }) { return .lacks }
        return render((bars + rows)[...], range, times)
    }

    /// The last bar of the newest block may have closed a moment ago, when the venue does not have all its trades yet.
    private func block(_ start: Int64, _ length: Int64, of reading: VenueReading, _ now: Int64) -> VenueRelay {
        let end = start + Int64(Self.block) * length - 1
        let target = reading.instead.target.prefix { $0 != "?" }
        let series =
            reading.name.continuous.map { "pair=\($0.pair.percentEncoded)&contractType=\($0.contract.rawValue)" }
            ?? "symbol=\((reading.name.symbol ?? "").percentEncoded)"
        return VenueRelay(
            upstream: upstream,
            target: "\(target)?\(series)&interval=\(reading.name.interval?.rawValue ?? "")&startTime=\(start)&endTime=\(end)&limit=\(Self.block)",
            weight: Self.weight(bars: Self.block), keep: .milliseconds(VenueClock.isAhead(now, of: end) ? 86_400_000 : 10_000))
    }

    private func bars(_ body: [UInt8], of name: FuturesServiceStreamName) -> [Kline]? {
        let content = dialect.decodeSnapshot(of: name, RESTAnswer(status: 200, retryAfter: nil, body: body), now: .max)
        guard case .success(let content) = content, case .kline(let rows) = content.rows else { return nil }
        return rows
    }

    private func render(_ rows: ArraySlice<Kline>, _ range: BarRange, _ times: VenueTimes) -> VenueRendering {
        let end = range.end ?? .max
        let within = rows.drop { $0.openTime < range.start ?? .min }.prefix { $0.openTime <= end }
        let chosen = range.start == nil ? within.suffix(range.limit) : within.prefix(range.limit)
        // Whether the newest bar, or a later one, belongs to the answer.
        let isFilled = range.start != nil && within.count >= range.limit && chosen.endIndex != rows.endIndex
        let newest = rows.last.flatMap { !isFilled && $0.openTime <= end ? $0 : nil }
        if let newest, newest.closeTime < times.now {
            // If there are no trades, the venue may have no newer bar. An answer from after this bar's end shows it.
            let isLast = newest.closeTime >= end || times.fetched ?? .min > newest.closeTime + Self.proof
            let isBelieved = times.believesSilence && times.now <= newest.closeTime + (range.interval.milliseconds ?? 0)
            let isFinal = newest.isClosed || isBelieved && newest.tradeCount == 0
            if !isFinal || !isLast && !isBelieved { return .isBehind(since: newest.closeTime) }
        }
        // The venue lists minutes without trades, too. A hole is a bar that no message brought, or a block that came short.
        if let length = range.interval.milliseconds, zip(chosen, chosen.dropFirst()).contains(where: { $1.openTime &- $0.openTime != length }) {
            return .lacks
        }
        // A bar whose last message never arrived may lack trades.
        if let unfinished = chosen.first(where: { !$0.isClosed && $0.openTime != rows.last?.openTime }) {
            return .isBehind(since: unfinished.closeTime)
        }
        var writer = JSONWriter(capacity: 176 * chosen.count + 16)
        writer.array { json in
            for bar in chosen {
                json.array {
                    $0.integer(bar.openTime)
                    $0.decimal(bar.open)
                    $0.decimal(bar.high)
                    $0.decimal(bar.low)
                    $0.decimal(bar.close)
                    $0.decimal(bar.volume)
                    $0.integer(bar.closeTime)
                    $0.decimal(bar.quoteVolume)
                    $0.integer(bar.tradeCount)
                    $0.decimal(bar.takerBuyVolume)
                    $0.decimal(bar.takerBuyQuoteVolume)
                    $0.string("0")
                }
            }
        }
        return .body(writer.bytes, until: newest.flatMap { $0.closeTime < times.now ? nil : $0.closeTime + 1 })
    }
}
