import Testing

@testable import FeedCore

/// Upstreams that do not answer a subscription.
@Suite struct UnansweredSubscriptionTests {
    private let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")

    private func ticker(_ price: Int) -> FeedRows {
        .bookTicker([
            BookTicker(
                symbol: "BTCUSDT", bidPrice: DecimalString(price), bidQuantity: DecimalString(1), askPrice: DecimalString(price + 1),
                askQuantity: DecimalString(1), updateID: nil, time: Int64(price))
        ])
    }

    @Test func aQuietStreamIsLiveOnceItsSnapshotIsThere() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.answerFetches { _ in .success(FetchedContent(rows: ticker(1), eventTime: nil)) }
        harness.pass(.seconds(5))
        #expect(harness.core.content(of: name)?.state == .connecting, "it may have changed before the subscription stood")
        harness.answerFetches { _ in .success(FetchedContent(rows: ticker(1), eventTime: nil)) }
        #expect(harness.core.content(of: name)?.state == .live)
    }

    @Test func anOutageOfAQuietStreamEndsWithTheSnapshotAfterIt() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(name, ticker(1))
        harness.answerFetches { _ in .success(FetchedContent(rows: ticker(1), eventTime: nil)) }
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.forgetEffects()
        for _ in 0..<5 {
            harness.pass(.seconds(10))
            harness.answerFetches { _ in .success(FetchedContent(rows: ticker(2), eventTime: nil)) }
        }
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover success"])
        #expect(harness.core.content(of: name)?.state == .live)
        #expect(harness.core.content(of: name)?.rows == ticker(2))
    }

    @Test func anOutageOfAQuietStreamWithoutSnapshotsEndsOnceTheSubscriptionStands() {
        var harness = CoreHarness(hasSnapshotSource: false, isAcknowledged: false)
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(name, ticker(1))
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        #expect(harness.core.content(of: name)?.state == .recovering)
        harness.pass(.seconds(10))
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover success"])
        #expect(harness.core.content(of: name)?.state == .live)
    }

    @Test func aQuietStreamChangesSocketsWithARotation() {
        var harness = CoreHarness(isAcknowledged: false)
        harness.step(.observe(.one, [name], forceFetch: false))
        harness.step(.opened(harness.connection))
        harness.receive(name, ticker(1))
        let old = harness.connection
        harness.step(.received(old, .goingAway))
        harness.pass(.seconds(1))
        for effect in harness.effects { if case .connect(let id, _, _) = effect, id != old { harness.step(.opened(id)) } }
        harness.pass(.seconds(15))
        let ended = harness.effects.contains { if case .disconnect(old) = $0 { true } else { false } }
        #expect(ended)
        #expect(harness.core.content(of: name)?.state == .live)
    }
}
