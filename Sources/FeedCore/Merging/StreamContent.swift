/// A stream's cached content: an order book, or rows of the stream's type, merged by its rule.
struct StreamContent: Sendable {
    /// The order book; nil for any other stream.
    var book: OrderBook?
    private var table: (any ContentTable)?
    private let rule: MergeRule
    private let everyMessageCounts: Bool
    /// Whether messages of another stream complete this one's.
    private let takesAdditions: Bool
    private let limit: Int

    init(_ name: FuturesServiceStreamName, limit: Int) {
        rule = name.messageRule
        everyMessageCounts = rule.policy.everyMessageCounts
        takesAdditions = name.channel == .earlyKline
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
        case .earlyKline: table = EarlyBars(length: name.interval?.milliseconds)
        case .bar: table = TradeBars(length: (name.barLength ?? .second1).milliseconds)
        case .miniTicker: table = RowTable<MiniTicker>()
        case .ticker: table = RowTable<Ticker>()
        case .compositeIndex: table = RowTable<CompositeIndex>()
        case .contractInfo: table = RowTable<ContractInfo>()
        case .tradingSession: table = RowTable<TradingSession>()
        case .upstream where name.isListOfTrades: table = RowTable<UpstreamTrade>()
        case .upstream where name.isListOfBars: table = RowTable<UpstreamBar>()
        case .openInterest, .fundingRate, .funding, .longShortRatio, .markets, .upstream: table = RowTable<JSONRow>()
        }
    }

    /// All rows, up to the limit.
    @inline(__always)
    var rows: FeedRows { table?.latest(limit) ?? .depth(book.map { [$0.levels()] } ?? []) }

    /// Starts a new generation, because the cached content outlived its connection; see `RowTable`.
    mutating func beginGeneration() {
        table?.beginGeneration()
        book?.reset()
    }

    /// Handles the loss of the connection: the cached content stays readable, and any next row may replace it.
    mutating func outliveConnection() { table?.outliveConnection() }

    /// Merges an update. Returns the rows that changed the content, or nil if the update has another stream's type.
    mutating func update(_ update: FeedRows) -> FeedRows? {
        let (rule, limit) = (rule, limit)
        return table?.merge(update, rule: rule, limit: limit) ?? nil
    }

    /// Whether the rows have the stream's own type; false for a book.
    func carries(_ rows: FeedRows) -> Bool { table?.carries(rows) == true }

    /// Merges a snapshot; false if it has another stream's type.
    mutating func complete(_ complete: FeedRows) -> Bool {
        let limit = limit
        return table?.take(complete, limit: limit) ?? false
    }

    /// Removes rows of ended symbols from a list of all symbols; false if there were none.
    mutating func drop(_ isGone: (String) -> Bool) -> Bool { rule.policy.messagesArePartial && table?.drop(isGone) == true }

    /// Whether a list has the row of a symbol.
    func has(_ symbol: String) -> Bool { table?.has(symbol) ?? false }

    /// Loads content from before the subscription, to be read until newer data arrives; false if it has another stream's type.
    mutating func recall(_ known: FeedRows) -> Bool {
        guard book != nil else { return complete(known) }
        guard case .depth(let rows) = known, let levels = rows.first else { return false }
        book?.recall(levels)
        return true
    }

    /// Whether the next row starts the content over because the cached rows predate the current subscription. Only for streams in which every message
    /// counts.
    var beginsAnew: Bool { everyMessageCounts && table?.isOutdated == true }

    /// The id of the last row if ids are consecutive.
    var lastID: UInt64? { table?.lastID }

    /// The first and the last id of the gapless content if messages are numbered; nil for others.
    var ids: ClosedRange<UInt64>? { table?.ids(limit) }

    /// Whether the rows follow the content without a gap. If every message counts, they must repeat or directly follow the last one. For other
    /// streams every message does.
    func isContinued(by rows: FeedRows) -> Bool {
        if let book, case .depth(let levels) = rows { return levels.first.map { book.isContinued(by: $0) } ?? false }
        return table?.isContinued(by: rows) ?? false
    }

    /// Whether messages are missing before the rows, by the venue's numbers. Applies to streams in which every message counts and to complete books.
    func hasHole(before rows: FeedRows) -> Bool {
        if let book, case .depth(let levels) = rows {
            return levels.first.map { $0.lastUpdateID > book.lastUpdateID && !book.isContinued(by: $0) } ?? false
        }
        guard everyMessageCounts else { return table?.hasHole(before: rows) ?? false }
        guard !beginsAnew, let last = lastID, let first = rows.ids?.lowerBound else { return false }
        return first > last &+ 1
    }

    /// Whether the bar before the rows is closed.
    func isFinished(before rows: FeedRows) -> Bool { table?.isFinished(before: rows) ?? false }

    /// Whether the rows are those of another stream, which complete this one's.
    func isAddition(_ rows: FeedRows) -> Bool { takesAdditions && table?.isAddition(rows) == true }

    /// Keeps such rows until the next message, because the content must not change now.
    mutating func keep(_ addition: FeedRows) { table?.keep(addition) }

    /// The last millisecond of the open bar, if this content closes bars.
    var openBarEnd: Int64? { table?.openBarEnd }

    /// How bars were closed since the last call; nil if this content closes none.
    mutating func takeClosings() -> FeedCounters.EarlyBars? { table?.takeClosings() }

    /// Whether bars are missing or unfinished, other than between two bars of this answer.
    func hasHole(besidesThoseOf answer: FeedRows) -> Bool { table?.hasHole(besidesThoseOf: answer) ?? false }

    /// Whether the content has a later bar than the answer, and bars have no mark that they are final. The last bar of the answer may lack trades then.
    func hasLaterBar(than answer: FeedRows) -> Bool { table?.hasLaterBar(than: answer) ?? false }

    /// The rows that a list of all symbols lacks: of known symbols that the venue lists, or of most listed ones. Nil if it is whole.
    func lack(of rows: FeedRows, _ listing: VenueListing) -> Lack? { table?.lack(of: rows, listing) ?? nil }

    /// The listed symbols that an answer lacks, and a sentence about them.
    struct Lack {
        let symbols: [String]
        let words: String
    }

    /// Whether a snapshot joins the messages that arrived since the subscription, if every message counts and numbering is the same.
    func isJoined(by complete: FeedRows) -> Bool { table?.isJoined(by: complete) ?? true }

    /// Whether these rows from REST are newer than the content, older, or the same; nil if that cannot be determined.
    func compared(with other: FeedRows) -> Comparison? {
        guard let book else { return table?.compared(with: other) ?? nil }
        guard book.stands || book.isQuiet, case .depth(let rows) = other, let row = rows.first else { return nil }
        return row.compared(with: book.levels(depth: max(row.bids.count, row.asks.count, 1)))
    }

    /// Whether these rows from REST were made before the content, for example by a cache. They prove nothing then.
    func isNewer(than other: FeedRows) -> Bool {
        if let table { return table.isNewer(than: other) }
        guard let book, case .depth(let rows) = other, let snapshot = rows.first else { return false }
        return book.lastUpdateID > snapshot.lastUpdateID && (snapshot.time <= 0 || snapshot.time <= book.time)
    }

    /// Whether a message of a stream with a single value is older than that value, by its number and its time. A venue that restarted its numbering
    /// sends lower numbers, but no earlier time.
    func isNewer(thanMessage rows: FeedRows) -> Bool { table?.isNewer(thanMessage: rows) ?? false }

    /// The number of the rows if it is so far ahead of the content that it cannot be true.
    ///
    /// It changes nothing. But a function that reads would copy the whole table first.
    mutating func leap(to other: FeedRows) -> UInt64? {
        guard other.areNumbered else { return nil }
        if let leap = table?.leap(to: other) { return leap }
        guard let known = book?.lastUpdateID, known > 0, case .depth(let rows) = other, let number = rows.last?.lastUpdateID else { return nil }
        return number.isLeap(from: known) ? number : nil
    }

    /// Whether rows have no identifying key.
    var lacksIdentity: Bool { table?.lacksIdentity == true }
}

