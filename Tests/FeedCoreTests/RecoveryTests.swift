import Testing

@testable import FeedCore

@Suite struct RecoveryTests {
    @Test func anOutageIsToldAsDisconnectThenConnectThenOneRecoverThenTheFullValue() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1, time: 10)]))
        harness.forgetEffects()
        harness.step(.closed(harness.connection, reason: "gone"))
        #expect(harness.kinds == ["disconnect", "status recovering"])
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(.btc, .markPrice([.price(2, time: 20)]))
        harness.receive(.btc, .markPrice([.price(3, time: 30)]))
        #expect(
            harness.kinds == [
                "disconnect", "status recovering", "connect", "recover success", "status live", "update full", "update full",
            ])
        let recovery = harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }.first
        #expect(recovery.map { $0.downMs >= 3000 } == true)
    }

    @Test func aVenueWhoseIdsWentBackIsBelievedAfterAReconnect() {
        var harness = CoreHarness()
        let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
        func ticker(_ id: UInt64) -> FeedRows {
            .bookTicker([
                BookTicker(
                    symbol: "BTCUSDT", bidPrice: DecimalString(1), bidQuantity: DecimalString(1), askPrice: DecimalString(2),
                    askQuantity: DecimalString(1), updateID: id, time: 5)
            ])
        }
        harness.goLive([name])
        harness.receive(name, ticker(100))
        harness.receive(name, ticker(99))
        #expect(harness.kinds.filter { $0.hasPrefix("update") }.count == 1, "an older id within one connection is a duplicate")
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.receive(name, ticker(3))
        #expect(harness.core.content(of: name)?.rows == ticker(3))
    }

    @Test func tradesAreWholeAgainOnlyWithCompleteDataAskedForAfterTheSubscription() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil)) }
        harness.receive(.trades, AggregateTrade.trades(6...6))
        harness.reconnect()
        #expect(harness.attempts.isEmpty, "what is asked for before the acknowledgement may miss trades")
        harness.acknowledge()
        #expect(harness.attempts.count == 1)
        harness.receive(.trades, AggregateTrade.trades(11...11))
        #expect(!harness.kinds.contains("recover success"), "a frame alone does not fill the hole")
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(6...10), eventTime: nil)) }
        #expect(harness.kinds.suffix(3) == ["recover success", "status live", "fetch"])
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(7...11))
    }

    @Test func anAnswerFromBeforeTheReconnectDoesNotEndTheOutage() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        harness.receive(.trades, AggregateTrade.trades(1...1))
        guard let early = harness.attempts.last else {
            Issue.record("nothing was fetched")
            return
        }
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.fetched(.trades, attempt: early.attempt, .success(FetchedContent(rows: AggregateTrade.trades(1...2), eventTime: nil))))
        #expect(!harness.kinds.contains("recover success"))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .recovering)
    }

    @Test func anOutageThatCannotBeEndedIsReportedOnceAndWorkedAtOn() {
        var harness = CoreHarness(seed: 3)
        harness.goLive([.trades])
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil)) }
        harness.reconnect()
        harness.acknowledge()
        for _ in 0..<20 {
            if let last = harness.attempts.last {
                harness.step(.fetched(.trades, attempt: last.attempt, .failure(FeedError(.unreachable, "down"))))
            }
            harness.pass(.seconds(31))
            harness.acknowledge()
        }
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover failure"])
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .failed)
        guard let last = harness.attempts.last else { return }
        harness.step(.fetched(.trades, attempt: last.attempt, .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil))))
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover failure"])
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .live)
    }

    @Test func reconnectsBackOffWithJitterAndTheBackoffIsResetByDataAlone() {
        var harness = CoreHarness(seed: 11)
        harness.step(.observe(.one, [.btc], forceFetch: false))
        var delays: [Int64] = []
        for _ in 0..<12 {
            let id = harness.connection
            let before = harness.now
            harness.step(.closed(id, reason: "gone"))
            while harness.connection == id, let deadline = harness.core.nextDeadline {
                harness.pass(.nanoseconds(max(1, deadline.nanoseconds - harness.now.nanoseconds)))
            }
            delays.append(harness.now.milliseconds(since: before))
        }
        #expect(delays.allSatisfy { (100...30_000).contains($0) })
        #expect(delays.suffix(4).max() ?? 0 > 2000, "without data it grows: \(delays)")
        #expect(Set(delays).count > 6, "each delay is drawn anew: \(delays)")
        harness.step(.opened(harness.connection))
        harness.pass(.seconds(5))
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.pass(.seconds(1))
        let before = harness.now
        let id = harness.connection
        harness.step(.closed(id, reason: "gone"))
        while harness.connection == id { harness.pass(.milliseconds(10)) }
        #expect(harness.now.milliseconds(since: before) <= 260)
    }

    @Test func aConnectionThatSaysNothingIsPingedAndThenGivenUp() {
        var harness = CoreHarness()
        harness.goLive([.liquidation(symbol: "BTCUSDT")])
        let id = harness.connection
        harness.pass(.seconds(60))
        #expect(harness.effects.count { if case .ping(id) = $0 { true } else { false } } == 20)
        #expect(!harness.kinds.contains("disconnect"), "it answers")
        harness.answersPings = false
        harness.pass(.seconds(3))
        #expect(!harness.kinds.contains("disconnect"))
        harness.pass(.seconds(2))
        #expect(harness.kinds.contains("disconnect"))
        #expect(harness.effects.contains { if case .disconnect(id) = $0 { true } else { false } })
    }

    @Test func whatADeadConnectionStillSaysIsIgnored() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let old = harness.connection
        harness.step(.closed(old, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.forgetEffects()
        #expect(harness.step(.received(old, .rows(.btc, .markPrice([.price(9)]), eventTime: nil))).isEmpty)
        #expect(harness.step(.closed(old, reason: "again")).isEmpty)
    }

    @Test func whatAnOutageMissedIsToldWhereIdsTellIt() {
        for (first, missed, method) in [(6 as UInt64, 0 as UInt64, FeedRecovery.Method.continuous), (9, 3, .snapshot)] {
            var harness = CoreHarness()
            harness.goLive([.trades])
            harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...5), eventTime: nil)) }
            harness.step(.closed(harness.connection, reason: "gone"))
            harness.pass(.seconds(3))
            harness.step(.opened(harness.connection))
            harness.acknowledge()
            harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(first...first + 4), eventTime: nil)) }
            let recovery = harness.events.compactMap { if case .recovered(let recovery) = $0.kind { recovery } else { nil } }.first
            #expect(recovery?.missed == missed)
            #expect(recovery?.method == method)
        }
    }

    @Test func aSubscriptionThatIsAcknowledgedAndSilentFailsAndIsTriedAgain() {
        var harness = CoreHarness(hasSnapshotSource: false)
        harness.goLive([.btc])
        harness.forgetEffects()
        harness.pass(.seconds(16))
        #expect(harness.kinds == ["fail subscriptionRejected", "status failed"])
        #expect(harness.effects.contains { if case .unsubscribe = $0 { true } else { false } })
        #expect(harness.effects.contains { if case .subscribe = $0 { true } else { false } })
        harness.receive(.btc, .markPrice([.price(1)]))
        #expect(harness.kinds.suffix(2) == ["status live", "update full"])
    }

    @Test func aStreamThatStallsOnALiveSocketIsSubscribedAnewAndThenMovedToAFreshOne() {
        var harness = CoreHarness()
        harness.goLive([.btc, .trades])
        harness.receive(.btc, .markPrice([.price(1)]))
        let first = harness.connection
        harness.forgetEffects()
        harness.pass(.seconds(16))
        #expect(harness.kinds == ["status stale"])
        #expect(!harness.effects.contains { if case .connect = $0 { true } else { false } })
        harness.pass(.seconds(20))
        let fresh = harness.connects.first
        #expect(fresh != nil && fresh != first)
        #expect(harness.kinds == ["status stale"], "told once")
        guard let fresh else { return }
        harness.step(.opened(fresh))
        harness.step(.received(fresh, .rows(.btc, .markPrice([.price(2, time: 9)]), eventTime: nil)))
        #expect(harness.kinds == ["status stale", "recover success", "status live", "update full"])
        #expect(harness.core.connections.count { $0.phase == .open } == 2, "the other stream follows at the end of the overlap")
        harness.pass(.seconds(11))
        #expect(harness.core.connections.count { $0.phase == .open } <= 2)
    }

    @Test func incidentsAreKeptWithTheStream() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        for _ in 0..<200 {
            harness.step(.closed(harness.connection, reason: "gone"))
            harness.pass(.seconds(31))
            harness.step(.opened(harness.connection))
        }
        #expect(harness.core.incidents(of: .trades).count == 100)
        #expect(harness.core.incidents(of: .trades).last?.kind == .disconnect)
    }
}
