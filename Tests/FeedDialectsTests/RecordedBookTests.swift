import GatewayTestSupport
import Testing

@testable import FeedCore
@testable import FeedDialects

/// The recorded session's golden values: what an independent replay of the same files gave.
@Suite struct RecordedBookTests {
    struct Golden: Sendable {
        let symbol: String
        let lastUpdateID: UInt64, dropped: Int, applied: Int, finalUpdateID: UInt64
        let bid: (String, String), ask: (String, String), counts: (Int, Int)
    }

    static let golden = [
        Golden(
            symbol: "SUSHIUSDT", lastUpdateID: 600_859_605_926, dropped: 3, applied: 252, finalUpdateID: 600_860_425_198, bid: ("7.6120", "303"),
            ask: ("7.6160", "267"), counts: (1006, 1000)),
        Golden(
            symbol: "AKROUSDT", lastUpdateID: 600_859_605_486, dropped: 1, applied: 188, finalUpdateID: 600_860_423_964, bid: ("0.01734", "502"),
            ask: ("0.01735", "50697"), counts: (613, 761)),
        Golden(
            symbol: "KEEPUSDT", lastUpdateID: 600_859_619_434, dropped: 3, applied: 132, finalUpdateID: 600_860_420_312, bid: ("0.2463", "249"),
            ask: ("0.2467", "9047"), counts: (401, 614)),
        Golden(
            symbol: "CTKUSDT", lastUpdateID: 600_859_618_836, dropped: 5, applied: 180, finalUpdateID: 600_860_423_222, bid: ("1.01100", "1698"),
            ask: ("1.01200", "10123"), counts: (486, 742)),
    ]

    struct Session {
        var events: [String: [(DepthLevels?, BookTicker?)]] = [:]
        var snapshots: [String: DepthLevels] = [:]
    }

    static func session() throws -> Session {
        var session = Session()
        for line in try VenueFixtures.lines(VenueFixtures.session).dropFirst() {
            guard let start = line.firstIndex(of: "{"),
                case .rows(let name, let rows, _)? = FuturesDialectTests.decode(String(line[start...])).first, let symbol = name.symbol
            else { continue }
            switch rows {
            case .depth(let levels): session.events[symbol, default: []].append((levels.first, nil))
            case .bookTicker(let tickers): session.events[symbol, default: []].append((nil, tickers.first))
            default: break
            }
        }
        for line in try VenueFixtures.lines(VenueFixtures.sessionSnapshots) {
            guard let start = line.firstIndex(of: "{"), let symbol = line.firstMatch(of: /symbol=([A-Z]+)/)?.1 else { continue }
            let name = FuturesServiceStreamName.depth(symbol: String(symbol), speed: .milliseconds100)
            guard case .depth(let levels) = try FuturesDialectTests.snapshot(name, String(line[start...])).get().rows else { continue }
            session.snapshots[String(symbol)] = levels.first
        }
        return session
    }

    @Test func theRecordedBooksEndAsTheGoldenValuesSay() throws {
        let session = try Self.session()
        for golden in Self.golden {
            let snapshot = try #require(session.snapshots[golden.symbol])
            #expect(snapshot.lastUpdateID == golden.lastUpdateID)
            let events = (session.events[golden.symbol] ?? []).compactMap(\.0)
            // Deeper than the snapshots, so that nothing is withheld.
            var book = OrderBook(limit: 2000)
            for event in events { _ = book.receive(event) }
            #expect(book.adopt(snapshot) == .built)
            #expect(events.prefix { $0.lastUpdateID < snapshot.lastUpdateID }.count == golden.dropped)
            #expect(events.count - golden.dropped == golden.applied)
            let levels = book.levels()
            #expect(levels.lastUpdateID == golden.finalUpdateID)
            let (bid, ask) = (try #require(levels.bids.first), try #require(levels.asks.first))
            #expect(bid.price.text == golden.bid.0 && bid.quantity.text == golden.bid.1)
            #expect(ask.price.text == golden.ask.0 && ask.quantity.text == golden.ask.1)
            #expect(book.levelCounts == golden.counts)
        }
    }

    @Test func theBestLevelsEqualTheBookTickerAtEverySharedUpdate() throws {
        let session = try Self.session()
        var compared = 0
        for (symbol, events) in session.events {
            let snapshot = try #require(session.snapshots[symbol])
            let tickers = Dictionary(events.compactMap { $0.1.flatMap { ticker in ticker.updateID.map { ($0, ticker) } } }, uniquingKeysWith: { $1 })
            var book = OrderBook(limit: 1000)
            var isAdopted = false
            for event in events.compactMap(\.0) {
                _ = book.receive(event)
                if !isAdopted, event.lastUpdateID >= snapshot.lastUpdateID { isAdopted = book.adopt(snapshot) == .built }
                guard book.stands, let ticker = tickers[event.lastUpdateID] else { continue }
                let levels = book.levels(depth: 1)
                #expect(levels.bids.first == PriceLevel(price: ticker.bidPrice, quantity: ticker.bidQuantity))
                #expect(levels.asks.first == PriceLevel(price: ticker.askPrice, quantity: ticker.askQuantity))
                compared += 1
            }
        }
        #expect(compared == 50)
    }

    @Test func anyDeletedFrameBreaksItsBookAtTheNextOne() throws {
        let session = try Self.session()
        for golden in Self.golden {
            let snapshot = try #require(session.snapshots[golden.symbol])
            let events = (session.events[golden.symbol] ?? []).compactMap(\.0).drop { $0.lastUpdateID < snapshot.lastUpdateID }
            for gap in stride(from: 1, to: events.count - 1, by: 7) {
                var book = OrderBook(limit: 1000)
                var losses = 0
                for (position, event) in events.enumerated() where position != gap {
                    if case .lost = book.receive(event) { losses += 1 }
                    if position == 0 { #expect(book.adopt(snapshot) == .built) }
                    if losses > 0 {
                        #expect(position == gap + 1)
                        break
                    }
                }
                #expect(losses == 1, "\(golden.symbol) without frame \(gap)")
            }
        }
    }
}
