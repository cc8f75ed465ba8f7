/// One symbol's market: a best bid and ask that wander, trades at these prices, and the bars of the trades.
struct SymbolMarket {
    let listing: Listing
    private(set) var bid: Int64
    private(set) var bidQuantity: Int64
    private(set) var ask: Int64
    private(set) var askQuantity: Int64
    private(set) var bookUpdateID: Int64
    private(set) var bookTime: Int64
    /// Id of the book's last update of any kind; ``bookUpdateID`` is that of the last update of the best levels.
    private(set) var lastBookID: Int64
    /// Kept up to date while it is watched; otherwise brought up to date on request.
    private(set) var book: SimulatedBook?
    private var bookReaders = 0
    private var bookCredit: Int64
    private var bookGenerator: SeededGenerator
    private let levelGenerator: SeededGenerator
    /// At least the last ``tradeLimit`` aggregate trades, oldest first.
    private(set) var trades: [AggregateTrade] = []
    /// Index and mark price with eight decimals, funding rate in units of 1e-8.
    private(set) var index: Int64
    private(set) var mark: Int64
    private(set) var settle: Int64
    private(set) var fundingRate: Int64

    /// The changes of the last step, for publishers.
    private(set) var bookChanged = false
    private(set) var newTrades: [AggregateTrade] = []

    /// Whether the exchange has halted the contract: only the time advances, and nothing is sent.
    var isHalted = false

    private(set) var bars: BarSeries
    private(set) var priceBars: PriceBars
    private(set) var fundings: FundingHistory
    let positioning: Positioning
    private var generator: SeededGenerator
    private var nextTradeID: Int64 = 8_000_000_001
    private var nextAggregateID: Int64 = 3_000_000_001

    static let tradeLimit = 1_000
    private static let openingTradeGap: Int64 = 333

    /// Opens the market at `now`. Its history ends in as many trades as a REST reply can hold.
    init(listing: Listing, number: Int, seed: UInt64, now: Int64, bookUpdateID: Int64) {
        self.listing = listing
        self.bookUpdateID = bookUpdateID
        lastBookID = bookUpdateID
        bookCredit = Int64(number) * 37 % 1_000
        bookGenerator = SeededGenerator(seed: seed, purpose: 1 << 41 + UInt64(number))
        levelGenerator = SeededGenerator(seed: seed, purpose: 1 << 42 + UInt64(number))
        generator = SeededGenerator(seed: seed, purpose: UInt64(number) * 2 + 1)
        let firstTrade = now - Int64(Self.tradeLimit) * Self.openingTradeGap
        bars = BarSeries(
            History(
                of: listing, before: Interval.minute1.open(at: firstTrade), lastTradeID: nextTradeID - 1,
                generator: SeededGenerator(seed: seed, purpose: UInt64(number) * 2 + 2)))
        bid = listing.anchor
        ask = listing.anchor + 1
        bidQuantity = listing.typicalQuantity
        askQuantity = listing.typicalQuantity
        bookTime = now
        let scale = powerOfTen(8 - listing.pricePrecision)
        index = listing.anchor * scale
        mark = index
        settle = index
        fundingRate = listing.hasFunding ? 10_000 : 0
        bars.roll(to: listing.isTrading ? firstTrade : now)
        var pastGenerator = SeededGenerator(seed: seed, purpose: 1 << 44 + UInt64(number))
        let pastSeed = pastGenerator.next()
        positioning = Positioning(listing: listing, seed: pastSeed)
        fundings = FundingHistory(listing, now: now, seed: pastSeed)
        priceBars = PriceBars(after: bars, price: index, now: now, scale: scale, seed: pastSeed)
        guard listing.isTrading else { return }
        for number in 0..<Int64(Self.tradeLimit) {
            let time = firstTrade + number * Self.openingTradeGap
            bars.roll(to: time)
            moveBook()
            trade(at: time)
        }
        newTrades = []
        bars.roll(to: now)
        priceBars = PriceBars(after: bars, price: index, now: now, scale: scale, seed: pastSeed)
    }

    /// The price of the last trade.
    var lastPrice: Int64 { bars.current(.minute1).close }

