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

    @Test func aMiniTickerInAQuietMarketIsConfirmedThoughRESTHasAnEarlierTime() {
        func row(volume: Int, time: Int64) -> FeedRows {
            let number = DecimalString(7)
            return .miniTicker([
                MiniTicker(
                    symbol: "BTCUSDT", openPrice: number, highPrice: number, lowPrice: number, lastPrice: number, volume: DecimalString(volume),
                    quoteVolume: number, time: time)
            ])
        }
        let name = FuturesServiceStreamName.miniTicker(symbol: "BTCUSDT")
        var harness = CoreHarness()
        harness.goLive([name])
        harness.answerFetches { _ in .success(FetchedContent(rows: row(volume: 18, time: 500), eventTime: nil)) }
        harness.receive(name, row(volume: 20, time: 1_400))
        harness.forgetEffects()
        // A message has the time at which it was sent, REST the last trade's; and a trade of yesterday has left the day.
        var answered = 0
        for _ in 0..<600 {
            harness.pass(.seconds(1))
            guard harness.inquiries.count > answered, let inquiry = harness.inquiries.last else { continue }
            answered = harness.inquiries.count
            harness.step(.fetched(name, attempt: inquiry.attempt, .success(FetchedContent(rows: row(volume: 19, time: 1_000), eventTime: nil))))
        }
        #expect(answered > 1 && harness.kinds == [], "\(harness.kinds)")
        #expect(harness.core.content(of: name)?.state == .live)
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

    @Test func anInquiryWhoseAnswerLagsBehindTheSocketIsSentAgain() {
        var harness = ticking()
        harness.pass(.milliseconds(1_200))
        answer(&harness, top: 199, id: 199)
        harness.pass(.milliseconds(700))
        #expect(harness.inquiries.count == 2)
        answer(&harness, top: 200, id: 200)
        harness.pass(.seconds(2))
        #expect(harness.kinds == [], "the second answer confirmed the silence")
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
