/// An order book kept the way the venues prescribe it (docs/reference/venues.md §5): from a REST reply and the changes that follow.
struct RebuiltBook {
    private(set) var updateID: Int64
    private(set) var bids: [Int64: (price: String, quantity: String)] = [:]
    private(set) var asks: [Int64: (price: String, quantity: String)] = [:]
    private(set) var unknownRemovals = 0
    private var isFirst = true

    /// From a reply of `GET depth`.
    init(reply: VenueJSON) throws {
        guard let id = reply["lastUpdateId"]?.integer else { throw Unexpected("no book in \(reply.description.prefix(200))") }
        updateID = id
        _ = Self.set(reply["bids"], &bids)
        _ = Self.set(reply["asks"], &asks)
    }

    /// False for an event that is older than the book; throws where events are missing before it.
    mutating func apply(_ event: VenueJSON) throws -> Bool {
        guard let first = event["U"]?.integer, let last = event["u"]?.integer, let previous = event["pu"]?.integer else {
            throw Unexpected("no depth event: \(event)")
        }
        if isFirst {
            guard last >= updateID else { return false }
            guard first <= updateID || previous == updateID else { throw Unexpected("the book of \(updateID) is older than the event \(first)") }
        } else if previous != updateID {
            throw Unexpected("gap: after \(updateID) came \(previous)")
        }
        isFirst = false
        updateID = last
        unknownRemovals += Self.set(event["b"], &bids)
        unknownRemovals += Self.set(event["a"], &asks)
        return true
    }

    var bestBids: [[String]] { bids.keys.sorted(by: >).prefix(20).compactMap { bids[$0].map { [$0.price, $0.quantity] } } }
    var bestAsks: [[String]] { asks.keys.sorted().prefix(20).compactMap { asks[$0].map { [$0.price, $0.quantity] } } }

    /// Gives the number of removals of levels that were not there.
    private static func set(_ rows: VenueJSON?, _ side: inout [Int64: (price: String, quantity: String)]) -> Int {
        var unknown = 0
        for row in rows?.rows ?? [] where row.rows.count == 2 {
            guard let price = row.rows[0].units8, let quantity = row.rows[1].units8 else { continue }
            if quantity != 0 {
                side[price] = (row.rows[0].string, row.rows[1].string)
            } else if side.removeValue(forKey: price) == nil {
                unknown += 1
            }
        }
        return unknown
    }
}

extension VenueJSON {
    /// The levels of one side of a partial book or a reply, as they come.
    func levels(_ side: String) -> [[String]] { self[side]?.rows.map { $0.rows.map(\.string) } ?? [] }
}
