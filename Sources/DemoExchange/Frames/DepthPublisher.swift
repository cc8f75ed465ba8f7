/// Collects the changes of one book between two events of a depth stream, and writes the events. Each stream at each speed has its own chain of `pu`.
struct DepthPublisher {
    private let symbol: Int
    /// Number of best levels a partial stream carries; nil for a stream of changes.
    private let levels: Int?
    private let interval: Int64
    private var bids: [Level] = []
    private var asks: [Level] = []
    private var firstID: Int64?
    /// `u` of the last event; before the first one, the id from which changes are collected.
    private var lastID: Int64

    init(symbol: Int, levels: Int?, interval: Int64, in market: Market) {
        self.symbol = symbol
        self.levels = levels
        self.interval = interval
        lastID = market.symbols[symbol].lastBookID
    }

    /// The event due after the market's latest tick, if there is one and anything has changed.
    mutating func payload(_ market: Market) -> String? {
        guard let book = market.symbols[symbol].book else { return nil }
        if let first = book.firstUpdateID { gather(book, first) }
        guard market.crosses(interval), let first = firstID else { return nil }
        defer {
            firstID = nil
            lastID = book.updateID
            bids.removeAll(keepingCapacity: true)
            asks.removeAll(keepingCapacity: true)
        }
        var writer = DepthWriter(market.symbols[symbol].listing)
        guard let levels else {
            return writer.depthUpdate(
                book, first: first, previousID: lastID, bids: latest(bids), asks: latest(asks).reversed(), at: market.now)
        }
        return writer.depthUpdate(
            book, first: first, previousID: lastID, bids: book.bids.levels.prefix(levels), asks: book.asks.levels.prefix(levels), at: market.now)
    }

    private mutating func gather(_ book: SimulatedBook, _ first: Int64) {
        if first <= lastID { restart(before: first) }
        firstID = firstID ?? first
        guard levels == nil else { return }
        bids += book.bids.changes
        asks += book.asks.changes
    }

    /// Starts again if the ids have moved backwards.
    private mutating func restart(before first: Int64) {
        (firstID, lastID) = (nil, first - 1)
        bids.removeAll()
        asks.removeAll()
    }

    /// The last quantity set at each price, highest price first.
    private func latest(_ changes: [Level]) -> [Level] {
        var sorted = changes.enumerated().sorted { ($0.element.price, $0.offset) > ($1.element.price, $1.offset) }.map(\.element)
        var kept = 0
        for level in sorted where kept == 0 || sorted[kept - 1].price != level.price {
            sorted[kept] = level
            kept += 1
        }
        return Array(sorted.prefix(kept))
    }
}
