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

    static func rows(_ name: FuturesServiceStreamName, _ number: Int64 = 1) throws -> FeedRows {
        let price = try #require(DecimalString("\(number)"))
        return .markPrice([MarkPrice(symbol: try #require(name.symbol), markPrice: price, time: number)])
    }

    /// A core with live mark prices, and the number of the newest price that REST has.
    struct Setup {
        var harness = CoreHarness()
        var newest: Int64 = 1
        /// Whether REST answers.
        var answers = true
        private var answered: Set<UInt64> = []

        init(_ names: [FuturesServiceStreamName] = [price]) throws {
            harness.step(listing())
            harness.goLive(names)
            for name in names { harness.receive(name, try rows(name)) }
            try pass(1)
        }

        /// Lets seconds pass, in which REST answers.
        mutating func pass(_ seconds: Int) throws {
            for _ in 0..<seconds {
                for (name, attempt) in harness.attempts + harness.inquiries where answers && answered.insert(attempt).inserted {
                    let content = FetchedContent(rows: try rows(name, newest), eventTime: newest)
                    harness.step(.fetched(name, attempt: attempt, .success(content)))
                }
                harness.acknowledge()
                harness.pass(.seconds(1))
            }
        }

        func status(_ name: FuturesServiceStreamName = price) throws -> StreamStatus {
            try #require(harness.core.status(of: name, now: harness.now))
        }
    }

    @Test func aHaltedContractIsLiveWhileRESTHasNothingNewer() throws {
        var setup = try Setup([Self.price, Self.other])
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        setup.harness.forgetEffects()
        for _ in 0..<600 {
            try setup.pass(1)
            let status = try setup.status()
            #expect(status.state == .live && status.market == .halted)
        }
        let status = try setup.status()
        #expect(try #require(status.unverifiedMs) < 20_000 && status.ageMs ?? 0 > 600_000)
        #expect(
            setup.harness.effects.contains { if case .readListing(0, .seconds(60)) = $0 { true } else { false } }, "only the list says when it ends")
        #expect(!setup.harness.events.contains { $0.stream == Self.price })
        #expect(setup.harness.events.contains { $0.stream == Self.other }, "another contract is traded, so its silence is a fault")
    }

    /// Some data of a halted contract, or of one whose market is closed, may continue.
    @Test func newerDataInRESTAreAFaultAlsoInAHalt() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        try setup.pass(60)
        setup.harness.forgetEffects()
        setup.newest = 2
        try setup.pass(20)
        #expect(setup.harness.kinds.contains("status stale"))
    }

    @Test func withoutRESTAHaltedContractIsLiveAndSaysHowLongItIsUnverified() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        setup.answers = false
        try setup.pass(120)
        let status = try setup.status()
        #expect(status.state == .live && status.unverifiedMs ?? 0 > 90_000)
    }

    @Test func aSilenceAsksWhetherTheContractIsHalted() throws {
        var setup = try Setup()
        setup.harness.forgetEffects()
        setup.answers = false
        try setup.pass(60)
        #expect(try setup.status().state == .stale)
        #expect(setup.harness.effects.contains { if case .readListing(0, .seconds(5)) = $0 { true } else { false } })
        #expect(!setup.harness.kinds.contains("recover success"))
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        setup.answers = true
        try setup.pass(20)
        #expect(setup.harness.kinds.contains("recover success"), "the silence was no fault")
        #expect(try setup.status().state == .live)
    }

    @Test func whenTradingBeginsAgainTheSilenceCountsFromThen() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        try setup.pass(300)
        setup.answers = false
        setup.harness.step(Self.listing())
        try setup.pass(6)
        #expect(try setup.status().state == .live && setup.status().market == .open)
        try setup.pass(30)
        #expect(try setup.status().state == .stale)
    }

    @Test func aLostConnectionIsAnOutageAlsoInAHalt() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        try setup.pass(60)
        setup.harness.forgetEffects()
        setup.harness.step(.closed(setup.harness.connection, reason: "gone"))
        #expect(setup.harness.kinds.prefix(1) == ["disconnect"])
        #expect(try setup.status().state == .recovering)
    }

    @Test func aConnectionThatAnswersNoPingIsAnOutageAlsoInAHalt() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        try setup.pass(60)
        setup.harness.answersPings = false
        setup.harness.forgetEffects()
        try setup.pass(30)
        #expect(setup.harness.kinds.contains("disconnect"))
    }

    @Test func anUnreadableMessageOfAHaltedContractMakesItStale() throws {
        var setup = try Setup()
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        setup.answers = false
        setup.harness.step(.received(setup.harness.connection, .malformed(Self.price, "a price is NaN")))
        try setup.pass(60)
        #expect(try setup.status().state == .stale)
    }

    @Test func aClosedMarketIsQuietUntilItsNextSession() throws {
        var setup = try Setup()
        let now = setup.harness.now.nanoseconds / 1_000_000
        var listing = VenueListing(symbols: ["BTCUSDT", "ETHUSDT"])
        (listing.markets, listing.closures) = (["BTCUSDT": "EQUITY"], ["EQUITY": [now..<now + 300_000], "OTHER": [0..<Int64.max]])
        setup.harness.step(.listed(upstream: 0, .success(listing)))
        try setup.pass(290)
        #expect(try setup.status().state == .live && setup.status().market == .closed)
        setup.harness.step(Self.listing())
        #expect(try setup.status().market == .open, "a list without markets has no closed one")
        listing.closures = [:]
        setup.harness.step(.listed(upstream: 0, .success(listing)))
        #expect(try setup.status().market == .closed, "the sessions are known from the list before")
        setup.answers = false
        try setup.pass(60)
        #expect(try setup.status().state == .stale && setup.status().market == .open)
    }

    @Test func aStreamThatBeginsInAHaltIsLiveWithTheAnswerOverREST() throws {
        var setup = try Setup([Self.other])
        setup.harness.step(Self.listing(halted: ["BTCUSDT"]))
        setup.harness.step(.observe(.two, [Self.price], forceFetch: false))
        try setup.pass(30)
        #expect(try setup.status().state == .live && setup.status().market == .halted)
    }

    @Test func onlyStreamsOfTheContractAreHalted() {
        var listing = VenueListing(symbols: ["BTCUSDT"])
        listing.halted = ["BTCUSDT"]
        #expect(listing.phase(of: .depth(symbol: "BTCUSDT"), at: 0) == .halted && listing.phase(of: .markPrices, at: 0) == .open)
        #expect(listing.phase(of: .assetIndex(symbol: "BTCUSDT"), at: 0) == .open)
    }
}
