/// A stream's cached content: rows of whichever type the stream carries, merged by its rule.
struct StreamContent: Sendable {
    private enum Tables: Sendable {
        case markPrice(RowTable<MarkPrice>)
        case assetIndex(RowTable<AssetIndex>)
        case bookTicker(RowTable<BookTicker>)
        case aggregateTrade(RowTable<AggregateTrade>)
        case trade(RowTable<Trade>)
        case liquidation(RowTable<Liquidation>)
        case depth(RowTable<DepthLevels>)
        case book(OrderBook)
        case kline(RowTable<Kline>)
        case miniTicker(RowTable<MiniTicker>)
        case ticker(RowTable<Ticker>)
    }

    private var tables: Tables
    private let rule: MergeRule
    private let limit: Int

    init(channel: FuturesServiceStreamName.Channel, rule: MergeRule, limit: Int) {
        self.rule = rule
        self.limit = limit
        tables =
            switch channel {
            case .markPrice: .markPrice(RowTable())
            case .assetIndex: .assetIndex(RowTable())
            case .bookTicker: .bookTicker(RowTable())
            case .aggregateTrade: .aggregateTrade(RowTable())
            case .trade: .trade(RowTable())
            case .liquidation: .liquidation(RowTable())
            case .partialDepth: .depth(RowTable())
            case .depth: .book(OrderBook(limit: limit))
            case .kline: .kline(RowTable())
            case .miniTicker: .miniTicker(RowTable())
            case .ticker: .ticker(RowTable())
            }
    }

    /// All rows, at most the limit.
    var rows: FeedRows {
        switch tables {
        case .markPrice(let table): .markPrice(latest(table))
        case .assetIndex(let table): .assetIndex(latest(table))
        case .bookTicker(let table): .bookTicker(latest(table))
        case .aggregateTrade(let table): .aggregateTrade(latest(table))
        case .trade(let table): .trade(latest(table))
        case .liquidation(let table): .liquidation(latest(table))
        case .depth(let table): .depth(latest(table))
        case .book(let book): .depth([book.levels()])
        case .kline(let table): .kline(latest(table))
        case .miniTicker(let table): .miniTicker(latest(table))
        case .ticker(let table): .ticker(latest(table))
        }
    }

    /// What is cached outlived its connection; see `RowTable`.
    mutating func beginGeneration() {
        switch tables {
        case .markPrice(var table): change(&table, Tables.markPrice) { $0.beginGeneration() }
        case .assetIndex(var table): change(&table, Tables.assetIndex) { $0.beginGeneration() }
        case .bookTicker(var table): change(&table, Tables.bookTicker) { $0.beginGeneration() }
        case .aggregateTrade(var table): change(&table, Tables.aggregateTrade) { $0.beginGeneration() }
        case .trade(var table): change(&table, Tables.trade) { $0.beginGeneration() }
        case .liquidation(var table): change(&table, Tables.liquidation) { $0.beginGeneration() }
        case .depth(var table): change(&table, Tables.depth) { $0.beginGeneration() }
        case .book: changeBook { $0.reset() }
        case .kline(var table): change(&table, Tables.kline) { $0.beginGeneration() }
        case .miniTicker(var table): change(&table, Tables.miniTicker) { $0.beginGeneration() }
        case .ticker(var table): change(&table, Tables.ticker) { $0.beginGeneration() }
        }
    }

    /// Merges an update; the rows that changed the content, or nil where the update carries another stream's type.
    mutating func update(_ update: FeedRows) -> FeedRows? {
        let (rule, limit) = (rule, limit)
        switch update {
        case .markPrice(let rows):
            guard case .markPrice(var table) = tables else { return nil }
            return .markPrice(change(&table, Tables.markPrice) { $0.update(rows, rule: rule, limit: limit) })
        case .assetIndex(let rows):
            guard case .assetIndex(var table) = tables else { return nil }
            return .assetIndex(change(&table, Tables.assetIndex) { $0.update(rows, rule: rule, limit: limit) })
        case .bookTicker(let rows):
            guard case .bookTicker(var table) = tables else { return nil }
            return .bookTicker(change(&table, Tables.bookTicker) { $0.update(rows, rule: rule, limit: limit) })
        case .aggregateTrade(let rows):
            guard case .aggregateTrade(var table) = tables else { return nil }
            return .aggregateTrade(change(&table, Tables.aggregateTrade) { $0.update(rows, rule: rule, limit: limit) })
        case .trade(let rows):
            guard case .trade(var table) = tables else { return nil }
            return .trade(change(&table, Tables.trade) { $0.update(rows, rule: rule, limit: limit) })
        case .liquidation(let rows):
            guard case .liquidation(var table) = tables else { return nil }
            return .liquidation(change(&table, Tables.liquidation) { $0.update(rows, rule: rule, limit: limit) })
        case .depth(let rows):
            guard case .depth(var table) = tables else { return nil }
            return .depth(change(&table, Tables.depth) { $0.update(rows, rule: rule, limit: limit) })
        case .kline(let rows):
            guard case .kline(var table) = tables else { return nil }
            return .kline(change(&table, Tables.kline) { $0.update(rows, rule: rule, limit: limit) })
        case .miniTicker(let rows):
            guard case .miniTicker(var table) = tables else { return nil }
            return .miniTicker(change(&table, Tables.miniTicker) { $0.update(rows, rule: rule, limit: limit) })
        case .ticker(let rows):
            guard case .ticker(var table) = tables else { return nil }
            return .ticker(change(&table, Tables.ticker) { $0.update(rows, rule: rule, limit: limit) })
        }
    }

