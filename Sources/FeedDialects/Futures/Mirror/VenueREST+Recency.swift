package import FeedCore

/// The oldest state that an answer of the venue may have, by the venue's own messages.
package enum VenueFloor: Equatable, Sendable {
    case nothing
    /// An update of an order book, and its time, ms since 1970 UTC.
    case update(UInt64, time: Int64)
    /// A trade, unless the answer has as many trades as one page can have.
    case trade(UInt64, page: Int?)
}

/// A venue may answer from a cache or from a server that lags behind. Such an answer must not be returned as current.
extension VenueREST {
    /// The floor of an answer that is requested now, from the live content of the request's stream.
    package func floor(of reading: VenueReading, _ content: FuturesServiceFeedContent) -> VenueFloor {
        switch (reading.rows, content.rows) {
        case (.depth, .depth(let books)): return books.first.map { .update($0.lastUpdateID, time: $0.time) } ?? .nothing
        case (.trades(let limit, let from, let start, let end), .aggregateTrade(let trades)):
            guard let newest = trades.last?.time else { return .nothing }
            let until = min(newest &- Self.patience, end ?? .max)
            let due = trades.last { $0.time <= until && $0.id >= from ?? 0 && $0.time >= start ?? .min }
            return due.map { .trade($0.id, page: from == nil && start == nil ? nil : limit) } ?? .nothing
        default: return .nothing
        }
    }

    /// Whether an answer reaches the floor. One that cannot be read does not.
    ///
    /// - Parameter isExact: Whether an order book must have the floor's update itself.
    package func reaches(_ floor: VenueFloor, _ body: [UInt8], isExact: Bool) -> Bool {
        switch floor {
        case .nothing: return true
        case .update(let id, let time):
            guard let book = try? JSONReader.read(body, Self.book), let last = book.id else { return false }
            return last >= id || (!isExact && book.time.map { $0 &+ Self.patience >= time } ?? false)
        case .trade(let id, let page):
            guard let trades = try? JSONReader.read(body, Self.trades) else { return false }
            return trades.last.map { $0 >= id } ?? false || page.map { trades.count >= $0 } ?? false
        }
    }

    private static func book(_ reader: inout JSONReader) throws(JSONReader.Failure) -> (id: UInt64?, time: Int64?) {
        let fields = try RESTFields(&reader)
        return (try? fields.integer("lastUpdateId"), try? fields.integer("T"))
    }

    private static func trades(_ reader: inout JSONReader) throws(JSONReader.Failure) -> (count: Int, last: UInt64?) {
        var (count, last): (Int, UInt64?) = (0, nil)
        try reader.array { (reader) throws(JSONReader.Failure) in
            count += 1
            last = try RESTFields(&reader).integer("a")
        }
        return (count, last)
    }
}
