import Testing

@testable import FeedCore

/// Contracts that are not traded: their streams may be silent.
@Suite struct HaltTests {
    static let price = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")
    static let other = FuturesServiceStreamName.markPrice(symbol: "ETHUSDT")

    static func listing(halted: Set<String> = []) -> FeedInput {
        var listing = VenueListing(symbols: ["BTCUSDT", "ETHUSDT"])
        listing.halted = halted
        return .listed(upstream: 0, .success(listing))
    }

    static func rows(_ name: FuturesServiceStreamName) throws -> FeedRows {
        let one = try #require(DecimalString("1"))
        return .markPrice([MarkPrice(symbol: try #require(name.symbol), markPrice: one, time: 1)])
    }

    static func live(_ names: [FuturesServiceStreamName] = [price]) throws -> CoreHarness {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.step(listing())
        harness.goLive(names)
        for name in names { harness.receive(name, try rows(name)) }
        return harness
    }

    static func status(_ harness: CoreHarness, _ name: FuturesServiceStreamName = price) throws -> StreamStatus {
        try #require(harness.core.status(of: name, now: harness.now))
    }

    @Test func aHaltedContractIsLiveAndVerifiedByItsConnection() throws {
        var harness = try Self.live([Self.price, Self.other])
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.forgetEffects()
        for _ in 0..<600 {
            harness.pass(.seconds(1))
            let status = try Self.status(harness)
            #expect(status.state == .live && status.market == .halted)
        }
        #expect(try #require(try Self.status(harness).unverifiedMs) < 10_000 && Self.status(harness).ageMs == 600_000)
        #expect(try Self.status(harness, Self.other).state == .stale, "another contract is traded")
        #expect(
            harness.effects.contains { if case .readListing(0, .seconds(60)) = $0 { true } else { false } }, "only the list says when trading begins")
        #expect(!harness.effects.contains { if case .publish(let event) = $0 { event.stream == Self.price } else { false } })
    }

    @Test func aSilenceAsksWhetherTheContractIsHalted() throws {
        var harness = try Self.live()
        harness.forgetEffects()
        harness.pass(.seconds(60))
        #expect(try Self.status(harness).state == .stale)
        #expect(harness.effects.contains { if case .readListing(0, .seconds(5)) = $0 { true } else { false } })
        harness.acknowledge()
        #expect(try Self.status(harness).state == .stale, "a subscription proves nothing")
        harness.forgetEffects()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.pass(.seconds(20))
        #expect(harness.kinds.contains("recover success"), "the silence was no fault")
        #expect(try Self.status(harness).state == .live)
    }

    @Test func whenTradingBeginsAgainTheSilenceCountsFromThen() throws {
        var harness = try Self.live()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.pass(.seconds(300))
        harness.step(Self.listing())
        harness.pass(.seconds(6))
        #expect(try Self.status(harness).state == .live && Self.status(harness).market == .open)
        harness.pass(.seconds(30))
        #expect(try Self.status(harness).state == .stale)
    }

    @Test func aLostConnectionIsAnOutageAlsoInAHalt() throws {
        var harness = try Self.live()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.pass(.seconds(60))
        harness.forgetEffects()
        harness.step(.closed(harness.connection, reason: "gone"))
        #expect(harness.kinds.prefix(1) == ["disconnect"])
        #expect(try Self.status(harness).state == .recovering)
    }

    @Test func aConnectionThatAnswersNoPingIsAnOutageAlsoInAHalt() throws {
        var harness = try Self.live()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.pass(.seconds(60))
        harness.answersPings = false
        harness.pass(.seconds(30))
        #expect(try Self.status(harness).state != .live)
    }

    @Test func anUnreadableMessageOfAHaltedContractMakesItStale() throws {
        var harness = try Self.live()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        harness.step(.received(harness.connection, .malformed(Self.price, "a price is NaN")))
        harness.pass(.seconds(60))
        #expect(try Self.status(harness).state == .stale)
    }

    @Test func aClosedMarketIsQuietUntilItsNextSession() throws {
        var harness = try Self.live()
        let now = harness.now.nanoseconds / 1_000_000
        var listing = VenueListing(symbols: ["BTCUSDT", "ETHUSDT"])
        (listing.markets, listing.closures) = (["BTCUSDT": "EQUITY"], ["EQUITY": [now..<now + 300_000], "OTHER": [0..<Int64.max]])
        harness.step(.listed(upstream: 0, .success(listing)))
        harness.pass(.seconds(290))
        #expect(try Self.status(harness).state == .live && Self.status(harness).market == .closed)
        harness.step(Self.listing())
        #expect(try Self.status(harness).market == .open, "a list without markets has no closed one")
        listing.closures = [:]
        harness.step(.listed(upstream: 0, .success(listing)))
        #expect(try Self.status(harness).market == .closed, "the sessions are known from the list before")
        harness.pass(.seconds(40))
        #expect(try Self.status(harness).state == .stale && Self.status(harness).market == .open)
    }

    @Test func aStreamThatBeginsInAHaltIsLiveWithTheAnswerOverREST() throws {
        var harness = CoreHarness()
        harness.step(Self.listing(halted: ["BTCUSDT"]))
        let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        harness.goLive([name])
        let one = try #require(DecimalString("1"))
        let rows = FeedRows.bookTicker([
            BookTicker(symbol: "BTCUSDT", bidPrice: one, bidQuantity: one, askPrice: one, askQuantity: one, updateID: nil, time: 1)
        ])
        for _ in 0..<10 {
            harness.answerFetches { _ in .success(FetchedContent(rows: rows, eventTime: 1)) }
            harness.pass(.seconds(1))
        }
        #expect(try Self.status(harness, name).state == .live && Self.status(harness, name).market == .halted)
    }

    @Test func onlyStreamsOfTheContractAreHalted() {
        var listing = VenueListing(symbols: ["BTCUSDT"])
        listing.halted = ["BTCUSDT"]
        #expect(listing.phase(of: .depth(symbol: "BTCUSDT"), at: 0) == .halted && listing.phase(of: .markPrices, at: 0) == .open)
        #expect(listing.phase(of: .assetIndex(symbol: "BTCUSDT"), at: 0) == .open)
    }
}
