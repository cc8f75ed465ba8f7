/// A price level, in units of the symbol's precisions. In a list of changes a quantity of 0 removes the level.
struct Level: Equatable {
    var price: Int64
    var quantity: Int64
}

/// One side of an order book: its levels, best first, and the changes of the last tick.
struct PriceLadder {
    /// A side keeps between `fewest` and `most` levels, so that even the deepest snapshot never shows all of it.
    static let fewest = 1_010
    static let most = 1_200
    private static let usual = 1_100
    /// Every level that moves up among this many best ones is announced. So a client that started with the 1 000 best levels knows them, however far
    /// the market has moved since.
    private static let announced = 900

    private(set) var levels: [Level] = []
    /// Absolute quantities in the order they were set; cleared with every tick.
    private(set) var changes: [Level] = []
    /// 1 if prices rise away from the best one (asks), -1 if they fall.
    private let direction: Int64
    /// Largest price distance between two neighboring new levels.
    private let widestGap: Int64
    private let largestQuantity: Int64
    private var generator: SeededGenerator

    init(direction: Int64, best: Level, listing: Listing, generator: SeededGenerator) {
        self.direction = direction
        self.generator = generator
        widestGap = max(2, listing.anchor / 160_000)
        largestQuantity = listing.typicalQuantity * 40
        levels.reserveCapacity(Self.most + 100)
        levels.append(best)
        extend(to: Self.usual)
        changes.removeAll()
    }

    mutating func clearChanges() { changes.removeAll(keepingCapacity: true) }

    /// Makes `best` the best level: removes better ones, and fills in levels between the former best and the new one.
    mutating func move(to best: Level) {
        let edge = announcedEdge
        let former = levels.first?.price ?? best.price
        while let level = levels.first, (best.price - level.price) * direction > 0 { set(level.price, 0) }
        var price = best.price + direction * generator.integer(in: 1...widestGap)
        while (former - price) * direction > 0 {
            set(price, newQuantity())
            price += direction * generator.integer(in: 1...widestGap)
        }
        set(best.price, best.quantity)
        settle(edge)
    }

    /// Changes one to three levels behind the best one. Some removals name levels that do not exist.
    mutating func alter() {
        let edge = announcedEdge
        for _ in 0..<generator.integer(in: 1...3) where levels.count > 1 {
            let level = levels[nearRank()]
            switch generator.next() % 100 {
            case 0..<15: set(level.price, 0)
            case 15..<35: set(level.price + direction * generator.integer(in: 1...widestGap), newQuantity())
            case 35..<45:
                let price = level.price + direction
                if quantity(at: price) == nil { set(price, 0) } else { set(price, newQuantity()) }
            default: set(level.price, newQuantity())
            }
        }
        settle(edge)
    }

    func quantity(at price: Int64) -> Int64? {
        let position = position(of: price)
        return position < levels.count && levels[position].price == price ? levels[position].quantity : nil
    }

    /// A position behind the best, mostly near it.
    private mutating func nearRank() -> Int {
        let behind = Int64(levels.count - 1)
        let reach = generator.integer(in: 1...behind)
        return Int(generator.integer(in: 1...max(1, reach * reach / behind)))
    }

    private mutating func newQuantity() -> Int64 { generator.integer(in: 1...largestQuantity) }

    /// The position of `price`, or the position at which it would be inserted.
    private func position(of price: Int64) -> Int {
        var (low, high) = (0, levels.count)
        while low < high {
            let middle = (low + high) / 2
            if (levels[middle].price - price) * direction < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func set(_ price: Int64, _ quantity: Int64) {
        guard price > 0 else { return }
        changes.append(Level(price: price, quantity: quantity))
        let position = position(of: price)
        let isKnown = position < levels.count && levels[position].price == price
        switch (isKnown, quantity) {
        case (true, 0): levels.remove(at: position)
        case (true, _): levels[position].quantity = quantity
        case (false, 0): break
        case (false, _): levels.insert(Level(price: price, quantity: quantity), at: position)
        }
    }

    private var announcedEdge: Int64? {
        levels.count >= Self.announced ? levels[Self.announced - 1].price : nil
    }

    /// Brings the number of levels back within its bounds, and announces the levels that have moved inside `edge`.
    private mutating func settle(_ edge: Int64?) {
        if levels.count < Self.fewest { extend(to: Self.usual) }
        if levels.count > Self.most {
            for level in levels[Self.usual...].reversed() { set(level.price, 0) }
        }
        guard let edge else { return }
        for position in stride(from: min(Self.announced, levels.count) - 1, through: 0, by: -1) {
            guard (levels[position].price - edge) * direction > 0 else { return }
            set(levels[position].price, newQuantity())
        }
    }

    private mutating func extend(to count: Int) {
        while levels.count < count, let last = levels.last, last.price + direction * widestGap > 0 {
            set(last.price + direction * generator.integer(in: 1...widestGap), newQuantity())
        }
    }
}
