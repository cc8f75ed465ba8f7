/// The bars of a symbol's aggregate trades, oldest first.
///
/// A bar is complete if no trade in its time is missing. Consecutive ids prove that none is. The first trade after a gap starts over and marks the
/// bars on both sides of the gap as incomplete.
struct TradeBars: Sendable {
    /// The length of a bar, ms.
    private let length: Int64
    private var bars: [TradeBar] = []
    /// The first and the last trade of the newest gapless range; nil if none is known.
    private var ids: ClosedRange<UInt64>?
    private var lastTime: Int64 = 0
    /// The index of the first bar that has a trade of `ids`.
    private var start = 0
    /// Whether the bar before that one was complete before a gap followed it.
    private var wasCompleteBeforeStart = false
    /// Whether the bars predate the subscription, so that the next trade may follow a gap.
    private(set) var isOutdated = false

    init(length: Int64) { self.length = length }

    /// Adds trades that follow. Returns the bars from the first changed one on.
    private mutating func append(_ trades: [AggregateTrade], limit: Int) -> [TradeBar] {
        if isOutdated, !trades.isEmpty {
            isOutdated = false
            if !isContinued(by: trades) { ids = nil }
        }
        var first = bars.count
        for trade in trades where ids.map({ trade.id > $0.upperBound }) ?? true {
            var bar = TradeBar(trade, length: length)
            if let known = ids {
                if trade.id != known.upperBound &+ 1 {
                    bar.isComplete = false
                    first = min(first, endAtHole())
                }
                ids = known.lowerBound...trade.id
            } else {
                bar.isComplete = false
                first = min(first, beginAnew(at: bar.kline.openTime))
                ids = trade.id...trade.id
                start = bars.count
            }
            first = min(first, place(bar))
            lastTime = trade.time
        }
        let news = Array(bars[min(first, bars.count)...])
        trim(limit)
        return news
    }

    /// Marks the last bar as incomplete because messages after it are missing; returns its index.
    private mutating func endAtHole() -> Int {
        guard let last = bars.indices.last else { return 0 }
        bars[last].isComplete = false
        return last
    }

    /// Starts over at `openTime`, because the next trade does not follow the known ones. A bar of the same time is replaced.
    private mutating func beginAnew(at openTime: Int64) -> Int {
        bars.removeAll { $0.kline.openTime >= openTime }
        wasCompleteBeforeStart = bars.last?.isComplete ?? false
        return endAtHole()
    }

    /// Merges a bar's trades into the right bar, and returns the first index that changed. Late trades amend an earlier bar.
    private mutating func place(_ bar: TradeBar) -> Int {
        var place = bars.count
        while place > 0, bars[place - 1].kline.openTime > bar.kline.openTime { place -= 1 }
        if place > 0, bars[place - 1].kline.openTime == bar.kline.openTime {
            bars[place - 1].append(bar)
            return place - 1
        }
        bars.insert(bar, at: place)
        bars[place].kline.isClosed = place < bars.count - 1
        guard place > 0, !bars[place - 1].kline.isClosed else { return place }
        bars[place - 1].kline.isClosed = true
        return place - 1
    }

    /// Drops the first tenth of the bars if there are too many.
    private mutating func trim(_ limit: Int) {
        guard bars.count > limit + limit / 10 else { return }
        start = max(0, start - (bars.count - limit))
        bars.removeFirst(bars.count - limit)
    }

    /// Merges trades from REST, some of which may already have arrived. Trades before the first known one are inserted before it.
    private mutating func complete(_ trades: [AggregateTrade], limit: Int) {
        guard let ids, !isOutdated else {
            _ = append(trades, limit: limit)
            return
        }
        let earlier = trades.prefix { $0.id < ids.lowerBound }
        if !earlier.isEmpty { prepend(Array(earlier), to: ids, limit: limit) }
        _ = append(trades, limit: limit)
    }

