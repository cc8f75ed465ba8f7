import Testing

@testable import FeedCore

/// The venue's budget and its wish to be left alone.
@Suite struct RESTGateTests {
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
        harness.step(.usedWeight(upstream: 0, 7))
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

    @Test func aLateFailureOfAnEarlierHostDoesNotLeaveTheNewOne() {
        var configuration = FeedCore.Configuration()
        configuration.attemptsPerHost = 1
        var gate = RESTGate(FeedCore.Settings(configuration), hosts: 2)
        let (now, failure) = (Instant(nanoseconds: 0), FeedError(.timedOut, "no answer"))
        gate.answered(failure, to: 7, last: 8, now)
        #expect(gate.host == 1)
        gate.answered(failure, to: 8, last: 8, now)
        #expect(gate.host == 1, "the request was sent to the host before")
        gate.answered(failure, to: 9, last: 9, now)
        #expect(gate.host == 0)
    }
}
