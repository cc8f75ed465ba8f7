import Testing

@testable import FeedCore

@Suite struct LineHealthTests {
    @Test func aLineThatIsLateAgainAndAgainIsFaultyAndOneThatIsLateNowAndThenIsNot() {
        var (always, sometimes) = (LineHealth(), LineHealth())
        for copy in 0..<16 {
            #expect(!always.isFaulty)
            always.brought(.milliseconds(300))
            sometimes.brought(copy % 2 == 0 ? .milliseconds(300) : .milliseconds(20))
        }
        #expect(always.isFaulty)
        #expect(!sometimes.isFaulty)
    }

    @Test func aLineThatLacksMessagesIsFaultySooner() {
        var health = LineHealth()
        for _ in 0..<4 { health.lacked() }
        #expect(health.isFaulty)
        health.begin()
        #expect(!health.isFaulty, "a new connection has done nothing wrong")
    }

    @Test func evidenceOfALateLineIsAsOldAsItsCopies() {
        var connection = Connection(endpoint: 0, FeedCore.Settings(FeedCore.Configuration()))
        connection.hear(Instant(nanoseconds: 10_000_000_000), evidenceOf: Instant(nanoseconds: 10_000_000_000))
        connection.brought(.milliseconds(300))
        #expect(connection.verifiedAt == Instant(nanoseconds: 9_700_000_000))
        connection.brought(.milliseconds(40))
        #expect(connection.verifiedAt == Instant(nanoseconds: 10_000_000_000))
    }

    @Test func aSubscriptionThatWaitsForItsTurnIsNotRequestedTwice() {
        let settings = FeedCore.Settings(FeedCore.Configuration())
        let now = Instant(nanoseconds: 1_000_000_000)
        var connection = Connection(endpoint: 0, settings)
        connection.connect(as: ConnectionID(1), host: 0)
        connection.opened(now, lookAfter: .seconds(3))
        let member = Connection.Member(index: 0, name: .ticker, subscriptions: 1, isAcknowledged: true)
        connection.subscribeAnew(member)
        guard case .unsubscribe = connection.nextControl(now, settings) else { return _ = Issue.record("UNSUBSCRIBE goes first") }
        // Its silence is judged once more before the request is sent.
        connection.subscribeAnew(member)
        guard case .subscribe(let members) = connection.nextControl(now, settings) else { return _ = Issue.record("nothing makes room first") }
        #expect(members.count == 1)
        #expect(!connection.hasControlToSend)
    }

    @Test func percentilesAreOfTheLatestCopies() {
        var health = LineHealth()
        #expect(health.lag(percentile: 50) == nil)
        for _ in 0..<500 { health.brought(.milliseconds(100)) }
        for _ in 0..<127 { health.brought(.zero) }
        #expect(health.lag(percentile: 50) == 0)
        #expect(health.lag(percentile: 99) == 0)
        #expect(health.lags.max() == 100_000_000)
    }
}
