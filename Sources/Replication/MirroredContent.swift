package import FeedCore
import FeedDialects

/// A stream's content as the log tells it. Complete values replace it, changes are merged by the rules of the contract, and nothing is judged again.
///
/// Bytes are read once somebody looks, or when many changes have gathered: of most streams the next complete value comes first.
package struct MirroredContent: Sendable {
    /// The id of the newest value or change.
    package private(set) var id: EventID?
    /// What stands before the rows of the newest value or change.
    package private(set) var head: ContentHead?
    /// Whether there was a complete value, so that the content is all there is.
    package private(set) var isWhole = false
    /// What was not read yet, oldest first.
    private var unread: [[UInt8]] = []
    private var known: FuturesServiceFeedContent?
    private var book: (bids: BookSide, asks: BookSide)?
    /// The book's newest change, while `known` lacks it: to write all levels out costs more than all else.
    private var newest: FuturesServiceFeedContent?

    private static let mostUnread = 64

    package init() {}

    /// Takes the data of an event.
    mutating func take(_ body: ArraySlice<UInt8>, id: EventID, isFull: Bool, of name: FuturesServiceStreamName, limit: Int) {
        (self.id, head) = (id, ContentHead(body))
        if isFull {
            unread.removeAll(keepingCapacity: true)
            isWhole = true
        }
        guard isWhole else { return }
        unread.append(Array(body))
        if unread.count >= Self.mostUnread { readAll(name, limit) }
    }

    /// The content as of its id; nil if there is none, or if it is not complete.
    mutating func content(of name: FuturesServiceStreamName, limit: Int) -> FuturesServiceFeedContent? {
        readAll(name, limit)
        return isWhole ? known : nil
    }

    private mutating func readAll(_ name: FuturesServiceStreamName, _ limit: Int) {
        guard !unread.isEmpty else { return }
        for bytes in unread {
            guard let content = ContentReader.content(bytes, of: name) else { continue }
            merge(content, name.mergeRule, limit)
        }
        unread.removeAll(keepingCapacity: true)
        writeBook()
    }

    private mutating func merge(_ content: FuturesServiceFeedContent, _ rule: MergeRule, _ limit: Int) {
        if rule == .book { return mergeBook(content, limit) }
        var rows = content.rows
        if content.kind == .delta, let known { rows = known.rows.merged(with: content.rows, rule, limit: limit) ?? rows }
        known = content.whole(rows)
    }

    private mutating func mergeBook(_ content: FuturesServiceFeedContent, _ limit: Int) {
        guard case .depth(let rows) = content.rows, let change = rows.first else { return }
        if content.kind == .full || book == nil {
            var (bids, asks) = (BookSide(isBid: true, limit: limit), BookSide(isBid: false, limit: limit))
            bids.replaceAll(change.bids)
            asks.replaceAll(change.asks)
            book = (bids, asks)
        } else {
            for level in change.bids { _ = book?.bids.set(level) }
            for level in change.asks { _ = book?.asks.set(level) }
        }
        newest = content
    }

    private mutating func writeBook() {
        guard let book, let content = newest, case .depth(let rows) = content.rows, let change = rows.first else { return }
        newest = nil
        let levels = DepthLevels(
            symbol: change.symbol, bids: book.bids.best(.max), asks: book.asks.best(.max), lastUpdateID: change.lastUpdateID, time: change.time)
        known = content.whole(.depth([levels]))
    }
}

extension FuturesServiceFeedContent {
    fileprivate func whole(_ rows: FeedRows) -> Self {
        Self(
            streamName: streamName, id: id, kind: .full, state: state, source: source, eventTime: eventTime, receivedAt: receivedAt, rows: rows)
    }
}

extension FeedRows {
    /// These rows with others that change them; nil if the types differ.
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
        case .bar(let rows): rows.merged(with: change, rule, limit)
        case .miniTicker(let rows): rows.merged(with: change, rule, limit)
        case .ticker(let rows): rows.merged(with: change, rule, limit)
        case .compositeIndex(let rows): rows.merged(with: change, rule, limit)
        case .contractInfo(let rows): rows.merged(with: change, rule, limit)
        case .tradingSession(let rows): rows.merged(with: change, rule, limit)
        case .json(let rows): rows.merged(with: change, rule, limit)
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