    /// Advances by one step of ``Market/stepLength``; if `isStill`, only the time advances. `lastUpdateID` is the id counter that all books share.
    mutating func step(now: Int64, isStill: Bool = false, lastUpdateID: inout Int64) {
        bookChanged = false
        newTrades.removeAll(keepingCapacity: true)
        let isStill = isStill || isHalted
        bars.roll(to: now, keepingDay: isStill)
        priceBars.roll(to: now)
        fundings.roll(to: now, rate: fundingRate, markPrice: mark)
        guard listing.isTrading, !isStill else { return }
        let chance = generator.next() % 1_000
        let bookPerMille: UInt64 = listing.kind == .quarterly ? 50 : 250
        let tradePerMille = bookPerMille * 3 / 5
        if chance < bookPerMille {
            moveBook()
            lastUpdateID += generator.integer(in: 1...900)
            bookUpdateID = lastUpdateID
            bookTime = now
            bookChanged = true
            lastBookID = lastUpdateID
            if bookReaders > 0 { alignBook() }
        }
        if chance >= 1_000 - tradePerMille { trade(at: now) }
    }

    /// Performs the updates behind the best levels that are due after another `length` milliseconds. They use up ids even if no client watches the
    /// book, so that watching one book does not change the others.
    mutating func updateBook(now: Int64, length: Int64, perSecond: Int64, lastUpdateID: inout Int64) {
        book?.beginTick()
        guard listing.isTrading else { return }
        bookCredit += perSecond * length
        while bookCredit >= 1_000 {
            bookCredit -= 1_000
            lastUpdateID += bookGenerator.integer(in: 1...900)
            lastBookID = lastUpdateID
            if bookReaders > 0 { book?.alter(updateID: lastUpdateID, time: now) }
        }
    }

    /// Brings the book up to date; a settling symbol has none.
    mutating func settleBook(now: Int64) {
        guard listing.isTrading else { return }
        if book == nil {
            book = SimulatedBook(listing, bid: bestBid, ask: bestAsk, updateID: lastBookID, time: now, generator: levelGenerator)
        } else if book?.updateID != lastBookID {
            alignBook()
        }
    }

    mutating func watchBook(now: Int64) {
        settleBook(now: now)
        bookReaders += 1
    }

    /// Continues with other ids, like a venue that restarts and has lost its counters; drops older trades.
    mutating func restartIDs(bookUpdateID: Int64, tradeID: Int64, aggregateID: Int64) {
        self.bookUpdateID = bookUpdateID
        lastBookID = bookUpdateID
        book?.restart(updateID: bookUpdateID)
        (nextTradeID, nextAggregateID) = (tradeID, aggregateID)
        trades.removeAll()
    }

    mutating func unwatchBook() { bookReaders = max(0, bookReaders - 1) }

    /// Gives the book the current best levels.
    private mutating func alignBook() {
        let (bid, ask, updateID, time) = (bestBid, bestAsk, lastBookID, bookTime)
        book?.move(bid: bid, ask: ask, updateID: updateID, time: time)
    }

    private var bestBid: Level { Level(price: bid, quantity: bidQuantity) }
    private var bestAsk: Level { Level(price: ask, quantity: askQuantity) }

    /// Recalculates index, mark price and funding rate; called once a second.
    mutating func revalue() {
        let scale = powerOfTen(8 - listing.pricePrecision)
        let noise = generator.integer(in: -scale...scale)
        guard listing.isTrading else { return }
        index = max(1, index + ((bid + ask) * scale / 2 - index) / 8 + noise)
        let basisMillionths = generator.integer(in: -300...300)
        mark = index + index / 1_000_000 * basisMillionths
        settle = index - noise / 2 + index / 1_000_000 * (basisMillionths / 4)
        if listing.hasFunding {
            fundingRate = min(max((fundingRate * 15 + 10_000 + basisMillionths * 40) / 16, -75_000), 75_000)
        }
        priceBars.add(mark: mark, index: index)
    }

    private mutating func moveBook() {
        let reach = max(1, bid / 20_000)
        let pull = (listing.anchor - bid) / 20_000
        bid = max(10, bid + pull + generator.integer(in: -reach...reach))
        ask = bid + generator.integer(in: 1...2)
        bidQuantity = generator.integer(in: 1...listing.typicalQuantity * 40)
        askQuantity = generator.integer(in: 1...listing.typicalQuantity * 40)
    }

    private mutating func trade(at time: Int64) {
        let takerSells = generator.chance(50)
        let count = generator.integer(in: 1...3)
        let trade = AggregateTrade(
            id: nextAggregateID, price: takerSells ? bid : ask,
            quantity: count + generator.integer(in: 0...listing.typicalQuantity * 2),
            firstTradeID: nextTradeID, tradeCount: count, time: time, isBuyerMaker: takerSells)
        nextAggregateID += 1
        nextTradeID += count
        bars.add(trade)
        newTrades.append(trade)
        trades.append(trade)
        if trades.count >= 2 * Self.tradeLimit { trades.removeFirst(Self.tradeLimit) }
    }
}