    private mutating func prepend(_ earlier: [AggregateTrade], to ids: ClosedRange<UInt64>, limit: Int) {
        var whole = TradeBars(length: length)
        whole.adopt(bars[..<start])
        if wasCompleteBeforeStart, let last = whole.bars.indices.last { whole.bars[last].isComplete = true }
        _ = whole.append(earlier, limit: bars.count + earlier.count)
        for (offset, bar) in bars[start...].enumerated() {
            var bar = bar
            // The trades missing at its beginning are present now.
            if offset == 0 { bar.isComplete = true }
            _ = whole.place(bar)
        }
        // If the venue restarted its numbering, the new ids are lower than those of earlier bars.
        whole.ids = min(whole.ids?.lowerBound ?? ids.lowerBound, ids.lowerBound)...ids.upperBound
        whole.lastTime = lastTime
        self = whole
        trim(limit)
    }

    /// Loads bars from before the subscription.
    private mutating func adopt(_ known: ArraySlice<TradeBar>) {
        bars = Array(known)
        isOutdated = true
        start = max(0, bars.count - 1)
        ids = nil
        guard let last = bars.last else { return }
        ids = last.firstAggregateID...max(last.firstAggregateID, last.lastAggregateID)
        lastTime = last.kline.closeTime
    }
}

extension TradeBars: ContentTable {
    var lastID: UInt64? { ids?.upperBound }
    var lacksIdentity: Bool { false }

    func has(_ key: String) -> Bool { false }

    func ids(_ limit: Int) -> ClosedRange<UInt64>? { ids }

    func latest(_ limit: Int) -> FeedRows { .bar(bars.count > limit ? Array(bars.suffix(limit)) : bars) }

    func carries(_ rows: FeedRows) -> Bool { if case .aggregateTrade = rows { true } else { false } }

    func isContinued(by rows: FeedRows) -> Bool {
        guard case .aggregateTrade(let trades) = rows else { return true }
        return isContinued(by: trades)
    }

    private func isContinued(by trades: [AggregateTrade]) -> Bool {
        guard let known = ids?.upperBound, let first = trades.first, let last = trades.last else { return true }
        // A lower id with a later time is not a repetition, because the venue restarted its numbering.
        return first.id <= known &+ 1 && !(last.id <= known && last.time > lastTime)
    }

    func isJoined(by complete: FeedRows) -> Bool {
        guard !isOutdated, let ids, case .aggregateTrade(let trades) = complete, let last = trades.last else { return true }
        return ids.lowerBound <= last.id &+ 1 && !(last.id > ids.upperBound && last.time < lastTime)
    }

    func compared(with other: FeedRows) -> Comparison? {
        guard case .aggregateTrade(let trades) = other else { return nil }
        guard let newest = trades.last?.id else { return bars.isEmpty ? .same : .older }
        guard let known = lastID else { return .newer }
        return newest == known ? .same : newest < known ? .older : .newer
    }

    func isNewer(than other: FeedRows) -> Bool {
        guard compared(with: other) == .older, case .aggregateTrade(let trades) = other, let last = trades.last else { return false }
        return last.time <= lastTime
    }

    func leap(to other: FeedRows) -> UInt64? {
        guard !isOutdated, case .aggregateTrade(let trades) = other, let number = trades.last?.id, let known = lastID else { return nil }
        return number.isLeap(from: known) ? number : nil
    }

    mutating func drop(_ isGone: (String) -> Bool) -> Bool { false }

    mutating func beginGeneration() { isOutdated = true }
    mutating func outliveConnection() {}

    mutating func merge(_ update: FeedRows, rule: MergeRule, limit: Int) -> FeedRows? {
        guard case .aggregateTrade(let trades) = update else { return nil }
        return .bar(append(trades, limit: limit))
    }

    mutating func take(_ complete: FeedRows, limit: Int) -> Bool {
        switch complete {
        case .aggregateTrade(let trades): self.complete(trades, limit: limit)
        case .bar(let bars): adopt(bars.suffix(limit))
        default: return false
        }
        return true
    }
}
