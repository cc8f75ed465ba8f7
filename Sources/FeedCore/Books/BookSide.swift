/// One side of a book: levels sorted by price, the best one last, because most changes happen there.
package struct BookSide: Sendable {
    private var levels: [PriceLevel] = []
    private let isBid: Bool
    private let limit: Int
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
    @inline(__always)
    var isThin: Bool {
        guard let horizon, limit / 2 > 0 else { return false }
        let place = levels.count - limit / 2
        return place < 0 || key(levels[place]) < horizon
    }

    var publishedCount: Int { min(limit, completeCount) }

    /// The best levels, best first.
    package func best(_ depth: Int) -> [PriceLevel] {
        levels.suffix(min(depth, publishedCount)).reversed()
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

    /// Sets the quantities of levels. Zero removes a level; removing an unknown level is normal. Of levels with the same price, the last one counts.
    package mutating func apply(_ changes: [PriceLevel]) {
        guard let first = changes.first, let last = changes.last else { return }
        // The venues sort the levels of a message by price, either way.
        let isReversed = first.scaledPrice != last.scaledPrice && (first.scaledPrice < last.scaledPrice) == isBid
        if !merge(changes, isReversed: isReversed) { _ = merge(sorted(changes), isReversed: false) }
        if levels.count > most { letGo() }
    }

    /// The comparable levels, best first, with one level for each price.
    private func sorted(_ changes: [PriceLevel]) -> [PriceLevel] {
        var byPrice: [ScaledNumber: PriceLevel] = [:]
        for level in changes where level.isComparable { byPrice[level.scaledPrice] = level }
        let isBid = isBid
        return byPrice.values.sorted { isBid ? $0.scaledPrice > $1.scaledPrice : $0.scaledPrice < $1.scaledPrice }
    }

    /// A level that appears before a place, or the one at that place, which disappears.
    private struct Move {
        let place: Int
        /// The index of the change; nil for a level that disappears.
        let change: Int?

        /// By how many places it moves the better levels.
        var distance: Int { change == nil ? -1 : 1 }
    }

    /// Sets levels that are sorted. Known levels change in place. Other levels move at most once.
    ///
    /// - Parameter isReversed: Whether the best level is the last one.
    /// - Returns: False if the levels are not sorted, or one is not comparable. Some have been set then.
    private mutating func merge(_ changes: [PriceLevel], isReversed: Bool) -> Bool {
        let isBid = isBid
        return withUnsafeTemporaryAllocation(of: Move.self, capacity: changes.count) { moves in
            var found = 0
            let isSorted = levels.withUnsafeMutableBufferPointer { levels in
                isBid
                    ? Self.set(changes, isReversed: isReversed, in: levels, moves, &found) { $0 < $1 }
                    : Self.set(changes, isReversed: isReversed, in: levels, moves, &found) { $0 > $1 }
            }
            if isSorted, found > 0 { move(UnsafeMutableBufferPointer(rebasing: moves[..<found]), changes) }
            return isSorted
        }
    }

    /// Changes known levels, and notes the others, best first.
    @inline(__always)
    private static func set(
        _ changes: [PriceLevel], isReversed: Bool, in levels: UnsafeMutableBufferPointer<PriceLevel>, _ moves: UnsafeMutableBufferPointer<Move>,
        _ found: inout Int, isWorse: (ScaledNumber, ScaledNumber) -> Bool
    ) -> Bool {
        var end = levels.count
        var previous: ScaledNumber?
        for turn in changes.indices {
            let index = isReversed ? changes.count &- 1 &- turn : turn
            let price = changes[index].scaledPrice
            guard price != .min, previous.map({ isWorse(price, $0) }) ?? true else { return false }
            previous = price
            let place = place(in: UnsafeBufferPointer(levels), before: end) { isWorse($0.scaledPrice, price) }
            end = place
            let isKnown = place < levels.count && levels[place].scaledPrice == price
            let isGone = changes[index].quantity.isZero
            if isKnown, !isGone {
                levels[place] = changes[index]
            } else if isKnown || !isGone {
                moves.initializeElement(at: found, to: Move(place: place, change: isGone ? nil : index))
                found &+= 1
            }
        }
        return true
    }

    /// Lets levels appear and disappear.
    ///
    /// - Parameter moves: Best first, by their places before the first move.
    private mutating func move(_ moves: UnsafeMutableBufferPointer<Move>, _ changes: [PriceLevel]) {
        let (before, more) = (levels.count, moves.reduce(0) { $0 + $1.distance })
        if more > 0 {
            let count = before + more
            // By default an array doubles its capacity: a book of 1,000 levels would take the memory of 2,000.
            if count > levels.capacity { levels.reserveCapacity(max(count, min(count + count / 8 + 16, count > most ? 2 * most + 1 : most + 1))) }
            levels.append(contentsOf: repeatElement(changes[0], count: more))
        }
        levels.withUnsafeMutableBufferPointer { levels in
            guard let start = levels.baseAddress else { return }
            /// Moves the levels between a move and the next better one.
            func shift(_ turn: Int, by distance: Int) {
                let first = moves[turn].place + (moves[turn].change == nil ? 1 : 0)
                let end = turn > 0 ? moves[turn - 1].place : before
                if first < end { (start + first + distance).update(from: start + first, count: end - first) }
            }
            // Levels that move down overwrite none that still have to move up, and the other way round.
            var distance = 0
            for turn in moves.indices.reversed() {
                distance += moves[turn].distance
                if distance < 0 { shift(turn, by: distance) }
            }
            for turn in moves.indices {
                if distance > 0 { shift(turn, by: distance) }
                distance -= moves[turn].distance
            }
            for turn in moves.indices.reversed() {
                if let change = moves[turn].change { start[moves[turn].place + distance] = changes[change] }
                distance += moves[turn].distance
            }
        }
        if more < 0 { levels.removeLast(-more) }
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
        levels.withUnsafeBufferPointer { levels in
            isBid
                ? Self.place(in: levels, before: levels.count) { $0.scaledPrice < key }
                : Self.place(in: levels, before: levels.count) { [price = -key] in $0.scaledPrice > price }
        }
    }

    /// How many of the levels before `end` are before a place. Most changes are near the best level or near each other, so the search takes
    /// steps that double, and halves the last one.
    @inline(__always)
    private static func place(in levels: UnsafeBufferPointer<PriceLevel>, before end: Int, isBefore: (PriceLevel) -> Bool) -> Int {
        guard let start = levels.baseAddress else { return 0 }
        var (high, step) = (end, 1)
        while high >= step, !isBefore(start[high &- step]) {
            high &-= step
            step &*= 2
        }
        var low = max(high &- step &+ 1, 0)
        while low < high {
            let half = (low &+ high) &>> 1
            if isBefore(start[half]) { low = half &+ 1 } else { high = half }
        }
        return low
    }

    /// A number that rises towards the better price.
    private func key(_ level: PriceLevel) -> ScaledNumber { isBid ? level.scaledPrice : -level.scaledPrice }
}
