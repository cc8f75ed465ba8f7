/// The order book of one symbol, with about 1 000 to 1 200 levels a side. The caller sets its best levels; the others move by themselves.
struct SimulatedBook {
    /// The best levels right after one update.
    struct Top {
        static let depth = 20

        let updateID: Int64
        let bids: [Level]
        let asks: [Level]
    }

    private(set) var bids: PriceLadder
    private(set) var asks: PriceLadder
    private(set) var updateID: Int64
    /// Time of the last update.
    private(set) var time: Int64
    /// Id of the first update of this tick; nil if there was none.
    private(set) var firstUpdateID: Int64?
    /// One for each update of this tick, oldest first.
    private(set) var tops: [Top] = []
    private var latestBids: [Level] = []
    private var latestAsks: [Level] = []
    private var generator: SeededGenerator

    init(_ listing: Listing, bid: Level, ask: Level, updateID: Int64, time: Int64, generator: SeededGenerator) {
        self.updateID = updateID
        self.time = time
        self.generator = generator
        bids = PriceLadder(direction: -1, best: bid, listing: listing, generator: SeededGenerator(seed: self.generator.next()))
        asks = PriceLadder(direction: 1, best: ask, listing: listing, generator: SeededGenerator(seed: self.generator.next()))
        noteTop()
    }

    /// Clears the last tick's changes.
    mutating func beginTick() {
        firstUpdateID = nil
        bids.clearChanges()
        asks.clearChanges()
        tops.removeAll(keepingCapacity: true)
    }

    /// Sets the best levels, and adjusts the levels behind them.
    mutating func move(bid: Level, ask: Level, updateID: Int64, time: Int64) {
        bids.move(to: bid)
        asks.move(to: ask)
        note(updateID, time)
    }

    /// Performs one update of one side, behind its best level.
    mutating func alter(updateID: Int64, time: Int64) {
        if generator.chance(50) { bids.alter() } else { asks.alter() }
        note(updateID, time)
    }

    /// Continues with another id and the same levels.
    mutating func restart(updateID: Int64) {
        self.updateID = updateID
        beginTick()
        noteTop()
    }

    private mutating func note(_ updateID: Int64, _ time: Int64) {
        self.updateID = updateID
        self.time = time
        firstUpdateID = firstUpdateID ?? updateID
        noteTop()
    }

    /// Most updates change the best levels of at most one side; the other side's array is then shared.
    private mutating func noteTop() {
        if !bids.levels.prefix(Top.depth).elementsEqual(latestBids) { latestBids = Array(bids.levels.prefix(Top.depth)) }
        if !asks.levels.prefix(Top.depth).elementsEqual(latestAsks) { latestAsks = Array(asks.levels.prefix(Top.depth)) }
        tops.append(Top(updateID: updateID, bids: latestBids, asks: latestAsks))
    }
}
