/// The whole simulated market: a value that advances in steps. Except for the times, it depends only on the seed and the number of steps.
struct Market {
    /// Wall-clock length of a step, in milliseconds.
    static let stepLength: Int64 = 50
    static let stepsPerSecond = 20

    private(set) var symbols: [SymbolMarket]
    private(set) var assets: [AssetIndex]
    /// Steps made since the market opened.
    private(set) var step = 0
    /// Whether the last tick was a step too.
    private(set) var hasStepped = false
    /// Whether only time advances: no trades, book changes or new prices.
    var isStill = false
    /// Length of the last tick, and of all ticks since the market opened.
    private var tickLength: Int64 = 1
    private var elapsed: Int64 = 0
    /// The liquidations of the last step.
    private(set) var liquidations: [Liquidation] = []
    private var liquidator: SeededGenerator
    private let bookUpdatesPerSecond: Int64
    /// Interval of all depth streams in milliseconds; nil for the venue's own intervals.
    let depthInterval: Int64?
    /// How long after its end a bar is closed in messages, ms.
    let closingDelay: Int64
    private var restarts: Int64 = 0
    /// Time of the last step, in milliseconds since 1970 UTC.
    private(set) var now: Int64
    private var lastUpdateID: Int64
    private let positions: [String: Int]
    private static let firstUpdateID: Int64 = 10_000_000_000_001

    init(
        seed: UInt64, symbolCount: Int, now: Int64, bookUpdatesPerSecond: Int64 = 10, depthInterval: Int64? = nil, closingDelay: Int64 = 0,
        perpetualsOnly: Bool = false
    ) {
        let firstUpdateID = Self.firstUpdateID + 500_000_000_000
        self.now = now
        self.bookUpdatesPerSecond = bookUpdatesPerSecond
        self.depthInterval = depthInterval
        self.closingDelay = closingDelay
        liquidator = SeededGenerator(seed: seed, purpose: 1 << 43)
        let listings = Listing.all(symbolCount, perpetualsOnly: perpetualsOnly)
        symbols = listings.enumerated().map { number, listing in
            SymbolMarket(listing: listing, number: number, seed: seed, now: now, bookUpdateID: firstUpdateID + Int64(number))
        }
        lastUpdateID = firstUpdateID + Int64(listings.count)
        assets = AssetIndex.all(seed: seed)
        positions = Dictionary(listings.enumerated().map { ($1.streamPrefix, $0) }, uniquingKeysWith: { first, _ in first })
        for position in assets.indices { assets[position].revalue(symbols) }
    }

    /// Position in ``symbols`` of a symbol, given in lower case (ASCII).
    func position(ofLowercased symbol: String) -> Int? { positions[symbol] }

    /// Whether a whole multiple of `period` (ms) was reached in the last tick.
    func crosses(_ period: Int64) -> Bool { elapsed / period != (elapsed - tickLength) / period }

    /// Advances the books by `length` milliseconds, and everything else whenever a step is complete.
    mutating func tick(now: Int64, length: Int64) {
        tickLength = length
        elapsed += length
        hasStepped = false
        for position in symbols.indices {
            symbols[position].updateBook(
                now: now, length: length, perSecond: isStill || symbols[position].isHalted ? 0 : bookUpdatesPerSecond, lastUpdateID: &lastUpdateID)
        }
        if crosses(Self.stepLength) { step(now: now) }
    }

    /// Halts these contracts, and no others.
    mutating func halt(_ halted: Set<String>) {
        for position in symbols.indices { symbols[position].isHalted = halted.contains(symbols[position].listing.symbol) }
    }

    mutating func step(now: Int64) {
        self.now = max(self.now, now)
        step += 1
        hasStepped = true
        liquidations.removeAll()
        let isSecond = !isStill && step.isMultiple(of: Self.stepsPerSecond)
        for position in symbols.indices {
            symbols[position].step(now: self.now, isStill: isStill, lastUpdateID: &lastUpdateID)
            if isSecond, !symbols[position].isHalted { symbols[position].revalue() }
        }
        guard isSecond else { return }
        for position in assets.indices { assets[position].revalue(symbols) }
        liquidate()
    }