extension UInt64 {
    /// Whether no venue can have counted this far between two messages: more than 10^12, which is eleven days at a million changes per second.
    func isLeap(from before: UInt64) -> Bool { self > before && self &- before > 1_000_000_000_000 }
}

/// A table of rows whose type only its stream knows.
protocol ContentTable: Sendable {
    var isOutdated: Bool { get }
    var lastID: UInt64? { get }
    func has(_ key: String) -> Bool
    func ids(_ limit: Int) -> ClosedRange<UInt64>?
    func latest(_ limit: Int) -> FeedRows
    func carries(_ rows: FeedRows) -> Bool
    func isContinued(by rows: FeedRows) -> Bool
    func isJoined(by complete: FeedRows) -> Bool
    var lacksIdentity: Bool { get }
    func compared(with other: FeedRows) -> Comparison?
    func isNewer(than other: FeedRows) -> Bool
    func isNewer(thanMessage rows: FeedRows) -> Bool
    var openBarEnd: Int64? { get }
    func isFinished(before rows: FeedRows) -> Bool
    func isAddition(_ rows: FeedRows) -> Bool
    mutating func keep(_ addition: FeedRows)
    mutating func takeClosings() -> FeedCounters.EarlyBars?
    func hasHole(before rows: FeedRows) -> Bool
    func hasHole(besidesThoseOf answer: FeedRows) -> Bool
    func hasLaterBar(than answer: FeedRows) -> Bool
    func lack(of rows: FeedRows, _ listing: VenueListing) -> StreamContent.Lack?
    mutating func leap(to other: FeedRows) -> UInt64?
    mutating func drop(_ isGone: (String) -> Bool) -> Bool
    mutating func beginGeneration()
    mutating func outliveConnection()
    mutating func merge(_ update: FeedRows, rule: MergeRule, limit: Int) -> FeedRows?
    mutating func take(_ complete: FeedRows, limit: Int) -> Bool
}

