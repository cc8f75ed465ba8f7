/// One side of a book: levels sorted by price, the best one last, because most changes happen there.
package struct BookSide: Sendable {
    private var levels: [PriceLevel] = []
    private let isBid: Bool
    private let limit: Int
    /// The place of the level that was set last.
    private var last = 0
    /// The worst price that a snapshot reached. Levels beyond it are known from updates alone, so they are incomplete and not published.
    private var horizon: ScaledNumber?
    /// The horizon when the side was last complete. Deeper levels are not published, so no reader has them.
    private var reach: ScaledNumber?

    /// How many levels may accumulate before the worst are dropped, and how many remain: a quarter and an eighth more than the published depth.
    private var most: Int { limit + limit / 4 }
    private var kept: Int { limit + limit / 8 }

    /// - Parameter limit: The number of levels that are published.
    package init(isBid: Bool, limit: Int) {
        self.isBid = isBid
        self.limit = limit
    }

    var count: Int { levels.count }

    /// The best level's price, comparable with the other side's; nil if the side is empty.
    var bestPrice: ScaledNumber? { levels.last?.scaledPrice }

    /// Whether fewer than half of the published levels are known to be complete.
    var isThin: Bool {
        guard let horizon, limit / 2 > 0 else { return false }
        let place = levels.count - limit / 2
        return place < 0 || key(levels[place]) < horizon
    }

    /// The best levels, best first.
    package func best(_ depth: Int) -> [PriceLevel] {
        levels.suffix(min(depth, limit, completeCount)).reversed()
    }

    /// How many levels have no gap before them.
    private var completeCount: Int { horizon.map { levels.count - place(of: $0) } ?? levels.count }

    /// A description of the best level at which two sides differ; nil if none does. Levels beyond either side's horizon are ignored.
    func difference(from other: BookSide) -> String? {
        let end = [horizon, other.horizon].compactMap(\.self).max()
        var (mine, others) = (levels.reversed().makeIterator(), other.levels.reversed().makeIterator())
        while true {
            let (left, right) = (mine.next(), others.next())
            let reach = max(left.map(key) ?? .min, right.map(key) ?? .min)
            guard left != nil || right != nil, end.map({ reach >= $0 }) ?? true else { return nil }
            guard let left, let right, left.scaledPrice == right.scaledPrice, left.quantity.scaled == right.quantity.scaled else {
                let words: (PriceLevel?) -> String = { $0.map { "\($0.price) × \($0.quantity)" } ?? "nothing" }
                return "\(words(left)) is \(words(right)) there"
            }
        }
    }

    /// Replaces the whole side.
    package mutating func replaceAll(_ complete: [PriceLevel]) {
        levels = []
        levels.reserveCapacity(min(complete.count, most) + 16)
        for level in complete where level.isComparable && !level.quantity.isZero { levels.append(level) }
        let isBid = isBid
        levels.sort { isBid ? $0.scaledPrice < $1.scaledPrice : $0.scaledPrice > $1.scaledPrice }
        horizon = complete.count >= limit ? levels.first.map(key) : nil
        reach = horizon
    }

    /// Drops levels below the published depth, so that the stored side equals the published one.
    mutating func keepHandedOut() {
        guard limit > 0, completeCount >= limit else { return }
        levels.removeFirst(levels.count - limit)
        horizon = levels.first.map(key)
        reach = horizon
    }

    /// Whether a level is within the depth that is known to be complete.
    func reaches(_ level: PriceLevel) -> Bool { reach.map { key(level) >= $0 } ?? true }

    /// The level at the same price, with quantity zero if there is none.
    func standing(at level: PriceLevel) -> PriceLevel {
        guard level.isComparable else { return level.emptied }
        let place = place(of: key(level))
        return place < levels.count && levels[place].scaledPrice == level.scaledPrice ? levels[place] : level.emptied
    }

    /// Sets a level's quantity. Zero removes the level; removing an unknown level is normal.
    package mutating func set(_ level: PriceLevel) {
        guard level.isComparable else { return }
        let place = placeAfterLast(level)
        let isKnown = place < levels.count && levels[place].scaledPrice == level.scaledPrice
        if level.quantity.isZero {
            if isKnown { levels.remove(at: place) }
        } else if isKnown {
            levels[place] = level
        } else {
            // By default an array doubles its capacity: a book of 1,000 levels would take the memory of 2,000.
            if levels.count == levels.capacity {
                levels.reserveCapacity(min(levels.count + levels.count / 8 + 16, levels.count > most ? 2 * most + 1 : most + 1))
            }
            levels.insert(level, at: place)
            if levels.count > most { letGo() }
        }
    }

    /// Drops the deepest levels. Levels that readers have are dropped when readers drop them. Readers do not count unpublished levels, which are kept
    /// only to detect whether the other side crosses them.
    private mutating func letGo() {
        let untold = reach.map { place(of: $0) } ?? 0
        if levels.count - untold > most {
            levels.removeFirst(levels.count - kept)
            horizon = levels.first.map { max(key($0), horizon ?? key($0)) }
        } else if untold > most {
            levels.removeFirst(untold - kept)
        }
    }

    private func place(of key: ScaledNumber) -> Int {
        isBid ? place(from: levels.count) { $0.scaledPrice < key } : place(from: levels.count) { [price = -key] in $0.scaledPrice > price }
    }

    /// The same for a level of a message. Venues sort the levels of a message by price, so the search begins where the last one ended.
    private mutating func placeAfterLast(_ level: PriceLevel) -> Int {
        let price = level.scaledPrice
        let place = isBid ? place(from: last) { $0.scaledPrice < price } : place(from: last) { $0.scaledPrice > price }
        last = place
        return place
    }

    /// How many levels come before a place. The search takes steps that double, from a place that is probably near, then halves the last step.
    @inline(__always)
    private func place(from near: Int, isBefore: (PriceLevel) -> Bool) -> Int {
        levels.withUnsafeBufferPointer { levels in
            guard let start = levels.baseAddress else { return 0 }
            var (low, high, step) = (min(near, levels.count), levels.count, 1)
            if low < high, isBefore(start[low]) {
                low += 1
                while low &+ step <= high, isBefore(start[low &+ step &- 1]) {
                    low &+= step
                    step &*= 2
                }
                high = min(low &+ step &- 1, high)
            } else {
                high = low
                while high >= step, !isBefore(start[high &- step]) {
                    high &-= step
                    step &*= 2
                }
                low = max(high &- step &+ 1, 0)
            }
            while low < high {
                let half = (low &+ high) &>> 1
                if isBefore(start[half]) { low = half &+ 1 } else { high = half }
            }
            return low
        }
    }

    /// A number that rises towards the better price.
    private func key(_ level: PriceLevel) -> ScaledNumber { isBid ? level.scaledPrice : -level.scaledPrice }
}
