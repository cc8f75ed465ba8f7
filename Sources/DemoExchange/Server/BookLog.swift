import Synchronization

/// Remembers the best levels of every book right after each recent update, so that a test can compare them with a client's.
final class BookLog: Sendable {
    private struct Book {
        var pricePrecision: Int
        var quantityPrecision: Int
        /// In the order of rising ids.
        var tops: [SimulatedBook.Top] = []

        mutating func add(_ new: [SimulatedBook.Top], _ limit: Int) {
            for top in new where top.updateID > tops.last?.updateID ?? 0 { tops.append(top) }
            if tops.count >= 2 * limit { tops.removeFirst(tops.count - limit) }
        }

        func top(_ updateID: Int64) -> SimulatedBook.Top? {
            var (low, high) = (0, tops.count)
            while low < high {
                let middle = (low + high) / 2
                if tops[middle].updateID < updateID { low = middle + 1 } else { high = middle }
            }
            return low < tops.count && tops[low].updateID == updateID ? tops[low] : nil
        }
    }

    private let limit: Int
    private let books = Mutex<[String: Book]>([:])

    /// - Parameter limit: the least number of updates remembered per book.
    init(limit: Int) { self.limit = max(0, limit) }

    /// Adds the updates of the last tick, and skips known ones.
    func add(_ symbols: [SymbolMarket]) {
        guard limit > 0 else { return }
        books.withLock { books in
            for symbol in symbols {
                guard let tops = symbol.book?.tops, !tops.isEmpty else { continue }
                let listing = symbol.listing
                books[listing.symbol, default: Book(pricePrecision: listing.pricePrecision, quantityPrecision: listing.quantityPrecision)]
                    .add(tops, limit)
            }
        }
    }

    /// Drops everything, because the ids start again.
    func clear() { books.withLock { $0.removeAll() } }

    func levels(_ symbol: String, at updateID: UInt64) -> (bids: [(String, String)], asks: [(String, String)])? {
        guard let id = Int64(exactly: updateID), let book = books.withLock({ $0[symbol] }), let top = book.top(id) else { return nil }
        func texts(_ levels: [Level]) -> [(String, String)] {
            levels.map { (decimal($0.price, book.pricePrecision), decimal($0.quantity, book.quantityPrecision)) }
        }
        return (texts(top.bids), texts(top.asks))
    }
}
