/// A stream's cached content: an order book, or rows of whichever type the stream carries, merged by its rule.
struct StreamContent: Sendable {
    /// The order book; nil for any other stream.
    var book: OrderBook?
    private var table: (any ContentTable)?
    private let rule: MergeRule
    private let limit: Int

    init(_ name: FuturesServiceStreamName, limit: Int) {
        rule = name.messageRule
        self.limit = limit
        switch name.channel {
        case .depth, .rpiDepth: book = OrderBook(limit: limit)
        case .markPrice: table = RowTable<MarkPrice>()
        case .assetIndex: table = RowTable<AssetIndex>()
        case .bookTicker: table = RowTable<BookTicker>()
        case .aggregateTrade: table = RowTable<AggregateTrade>()
        case .trade: table = RowTable<Trade>()
        case .liquidation: table = RowTable<Liquidation>()
        case .partialDepth: table = RowTable<DepthLevels>()
        case .kline, .continuousKline: table = RowTable<Kline>()
        case .bar: table = TradeBars(length: (name.barLength ?? .second1).milliseconds)
        case .miniTicker: table = RowTable<MiniTicker>()
        case .ticker: table = RowTable<Ticker>()
        case .compositeIndex: table = RowTable<CompositeIndex>()
        case .contractInfo: table = RowTable<ContractInfo>()
        case .tradingSession: table = RowTable<TradingSession>()
        case .openInterest, .fundingRate, .funding, .longShortRatio, .upstream: table = RowTable<JSONRow>()
        }
    }

    /// All rows, at most the limit.
    var rows: FeedRows { table?.latest(limit) ?? .depth(book.map { [$0.levels()] } ?? []) }

    /// What is cached outlived its connection; see `RowTable`.
    mutating func beginGeneration() {
        table?.beginGeneration()
        book?.reset()
    }

    /// The connection is lost; what is cached stays to be read, and its times bind nobody.
    mutating func outliveConnection() { table?.outliveConnection() }

    /// Merges an update; the rows that changed the content, or nil where the update carries another stream's type.
    mutating func update(_ update: FeedRows) -> FeedRows? {
        let (rule, limit) = (rule, limit)
        return table?.merge(update, rule: rule, limit: limit) ?? nil
    }

    /// Whether the rows are of the stream's own type. A book has no rows.
    func carries(_ rows: FeedRows) -> Bool { table?.carries(rows) == true }

    /// Takes complete data; false where it carries another stream's type.
    mutating func complete(_ complete: FeedRows) -> Bool {
        let limit = limit
        return table?.take(complete, limit: limit) ?? false
    }

    /// Takes out the rows of symbols that are gone, of a list of all symbols; false if there were none.
    mutating func drop(_ isGone: (String) -> Bool) -> Bool { rule == .byKey && table?.drop(isGone) == true }

    /// Takes what was known before the subscription, to be read until something newer comes; false where it carries another stream's type.
    mutating func recall(_ known: FeedRows) -> Bool {
        guard book != nil else { return complete(known) }
        guard case .depth(let rows) = known, let levels = rows.first else { return false }
        book?.recall(levels)
        return true
    }

    /// Whether the next row begins the content anew, where every message counts: what is there is of before the subscription.
    var beginsAnew: Bool { rule == .append && table?.isOutdated == true }

    /// The id of the last row, where rows are counted one by one.
    var lastID: UInt64? { table?.lastID }

    /// The first and the last id of what is here without a hole, where messages are counted one by one; nil for others.
    var ids: ClosedRange<UInt64>? { table?.ids(limit) }

    /// Whether the rows follow what is here without a hole: where every message counts they repeat or directly follow the last one; elsewhere
    /// every message will do.
    func isContinued(by rows: FeedRows) -> Bool {
        if let book, case .depth(let levels) = rows { return levels.first.map { book.isContinued(by: $0) } ?? false }
        return table?.isContinued(by: rows) ?? false
    }

    /// Whether messages are missing between what is here and the rows, by the venue's numbers: where every message counts, and of a book that stands.
    func hasHole(before rows: FeedRows) -> Bool {
        if let book, case .depth(let levels) = rows {
            return levels.first.map { $0.lastUpdateID > book.lastUpdateID && !book.isContinued(by: $0) } ?? false
        }
        guard rule == .append, !beginsAnew, let last = lastID, let first = rows.ids?.lowerBound else { return false }
        return first > last &+ 1
    }

    /// Whether complete data reaches what has come since the subscription, where every message counts, and is counted alike.
    func isJoined(by complete: FeedRows) -> Bool { table?.isJoined(by: complete) ?? true }

    /// Whether REST, which has these rows, is ahead of what is here, behind it, or agrees; nil where that cannot be told.
    func compared(with other: FeedRows) -> Comparison? {
        guard let book else { return table?.compared(with: other) ?? nil }
        guard book.stands || book.isQuiet, case .depth(let rows) = other, let row = rows.first else { return nil }
        return row.compared(with: book.levels(depth: max(row.bids.count, row.asks.count, 1)))
    }

    /// The number of the rows, where it is so far ahead of what is here that it cannot be true.
    func leap(to other: FeedRows) -> UInt64? {
        guard let book else { return table?.leap(to: other) ?? nil }
        guard book.lastUpdateID > 0, case .depth(let rows) = other, let number = rows.last?.lastUpdateID else { return nil }
        return number.isLeap(from: book.lastUpdateID) ? number : nil
    }

