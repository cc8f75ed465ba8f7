import Testing

@testable import FeedCore

/// What was fetched before a subscription stood is live once it is confirmed.
@Suite struct ConfirmationTests {
    @Test func whatMayHaveChangedBeforeTheSubscriptionStoodIsAskedAgain() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        harness.pass(.milliseconds(800))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.forgetEffects()
        harness.pass(.milliseconds(500))
        harness.step(.heard(harness.connection))
        #expect(harness.core.content(of: .ticker)?.unverifiedMs == 1_300, "a socket that lives is no evidence for a value of before it")
        harness.pass(.milliseconds(700))
        #expect(harness.attempts.count == 1)
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(2), eventTime: nil)) }
        for _ in 0..<50 {
            harness.pass(.seconds(1))
            for (name, attempt) in harness.inquiries {
                harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: .ticker(2), eventTime: nil))))
            }
        }
        #expect(harness.attempts.count == 1)
        #expect(harness.inquiries.count == 2, "after 5 s, and then each time after twice as long")
        #expect(harness.core.content(of: .ticker)?.rows == .ticker(2))
        #expect(harness.core.content(of: .ticker)?.unverifiedMs ?? .max < 6_000)
        #expect(harness.core.content(of: .ticker)?.state == .live)
    }

    @Test func anAnswerThatMessagesHaveOvertakenChangesNothing() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.pass(.seconds(1))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(.ticker, .ticker(5))
        let answer = FetchedContent(rows: .ticker(1_000), eventTime: nil)
        harness.step(.fetched(.ticker, attempt: harness.attempts.first?.attempt ?? 0, .success(answer)))
        #expect(harness.core.content(of: .ticker)?.rows == .ticker(5), "it was asked for before, by whatever the venue counts")
        #expect(harness.kinds.last == "fetch", "who waits for it has the value")
        harness.receive(.ticker, .ticker(6))
        #expect(harness.core.content(of: .ticker)?.rows == .ticker(6))
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

    @Test func aMessageThatSaysWhatRESTSaidMakesItLiveAndReadersAreTold() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.pass(.milliseconds(100))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        // It was asked for before the subscription stood.
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        #expect(harness.core.content(of: .ticker)?.state == .connecting)
        harness.forgetEffects()
        harness.receive(.ticker, .ticker(1))
        #expect(harness.core.content(of: .ticker)?.state == .live)
        #expect(harness.kinds == ["update full"])
        harness.receive(.ticker, .ticker(1))
        #expect(harness.kinds == ["update full"], "and no more than once")
    }

    @Test func aMessageConfirmsWhatWasThereBeforeIt() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(.ticker, .ticker(2))
        harness.forgetEffects()
        harness.pass(.seconds(50))
        #expect(harness.attempts.isEmpty)
    }

    @Test func anAnswerMakesNothingLiveWhoseSubscriptionIsRefused() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        harness.receive(.ticker, .ticker(2))
        harness.pass(.seconds(5))
        harness.step(.refetch(.ticker))
        guard case .subscribe(let id, _, let request)? = harness.effects.last(where: { if case .subscribe = $0 { true } else { false } }) else {
            Issue.record("nothing was subscribed")
            return
        }
        harness.step(.received(id, .rejected(request: request, FeedError(.subscriptionRejected, "no"))))
        #expect(harness.core.content(of: .ticker)?.state == .failed)
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(3), eventTime: nil)) }
        #expect(harness.core.content(of: .ticker)?.rows == .ticker(3))
        #expect(harness.core.content(of: .ticker)?.state == .failed, "nothing would tell of the next change")
    }
}
