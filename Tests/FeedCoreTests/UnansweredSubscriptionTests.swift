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
        harness.receive(.trades, AggregateTrade.trades(1...1))
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        #expect(harness.core.content(of: .trades)?.state == .recovering)
        harness.pass(.seconds(10))
        #expect(harness.kinds.filter { $0.hasPrefix("recover") } == ["recover success"])
        #expect(harness.core.content(of: .trades)?.state == .live)
    }

    @Test func aSubscriptionThatNeverDeliversIsNotBelievedForLong() {
        for name in [FuturesServiceStreamName.ticker, .bars] {
            var harness = CoreHarness(limit: 1000)
            harness.goLive([name])
            harness.step(.opened(harness.core.connections.last?.id ?? ConnectionID(0)))
            harness.acknowledge()
            harness.answerFetches { _ in .success(FetchedContent(rows: EvidenceTests.complete(name, upTo: 1), eventTime: nil)) }
            // REST knows newer data after four seconds, and the socket says nothing.
            for second in 1...11 {
                harness.forgetEffects()
                harness.pass(.seconds(1))
                for case .fetch(_, let request) in harness.effects {
                    let rows = EvidenceTests.complete(name, upTo: second < 4 ? 1 : 9)
                    harness.step(.fetched(name, attempt: request.attempt, .success(FetchedContent(rows: rows, eventTime: nil))))
                }
            }
            #expect(harness.core.status(of: name, now: harness.now)?.state != .live, "\(name)")
        }
    }

    /// A stream whose subscription is not answered, beside a stream that is live on the same connection.
    private static func beside(_ name: FuturesServiceStreamName, configuration: FeedCore.Configuration = .init()) -> CoreHarness {
        var harness = CoreHarness(limit: 1000, configuration: configuration)
        harness.goLiveWithTrades()
        harness.forgetEffects()
        harness.step(.observe(.two, [name], forceFetch: false))
        return harness
    }

    /// Passes this many seconds. Each second brings the trade after `trade`, and REST answers every request.
    private static func pass(_ seconds: Int, _ harness: inout CoreHarness, trade: inout UInt64, on connection: ConnectionID) {
        for _ in 0..<seconds {
            harness.pass(.seconds(1))
            trade += 1
            harness.step(.received(connection, .rows(.trades, AggregateTrade.trades(trade...trade), eventTime: nil)))
            harness.answerFetches { _ in .success(FetchedContent(rows: EvidenceTests.complete(.bars, upTo: 1), eventTime: nil)) }
        }
    }

    @Test func aSubscriptionThatTheVenueNeverAnswersIsReportedAndRepeatedOnAnotherConnection() throws {
        var (harness, trade) = (Self.beside(.bars), UInt64(1))
        let old = harness.connection
        Self.pass(9, &harness, trade: &trade, on: old)
        #expect(!harness.kinds.contains { $0.hasPrefix("fail") } && harness.connects.isEmpty, "the answer may be late")
        Self.pass(2, &harness, trade: &trade, on: old)
        #expect(harness.kinds.contains("fail timedOut"))
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .connecting)
        let new = try #require(harness.connects.first)
        harness.forgetEffects()
        harness.step(.opened(new))
        harness.acknowledge()
        harness.step(.received(new, .rows(.bars, .bar(1, openTime: 540_000), eventTime: nil)))
        Self.pass(12, &harness, trade: &trade, on: new)
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .live)
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .live)
        #expect(!harness.kinds.contains("disconnect"), "the other stream has no outage")
    }

    @Test func aLateAnswerIsAcceptedAndReplacesNothing() {
        var (harness, trade) = (Self.beside(.bars), UInt64(1))
        Self.pass(9, &harness, trade: &trade, on: harness.connection)
        harness.acknowledge()
        Self.pass(20, &harness, trade: &trade, on: harness.connection)
        #expect(harness.connects.isEmpty && !harness.kinds.contains { $0.hasPrefix("fail") })
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .live)
    }

    @Test func dataShowsThatASubscriptionWasAccepted() {
        var (harness, trade) = (Self.beside(.bars), UInt64(1))
        harness.pass(.seconds(1))
        harness.receive(.bars, .bar(1, openTime: 540_000))
        Self.pass(20, &harness, trade: &trade, on: harness.connection)
        #expect(harness.connects.isEmpty && !harness.kinds.contains { $0.hasPrefix("fail") })
    }

    @Test func connectionsThatNeverAnswerAreReplacedLessAndLessOften() {
        var (harness, trade, replaced) = (Self.beside(.bars), UInt64(1), 0)
        let connection = harness.connection
        for _ in 0..<900 {
            harness.forgetEffects()
            Self.pass(1, &harness, trade: &trade, on: connection)
            for new in harness.connects {
                replaced += 1
                harness.step(.opened(new))
            }
        }
        #expect((20...25).contains(replaced), "\(replaced) connections in fifteen minutes")
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .live)
    }

    /// The number of trades that the lines share shows that nothing is missing, so a line may be closed. Without them it is needed.
    @Test(arguments: [true, false], [0, 1]) func aLineThatIgnoresASubscriptionIsAskedAgain(isShared: Bool, answering: Int) {
        var configuration = FeedCore.Configuration()
        configuration.lines = [0: 2]
        var harness = CoreHarness(configuration: configuration)
        harness.step(.observe(.one, [.trades], forceFetch: false))
        harness.pass(.seconds(2))
        for id in harness.connects { harness.step(.opened(id)) }
        harness.acknowledge()
        harness.pass(.seconds(1))
        harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...1), eventTime: nil)) }
        let line = harness.core.connections[answering].id
        harness.forgetEffects()
        harness.step(.observe(.two, [.bars], forceFetch: false))
        harness.pass(.seconds(1))
        var isAskedAgain = false
        for case .subscribe(line, _, let request) in harness.effects { harness.step(.received(line, .acknowledged(request: request))) }
        for second in 2...40 as ClosedRange<UInt64> {
            harness.forgetEffects()
            for id in isShared ? harness.core.connections.filter({ $0.phase == .open }).map(\.id) : [] {
                harness.step(.received(id, .rows(.trades, AggregateTrade.trades(second...second), eventTime: nil)))
            }
            harness.pass(.seconds(1))
            harness.answerFetches { _ in .success(FetchedContent(rows: AggregateTrade.trades(1...1), eventTime: nil)) }
            for id in harness.connects { harness.step(.opened(id)) }
            for case .subscribe(let id, let names, _) in harness.effects where id != line && names.contains(.bars) { isAskedAgain = true }
        }
        #expect(isAskedAgain)
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
