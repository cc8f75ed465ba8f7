import Testing

@testable import FeedCore

/// Streams that stall on a connection that lives, and how they come back.
@Suite struct StallTests {
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

    @Test func aStallTeachesNoPatience() {
        var harness = CoreHarness()
        harness.goLive([.ticker])
        func tick(_ prices: ClosedRange<Int>) {
            for price in prices {
                harness.pass(.milliseconds(100))
                harness.receive(.ticker, .ticker(price))
            }
        }
        tick(1...40)
        harness.forgetEffects()
        harness.pass(.seconds(30))
        #expect(harness.core.content(of: .ticker)?.state == .stale)
        harness.acknowledge()
        // REST had the newest value fetched, and has no more.
        var answered: Set<UInt64> = []
        for _ in 0..<600 where harness.core.content(of: .ticker)?.state != .live {
            harness.pass(.milliseconds(100))
            for (name, attempt) in harness.inquiries + harness.attempts where answered.insert(attempt).inserted {
                harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: .ticker(40), eventTime: nil))))
            }
        }
        #expect(harness.core.content(of: .ticker)?.state == .live)
        tick(41...43)
        harness.forgetEffects()
        harness.pass(.seconds(1))
        #expect(harness.inquiries.count == 1, "a silence is doubted as soon as before")
    }

    /// After a stall that REST reported, the first messages verify nothing, because the socket may deliver late.
    @Test func messagesAfterAProvedStallAreVerifiedAtOnceAndTeachNoPatience() {
        var harness = CoreHarness(backfillLimit: 100)
        harness.goLive([.trades])
        var newest: UInt64 = 1
        var answered: Set<UInt64> = []
        func pass(_ steps: Int, trades: Bool, answers: Bool = true) {
            for _ in 0..<steps {
                harness.pass(.milliseconds(100))
                if trades {
                    newest += 1
                    harness.receive(.trades, AggregateTrade.trades(newest...newest))
                }
                guard answers else { continue }
                for (name, attempt) in harness.inquiries + harness.attempts where answered.insert(attempt).inserted {
                    let rows = AggregateTrade.trades(max(newest, 10) - 9...max(newest, 10))
                    harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: rows, eventTime: nil))))
                }
            }
        }
        newest = 10
        pass(40, trades: true)
        newest += 5
        pass(30, trades: false)
        #expect(harness.core.content(of: .trades)?.state == .stale)
        harness.acknowledge()
        for _ in 0..<60 where harness.core.content(of: .trades)?.state != .live { pass(1, trades: false) }
        #expect(harness.core.content(of: .trades)?.state == .live)
        // REST needs two seconds for its answer.
        pass(20, trades: true, answers: false)
        pass(15, trades: true)
        #expect(harness.core.status(of: .trades, now: harness.now)?.unverifiedMs ?? .max < 300)
        pass(60, trades: true)
        harness.forgetEffects()
        harness.pass(.seconds(1))
        #expect(harness.inquiries.count == 1, "a silence is doubted as soon as before")
    }

    @Test(arguments: [false, true]) func aBarThatStalledTakesWhatRESTHasAndDoesNotGoBack(isReconnected: Bool) {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(1), eventTime: nil)) }
        for trades in 2...40 {
            harness.pass(.milliseconds(100))
            harness.receive(.bars, .bar(trades))
        }
        if isReconnected {
            harness.reconnect()
            harness.acknowledge()
            harness.answerFetches { _ in .success(FetchedContent(rows: .bar(40), eventTime: nil)) }
            #expect(harness.core.content(of: .bars)?.state == .live)
        }
        harness.pass(.seconds(3))
        #expect(harness.core.content(of: .bars)?.state == .stale)
        harness.step(.refetch(.bars))
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(50), eventTime: nil)) }
        harness.receive(.bars, .bar(45))
        #expect(harness.core.content(of: .bars)?.rows == .bar(50))
    }

    @Test func anOutageOfBarsEndsWithCompleteDataAlone() {
        var harness = CoreHarness()
        harness.goLive([.bars])
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(1), eventTime: nil)) }
        harness.reconnect()
        while harness.core.content(of: .bars)?.state != .failed, harness.now.nanoseconds < 600_000_000_000 {
            harness.pass(.seconds(1))
            harness.acknowledge()
            harness.answerFetches { _ in .failure(FeedError(.unreachable, "no answer", isTransient: true)) }
        }
        #expect(harness.core.content(of: .bars)?.state == .failed)
        harness.receive(.bars, .bar(2))
        #expect(harness.core.content(of: .bars)?.state == .failed, "bars before it may be missing")
        harness.forgetEffects()
        harness.pass(.seconds(60))
        harness.answerFetches { _ in .failure(FeedError(.venueRejected, "no such bars")) }
        harness.receive(.bars, .bar(2))
        #expect(harness.core.content(of: .bars)?.state == .failed, "a refusal completes nothing")
        harness.forgetEffects()
        harness.pass(.seconds(60))
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(2), eventTime: nil)) }
        #expect(harness.core.content(of: .bars)?.state == .live)
    }

    @Test func aStreamThatWentQuietForWantOfWeightIsBackAsSoonAsThereIsSome() {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = 10
        var harness = CoreHarness(configuration: configuration)
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        for price in 1...40 {
            harness.pass(.milliseconds(100))
            harness.receive(.ticker, .ticker(price))
        }
        harness.step(.usedWeight(upstream: 0, 10))
        harness.pass(.seconds(20))
        #expect(harness.core.content(of: .ticker)?.state == .stale)
        harness.acknowledge()
        harness.forgetEffects()
        while harness.inquiries.isEmpty, harness.now.nanoseconds < 100_000_000_000 {
            harness.pass(.milliseconds(100))
            harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(40), eventTime: nil)) }
        }
        #expect(60_000...61_000 ~= harness.now.nanoseconds / 1_000_000, "the minute's weight is new: \(harness.now)")
        harness.step(.fetched(.ticker, attempt: harness.inquiries.last?.attempt ?? 0, .success(FetchedContent(rows: .ticker(40), eventTime: nil))))
        #expect(harness.core.content(of: .ticker)?.state == .live)
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
            for case .connect(let id, _, _, _) in harness.effects { harness.step(.opened(id)) }
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

    /// Seed 12472 with two lines.
    @Test func aMessageFromBeforeRESTsAnswerDoesNotReplaceItAfterAStallWithoutMessages() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.btc], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(2, time: 2000)]), eventTime: 2000)) }
        #expect(harness.core.content(of: .btc)?.state == .live)
        for _ in 0..<400 where harness.core.content(of: .btc)?.state != .failed { harness.pass(.milliseconds(100)) }
        #expect(harness.core.content(of: .btc)?.state == .failed, "the venue acknowledged it and sends nothing")
        harness.step(.refetch(.btc))
        harness.answerFetches { _ in .success(FetchedContent(rows: .markPrice([.price(2, time: 2000)]), eventTime: 2000)) }
        harness.pass(.seconds(1))
        harness.acknowledge()
        harness.receive(.btc, .markPrice([.price(1, time: 1500)]))
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(2, time: 2000)]))
        harness.receive(.btc, .markPrice([.price(3, time: 2500)]))
        #expect(harness.core.content(of: .btc)?.rows == .markPrice([.price(3, time: 2500)]))
        #expect(harness.core.content(of: .btc)?.state == .live)
    }

    /// What the venue has at a second, over REST and as a message.
    private static func value(_ name: FuturesServiceStreamName, _ second: UInt64) -> (rest: FeedRows, message: FeedRows) {
        switch name.channel {
        case .depth:
            (
                .depth([bookSnapshot(second, bids: [(99, Int(second % 7) + 1)])]),
                .depth([bookEvent(second - 1, second, second, bids: [(99, Int(second % 7) + 1)])])
            )
        case .aggregateTrade: (AggregateTrade.trades(max(5, second) - 4...second), AggregateTrade.trades(second...second))
        default: (.ticker(Int(second)), .ticker(Int(second)))
        }
    }

    /// Every second has a message, and reaches the core so many seconds later. REST has no delay.
    private static func run(
        _ name: FuturesServiceStreamName, _ seconds: ClosedRange<UInt64>, late: UInt64, _ harness: inout CoreHarness,
        _ look: (UInt64, FeedState?) -> Void
    ) {
        for second in seconds {
            harness.pass(.milliseconds(900))
            let complete = value(name, second).rest
            harness.acknowledge()
            let asked = harness.attempts + harness.inquiries
            harness.forgetEffects()
            for (_, attempt) in asked {
                harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: complete, eventTime: nil))))
            }
            harness.pass(.milliseconds(100))
            if second > late, let id = harness.core.connections.first(where: { $0.phase == .open })?.id {
                harness.step(.received(id, .rows(name, value(name, second - late).message, eventTime: nil)))
            }
            look(second, harness.core.status(of: name, now: harness.now)?.state)
        }
    }

    @Test(arguments: [FuturesServiceStreamName.ticker, .depth(symbol: "BTCUSDT"), .trades])
    func aSocketThatDeliversLateIsStaleUntilItDeliversInTime(_ name: FuturesServiceStreamName) {
        var harness = CoreHarness(limit: 5)
        harness.goLive([name])
        Self.run(name, 1...40, late: 0, &harness) { _, _ in }
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
        // The messages of the next seconds are delayed, so nothing arrives at first.
        var liveSeconds: [UInt64] = []
        for second in UInt64(41)...50 {
            Self.run(name, second...second, late: 1_000, &harness) { _, _ in }
        }
        Self.run(name, 51...150, late: 10, &harness) { second, state in if state == .live { liveSeconds.append(second) } }
        #expect(liveSeconds.isEmpty, "\(liveSeconds)")
        var isLiveAt: UInt64?
        Self.run(name, 151...300, late: 0, &harness) { second, state in if state == .live, isLiveAt == nil { isLiveAt = second } }
        #expect(isLiveAt != nil, "\(harness.kinds)")
        #expect(harness.core.status(of: name, now: harness.now)?.state == .live)
    }
}
