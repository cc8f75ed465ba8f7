/// One side of a book: levels sorted by price, the best one last, where most changes are.
package struct BookSide: Sendable {
    private struct Entry: Sendable {
        let key: Int128
        var level: PriceLevel
    }

    private var entries: [Entry] = []
    private let isBid: Bool
    private let limit: Int
    /// The worst price a full snapshot reached. What is beyond it is known from updates alone, so it is incomplete and not handed out.
    private var horizon: Int128?

    /// - Parameter limit: how many levels are handed out.
    package init(isBid: Bool, limit: Int) {
        self.isBid = isBid
        self.limit = limit
    }

    var count: Int { entries.count }

    /// The best level's price, comparable with the other side's; nil where the side is empty.
    var bestPrice: Int128? { entries.last.map { isBid ? $0.key : -$0.key } }

    /// Whether fewer than half of the levels that are to be handed out are known to be complete.
    var isThin: Bool { horizon.map { entries.count - place(of: $0) < limit / 2 } ?? false }

    /// The best levels, best first.
    package func best(_ depth: Int) -> [PriceLevel] {
        let count = min(depth, limit, entries.count)
        var levels: [PriceLevel] = []
        levels.reserveCapacity(count)
        for entry in entries.suffix(count).reversed() {
            if let horizon, entry.key < horizon { break }
            levels.append(entry.level)
        }
        return levels
    }

    /// The best level at which two sides differ; what lies beyond either one's horizon is left out.
    func difference(from other: BookSide) -> String? {
        let end = [horizon, other.horizon].compactMap(\.self).max()
        var (mine, others) = (entries.reversed().makeIterator(), other.entries.reversed().makeIterator())
        while true {
            let (left, right) = (mine.next(), others.next())
            let reach = max(left?.key ?? .min, right?.key ?? .min)
            guard left != nil || right != nil, end.map({ reach >= $0 }) ?? true else { return nil }
            guard let left, let right, left.key == right.key, left.level.quantity.scaled == right.level.quantity.scaled else {
                let words: (Entry?) -> String = { $0.map { "\($0.level.price) × \($0.level.quantity)" } ?? "nothing" }
                return "\(words(left)) is \(words(right)) there"
            }
        }
    }

    /// Takes a whole side.
    package mutating func replaceAll(_ levels: [PriceLevel]) {
        entries = levels.compactMap { level in key(level).map { Entry(key: $0, level: level) } }.filter { !$0.level.quantity.isZero }
        entries.sort { $0.key < $1.key }
        horizon = levels.count >= limit ? entries.first?.key : nil
    }

    /// Sets a level's quantity; zero removes it, and removing an unknown level is normal. Returns what stood at the price, zero for nothing.
    package mutating func set(_ level: PriceLevel) -> PriceLevel {
        let nothing = PriceLevel(price: level.price, quantity: DecimalString(checked: "0"))
        guard let key = key(level) else { return nothing }
        let place = place(of: key)
        let known = place < entries.count && entries[place].key == key ? entries[place].level : nil
        if level.quantity.isZero {
            if known != nil { entries.remove(at: place) }
        } else if known != nil {
            entries[place].level = level
        } else {
            entries.insert(Entry(key: key, level: level), at: place)
            if entries.count > limit + limit / 2 {
                entries.removeFirst(entries.count - limit - limit / 4)
                horizon = entries.first.map { max($0.key, horizon ?? $0.key) }
            }
        }
        return known ?? nothing
    }

    private func place(of key: Int128) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Rises towards the better price.
    private func key(_ level: PriceLevel) -> Int128? { level.price.scaled.map { isBid ? $0 : -$0 } }
}

extension DecimalString {
    /// The number times 10^18, to compare by; nil beyond 18 digits before or after the point.
    package var scaled: Int128? {
        var (value, whole, fraction): (Int128, Int, Int) = (0, 0, -1)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."): fraction = 0
            case UInt8(ascii: "-"): continue
            default:
                value = value * 10 + Int128(byte &- UInt8(ascii: "0"))
                if fraction >= 0 { fraction += 1 } else { whole += 1 }
                guard whole <= 18, fraction <= 18 else { return nil }
            }
        }
        for _ in max(0, fraction)..<18 { value *= 10 }
        return text.utf8.first == UInt8(ascii: "-") ? -value : value
    }
}
