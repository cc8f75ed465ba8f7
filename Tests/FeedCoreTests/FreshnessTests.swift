import Testing

@testable import FeedCore

/// What is proved of a value: nothing is live that is not, and what was not is told.
@Suite struct FreshnessTests {
    private static let book = FuturesServiceStreamName.depth(symbol: "BTCUSDT")

    private func levels(_ bids: [(Int, Int)], _ asks: [(Int, Int)], from: UInt64? = nil, to: UInt64, after: UInt64? = nil) -> DepthLevels {
        let level = { (entry: (Int, Int)) in PriceLevel(price: DecimalString(entry.0), quantity: DecimalString(entry.1)) }
        return DepthLevels(
            symbol: "BTCUSDT", bids: bids.map(level), asks: asks.map(level), firstUpdateID: from, lastUpdateID: to, previousUpdateID: after, time: 1)
    }

    private func update(_ id: UInt64) -> FeedRows { .depth([levels([(98, Int(id))], [], from: id, to: id, after: id - 1)]) }

    /// A book that moves ten times a second, and has done so for long enough to be known.
    private func ticking() -> CoreHarness {
        var harness = CoreHarness()
        harness.goLive([Self.book])
        harness.receive(Self.book, update(11))
        let attempt = harness.attempts.last?.attempt ?? 0
        harness.step(
            .fetched(
                Self.book, attempt: attempt,
                .success(FetchedContent(rows: .depth([levels([(99, 1), (98, 2)], [(101, 1), (102, 2)], to: 10)]), eventTime: nil))))
        for id in 12...200 as ClosedRange<UInt64> {
            harness.pass(.milliseconds(100))
            harness.step(.heard(harness.connection))
            harness.receive(Self.book, update(id))
        }
        harness.forgetEffects()
        return harness
    }

    private func answer(_ harness: inout CoreHarness, top: Int, id: UInt64) {
        guard let attempt = harness.inquiries.last?.attempt else { return }
        let rows = FeedRows.depth([levels([(99, 1), (98, top)], [(101, 1), (102, 2)], to: id)])
        harness.step(.fetched(Self.book, attempt: attempt, .success(FetchedContent(rows: rows, eventTime: nil))))
    }

