/// One side of a book: levels sorted by price, the best one last, where most changes are.
package struct BookSide: Sendable {
    private var levels: [PriceLevel] = []
    private let isBid: Bool
    private let limit: Int
    /// The worst price a full snapshot reached. What is beyond it is known from updates alone, so it is incomplete and not handed out.
    private var horizon: ScaledNumber?
    /// The same when the side was whole last. Nothing that is deeper is told, so no reader has it.
    private var reach: ScaledNumber?

    /// How many levels may gather before the worst go, and how many then stay: a quarter, and an eighth, more than are handed out.
    private var most: Int { limit + limit / 4 }
    private var kept: Int { limit + limit / 8 }

    /// - Parameter limit: how many levels are handed out.
    package init(isBid: Bool, limit: Int) {
        self.isBid = isBid
        self.limit = limit
    }

    var count: Int { levels.count }

    /// The best level's price, comparable with the other side's; nil where the side is empty.
    var bestPrice: ScaledNumber? { levels.last?.scaledPrice }

    /// Whether fewer than half of the levels that are to be handed out are known to be complete.
    var isThin: Bool {
        guard let horizon, limit / 2 > 0 else { return false }
        let place = levels.count - limit / 2
        return place < 0 || key(levels[place]) < horizon
    }

    /// The best levels, best first.
    package func best(_ depth: Int) -> [PriceLevel] {
        levels.suffix(min(depth, limit, completeCount)).reversed()
    }

    /// How many levels have no hole before them.
    private var completeCount: Int { horizon.map { levels.count - place(of: $0) } ?? levels.count }

    /// The best level at which two sides differ; what lies beyond either one's horizon is left out.
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

    /// Takes a whole side.
    package mutating func replaceAll(_ complete: [PriceLevel]) {
        levels = []
        levels.reserveCapacity(min(complete.count, most) + 16)
        for level in complete where level.isComparable && !level.quantity.isZero { levels.append(level) }
        let isBid = isBid
        levels.sort { isBid ? $0.scaledPrice < $1.scaledPrice : $0.scaledPrice > $1.scaledPrice }
        horizon = complete.count >= limit ? levels.first.map(key) : nil
        reach = horizon
    }

    /// Lets go of what is deeper than what is handed out, so that whoever is handed out the side has what is here.
    mutating func keepHandedOut() {
        guard limit > 0, completeCount >= limit else { return }
        levels.removeFirst(levels.count - limit)
        horizon = levels.first.map(key)
        reach = horizon
    }

    /// Whether a level is not deeper than what is known to be complete.
    func reaches(_ level: PriceLevel) -> Bool { reach.map { key(level) >= $0 } ?? true }

    /// What stands at a level's price; quantity zero for nothing.
    func standing(at level: PriceLevel) -> PriceLevel {
        guard level.isComparable else { return level.emptied }
        let place = place(of: key(level))
        return place < levels.count && levels[place].scaledPrice == level.scaledPrice ? levels[place] : level.emptied
    }

    /// Sets a level's quantity; zero removes it, and removing an unknown level is normal.
    package mutating func set(_ level: PriceLevel) {
        guard level.isComparable else { return }
        let place = place(of: key(level))
        let isKnown = place < levels.count && levels[place].scaledPrice == level.scaledPrice
        if level.quantity.isZero {
            if isKnown { levels.remove(at: place) }
        } else if isKnown {
            levels[place] = level
        } else {
            // An array left to itself doubles: a book of a thousand levels would take the memory of two.
            if levels.count == levels.capacity {
                levels.reserveCapacity(min(levels.count + levels.count / 8 + 16, levels.count > most ? 2 * most + 1 : most + 1))
            }
            levels.insert(level, at: place)
            if levels.count > most { letGo() }
        }
    }

    /// Lets go of the deepest levels. What readers have goes when it goes at readers, who do not count what they were not told of: that is kept only
    /// to see whether the other side crosses it.
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
        isBid ? place { $0.scaledPrice < key } : place { [price = -key] in $0.scaledPrice > price }
    }

    /// How many levels come before a place.
    @inline(__always)
    private func place(isBefore: (PriceLevel) -> Bool) -> Int {
        // Without a jump that depends on a price: nobody can foresee it.
        levels.withUnsafeBufferPointer { levels in
            guard var low = levels.baseAddress else { return 0 }
            let start = low
            var count = levels.count
            while count > 0 {
                let half = count &>> 1
                let isBefore = isBefore(low[half])
                low = isBefore ? low + half + 1 : low
                count = isBefore ? count &- half &- 1 : half
            }
            return low - start
        }
    }

    /// Rises towards the better price.
    private func key(_ level: PriceLevel) -> ScaledNumber { isBid ? level.scaledPrice : -level.scaledPrice }
}
