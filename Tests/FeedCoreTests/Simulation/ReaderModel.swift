@testable import FeedCore

/// What one reader has made of what it was told about one stream, by the merge rules of the contract.
struct ReaderModel {
    let rule: MergeRule
    let limit: Int
    /// Everything told so far, merged; nil before the first value.
    private(set) var rows: FeedRows?
    private(set) var bids: [Level] = []
    private(set) var asks: [Level] = []
    /// The worst prices the last full value told; what is beyond them is not known.
    private(set) var bidFloor = Int.max
    private(set) var askCeiling = Int.min
    private(set) var lastUpdateID: UInt64 = 0
    /// What it was told last of the stream's connection; nil at first.
    var isConnected: Bool?

    init(rule: MergeRule, limit: Int) {
        self.rule = rule
        self.limit = limit
    }

    mutating func apply(_ content: FuturesServiceFeedContent, _ verdict: Verdict) {
        if rule == .book, case .depth(let levels) = content.rows {
            guard let levels = levels.first, levels.bids.count + levels.asks.count < 100_000 else { return }
            if content.kind == .full { replaceBook(levels) } else { changeBook(levels, verdict) }
            return
        }
        guard content.kind == .delta else {
            rows = content.rows
            return
        }
        guard let known = rows else { return verdict.expect(false, .readerEqualsCache, "\(content.streamName): a delta to nothing") }
        switch (known, content.rows) {
        case (.aggregateTrade(let known), .aggregateTrade(let new)): append(known, new, content.streamName, verdict)
        case (.liquidation(let known), .liquidation(let new)): rows = .liquidation(Array((known + new).suffix(limit)))
        case (.markPrice(let known), .markPrice(let new)): rows = .markPrice(merge(known, new) { $0.symbol == $1.symbol })
        case (.kline(let known), .kline(let new)):
            let merged = merge(known, new) { $0.openTime == $1.openTime }.sorted { $0.openTime < $1.openTime }
            rows = .kline(Array(merged.suffix(limit)))
        default: rows = content.rows
        }
    }

    private mutating func append(_ known: [AggregateTrade], _ new: [AggregateTrade], _ name: FuturesServiceStreamName, _ verdict: Verdict) {
        var last = known.last?.id
        for row in new {
            if let last { verdict.expect(row.id == last + 1, .tradesAreWhole, "\(name): trade \(row.id) after \(last)") }
            last = row.id
        }
        rows = .aggregateTrade(Array((known + new).suffix(limit)))
    }

    private func merge<Row>(_ known: [Row], _ new: [Row], by isSame: (Row, Row) -> Bool) -> [Row] {
        var merged = known
        for row in new {
            if let place = merged.firstIndex(where: { isSame($0, row) }) { merged[place] = row } else { merged.append(row) }
        }
        return merged
    }

    static func level(_ level: PriceLevel) -> Level { Level(price: Int(level.price.text) ?? -1, quantity: Int(level.quantity.text) ?? -1) }

    private mutating func replaceBook(_ levels: DepthLevels) {
        rows = .depth([])
        bids = levels.bids.map(Self.level)
        asks = levels.asks.map(Self.level)
        bidFloor = bids.last?.price ?? .max
        askCeiling = asks.last?.price ?? .min
        lastUpdateID = levels.lastUpdateID
    }

    private mutating func changeBook(_ event: DepthLevels, _ verdict: Verdict) {
        verdict.expect(rows != nil, .deltasChain, "a delta to nothing")
        let previous = event.previousUpdateID ?? 0
        // The first delta after a snapshot may begin before it.
        verdict.expect(previous == lastUpdateID, .deltasChain, "\(event.symbol): the delta follows \(previous), the reader is at \(lastUpdateID)")
        for level in event.bids { Self.set(Self.level(level), in: &bids) { $0 <= $1 } }
        for level in event.asks { Self.set(Self.level(level), in: &asks) { $0 >= $1 } }
        lastUpdateID = event.lastUpdateID
    }

    private static func set(_ level: Level, in side: inout [Level], _ isAtOrBehind: (Int, Int) -> Bool) {
        let place = side.firstIndex { isAtOrBehind($0.price, level.price) } ?? side.count
        let isKnown = place < side.count && side[place].price == level.price
        if level.quantity == 0 {
            if isKnown { side.remove(at: place) }
        } else if isKnown {
            side[place] = level
        } else {
            side.insert(level, at: place)
        }
    }

    /// Whether the book is the venue's as far as it was told.
    func isTrue(_ market: SimulatedSymbol) -> Bool {
        guard let truth = market.book(at: lastUpdateID) else { return false }
        return Self.isSame(bids, truth.bids) { $0 >= bidFloor } && Self.isSame(asks, truth.asks) { $0 <= askCeiling }
    }

    private static func isSame(_ told: [Level], _ truth: [Level], _ isKnown: (Int) -> Bool) -> Bool {
        told.prefix { isKnown($0.price) }.elementsEqual(truth.prefix { isKnown($0.price) })
    }

    var isCrossed: Bool { bids.first.map { bid in asks.first.map { bid.price >= $0.price } ?? false } ?? false }
}
