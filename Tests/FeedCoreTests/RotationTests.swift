import Testing

@testable import FeedCore

@Suite struct RotationTests {
    /// A live book ticker, trades and mark price, and the connection that is to replace theirs.
    static func rotating() -> (CoreHarness, old: ConnectionID, new: ConnectionID) {
        var harness = CoreHarness()
        harness.goLive([.btc, .trades])
        harness.answerFetches { name in
            .success(
                FetchedContent(rows: name == .trades ? AggregateTrade.trades(1...5) : .markPrice([.price(1, time: 1)]), eventTime: nil))
        }
        let old = harness.connection
        harness.pass(.seconds(1))
        harness.step(.received(old, .goingAway))
        let new = harness.connects.last ?? old
        harness.forgetEffects()
        return (harness, old, new)
    }

    @Test func aConnectionIsReplacedBeforeTheVenueCutsIt() {
        var configuration = FeedCore.Configuration()
        configuration.quietAfter = .seconds(24 * 3600)
        var harness = CoreHarness(configuration: configuration)
        harness.goLive([.trades])
        harness.forgetEffects()
        harness.pass(.seconds(22 * 3600))
        #expect(!harness.effects.contains { if case .connect = $0 { true } else { false } })
        harness.pass(.seconds(3600))
        #expect(harness.effects.filter { if case .connect = $0 { true } else { false } }.count == 1)
    }

    @Test func aConnectionWithoutDataIsReplacedAndEachInARowThatStaysSilentIsGivenLonger() {
        var harness = CoreHarness()
        harness.goLive([.trades])
        var pauses: [Int] = []
        for _ in 0..<6 {
            harness.forgetEffects()
            var seconds = 0
            while !harness.effects.contains(where: { if case .connect = $0 { true } else { false } }), seconds < 3600 {
                harness.pass(.seconds(1))
                seconds += 1
            }
            pauses.append(seconds)
            harness.step(
                .opened(harness.connects.last ?? harness.connection))
            harness.acknowledge()
        }
        for (pause, patience) in zip(pauses, [60, 120, 240, 480, 960, 960]) { #expect((patience...patience + 40).contains(pause), "\(pauses)") }
    }

    @Test func theNewSocketTakesOverWithoutAVisibleEventAndTheOldOneGoes() {
        var (harness, old, new) = Self.rotating()
        #expect(new != old)
        harness.step(.opened(new))
        harness.acknowledge()
        harness.step(.received(new, .rows(.trades, AggregateTrade.trades(7...7), eventTime: nil)))
        harness.step(.received(old, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        harness.step(.received(old, .rows(.trades, AggregateTrade.trades(7...7), eventTime: nil)))
        harness.step(.received(new, .rows(.trades, AggregateTrade.trades(8...8), eventTime: nil)))
        harness.step(.received(old, .rows(.trades, AggregateTrade.trades(8...8), eventTime: nil)))
        harness.step(.received(new, .rows(.btc, .markPrice([.price(2, time: 2)]), eventTime: nil)))
        harness.step(.received(old, .rows(.btc, .markPrice([.price(2, time: 2)]), eventTime: nil)))
        #expect(harness.kinds == ["update delta", "update delta", "update delta", "update full"])
        #expect(harness.core.content(of: .trades)?.rows == AggregateTrade.trades(4...8))
        #expect(harness.effects.contains { if case .disconnect(old) = $0 { true } else { false } })
        #expect(harness.step(.closed(old, reason: "done")).isEmpty)
    }

    @Test func silentStreamsChangeSocketsOnceTheOverlapHasLastedLongEnough() {
        var (harness, old, new) = Self.rotating()
        harness.step(.opened(new))
        harness.acknowledge()
        harness.step(.heard(new))
        harness.pass(.seconds(11))
        #expect(harness.kinds.isEmpty)
        #expect(harness.effects.contains { if case .disconnect(old) = $0 { true } else { false } })
        harness.step(.received(new, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        #expect(harness.kinds == ["update delta"])
    }

    @Test func aSilentStreamStaysWhereItIsIfTheNewSocketMayLackWhatIsOnItsWayThere() {
        var (harness, old, new) = Self.rotating()
        harness.step(.opened(new))
        harness.pass(.milliseconds(9_900))
        harness.acknowledge()
        harness.pass(.seconds(1))
        harness.step(.received(old, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        #expect(harness.kinds == ["update delta"])
    }

    @Test func aSuccessorThatCannotConnectCostsNothingAndIsTriedAgain() {
        var (harness, old, new) = Self.rotating()
        harness.step(.closed(new, reason: "refused"))
        harness.step(.received(old, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        #expect(harness.kinds == ["update delta"])
        harness.pass(.seconds(301))
        #expect(harness.effects.contains { if case .connect = $0 { true } else { false } })
        _ = new
    }

    @Test func anOldSocketThatDiesInTheOverlapIsAnOutageOfWhatItStillHad() {
        var (harness, old, new) = Self.rotating()
        harness.step(.opened(new))
        harness.acknowledge()
        harness.step(.received(new, .rows(.trades, AggregateTrade.trades(6...6), eventTime: nil)))
        harness.step(.closed(old, reason: "cut"))
        #expect(harness.events.filter { CoreHarness.kind($0) == "disconnect" }.map(\.stream) == [.btc])
    }

    @Test func aStreamLetGoInTheOverlapIsLetGoOnBothSockets() {
        var (harness, _, new) = Self.rotating()
        harness.step(.opened(new))
        harness.acknowledge()
        harness.step(.unobserve(.one, [.trades]))
        harness.pass(.seconds(5))
        let streams = harness.core.connections.reduce(into: 0) { $0 += $1.membersByIndex.count }
        #expect(streams == 2, "it lingers")
        harness.pass(.seconds(61))
        #expect(harness.core.status(of: .trades, now: harness.now) == nil)
        #expect(harness.core.connections.reduce(into: 0) { $0 += $1.membersByIndex.count } == 1)
    }

    @Test func aStreamThatTheNewConnectionConfirmsIsFetchedOnceMore() {
        var harness = CoreHarness()
        harness.step(.observe(.one, [.bars], forceFetch: false))
        let old = harness.connection
        harness.step(.opened(old))
        harness.pass(.seconds(2))
        #expect(harness.attempts.count == 1, "the acknowledgment is late")
        harness.step(.received(old, .goingAway))
        let new = harness.connects.last ?? old
        #expect(new != old)
        harness.step(.opened(new))
        harness.forgetEffects()
        harness.step(.received(new, .rows(.bars, .bar(1), eventTime: nil)))
        harness.pass(.milliseconds(100))
        harness.answerFetches { _ in .success(FetchedContent(rows: .bar(2), eventTime: nil)) }
        harness.pass(.seconds(1))
        #expect(harness.attempts.count == 1)
        #expect(harness.core.status(of: .bars, now: harness.now)?.state == .live)
    }

    @Test func noSocketIsLeftBehindWhenEverythingEndsInTheOverlap() {
        for closesOld in [true, false] {
            var (harness, old, new) = Self.rotating()
            harness.step(.opened(new))
            if closesOld { harness.step(.closed(old, reason: "cut")) } else { harness.step(.unobserve(.one, nil)) }
            harness.pass(.seconds(2))
            if closesOld {
                #expect(harness.effects.contains { if case .disconnect(new) = $0 { true } else { false } })
            } else {
                harness.pass(.seconds(61))
                #expect(harness.core.connections.allSatisfy { $0.phase == .idle })
                #expect(harness.core.nextDeadline == nil)
            }
        }
    }
}