    /// Whether nothing but all of a row tells it from another.
    var lacksIdentity: Bool { table?.lacksIdentity == true }
}

extension UInt64 {
    /// Whether no venue can have counted so far from one message to the next: at a million changes a second it is eleven days.
    func isLeap(from before: UInt64) -> Bool { self > before && self &- before > 1_000_000_000_000 }
}

/// A table of rows of a type that its stream alone knows.
protocol ContentTable: Sendable {
    var isOutdated: Bool { get }
    var lastID: UInt64? { get }
    func ids(_ limit: Int) -> ClosedRange<UInt64>?
    func latest(_ limit: Int) -> FeedRows
    func carries(_ rows: FeedRows) -> Bool
    func isContinued(by rows: FeedRows) -> Bool
    func isJoined(by complete: FeedRows) -> Bool
    var lacksIdentity: Bool { get }
    func compared(with other: FeedRows) -> Comparison?
    func leap(to other: FeedRows) -> UInt64?
    mutating func drop(_ isGone: (String) -> Bool) -> Bool
    mutating func beginGeneration()
    mutating func outliveConnection()
    mutating func merge(_ update: FeedRows, rule: MergeRule, limit: Int) -> FeedRows?
    mutating func take(_ complete: FeedRows, limit: Int) -> Bool
}

extension RowTable: ContentTable {
    var lastID: UInt64? { rows.last?.messageID }

    func ids(_ limit: Int) -> ClosedRange<UInt64>? {
        guard let first = rows[max(0, rows.count - limit)...].first?.messageID, let last = rows.last?.messageID, first <= last else { return nil }
        return first...last
    }

    func carries(_ rows: FeedRows) -> Bool { Row.rows(in: rows) != nil }

    func latest(_ limit: Int) -> FeedRows { Row.feedRows(rows.count > limit ? Array(rows.suffix(limit)) : rows) }

    func isContinued(by other: FeedRows) -> Bool {
        if lacksIdentity { return Row.rows(in: other)?.first.map { rows.contains($0) } ?? false }
        let new = Row.rows(in: other) ?? []
        guard let known = rows.last, let knownID = known.messageID, let firstID = new.first?.messageID, let last = new.last,
            let lastID = last.messageID
        else { return true }
        // Made later with a lower id it is not a repetition: the venue counts anew.
        return firstID <= knownID &+ 1 && !(lastID <= knownID && last.messageTime > known.messageTime)
    }

    var lacksIdentity: Bool { !Row.hasIdentity }

    func compared(with other: FeedRows) -> Comparison? {
        guard let others = Row.rows(in: other) else { return nil }
        if others.isEmpty { return rows.isEmpty ? .same : .older }
        if let newest = others.last?.messageID {
            guard let known = rows.last?.messageID else { return .newer }
            return newest == known ? .same : newest < known ? .older : .newer
        }
        var comparison: Comparison?
        for row in others {
            guard let known = known(row.key) else {
                if !row.saysNothing, !Row.isOrdered || rows.last.map({ $0.key < row.key }) ?? true { return .newer }
                continue
            }
            let one = row.compared(with: known)
            if one == .newer { return .newer }
            if comparison != .same { comparison = one }
        }
        return comparison
    }

    @specialized(where Row == MarkPrice)
    @specialized(where Row == AssetIndex)
    @specialized(where Row == BookTicker)
    @specialized(where Row == AggregateTrade)
    @specialized(where Row == Trade)
    @specialized(where Row == Liquidation)
    @specialized(where Row == DepthLevels)
    @specialized(where Row == Kline)
    @specialized(where Row == MiniTicker)
    @specialized(where Row == Ticker)
    func leap(to other: FeedRows) -> UInt64? {
        // Rows are looked at where they lie: to copy one costs as much as all else.
        guard !isOutdated, let new = Row.rows(in: other), let last = new.indices.last, let number = new[last].changeNumber, !rows.isEmpty,
            let before = rows[position(of: new[last].key) ?? rows.count - 1].changeNumber
        else { return nil }
        return number.isLeap(from: before) ? number : nil
    }

    func isJoined(by complete: FeedRows) -> Bool {
        guard !isOutdated, let firstID = rows.first?.messageID, let known = rows.last, let knownID = known.messageID,
            let last = Row.rows(in: complete)?.last, let lastID = last.messageID
        else { return true }
        return firstID <= lastID &+ 1 && !(lastID > knownID && last.messageTime < known.messageTime)
    }

    @specialized(where Row == MarkPrice)
    @specialized(where Row == AssetIndex)
    @specialized(where Row == BookTicker)
    @specialized(where Row == AggregateTrade)
    @specialized(where Row == Trade)
    @specialized(where Row == Liquidation)
    @specialized(where Row == DepthLevels)
    @specialized(where Row == Kline)
    @specialized(where Row == MiniTicker)
    @specialized(where Row == Ticker)
    mutating func merge(_ update: FeedRows, rule: MergeRule, limit: Int) -> FeedRows? {
        Row.rows(in: update).map { Row.feedRows(self.update($0, rule: rule, limit: limit)) }
    }

    mutating func take(_ complete: FeedRows, limit: Int) -> Bool {
        guard let rows = Row.rows(in: complete) else { return false }
        self.complete(rows, limit: limit)
        return true
    }
}