    /// Liquidates a position every three seconds on average, half of the time in the first two symbols.
    private mutating func liquidate() {
        guard liquidator.next() % 3 == 0 else { return }
        let last = Int64(liquidator.chance(50) ? 1 : symbols.count - 1)
        let symbol = Int(liquidator.integer(in: 0...last))
        guard symbols[symbol].listing.isTrading else { return }
        liquidations.append(Liquidation(of: symbol, in: symbols[symbol], time: now, generator: &liquidator))
    }

    /// Brings a symbol's book up to date for a single request.
    mutating func settleBook(_ symbol: Int) { symbols[symbol].settleBook(now: now) }

    /// Keeps a symbol's book up to date until ``unwatchBook(_:)`` has been called as often.
    mutating func watchBook(_ symbol: Int) { symbols[symbol].watchBook(now: now) }

    mutating func unwatchBook(_ symbol: Int) { symbols[symbol].unwatchBook() }

    /// Moves all ids back, further with each call, like a venue that restarts and has lost its counters.
    mutating func restartIDs() {
        restarts += 1
        lastUpdateID = Self.firstUpdateID + 500_000_000_000 - restarts * 1_000_000_000
        for position in symbols.indices {
            lastUpdateID += 1
            symbols[position].restartIDs(
                bookUpdateID: lastUpdateID, tradeID: 8_000_000_001 - restarts * 1_000_000, aggregateID: 3_000_000_001 - restarts * 1_000_000)
        }
    }

    /// Performs the steps missed since the last one, at most one minute of them.
    mutating func catchUp(to now: Int64) {
        let first = max(self.now, now - Interval.minute)
        for time in stride(from: first + Self.stepLength, through: now, by: Int(Self.stepLength)) { step(now: time) }
    }
}

/// The index of a margin asset in US dollars, with its buffers.
struct AssetIndex {
    let asset: String
    /// Position of the symbol whose index it follows; nil for a stablecoin, which walks independently.
    private let source: Int?
    /// Buffers in ten-thousandths.
    let bidBuffer: Int64
    let askBuffer: Int64
    let autoBidBuffer: Int64
    let autoAskBuffer: Int64
    /// With eight decimals, like the rates.
    private(set) var index: Int64 = 100_000_000
    private var generator: SeededGenerator

    var symbol: String { asset + "USD" }
    var bidRate: Int64 { rate(10_000 - bidBuffer) }
    var askRate: Int64 { rate(10_000 + askBuffer) }
    var autoBidRate: Int64 { rate(10_000 - autoBidBuffer) }
    var autoAskRate: Int64 { rate(10_000 + autoAskBuffer) }

    private init(_ asset: String, _ source: Int?, _ buffer: Int64, _ autoBuffer: Int64, seed: UInt64) {
        self.asset = asset
        self.source = source
        (bidBuffer, askBuffer) = (buffer, buffer)
        (autoBidBuffer, autoAskBuffer) = (autoBuffer, autoBuffer)
        generator = SeededGenerator(seed: seed, purpose: asset.utf8.reduce(1 << 40) { $0 &* 31 &+ UInt64($1) })
    }

    /// The stablecoins and the assets of the first seven listings; DOGE has no buffers, like a COIN-M settlement asset.
    static func all(seed: UInt64) -> [AssetIndex] {
        [
            AssetIndex("USDT", nil, 1, 0, seed: seed), AssetIndex("USDC", nil, 1, 0, seed: seed),
            AssetIndex("BTC", 0, 500, 250, seed: seed), AssetIndex("ETH", 1, 500, 250, seed: seed),
            AssetIndex("BNB", 2, 500, 250, seed: seed), AssetIndex("SOL", 3, 1_000, 500, seed: seed),
            AssetIndex("XRP", 4, 1_000, 500, seed: seed), AssetIndex("ADA", 5, 1_000, 500, seed: seed),
            AssetIndex("DOGE", 6, 0, 0, seed: seed),
        ]
    }

    mutating func revalue(_ symbols: [SymbolMarket]) {
        if let source, symbols.indices.contains(source) {
            index = symbols[source].index
        } else {
            let next = index + (100_000_000 - index) / 50 + generator.integer(in: -4_000...4_000)
            index = min(max(next, 99_500_000), 100_500_000)
        }
    }

    /// Rounded half up at eight decimals.
    private func rate(_ tenThousandths: Int64) -> Int64 {
        (index * tenThousandths + 5_000) / 10_000
    }
}
