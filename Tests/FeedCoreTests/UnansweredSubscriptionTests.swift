import Testing

@testable import FeedCore

/// Upstreams that do not answer a subscription.
@Suite struct UnansweredSubscriptionTests {
    @Test func aQuietStreamIsLiveOnceItsSnapshotIsThere() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        harness.pass(.seconds(5))
        #expect(harness.core.content(of: .ticker)?.state == .connecting, "it may have changed before the subscription stood")
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        #expect(harness.core.content(of: .ticker)?.state == .live)
    }

    @Test func anOutageOfAQuietStreamEndsWithTheSnapshotAfterIt() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(.ticker, .ticker(1))
        harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(1), eventTime: nil)) }
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.forgetEffects()
        for _ in 0..<5 {
            harness.pass(.seconds(10))
            harness.answerFetches { _ in .success(FetchedContent(rows: .ticker(2), eventTime: nil)) }
        }
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover success"])
        #expect(harness.core.content(of: .ticker)?.state == .live)
        #expect(harness.core.content(of: .ticker)?.rows == .ticker(2))
    }

    @Test func anOutageOfQuietMessagesWithoutSnapshotsEndsOnceTheSubscriptionStands() {
        var harness = CoreHarness(hasSnapshotSource: false, isAcknowledged: false)
        harness.step(.observe(.one, [.trades], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(.trades, .trade(1))
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        #expect(harness.core.content(of: .trades)?.state == .recovering)
        harness.pass(.seconds(10))
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover success"])
        #expect(harness.core.content(of: .trades)?.state == .live)
    }

    @Test func aQuietStreamChangesSocketsWithARotation() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [.ticker], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(.ticker, .ticker(1))
        let old = harness.connection
        harness.step(.received(old, .goingAway))
        harness.pass(.seconds(1))
        for effect in harness.effects { if case .connect(let id, _, _, _) = effect, id != old { harness.step(.opened(id)) } }
        harness.pass(.seconds(15))
        let ended = harness.effects.contains { if case .disconnect(old) = $0 { true } else { false } }
        #expect(ended)
        #expect(harness.core.content(of: .ticker)?.state == .live)
    }
}