    private func recovery(_ harness: CoreHarness) -> FeedRecovery? {
        harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }.last
    }

    @Test func aBookThatStallsOnASocketThatAnswersIsAskedForAndTold() {
        var harness = ticking()
        harness.pass(.milliseconds(1_200))
        #expect(harness.inquiries.count == 1, "REST is asked as soon as the silence is longer than it ever is")
        #expect(harness.kinds == [])
        answer(&harness, top: 7, id: 300)
        harness.pass(.milliseconds(1_000))
        #expect(harness.kinds.first == "status stale", "REST has had newer data for too long")
        #expect(harness.core.content(of: Self.book)?.state == .stale)
        #expect(harness.effects.contains { if case .unsubscribe = $0 { true } else { false } }, "it is subscribed to anew")
    }

    @Test func aBookWhoseMarketIsCalmStaysLiveAndEveryDoubtComesLater() {
        var harness = ticking()
        var doubts: [Int64] = []
        let begin = harness.now
        for _ in 0..<6_000 {
            let before = harness.inquiries.count
            harness.pass(.milliseconds(100))
            guard harness.inquiries.count > before else { continue }
            doubts.append(harness.now.milliseconds(since: begin))
            answer(&harness, top: 200, id: 200)
        }
        #expect(harness.kinds == [], "a market that goes quiet on its own raises nothing")
        #expect(doubts.count < 20, "ten minutes of calm cost few questions: \(doubts)")
        #expect(harness.core.content(of: Self.book)?.state == .live)
    }

    @Test func aSilenceThatNobodyCanConfirmIsStale() {
        var harness = ticking()
        harness.pass(.milliseconds(3_000))
        #expect(harness.kinds.first == "status stale")
    }

    @Test func aRecoveryCountsFromTheLastVerifiedMoment() {
        var harness = ticking()
        let last = harness.now
        harness.pass(.milliseconds(3_000))
        #expect(harness.kinds.contains("status stale"))
        harness.pass(.seconds(40))
        harness.receive(Self.book, update(201))
        harness.acknowledge()
        harness.receive(Self.book, update(201))
        #expect(recovery(harness)?.downMs == harness.now.milliseconds(since: last))
        #expect(recovery(harness)?.detectedMs ?? .max < 41_000)
        #expect(recovery(harness)?.detectedMs ?? 0 > 39_000)
    }

    @Test func aSilentSocketIsPingedAtOnceAndGivenTwoSeconds() {
        var harness = ticking()
        let last = harness.now
        harness.answersPings = false
        harness.pass(.milliseconds(1_000))
        #expect(harness.effects.contains { if case .ping = $0 { true } else { false } })
        harness.pass(.milliseconds(2_000))
        #expect(harness.kinds.first == "disconnect")
        let told = harness.events.first.map { _ in harness.now.milliseconds(since: last) }
        #expect(told ?? .max <= 3_000)
    }

    @Test func whatIsUnverifiedIsSaidWithTheValue() {
        var harness = ticking()
        #expect(harness.core.status(of: Self.book, now: harness.now)?.unverifiedMs == 0)
        harness.answersPings = false
        harness.pass(.milliseconds(700))
        #expect(harness.core.status(of: Self.book, now: harness.now)?.unverifiedMs == 700)
        harness.step(.heard(harness.connection))
        #expect(harness.core.status(of: Self.book, now: harness.now)?.unverifiedMs == 0, "the silence is still believed, and its socket lives")
        harness.pass(.milliseconds(400))
        harness.step(.heard(harness.connection))
        #expect(harness.core.status(of: Self.book, now: harness.now)?.unverifiedMs ?? 0 > 200, "it is believed no longer")
    }

    @Test func whatStallsOnOneSocketMovesToOneFreshSocket() {
        var harness = CoreHarness()
        let names = (0..<120).map { FuturesServiceStreamName.markPrice(symbol: "SYM\($0)") }
        harness.goLive(names)
        harness.pass(.seconds(1))
        harness.acknowledge()
        for _ in 0..<3 {
            for (index, name) in names.enumerated() {
                harness.receive(name, .markPrice([.price(1, symbol: "SYM\(index)", time: harness.now.nanoseconds)]))
            }
            harness.pass(.seconds(3))
        }
        harness.forgetEffects()
        var sockets = 0
        for _ in 0..<400 {
            for case .connect(let id, _, _) in harness.effects { harness.step(.opened(id)) }
            harness.acknowledge()
            let requests = harness.effects.filter { if case .connect = $0 { false } else { true } }
            harness.forgetEffects()
            harness.keep(requests.filter { if case .publish = $0 { true } else { false } })
            harness.pass(.milliseconds(200))
            sockets = max(sockets, harness.core.connections.count { $0.phase == .open || $0.phase == .connecting })
        }
        #expect(harness.kinds.count { $0 == "status stale" } == 120)
        #expect(sockets <= 2, "one more than is needed")
    }

    @Test func aTimeFarAheadIsRefusedAndTold() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let price = { (time: Int64) in FeedRows.markPrice([.price(1, time: time)]) }
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_000_000), eventTime: 1_700_000_000_000)))
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_000_000_000), eventTime: 1_700_000_000_000_000)))
        #expect(harness.kinds.last == "fail malformed")
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_000_001_000), eventTime: 1_700_000_001_000)))
        #expect(harness.core.content(of: .btc)?.rows == price(1_700_000_001_000))
    }

    @Test func aVenueThatCountsAnewIsBelievedTheThirdTime() {
        var harness = CoreHarness()
        let ticker = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        let row = { (id: UInt64) in
            FeedRows.bookTicker([
                BookTicker(
                    symbol: "BTCUSDT", bidPrice: DecimalString(1), bidQuantity: DecimalString(1), askPrice: DecimalString(2),
                    askQuantity: DecimalString(Int(id % 1000)), updateID: id, time: 1)
            ])
        }
        harness.goLive([ticker])
        harness.receive(ticker, row(5))
        for id in 1...2 as ClosedRange<UInt64> {
            harness.receive(ticker, row(1_000_000_000_000_000 + id))
            #expect(harness.core.content(of: ticker)?.rows == row(5))
        }
        harness.receive(ticker, row(1_000_000_000_000_003))
        #expect(harness.core.content(of: ticker)?.rows == row(1_000_000_000_000_003))
    }

    @Test func whatSaysNothingNewDoesNotKeepAStreamLive() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1, time: 100)]))
        for _ in 0..<20 {
            harness.pass(.seconds(1))
            harness.receive(.btc, .markPrice([.price(1, time: 50)]))
        }
        #expect(harness.core.content(of: .btc)?.state == .stale)
    }

    @Test func oneListThatWasCutShortEndsNothing() {
        var harness = CoreHarness()
        harness.step(.listed(.success(VenueListing(symbols: ["BTCUSDT", "ETHUSDT"]))))
        harness.goLive([.trades])
        harness.pass(.seconds(120))
        harness.step(.listed(.success(VenueListing(symbols: ["ETHUSDT"]))))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state != .ended)
        #expect(harness.core.knows(.bars))
        harness.step(.listed(.success(VenueListing(symbols: ["ETHUSDT"]))))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .ended)
    }

    @Test func aWaitOfAMonthSilencesRESTForAnHourAndIsTold() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil)) }
        harness.step(.refetch(.trades))
        let attempt = harness.attempts.last?.attempt ?? 0
        harness.step(.fetched(.trades, attempt: attempt, .failure(FeedError(.rateLimited, "wait", retryAfterMs: 30 * 86_400_000))))
        #expect(harness.core.restPause(now: harness.now) == .seconds(3600))
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.pass(.seconds(5))
        #expect(harness.kinds.contains("recover failure"), "a lost stream is told that it has to wait: \(harness.kinds)")
    }

    @Test func readersLeaveAShareOfTheBudgetToRecoveries() {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 10
        var harness = CoreHarness(configuration: configuration)
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: nil)) }
        harness.pass(.seconds(2))
        harness.step(.usedWeight(7))
        harness.forgetEffects()
        harness.step(.refetch(.btc))
        #expect(harness.kinds == ["fail rateLimited"])
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        harness.forgetEffects()
        harness.pass(.seconds(3))
        #expect(!harness.attempts.isEmpty, "a recovery may still ask")
    }

    private static let ticker = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")

    private func ticker(_ price: Int) -> FeedRows {
        let number = DecimalString(price)
        return .bookTicker([
            BookTicker(symbol: "BTCUSDT", bidPrice: number, bidQuantity: number, askPrice: number, askQuantity: number, time: Int64(price))
        ])
    }

    @Test func whatMayHaveChangedBeforeTheSubscriptionStoodIsAskedAgain() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [Self.ticker], forceFetch: false))
        harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(1), eventTime: nil)) }
        harness.pass(.milliseconds(800))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.forgetEffects()
        harness.pass(.milliseconds(500))
        harness.step(.heard(harness.connection))
        #expect(harness.core.content(of: Self.ticker)?.unverifiedMs == 1_300, "a socket that lives is no evidence for a value of before it")
        harness.pass(.milliseconds(700))
        #expect(harness.attempts.count == 1)
        harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(2), eventTime: nil)) }
        harness.pass(.seconds(50))
        #expect(harness.attempts.count == 1)
        #expect(harness.core.content(of: Self.ticker)?.rows == ticker(2))
        #expect(harness.core.content(of: Self.ticker)?.unverifiedMs ?? .max < 6_000)
    }

    @Test func anAnswerThatMessagesHaveOvertakenChangesNothing() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [Self.ticker], forceFetch: false))
        harness.pass(.seconds(1))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(Self.ticker, ticker(5))
        let answer = FetchedContent(rows: ticker(1_000), eventTime: nil)
        harness.step(.fetched(Self.ticker, attempt: harness.attempts.first?.attempt ?? 0, .success(answer)))
        #expect(harness.core.content(of: Self.ticker)?.rows == ticker(5), "it was asked for before, by whatever the venue counts")
        #expect(harness.kinds.last == "fetch", "who waits for it has the value")
        harness.receive(Self.ticker, ticker(6))
        #expect(harness.core.content(of: Self.ticker)?.rows == ticker(6))
    }

    @Test(arguments: [Duration.milliseconds(100), .seconds(60)])
    func aValueOfBeforeTheSubscriptionIsNotLiveWithIt(wait: Duration) {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.btc], forceFetch: false))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(1)]), eventTime: nil)) }
        harness.pass(wait)
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        #expect(harness.core.content(of: .btc)?.state == .connecting)
        harness.receive(.btc, .markPrice([.price(2, time: 2)]))
        #expect(harness.core.content(of: .btc)?.state == .live)
    }

    @Test func anAnswerMakesNothingLiveWhoseSubscriptionIsRefused() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [Self.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(1), eventTime: nil)) }
        harness.receive(Self.ticker, ticker(2))
        harness.pass(.seconds(5))
        harness.step(.refetch(Self.ticker))
        guard case .subscribe(let id, _, let request)? = harness.effects.last(where: { if case .subscribe = $0 { true } else { false } }) else {
            Issue.record("nothing was subscribed")
            return
        }
        harness.step(.received(id, .rejected(request: request, FeedError(.subscriptionRejected, "no"))))
        #expect(harness.core.content(of: Self.ticker)?.state == .failed)
        harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(3), eventTime: nil)) }
        #expect(harness.core.content(of: Self.ticker)?.rows == ticker(3))
        #expect(harness.core.content(of: Self.ticker)?.state == .failed, "nothing would tell of the next change")
    }

    @Test func theFirstTimeOfAllMayBeTheWrongOne() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let price = { (time: Int64) in FeedRows.markPrice([.price(1, time: time)]) }
        harness.step(.received(harness.connection, .rows(.btc, price(1_700_003_600_000), eventTime: 1_700_003_600_000)))
        for time in stride(from: 1_700_000_001_000, through: 1_700_000_003_000, by: 1_000) as StrideThrough<Int64> {
            harness.step(.received(harness.connection, .rows(.btc, price(time), eventTime: time)))
        }
        #expect(harness.core.content(of: .btc)?.rows == price(1_700_000_003_000), "it is not frozen for an hour")
    }

    @Test func aTapeThatStalledIsBackOnceRESTGaveWhatWasMissedAndHasNoMore() {
        var harness = CoreHarness(backfillLimit: 100)
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...1), eventTime: nil)) }
        for id in 2...40 as ClosedRange<UInt64> {
            harness.pass(.milliseconds(100))
            harness.receive(.trades, AggregateTrade.trades(id...id))
        }
        harness.pass(.seconds(3))
        #expect(harness.core.content(of: .trades)?.state == .stale)
        harness.acknowledge()
        harness.forgetEffects()
        var answered: Set<UInt64> = []
        for _ in 0..<60 {
            harness.pass(.milliseconds(100))
            for (name, attempt) in harness.inquiries + harness.attempts where answered.insert(attempt).inserted {
                harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: AggregateTrade.trades(39...45), eventTime: nil))))
            }
        }
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(41...45))
        #expect(harness.core.content(of: .trades)?.state == .live)
        #expect(harness.kinds.count { $0 == "recover success" } == 1)
    }

    private func bar(_ trades: Int) -> FeedRows {
        let number = DecimalString(trades)
        return .kline([
            Kline(
                openTime: 60_000, closeTime: 119_999, open: number, high: number, low: number, close: number, volume: number, quoteVolume: number,
                tradeCount: UInt64(trades), takerBuyVolume: number, takerBuyQuoteVolume: number, isClosed: false)
        ])
    }

    @Test func aBarThatStalledDoesNotGoBackToWhatWasOnItsWay() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: self.bar(1), eventTime: nil)) }
        for trades in 2...40 {
            harness.pass(.milliseconds(100))
            harness.receive(.bars, bar(trades))
        }
        harness.pass(.seconds(3))
        #expect(harness.core.content(of: .bars)?.state == .stale)
        harness.step(.refetch(.bars))
        harness.answerFetches { _ in .success(FetchedContent(rows: self.bar(50), eventTime: nil)) }
        harness.receive(.bars, bar(45))
        #expect(harness.core.content(of: .bars)?.rows == bar(50))
    }

    @Test func aRepetitionThatEndsAnOutageMakesTheStreamLive() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: self.bar(1), eventTime: nil)) }
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.forgetEffects()
        harness.step(.opened(harness.connection))
        while harness.core.content(of: .bars)?.state != .failed, harness.now.nanoseconds < 600_000_000_000 {
            harness.pass(.seconds(1))
            harness.acknowledge()
            harness.answerFetches { _ in .failure(FeedError(.unreachable, "no answer", isTransient: true)) }
        }
        #expect(harness.core.content(of: .bars)?.state == .failed)
        harness.forgetEffects()
        harness.pass(.seconds(60))
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "no such bars")) }
        harness.receive(.bars, bar(1))
        #expect(harness.core.content(of: .bars)?.state == .live)
    }

    @Test func aMessageConfirmsWhatWasThereBeforeIt() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [Self.ticker], forceFetch: false))
        harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(1), eventTime: nil)) }
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(Self.ticker, ticker(2))
        harness.forgetEffects()
        harness.pass(.seconds(50))
        #expect(harness.attempts.isEmpty)
    }

    @Test func anInquiryWhoseAnswerIsLostIsSentAgain() {
        var harness = ticking()
        harness.pass(.milliseconds(1_200))
        harness.step(.fetched(Self.book, attempt: harness.inquiries.last?.attempt ?? 0, .failure(FeedError(.timedOut, "no answer"))))
        harness.pass(.milliseconds(700))
        #expect(harness.inquiries.count == 2)
        answer(&harness, top: 200, id: 200)
        harness.pass(.seconds(2))
        #expect(harness.kinds == [], "the second answer confirmed the silence")
    }

    @Test func aStreamThatWentQuietForWantOfWeightIsBackAsSoonAsThereIsSome() {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 10
        var harness = CoreHarness(configuration: configuration)
        harness.step(.observe(.one, [Self.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        for price in 1...40 {
            harness.pass(.milliseconds(100))
            harness.receive(Self.ticker, ticker(price))
        }
        harness.step(.usedWeight(10))
        harness.pass(.seconds(20))
        #expect(harness.core.content(of: Self.ticker)?.state == .stale)
        harness.acknowledge()
        harness.forgetEffects()
        while harness.inquiries.isEmpty, harness.now.nanoseconds < 100_000_000_000 {
            harness.pass(.milliseconds(100))
            harness.answerFetches { _ in .success(FetchedContent(rows: self.ticker(40), eventTime: nil)) }
        }
        #expect(60_000...61_000 ~= harness.now.nanoseconds / 1_000_000, "the minute's weight is new: \(harness.now)")
        harness.step(.fetched(Self.ticker, attempt: harness.inquiries.last?.attempt ?? 0, .success(FetchedContent(rows: ticker(40), eventTime: nil))))
        #expect(harness.core.content(of: Self.ticker)?.state == .live)
    }

    @Test func anEmptyListIsNoValue() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([]), eventTime: nil)) }
        #expect(harness.core.content(of: .btc) == nil)
        #expect(harness.kinds.last == "fail malformed")
    }

    @Test func whatThisProcessSleptThroughIsNotTheVenuesSilence() {
        var harness = ticking()
        harness.oversleep(.seconds(30))
        #expect(harness.kinds == [], "what came meanwhile is still to be read")
        harness.step(.heard(harness.connection))
        harness.receive(Self.book, update(201))
        harness.pass(.milliseconds(500))
        #expect(harness.kinds == ["update delta"])
    }
}