    /// Takes complete data; false where it carries another stream's type.
    mutating func complete(_ complete: FeedRows) -> Bool {
        let limit = limit
        switch complete {
        case .markPrice(let rows):
            guard case .markPrice(var table) = tables else { return false }
            change(&table, Tables.markPrice) { $0.complete(rows, limit: limit) }
        case .assetIndex(let rows):
            guard case .assetIndex(var table) = tables else { return false }
            change(&table, Tables.assetIndex) { $0.complete(rows, limit: limit) }
        case .bookTicker(let rows):
            guard case .bookTicker(var table) = tables else { return false }
            change(&table, Tables.bookTicker) { $0.complete(rows, limit: limit) }
        case .aggregateTrade(let rows):
            guard case .aggregateTrade(var table) = tables else { return false }
            change(&table, Tables.aggregateTrade) { $0.complete(rows, limit: limit) }
        case .trade(let rows):
            guard case .trade(var table) = tables else { return false }
            change(&table, Tables.trade) { $0.complete(rows, limit: limit) }
        case .liquidation(let rows):
            guard case .liquidation(var table) = tables else { return false }
            change(&table, Tables.liquidation) { $0.complete(rows, limit: limit) }
        case .depth(let rows):
            guard case .depth(var table) = tables else { return false }
            change(&table, Tables.depth) { $0.complete(rows, limit: limit) }
        case .kline(let rows):
            guard case .kline(var table) = tables else { return false }
            change(&table, Tables.kline) { $0.complete(rows, limit: limit) }
        case .miniTicker(let rows):
            guard case .miniTicker(var table) = tables else { return false }
            change(&table, Tables.miniTicker) { $0.complete(rows, limit: limit) }
        case .ticker(let rows):
            guard case .ticker(var table) = tables else { return false }
            change(&table, Tables.ticker) { $0.complete(rows, limit: limit) }
        }
        return true
    }

    /// Whether the next row begins the content anew, where every message counts: what is there is of before the subscription.
    var beginsAnew: Bool {
        switch tables {
        case .aggregateTrade(let table): table.isOutdated
        case .trade(let table): table.isOutdated
        case .liquidation(let table): table.isOutdated
        default: false
        }
    }

    /// The id of the last row, where rows are counted one by one.
    var lastID: UInt64? {
        switch tables {
        case .aggregateTrade(let table): table.rows.last?.id
        case .trade(let table): table.rows.last?.id
        default: nil
        }
    }

    /// Whether the rows follow what is here without a hole: where every message counts they repeat or directly follow the last one; elsewhere
    /// every message will do.
    func isContinued(by rows: FeedRows) -> Bool {
        switch (tables, rows) {
        case (.book(let book), .depth(let levels)): levels.first.map { book.isContinued(by: $0) } ?? false
        case (.liquidation(let table), .liquidation(let rows)): rows.first.map { table.rows.contains($0) } ?? false
        case (.aggregateTrade(let table), .aggregateTrade(let rows)): isContinued(table, rows) { ($0.id, $0.time) }
        case (.trade(let table), .trade(let rows)): isContinued(table, rows) { ($0.id, $0.time) }
        default: true
        }
    }

    /// A message made later with a lower id is not a repetition: the venue counts anew.
    private func isContinued<Row>(_ table: RowTable<Row>, _ rows: [Row], _ place: (Row) -> (id: UInt64, time: Int64)) -> Bool {
        guard let known = table.rows.last.map(place), let first = rows.first.map(place), let last = rows.last.map(place) else { return true }
        return first.id <= known.id &+ 1 && !(last.id <= known.id && last.time > known.time)
    }

    /// Whether complete data reaches what has come since the subscription, where every message counts, and is counted alike.
    func isJoined(by complete: FeedRows) -> Bool {
        switch (tables, complete) {
        case (.aggregateTrade(let table), .aggregateTrade(let rows)): isJoined(table, rows) { ($0.id, $0.time) }
        case (.trade(let table), .trade(let rows)): isJoined(table, rows) { ($0.id, $0.time) }
        default: true
        }
    }

    private func isJoined<Row>(_ table: RowTable<Row>, _ rows: [Row], _ place: (Row) -> (id: UInt64, time: Int64)) -> Bool {
        guard !table.isOutdated, let first = table.rows.first.map(place), let known = table.rows.last.map(place), let last = rows.last.map(place)
        else { return true }
        return first.id <= last.id &+ 1 && !(last.id > known.id && last.time < known.time)
    }

    /// The order book; nil for any other stream.
    var book: OrderBook? {
        if case .book(let book) = tables { book } else { nil }
    }

    /// Changes the order book in place; nil for any other stream.
    @discardableResult
    mutating func changeBook<Result>(_ change: (inout OrderBook) -> Result) -> Result? {
        guard case .book(var book) = tables else { return nil }
        tables = .depth(RowTable())
        defer { tables = .book(book) }
        return change(&book)
    }

    private func latest<Row>(_ table: RowTable<Row>) -> [Row] {
        table.rows.count > limit ? Array(table.rows.suffix(limit)) : table.rows
    }

    /// Changes a table in place: the enumeration lets go of its copy first, so that nothing is copied.
    private mutating func change<Row, Result>(
        _ table: inout RowTable<Row>, _ wrap: (RowTable<Row>) -> Tables, _ change: (inout RowTable<Row>) -> Result
    ) -> Result {
        tables = wrap(RowTable())
        defer { tables = wrap(table) }
        return change(&table)
    }
}