extension ContentTable {
    func isNewer(thanMessage rows: FeedRows) -> Bool { false }
    var openBarEnd: Int64? { nil }
    func isFinished(before rows: FeedRows) -> Bool { false }
    func isAddition(_ rows: FeedRows) -> Bool { false }
    mutating func keep(_ addition: FeedRows) {}
    mutating func takeClosings() -> FeedCounters.EarlyBars? { nil }
    func hasHole(before rows: FeedRows) -> Bool { false }
    func hasHole(besidesThoseOf answer: FeedRows) -> Bool { false }
    func hasLaterBar(than answer: FeedRows) -> Bool { false }
    func lack(of rows: FeedRows, _ listing: VenueListing) -> StreamContent.Lack? { nil }
}

extension RowTable: ContentTable {
    func isFinished(before other: FeedRows) -> Bool { rows.last?.bar?.isClosed ?? false }

    func hasHole(before other: FeedRows) -> Bool {
        guard !isOutdated, let last = rows.last?.bar, let first = Row.rows(in: other)?.first?.bar else { return false }
        return last.openTime < first.openTime && !last.isFollowed(by: first)
    }

    func hasHole(besidesThoseOf answer: FeedRows) -> Bool {
        guard let answered = Row.rows(in: answer), rows.first?.bar != nil else { return false }
        let ends = answered.first?.bar.flatMap { first in answered.last?.bar.map { first.openTime...max(first.openTime, $0.openTime) } }
        return zip(rows, rows.dropFirst()).contains { row, later in
            guard let bar = row.bar, let next = later.bar else { return false }
            return !bar.isFollowed(by: next) && ends.map { !$0.contains(bar.openTime) || !$0.contains(next.openTime) } ?? true
        }
    }

    func hasLaterBar(than answer: FeedRows) -> Bool {
        guard Row.self == UpstreamBar.self, let own = rows.last?.key, let answered = Row.rows(in: answer)?.last?.key else { return false }
        return own > answered
    }

    func lack(of other: FeedRows, _ listing: VenueListing) -> StreamContent.Lack? {
        let isOfIndices = Row.self == AssetIndex.self
        let isOfSymbols = Row.self == BookTicker.self || Row.self == MiniTicker.self || Row.self == Ticker.self || Row.self == MarkPrice.self
        guard isOfIndices || isOfSymbols, let others = Row.rows(in: other) else { return nil }
        let listed = isOfIndices ? listing.assetIndices : listing.symbols
        let told = Set(others.lazy.compactMap { $0.key as? String })
        let missing = rows.lazy.compactMap { $0.key as? String }.filter { listed.contains($0) && !told.contains($0) }
        let untold = listed.filter { !told.contains($0) }
        if untold.count * 2 > listed.count {
            let count = listed.count - untold.count
            return .init(symbols: Array(untold), words: "The venue's REST answer has \(count) of \(listed.count) listed symbols.")
        }
        return missing.first.map { .init(symbols: Array(missing), words: "The venue's REST answer lacks \($0), which the venue lists.") }
    }

    func has(_ key: String) -> Bool { (key as? Row.Key).map { key in rows.contains { $0.key == key } } ?? false }

    var lastID: UInt64? { rows.last?.messageID }

    func ids(_ limit: Int) -> ClosedRange<UInt64>? {
        guard let first = rows[max(0, rows.count - limit)...].first?.messageID, let last = rows.last?.messageID, first <= last else { return nil }
        return first...last
    }

    func carries(_ rows: FeedRows) -> Bool { Row.rows(in: rows) != nil }

    func latest(_ limit: Int) -> FeedRows { Row.feedRows(rows.count > limit ? Array(rows.suffix(limit)) : rows) }

    func isContinued(by other: FeedRows) -> Bool {
        if lacksIdentity { return Row.rows(in: other)?.first.map { hasCopy(of: $0) } ?? false }
        let new = Row.rows(in: other) ?? []
        guard let known = rows.last, let knownID = known.messageID, let firstID = new.first?.messageID, let last = new.last,
            let lastID = last.messageID
        else { return true }
        // A lower id with a later time is not a repetition, because the venue restarted its numbering.
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
            if comparison != .older { comparison = one }
        }
        // A list of bars that ends before the newest known one was made before it.
        if Row.isOrdered, let known = rows.last, let last = others.last, last.key < known.key { return .older }
        return comparison
    }

    func isNewer(than other: FeedRows) -> Bool {
        guard compared(with: other) == .older, let others = Row.rows(in: other), let newest = others.lazy.map(\.venueTime).max() else { return false }
        // A lower number with a later time is not older, because the venue restarted its numbering.
        return newest <= rows.lazy.map(\.venueTime).max() ?? newest
    }

    func isNewer(thanMessage other: FeedRows) -> Bool {
        guard let row = Row.rows(in: other)?.last, let known = known(row.key) else { return false }
        return row.isOlder(than: known) && row.venueTime < known.venueTime
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
        // The rows are examined in place: copying one would cost as much as everything else.
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
