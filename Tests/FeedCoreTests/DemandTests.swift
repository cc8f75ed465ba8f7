import Testing

@testable import FeedCore

@Suite struct DemandTests {
    @Test func theFirstObserverSubscribesAndTheNextOnesShareIt() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        for number in 2...500 { harness.step(.observe(ObserverID(UInt64(number)), [.btc], forceFetch: false)) }
        harness.pass(.seconds(5))
        let subscriptions = harness.effects.filter { if case .subscribe = $0 { true } else { false } }
        let connections = harness.effects.filter { if case .connect = $0 { true } else { false } }
        #expect(subscriptions.count == 1)
        #expect(connections.count == 1)
    }

    @Test func theLastObserverLingersAndThenUnsubscribes() {
        var harness = CoreHarness()
        harness.goLive([.trades, .bars])
        harness.step(.observe(.two, [.trades], forceFetch: false))
        harness.step(.unobserve(.one, [.trades]))
        harness.step(.unobserve(.two, nil))
        harness.forgetEffects()
        harness.pass(.seconds(59))
        #expect(!harness.effects.contains { if case .unsubscribe = $0 { true } else { false } })
        harness.pass(.seconds(2))
        let names = harness.effects.flatMap { effect -> [FuturesServiceStreamName] in
            if case .unsubscribe(_, let names, _) = effect { names } else { [] }
        }
        #expect(names == [.trades])
        #expect(harness.kinds.contains("ended"))
    }

    @Test func anObserverThatComesBackWhileLingeringCostsTheVenueNothing() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.step(.unobserve(.one, nil))
        harness.pass(.seconds(30))
        harness.forgetEffects()
        let effects = harness.step(.observe(.one, [.btc], forceFetch: false))
        guard case .tell(.one, let event)? = effects.first, case .updated(let content) = event.kind else {
            Issue.record("the cached value was not handed over: \(effects)")
            return
        }
        #expect(content.kind == .full)
        harness.pass(.seconds(120))
        #expect(!harness.effects.contains { if case .subscribe = $0 { true } else if case .unsubscribe = $0 { true } else { false } })
    }

    @Test func aStreamThatIsWantedAgainBeforeItsUnsubscribeWasSentIsAskedForAndWatched() {
        var configuration = FeedCore.Configuration()
        configuration.namesPerMessage = 1
        configuration.linger = .seconds(5)
        var harness = CoreHarness(configuration: configuration)
        harness.goLive([.trades, .bars, .btc])
        harness.pass(.seconds(1))
        harness.acknowledge()
        harness.step(.unobserve(.one, [.trades, .bars]))
        harness.pass(.seconds(5))
        harness.forgetEffects()
        harness.step(.observe(.one, [.bars], forceFetch: false))
        #expect(harness.attempts.map(\.name) == [.bars], "its subscription stands")
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(1), eventTime: nil)) }
        #expect(harness.core.content(of: .bars)?.state == .live)
        harness.forgetEffects()
        harness.pass(.seconds(61))
        #expect(!harness.inquiries.isEmpty, "a silence is not believed for ever")
    }

    @Test func withoutAnyStreamTheConnectionIsClosed() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        let connection = harness.connection
        harness.step(.unobserve(.one, nil))
        harness.pass(.seconds(61))
        #expect(harness.effects.contains { if case .disconnect(connection) = $0 { true } else { false } })
        #expect(harness.core.nextDeadline == nil)
    }

    @Test func namesAreBatchedAndMessagesPaced() {
        var harness = CoreHarness()
        let names = (0..<150).map { FuturesServiceStreamName.aggregateTrade(symbol: "S\($0)") }
        harness.step(.observe(.one, names, forceFetch: false))
        harness.step(.opened(harness.connection))
        func counts() -> [Int] { harness.effects.compactMap { if case .subscribe(_, let names, _) = $0 { names.count } else { nil } } }
        #expect(counts() == [100])
        harness.pass(.milliseconds(199))
        #expect(counts() == [100])
        harness.pass(.milliseconds(1))
        #expect(counts() == [100, 50])
    }

    @Test func moreStreamsThanAConnectionTakesOpenAnother() {
        var harness = CoreHarness()
        let names = (0..<201).map { FuturesServiceStreamName.aggregateTrade(symbol: "S\($0)") }
        harness.step(.observe(.one, names, forceFetch: false))
        harness.pass(.seconds(1))
        #expect(harness.effects.filter { if case .connect = $0 { true } else { false } }.count == 2)
    }

    @Test func aStreamTheVenueLacksIsToldToItsObserverAndNothingIsSent() {
        var harness = CoreHarness()
        harness.step(.listed(upstream: 0, .success(VenueListing(symbols: ["BTCUSDT"]))))
        let effects = harness.step(.observe(.one, [.ticker(symbol: "BTCUSDT"), .markPrice(symbol: "NOPE")], forceFetch: true))
        #expect(effects.count == 2)
        for effect in effects {
            guard case .tell(.one, let event) = effect, case .failed(let error, _) = event.kind else {
                Issue.record("unexpected \(effect)")
                continue
            }
            #expect(error.code == .unknownStream)
        }
    }

    @Test func nothingIsForAPausedObserverAndResumingHandsOverTheLatest() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        harness.step(.pause(.one, nil))
        harness.receive(.btc, .markPrice([.price(2)]))
        guard let event = harness.events.last else { return }
        #expect(harness.core.readers(of: event).isEmpty)
        let effects = harness.step(.resume(.one, nil))
        guard case .tell(.one, let told)? = effects.last, case .updated(let content) = told.kind else {
            Issue.record("nothing was told on resuming")
            return
        }
        #expect(content.rows == .markPrice([.price(2)]))
        let isHanded = harness.core.markDelivered(told, to: .one)
        #expect(isHanded)
        harness.step(.pause(.one, [.btc]))
        #expect(harness.step(.resume(.one, [.btc])).isEmpty, "nothing changed, so nothing is told")
    }

    @Test func whoPausesBeforeAnEventIsHandedOverIsToldWhatItMissedOnResuming() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        guard let event = harness.events.last else { return }
        harness.step(.pause(.one, nil))
        var isHanded = harness.core.markDelivered(event, to: .one)
        #expect(!isHanded)
        guard case .tell(.one, let first)? = harness.step(.resume(.one, nil)).last, case .updated = first.kind else {
            Issue.record("the event is lost")
            return
        }
        harness.step(.pause(.one, nil))
        isHanded = harness.core.markDelivered(first, to: .one)
        #expect(!isHanded)
        guard case .tell(.one, let again)? = harness.step(.resume(.one, nil)).last, case .updated = again.kind else {
            Issue.record("nor was what resuming told handed over")
            return
        }
    }

    @Test func whoIsPausedDuringAnOutageIsToldOfItOnResuming() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        for event in harness.events { _ = harness.core.markDelivered(event, to: .one) }
        harness.step(.pause(.one, nil))
        harness.step(.closed(harness.connection, reason: "cut"))
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(.btc, .markPrice([.price(2)]))
        let told = harness.step(.resume(.one, nil)).compactMap { if case .tell(.one, let event) = $0 { event } else { nil } }
        #expect(told.map { CoreHarness.kind($0) } == ["disconnect", "connect", "recover success", "update full"])
        for event in told.dropLast() { _ = harness.core.markDelivered(event, to: .one) }
        harness.step(.pause(.one, nil))
        let rest = harness.step(.resume(.one, nil)).compactMap { if case .tell(.one, let event) = $0 { event } else { nil } }
        #expect(rest.map { CoreHarness.kind($0) } == ["update full"], "what was not handed over is told again")
        for event in rest { _ = harness.core.markDelivered(event, to: .one) }
        harness.step(.pause(.one, nil))
        #expect(harness.step(.resume(.one, nil)).isEmpty, "nothing is told twice")
    }

    @Test func anEventFromBeforeAnObserverCameIsNoNewsToIt() {
        var harness = CoreHarness()
        harness.goLive([.btc])
        harness.receive(.btc, .markPrice([.price(1)]))
        guard let event = harness.events.last else { return }
        harness.step(.observe(.two, [.btc], forceFetch: false))
        #expect(harness.core.readers(of: event) == [.one])
    }
}
