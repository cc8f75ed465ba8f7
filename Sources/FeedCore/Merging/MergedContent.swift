/// A stream's complete content, merged from snapshots and the changes after them by the merge rules (docs/read/streams.md). The caller must make sure that
/// each change follows the previous one.
package struct MergedContent: Sendable {
    private var known: FuturesServiceFeedContent?
    private var book: (bids: BookSide, asks: BookSide)?
    /// The book's newest change if `known` does not include it. Writing out all levels for each change would dominate the cost.
    private var newest: FuturesServiceFeedContent?

    package init() {}

    /// The id of the book's newest update; nil if there is no book.
    package var lastUpdateID: UInt64? {
        guard case .depth(let rows) = (newest ?? known)?.rows else { return nil }
        return rows.last?.lastUpdateID
    }

    /// Whether the market has moved away from the initial levels of the book. A snapshot would then have more levels.
    package var isThin: Bool { book.map { $0.bids.isThin || $0.asks.isThin } ?? false }

    /// Merges a snapshot or a change.
    ///
    /// - Parameter limit: How many rows, or levels per side, are kept.
    package mutating func merge(_ content: FuturesServiceFeedContent, limit: Int) {
        switch content.streamName.mergeRule {
        case .book: mergeBook(content, limit)
        case let rule:
            var rows = content.rows
            if content.kind == .delta, let known { rows = known.rows.merged(with: content.rows, rule, limit: limit) ?? rows }
            known = content.whole(rows)
        }
    }

    /// The complete content; nil if there is none.
    package mutating func whole() -> FuturesServiceFeedContent? {
        guard let book, let content = newest, case .depth(let rows) = content.rows, let change = rows.first else { return known }
        newest = nil
        let levels = DepthLevels(
            symbol: change.symbol, bids: book.bids.best(.max), asks: book.asks.best(.max), lastUpdateID: change.lastUpdateID, time: change.time)
        known = content.whole(.depth([levels]))
        return known
    }

    private mutating func mergeBook(_ content: FuturesServiceFeedContent, _ limit: Int) {
        guard case .depth(let rows) = content.rows, let change = rows.first else { return }
        if content.kind == .full || book == nil {
            var (bids, asks) = (BookSide(isBid: true, limit: limit), BookSide(isBid: false, limit: limit))
            bids.replaceAll(change.bids)
            asks.replaceAll(change.asks)
            book = (bids, asks)
        } else {
            book?.bids.apply(change.bids)
            book?.asks.apply(change.asks)
        }
        newest = content
    }
}

extension FuturesServiceFeedContent {
    fileprivate func whole(_ rows: FeedRows) -> Self {
        Self(
            streamName: streamName, id: id, kind: .full, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt, rows: rows)
    }
}

extension FeedRows {
    /// These rows, changed by other rows; nil if the types differ.
    fileprivate func merged(with change: FeedRows, _ rule: MergeRule, limit: Int) -> FeedRows? {
        switch self {
        case .markPrice(let rows): rows.merged(with: change, rule, limit)
        case .assetIndex(let rows): rows.merged(with: change, rule, limit)
        case .bookTicker(let rows): rows.merged(with: change, rule, limit)
        case .aggregateTrade(let rows): rows.merged(with: change, rule, limit)
        case .trade(let rows): rows.merged(with: change, rule, limit)
        case .liquidation(let rows): rows.merged(with: change, rule, limit)
        case .depth(let rows): rows.merged(with: change, rule, limit)
        case .kline(let rows): rows.merged(with: change, rule, limit)
        case .earlyBar(let rows): rows.merged(with: change, rule, limit)
        case .bar(let rows): rows.merged(with: change, rule, limit)
        case .miniTicker(let rows): rows.merged(with: change, rule, limit)
        case .ticker(let rows): rows.merged(with: change, rule, limit)
        case .compositeIndex(let rows): rows.merged(with: change, rule, limit)
        case .contractInfo(let rows): rows.merged(with: change, rule, limit)
        case .tradingSession(let rows): rows.merged(with: change, rule, limit)
        case .json(let rows): rows.merged(with: change, rule, limit)
        case .upstreamTrade(let rows): rows.merged(with: change, rule, limit)
        case .upstreamBar(let rows): rows.merged(with: change, rule, limit)
        }
    }
}

extension Array where Element: FeedRow {
    fileprivate func merged(with change: FeedRows, _ rule: MergeRule, _ limit: Int) -> FeedRows? {
        guard let new = Element.rows(in: change) else { return nil }
        var rows = self
        switch rule {
        case .replace, .book: rows = new
        case .append: rows += new
        case .byKey:
            var next = 0
            for row in new {
                let isNext = next < rows.count && rows[next].key == row.key
                if let place = isNext ? next : rows.firstIndex(where: { $0.key == row.key }) {
                    rows[place] = row
                    next = place + 1
                } else if Element.isOrdered, let place = rows.firstIndex(where: { row.key < $0.key }) {
                    rows.insert(row, at: place)
                } else {
                    rows.append(row)
                }
            }
        }
        return Element.feedRows(rows.count > limit ? Array(rows.suffix(limit)) : rows)
    }
}
