import Testing

@testable import DemoExchange

private let opening: Int64 = 1_763_679_600_000

@Suite struct BookTests {
    private func market(seed: UInt64, watched: Range<Int> = 0..<20) -> Market {
        var market = Market(seed: seed, symbolCount: 20, now: opening, bookUpdatesPerSecond: 10)
        for symbol in watched { market.watchBook(symbol) }
        return market
    }

    private func ran(_ market: inout Market, ticks: Int, _ look: (Market) -> Void = { _ in }) {
        for _ in 0..<ticks {
            market.tick(now: market.now + Market.stepLength, length: Market.stepLength)
            look(market)
        }
    }

    @Test func aBookIsSortedNeverCrossedAndAsDeepAsPromised() {
        var market = market(seed: 21)
        ran(&market, ticks: 1_000) { market in
            for symbol in market.symbols where symbol.listing.isTrading {
                guard let book = symbol.book else {
                    Issue.record("\(symbol.listing.symbol) has no book")
                    return
                }
                let (bids, asks) = (book.bids.levels, book.asks.levels)
                #expect((1_000...1_210).contains(bids.count) && (1_000...1_210).contains(asks.count))
                #expect(bids[0] == Level(price: symbol.bid, quantity: symbol.bidQuantity))
                #expect(asks[0] == Level(price: symbol.ask, quantity: symbol.askQuantity))
                #expect(bids[0].price < asks[0].price)
                guard market.step.isMultiple(of: 50) else { continue }
                #expect(zip(bids, bids.dropFirst()).allSatisfy { $0.price > $1.price } && bids.allSatisfy { $0.quantity > 0 && $0.price > 0 })
                #expect(zip(asks, asks.dropFirst()).allSatisfy { $0.price < $1.price } && asks.allSatisfy { $0.quantity > 0 })
            }
        }
    }

    @Test func theSameSeedGivesTheSameBooksAndWatchingChangesNoOther() {
        var (one, two, alone) = (market(seed: 4), market(seed: 4), market(seed: 4, watched: 3..<4))
        for number in 0..<500 {
            ran(&one, ticks: 1)
            ran(&two, ticks: 1)
            ran(&alone, ticks: 1)
            guard number.isMultiple(of: 100) else { continue }
            for symbol in 0..<20 {
                #expect(one.symbols[symbol].book?.bids.levels == two.symbols[symbol].book?.bids.levels)
                #expect(one.symbols[symbol].lastBookID == alone.symbols[symbol].lastBookID)
            }
            #expect(one.symbols[3].book?.asks.levels == alone.symbols[3].book?.asks.levels)
        }
        var other = market(seed: 5)
        ran(&other, ticks: 500)
        #expect(other.symbols[3].book?.asks.levels != one.symbols[3].book?.asks.levels)
    }

    @Test func aClientThatStartedWithAThousandLevelsKnowsTheBestHoweverFarTheMarketMoves() {
        var market = market(seed: 8, watched: 0..<1)
        var bids: [Int64: Int64] = [:]
        var asks: [Int64: Int64] = [:]
        for level in market.symbols[0].book?.bids.levels.prefix(1_000) ?? [] { bids[level.price] = level.quantity }
        for level in market.symbols[0].book?.asks.levels.prefix(1_000) ?? [] { asks[level.price] = level.quantity }
        var (unknown, oneSided) = (0, 0)
        for number in 0..<60_000 {
            ran(&market, ticks: 1)
            guard let book = market.symbols[0].book, book.firstUpdateID != nil else { continue }
            for level in book.bids.changes where level.quantity == 0 && bids[level.price] == nil { unknown += 1 }
            if book.bids.changes.isEmpty != book.asks.changes.isEmpty { oneSided += 1 }
            for level in book.bids.changes { bids[level.price] = level.quantity == 0 ? nil : level.quantity }
            for level in book.asks.changes { asks[level.price] = level.quantity == 0 ? nil : level.quantity }
            guard number.isMultiple(of: 1_000) else { continue }
            #expect(bids.keys.sorted(by: >).prefix(900).map { Level(price: $0, quantity: bids[$0] ?? 0) } == Array(book.bids.levels.prefix(900)))
            #expect(asks.keys.sorted().prefix(900).map { Level(price: $0, quantity: asks[$0] ?? 0) } == Array(book.asks.levels.prefix(900)))
        }
        #expect(unknown > 1_000 && oneSided > 1_000)
    }

    @Test func anUnwatchedBookIsBroughtUpToDateWhenAskedFor() {
        var market = market(seed: 6, watched: 0..<0)
        market.settleBook(1)
        ran(&market, ticks: 200)
        let stale = market.symbols[1].book?.updateID
        market.settleBook(1)
        let symbol = market.symbols[1]
        #expect(symbol.book?.updateID == symbol.lastBookID && stale != symbol.lastBookID)
        #expect(symbol.book?.bids.levels.first == Level(price: symbol.bid, quantity: symbol.bidQuantity))
        let again = symbol.book?.bids.levels
        market.settleBook(1)
        #expect(market.symbols[1].book?.bids.levels == again)
    }

    @Test func theLogForgetsTheOldestUpdates() {
        let log = BookLog(limit: 100)
        var market = market(seed: 6, watched: 0..<1)
        var ids: [Int64] = []
        ran(&market, ticks: 2_000) { market in
            log.add(market.symbols)
            log.add(market.symbols)
            ids += market.symbols[0].book?.tops.map(\.updateID) ?? []
        }
        #expect(ids.count > 1_000)
        for id in ids.suffix(100) { #expect(log.levels("BTCUSDT", at: UInt64(id)) != nil) }
        for id in ids.prefix(ids.count - 200) { #expect(log.levels("BTCUSDT", at: UInt64(id)) == nil) }
        #expect(log.levels("BTCUSDT", at: UInt64(ids[ids.count - 1]) + 1) == nil)
        #expect(log.levels("BTCUSDT", at: .max) == nil)
    }
}
