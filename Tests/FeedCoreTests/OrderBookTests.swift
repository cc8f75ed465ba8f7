import Testing

@testable import FeedCore

@Suite struct OrderBookTests {
    /// Venues sort the levels of a message, either way. A message in no order, or with a price twice, has the same result as its levels one by one.
    @Test(arguments: [-1, 0, 1]) func aSideKeepsItsOrderThroughManyChanges(order: Int) {
        let seed = UInt64.random(in: 1...UInt64.max)
        var dice = SplitMix64(seed: seed)
        for isBid in [true, false] {
            var side = BookSide(isBid: isBid, limit: 400)
            var known: [Int: Int] = [:]
            for _ in 0..<1000 {
                var message = (0..<Int.random(in: 1...20, using: &dice)).map { _ in
                    (Int.random(in: 1...450, using: &dice), Int.random(in: 0...3, using: &dice))
                }
                if order != 0 { message.sort { order > 0 ? $0.0 < $1.0 : $0.0 > $1.0 } }
                for level in message {
                    let quantity = side.standing(at: bookLevels([level])[0]).quantity
                    #expect(quantity == DecimalString(known[level.0] ?? 0), "seed \(seed)")
                }
                side.apply(bookLevels(message))
                for (price, quantity) in message { known[price] = quantity == 0 ? nil : quantity }
                #expect(side.count == known.count, "seed \(seed)")
            }
            let best = known.sorted { isBid ? $0.key > $1.key : $0.key < $1.key }
            #expect(side.best(500) == bookLevels(best.prefix(400).map { ($0.key, $0.value) }), "seed \(seed)")
        }
    }

    /// A venue's book is deeper than a snapshot, and updates that came before the snapshot change how many levels of it are left.
    @Test(arguments: 1...40) func whoMergesChangesHasNoHoleBetweenLevels(_ seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        var venue = Dictionary(uniqueKeysWithValues: (1...60).map { ($0, 1) })
        var best = 60
        /// Moves the best bid, and changes levels near and far.
        func change(_ id: UInt64) -> DepthLevels {
            var changed: [Int: Int] = [:]
            let before = best
            best += Int.random(in: -2...2, using: &dice)
            for price in min(best, before)...max(best, before) { changed[price] = price > best ? 0 : Int.random(in: 1...9, using: &dice) }
            for _ in 0..<4 { changed[best - Int.random(in: 0..<40, using: &dice)] = Int.random(in: 0...2, using: &dice) }
            changed[best] = 1
            for (price, quantity) in changed { venue[price] = quantity == 0 ? nil : quantity }
            return bookEvent(id - 1, id, id, bids: changed.sorted { $0.key > $1.key }.map { ($0.key, $0.value) })
        }
        func content(_ kind: FuturesServiceFeedContent.Kind, _ levels: DepthLevels) -> FuturesServiceFeedContent {
            FuturesServiceFeedContent(
                streamName: .depth(symbol: "BTCUSDT"), id: EventID(epoch: 1, sequence: levels.lastUpdateID), kind: kind, state: .live,
                source: .websocket, eventTime: nil, receivedAt: 1, rows: .depth([levels]))
        }
        var (book, reader) = (OrderBook(limit: 20), MergedContent())
        _ = book.receive(bookEvent(9, 10, 10))
        let bids = venue.sorted { $0.key > $1.key }.prefix(20).map { ($0.key, $0.value) }
        for id in UInt64(11)..<14 { _ = book.receive(change(id)) }
        #expect(book.adopt(bookSnapshot(10, bids: bids, asks: [(1000, 1)])) == .built)
        reader.merge(content(.full, book.levels()), limit: 20)
        /// A reader that sets and removes levels, and knows nothing else.
        var plain = Dictionary(uniqueKeysWithValues: book.levels().bids.map { ($0.price.text, $0) })
        for id in UInt64(14)..<100 {
            let update = change(id)
            guard book.receive(update) == .applied, !book.isThin else { break }
            let told = book.told(of: update)
            reader.merge(content(.delta, told), limit: 20)
            for level in told.bids { plain[level.price.text] = level.quantity.isZero ? nil : level }
            guard case .depth(let rows)? = reader.whole()?.rows, let merged = rows.first else {
                Issue.record("the reader has nothing")
                return
            }
            let truth = bookLevels(venue.sorted { $0.key > $1.key }.map { ($0.key, $0.value) })
            #expect(book.levels().bids == Array(truth.prefix(book.levels().bids.count)), "seed \(seed), update \(id)")
            #expect(merged.bids == Array(truth.prefix(merged.bids.count)), "seed \(seed), update \(id)")
            #expect(merged.bids == book.levels().bids, "seed \(seed), update \(id)")
            #expect(plain.values.sorted { $0.scaledPrice > $1.scaledPrice } == Array(truth.prefix(plain.count)), "seed \(seed), update \(id)")
        }
    }

