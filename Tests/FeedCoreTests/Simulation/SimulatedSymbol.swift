@testable import FeedCore

/// One price of a true book.
struct Level: Equatable {
    var price: Int
    var quantity: Int
}

/// What truly happened with one symbol: its book at every update id, its trades, its bars. The oracle, and what frames are cut from.
struct SimulatedSymbol {
    /// Ids between two restarts of the venue. A later life has lower ids, so an id tells its life.
    struct Life {
        var ids: [UInt64]
        var times: [Int64]
        var bids: [[Level]]
        var asks: [[Level]]
        /// What changed at each id.
        var changes: [(isBid: Bool, price: Int)]
    }

    struct Bar {
        let openTime: Int64
        var prices: [Int]
        var highs: [Int]
        var lows: [Int]
        var isClosed = false
    }

    struct TradeLife {
        let firstID: UInt64
        var times: [Int64]
        var next: UInt64 { firstID + UInt64(times.count) }
    }

    let symbol: String
    let index: Int
    private(set) var middle: Int
    /// Whether the price walks away instead of staying where it is.
    let wanders: Bool
    private(set) var bids: [Level] = []
    private(set) var asks: [Level] = []
    private(set) var lives: [Life] = []
    private(set) var trades: [TradeLife] = []
    private(set) var bars: [Bar] = []

    static let barLength: Int64 = 60_000

    init(symbol: String, index: Int, wanders: Bool, id: UInt64, time: Int64) {
        self.symbol = symbol
        self.index = index
        self.wanders = wanders
        middle = (index + 1) * 1000
        for step in 1...8 {
            bids.append(Level(price: middle - step, quantity: step))
            asks.append(Level(price: middle + step, quantity: step))
        }
        beginLife(id: id, time: time)
    }

    mutating func beginLife(id: UInt64, time: Int64) {
        lives.append(Life(ids: [id], times: [time], bids: [bids], asks: [asks], changes: [(true, 0)]))
        trades.append(TradeLife(firstID: id, times: []))
    }

    var lastID: UInt64 { lives.last?.ids.last ?? 0 }
    var lastTime: Int64 { lives.last?.times.last ?? 0 }

    /// The true book once the update `id` was made; nil where there never was such an id.
    func book(at id: UInt64) -> (bids: [Level], asks: [Level])? {
        let number = id / SimulatedVenue.idsPerLife
        guard let life = lives.last(where: { ($0.ids.first ?? 0) / SimulatedVenue.idsPerLife == number }) else { return nil }
        var (low, high) = (0, life.ids.count)
        while low < high {
            let middle = (low + high) / 2
            if life.ids[middle] <= id { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : (life.bids[low - 1], life.asks[low - 1])
    }

    /// One change of the book; the ids are the venue's.
    mutating func change(_ dice: inout Dice, time: Int64, nextID: () -> UInt64) {
        if dice.chance(wanders ? 0.3 : 0.1) {
            let home = (index + 1) * 1000
            let isUp = wanders ? dice.chance(index % 2 == 0 ? 0.6 : 0.4) : dice.chance(middle < home ? 0.8 : 0.2)
            move(up: isUp, time: time, nextID: nextID)
            return
        }
        let isBid = dice.chance(0.5)
        let distance = dice.between(1, dice.chance(0.8) ? 6 : 20)
        set(
            isBid: isBid, price: isBid ? middle - distance : middle + distance, quantity: dice.chance(0.3) ? 0 : dice.between(1, 9), time: time,
            nextID())
    }

    private mutating func move(up: Bool, time: Int64, nextID: () -> UInt64) {
        middle += up ? 1 : -1
        if up {
            while let best = asks.first, best.price <= middle { set(isBid: false, price: best.price, quantity: 0, time: time, nextID()) }
            set(isBid: true, price: middle - 1, quantity: 3, time: time, nextID())
            if asks.count < 3 { for step in 1...4 { set(isBid: false, price: middle + step, quantity: step, time: time, nextID()) } }
        } else {
            while let best = bids.first, best.price >= middle { set(isBid: true, price: best.price, quantity: 0, time: time, nextID()) }
            set(isBid: false, price: middle + 1, quantity: 3, time: time, nextID())
            if bids.count < 3 { for step in 1...4 { set(isBid: true, price: middle - step, quantity: step, time: time, nextID()) } }
        }
    }

    private mutating func set(isBid: Bool, price: Int, quantity: Int, time: Int64, _ id: UInt64) {
        func change(_ levels: inout [Level]) {
            let place = levels.firstIndex { isBid ? $0.price <= price : $0.price >= price } ?? levels.count
            let isKnown = place < levels.count && levels[place].price == price
            if quantity == 0 {
                if isKnown { levels.remove(at: place) }
            } else if isKnown {
                levels[place].quantity = quantity
            } else {
                levels.insert(Level(price: price, quantity: quantity), at: place)
            }
        }
        if isBid { change(&bids) } else { change(&asks) }
        let last = lives.count - 1
        lives[last].ids.append(id)
        lives[last].times.append(time)
        lives[last].bids.append(bids)
        lives[last].asks.append(asks)
        lives[last].changes.append((isBid, price))
    }

    /// One trade; whether it began a bar.
    mutating func trade(time: Int64) -> Bool {
        trades[trades.count - 1].times.append(time)
        let id = trades[trades.count - 1].next - 1
        let price = tradePrice(id)
        let openTime = time / Self.barLength * Self.barLength
        let beginsBar = bars.last?.openTime != openTime
        if beginsBar {
            closeBars(time: time)
            bars.append(Bar(openTime: openTime, prices: [], highs: [], lows: []))
        }
        let last = bars.count - 1
        bars[last].prices.append(price)
        bars[last].highs.append(max(price, bars[last].highs.last ?? price))
        bars[last].lows.append(min(price, bars[last].lows.last ?? price))
        return beginsBar
    }

    /// Whether the last bar was closed just now.
    @discardableResult
    mutating func closeBars(time: Int64) -> Bool {
        guard let bar = bars.last, !bar.isClosed, time >= bar.openTime + Self.barLength else { return false }
        bars[bars.count - 1].isClosed = true
        return true
    }

    /// A price only this trade of this symbol has.
    func tradePrice(_ id: UInt64) -> Int { (index + 1) * 1000 + Int(id % 97) }

    /// The mark price at a time.
    func markPrice(_ time: Int64) -> Int { (index + 1) * 1_000_000 + Int(time / 10 % 999_983) }
}