    /// An audit found a wrong level, and a line that lags brought an old event before the new snapshot, which has the wrong book's id.
    @Test func aWrongBookIsNotTakenForTheSnapshotWithItsID() {
        var book = OrderBook(limit: 10)
        #expect(book.receive(bookEvent(0, 1, 5)) == .buffered(isFirst: true))
        #expect(book.adopt(bookSnapshot(5)) == .built)
        #expect(book.receive(bookEvent(5, 6, 9, bids: [(98, 77)])) == .applied)
        book.reset()
        #expect(book.receive(bookEvent(3, 4, 5)) == .buffered(isFirst: true))
        #expect(book.adopt(bookSnapshot(9, bids: [(99, 1), (98, 2)])) == .waiting)
        #expect(!book.isQuiet, "its levels are still the wrong ones")
        #expect(book.adopt(bookSnapshot(9, bids: [(99, 1), (98, 2)])) == .waiting)
        #expect(book.isQuiet && book.levels().bids == bookLevels([(99, 1), (98, 2)]))
    }

    @Test func theFirstEventAsksForASnapshotAndWhatItHasSeenIsDropped() {
        var book = OrderBook(limit: 10)
        #expect(book.receive(bookEvent(0, 1, 5, bids: [(90, 9)])) == .buffered(isFirst: true))
        #expect(book.receive(bookEvent(5, 8, 12, bids: [(98, 2)])) == .buffered(isFirst: false))
        #expect(book.receive(bookEvent(12, 20, 25, asks: [(101, 0), (102, 3)])) == .buffered(isFirst: false))
        #expect(book.adopt(bookSnapshot(10)) == .built)
        #expect(
            book.levels()
                == DepthLevels(symbol: "BTCUSDT", bids: bookLevels([(99, 1), (98, 2)]), asks: bookLevels([(102, 3)]), lastUpdateID: 25, time: 1))
    }

    @Test func aSnapshotBetweenTwoUpdatesFitsToo() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(10, 20, 25))
        #expect(book.adopt(bookSnapshot(10)) == .built, "pu equals the snapshot")
        book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(8, 20, 25))
        #expect(book.adopt(bookSnapshot(10)) == .built, "nothing of this symbol happened between 8 and 20")
    }

    @Test func aSnapshotOlderThanTheBufferIsRefused() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(15, 20, 25))
        #expect(book.adopt(bookSnapshot(10)) == .tooOld)
    }

    @Test func aSnapshotAheadOfTheEventsWaitsForThem() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(30)) == .waiting)
        #expect(book.receive(bookEvent(5, 6, 20)) == .buffered(isFirst: false))
        #expect(book.receive(bookEvent(20, 29, 31, bids: [(100, 5)])) == .built)
        #expect(book.levels().bids.first?.price.text == "100")
    }

    @Test func aSnapshotOfAnotherNumberingIsNotWaitedFor() {
        var book = OrderBook(limit: 10)
        var old = bookSnapshot(1000)
        #expect(book.adopt(old) == .waiting)
        #expect(book.receive(bookEvent(5, 6, 20)) == .buffered(isFirst: false), "made in the same millisecond")
        var later = bookEvent(20, 21, 25)
        later.time = 2
        guard case .lost = book.receive(later) else {
            Issue.record("it waits for updates that never come")
            return
        }
        old.time = 0
        #expect(book.adopt(old) == .waiting)
        #expect(book.receive(later) == .buffered(isFirst: false), "the snapshot does not tell its time")
    }

    @Test func aMissingUpdateLosesTheBookAndARepeatedOneDoesNot() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(0, 1, 5))
        _ = book.adopt(bookSnapshot(3))
        #expect(book.receive(bookEvent(5, 9, 9)) == .applied)
        #expect(book.receive(bookEvent(5, 9, 9)) == .repeated)
        guard case .lost = book.receive(bookEvent(10, 11, 12)) else {
            Issue.record("a gap went unnoticed")
            return
        }
        #expect(book.levels().lastUpdateID == 9, "the old levels stay to be shown, with their id")
        #expect(book.adopt(bookSnapshot(11)) == .built)
    }

    @Test func copiesFromAnotherLineChangeNothingOfWhatIsBuffered() {
        var book = OrderBook(limit: 10)
        for update in [bookEvent(0, 1, 5), bookEvent(5, 6, 10), bookEvent(0, 1, 5), bookEvent(10, 11, 15), bookEvent(5, 6, 10)] {
            _ = book.receive(update)
        }
        #expect(book.adopt(bookSnapshot(7)) == .built)
        #expect(book.lastUpdateID == 15)
    }

    @Test func aVenueThatCountsAnewLosesABookThatStands() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(0, 1, 1000))
        #expect(book.adopt(bookSnapshot(1000)) == .built)
        var anew = bookEvent(3, 4, 5)
        anew.time = 2
        guard case .lost = book.receive(anew) else {
            Issue.record("an update made later with a lower id is no repetition")
            return
        }
    }

    @Test func booksThatDifferOnOneSideDiffer() {
        func book(bid: Int, ask: Int) -> OrderBook {
            var book = OrderBook(limit: 10)
            _ = book.receive(bookEvent(0, 1, 5))
            #expect(book.adopt(bookSnapshot(5, bids: [(99, bid)], asks: [(101, ask)])) == .built)
            return book
        }
        #expect(book(bid: 1, ask: 1).difference(from: book(bid: 1, ask: 1)) == nil)
        #expect(book(bid: 1, ask: 1).difference(from: book(bid: 2, ask: 1))?.hasPrefix("bid") == true)
        #expect(book(bid: 1, ask: 1).difference(from: book(bid: 1, ask: 2))?.hasPrefix("ask") == true)
    }

    @Test func aCrossedBookIsLost() {
        var book = OrderBook(limit: 10)
        _ = book.receive(bookEvent(0, 1, 5))
        _ = book.adopt(bookSnapshot(3))
        guard case .lost = book.receive(bookEvent(5, 6, 7, bids: [(101, 1)])) else {
            Issue.record("a crossed book went unnoticed")
            return
        }
    }

    @Test func levelsBeyondWhatTheSnapshotReachedAreNotHandedOut() {
        var book = OrderBook(limit: 2)
        _ = book.receive(bookEvent(0, 1, 5))
        _ = book.adopt(bookSnapshot(3, bids: [(99, 1), (98, 1)], asks: [(101, 1), (102, 1)]))
        _ = book.receive(bookEvent(5, 6, 7, bids: [(99, 0), (90, 1)]))
        #expect(book.levels().bids == bookLevels([(98, 1)]), "between 98 and 90 there may be levels nobody told of")
    }

    @Test func aBookThatWasBuiltKeepsNoMoreThanItHandsOut() {
        var book = OrderBook(limit: 2)
        _ = book.receive(bookEvent(3, 4, 5, bids: [(100, 1)]))
        #expect(book.adopt(bookSnapshot(3, bids: [(99, 1), (98, 1)])) == .built)
        #expect(book.levels().bids == bookLevels([(100, 1), (99, 1)]))
        #expect(book.receive(bookEvent(5, 6, 7, bids: [(100, 0)])) == .applied)
        #expect(book.levels().bids == bookLevels([(99, 1)]), "no reader was told of 98")
    }

    @Test func aThinBookTakesTheSnapshotItAskedForThoughALevelCameMeanwhile() {
        var book = OrderBook(limit: 4)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(5, bids: [(99, 1), (98, 1), (97, 1), (96, 1)])) == .built)
        #expect(book.receive(bookEvent(5, 6, 6, bids: [(99, 0), (98, 0), (97, 0)])) == .applied)
        #expect(book.isThin)
        #expect(book.receive(bookEvent(6, 7, 7, bids: [(97, 2)])) == .applied)
        #expect(!book.isThin)
        #expect(book.adopt(bookSnapshot(6, bids: [(96, 1), (95, 1), (94, 1), (93, 1)])) == .refreshed)
        #expect(book.levels().bids == bookLevels([(97, 2), (96, 1), (95, 1), (94, 1)]))
    }

    @Test func aThinBookOfAQuietMarketTakesTheSnapshotThatIsAhead() {
        var book = OrderBook(limit: 4)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(5, bids: [(99, 1), (98, 1), (97, 1), (96, 1)])) == .built)
        #expect(book.receive(bookEvent(5, 6, 6, bids: [(99, 0), (98, 0), (97, 0)])) == .applied)
        #expect(book.adopt(bookSnapshot(10, bids: [(96, 1), (95, 1), (94, 1), (93, 1)])) == .refreshed, "the numbers are other symbols' too")
        #expect(book.stands && book.levels().lastUpdateID == 10 && book.levels().bids == bookLevels([(96, 1), (95, 1), (94, 1), (93, 1)]))
        #expect(book.receive(bookEvent(6, 7, 8, bids: [(92, 3)])) == .included, "the snapshot has it")
        #expect(book.receive(bookEvent(6, 7, 8, bids: [(92, 3)])) == .repeated)
        #expect(book.levels().lastUpdateID == 10)
        #expect(book.receive(bookEvent(8, 12, 12, bids: [(95, 3)])) == .built)
        #expect(book.levels().bids == bookLevels([(96, 1), (95, 3), (94, 1), (93, 1)]))
    }

    /// While the venue refuses requests, no snapshot arrives for many minutes.
    @Test func aBookThatWaitsForASnapshotKeepsOnlyTheNewestEvents() {
        var book = OrderBook(limit: 4)
        for id in 1...2_000 as ClosedRange<UInt64> { #expect(book.receive(bookEvent(id - 1, id, id)) == .buffered(isFirst: id == 1)) }
        #expect(book.adopt(bookSnapshot(1)) == .tooOld)
        #expect(book.adopt(bookSnapshot(1_800)) == .built)
        #expect(book.lastUpdateID == 2_000)
    }

    @Test func aCompleteBookTakesTheLevelsOfASnapshotThatWasRequestedForIt() {
        var book = OrderBook(limit: 4)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(5, bids: [(99, 1), (98, 1), (97, 1), (96, 1)])) == .built)
        #expect(book.receive(bookEvent(5, 6, 6, bids: [(99, 0)])) == .applied)
        book.awaitRefill()
        #expect(book.receive(bookEvent(6, 7, 7, bids: [(98, 2)])) == .applied)
        #expect(book.adopt(bookSnapshot(6, bids: [(98, 1), (97, 1), (96, 1), (95, 1)])) == .refreshed)
        #expect(book.levels().lastUpdateID == 7 && book.levels().bids == bookLevels([(98, 2), (97, 1), (96, 1), (95, 1)]))
    }

    @Test func aCompleteBookStaysCompleteWhileASnapshotIsAheadOfTheStream() {
        var book = OrderBook(limit: 4)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(5, bids: [(99, 1), (98, 1), (97, 1), (96, 1)])) == .built)
        book.awaitRefill()
        #expect(book.receive(bookEvent(5, 6, 6, bids: [(99, 0)])) == .applied)
        #expect(book.adopt(bookSnapshot(9, bids: [(98, 5), (97, 1), (96, 1), (95, 1)])) == .ahead)
        #expect(book.receive(bookEvent(6, 7, 8, bids: [(98, 4)])) == .applied)
        #expect(book.stands && book.levels().bids == bookLevels([(98, 4), (97, 1), (96, 1)]))
        #expect(book.receive(bookEvent(8, 9, 10, bids: [(98, 6)])) == .refreshed)
        #expect(book.levels().lastUpdateID == 10 && book.levels().bids == bookLevels([(98, 6), (97, 1), (96, 1), (95, 1)]))
    }

    @Test func aSnapshotThatMissesUpdatesLeavesTheCompleteBookAlone() {
        var book = OrderBook(limit: 4)
        _ = book.receive(bookEvent(0, 1, 5))
        #expect(book.adopt(bookSnapshot(5, bids: [(99, 1)])) == .built)
        #expect(book.receive(bookEvent(5, 6, 8, bids: [(99, 3)])) == .applied)
        book.awaitRefill()
        #expect(book.adopt(bookSnapshot(6, bids: [(99, 2)])) == .refreshed, "the update 8 came before the request")
        #expect(book.levels().lastUpdateID == 8 && book.levels().bids == bookLevels([(99, 3)]))
    }

    @Test func randomUpdatesKeepTheSidesSortedAndEqualToADictionary() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        var book = OrderBook(limit: 1000)
        var bids: [Int: Int] = [99: 1]
        var asks: [Int: Int] = [1001: 1]
        _ = book.receive(bookEvent(0, 1, 1))
        _ = book.adopt(bookSnapshot(1, bids: [(99, 1)], asks: [(1001, 1)]))
        for id in 2...3000 as ClosedRange<UInt64> {
            let bid = (Int.random(in: 1...500, using: &random), Int.random(in: 0...2, using: &random))
            let ask = (Int.random(in: 501...1000, using: &random), Int.random(in: 0...2, using: &random))
            bids[bid.0] = bid.1 == 0 ? nil : bid.1
            asks[ask.0] = ask.1 == 0 ? nil : ask.1
            #expect(book.receive(bookEvent(id - 1, id, id, bids: [bid], asks: [ask])) == .applied, "seed \(seed)")
        }
        #expect(book.levels().bids == bookLevels(bids.sorted { $0.key > $1.key }.map { ($0.key, $0.value) }), "seed \(seed)")
        #expect(book.levels().asks == bookLevels(asks.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }), "seed \(seed)")
    }
}
