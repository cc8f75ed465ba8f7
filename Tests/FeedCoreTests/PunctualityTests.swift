import Testing

@testable import FeedCore

/// Messages that waited while the process was suspended are no evidence for the present.
@Suite struct PunctualityTests {
    private static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func aMessageAfterASuspensionIsEvidenceForTheTimeBeforeIt() {
        var punctuality = Punctuality()
        punctuality.check(Self.at(1_000), Self.at(1_300))
        #expect(punctuality.evidence(of: Self.at(1_300)) == Self.at(1_300), "a little lateness is normal")
        punctuality.check(Self.at(2_000), Self.at(10_000))
        #expect(punctuality.evidence(of: Self.at(1_500)) == Self.at(1_500), "it arrived before")
        #expect(punctuality.evidence(of: Self.at(10_900)) == Self.at(2_000))
        #expect(punctuality.judgesFrom == Self.at(11_000))
        #expect(punctuality.evidence(of: Self.at(11_000)) == Self.at(11_000))
    }

    @Test func aProcessThatIsLateAgainAndAgainHasNewEvidenceAfterFiveSeconds() {
        var punctuality = Punctuality()
        var oldest: Int64 = 0
        for time in stride(from: Int64(10_000), to: 30_000, by: 300) {
            punctuality.check(Self.at(time - 450), Self.at(time))
            oldest = max(oldest, Self.at(time).milliseconds(since: punctuality.evidence(of: Self.at(time))))
        }
        #expect((4_000...5_450).contains(oldest), "\(oldest) ms")
    }

    /// The silence is not judged yet, because unread messages may end it.
    @Test func aStreamThatIsReadBeforeItsSilenceIsJudgedIsStale() {
        var harness = CoreHarness(limit: 1000)
        harness.goLiveWithTrades()
        harness.suspend(for: .seconds(200))
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .stale)
        harness.step(.deadline)
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .stale)
    }

    @Test func messagesThatWaitedWhileTheProcessWasSuspendedProveNothingSince() {
        var harness = CoreHarness(limit: 1000)
        harness.goLiveWithTrades()
        harness.pass(.seconds(1))
        harness.receive(.trades, AggregateTrade.trades(2...2))
        #expect(harness.core.status(of: .trades, now: harness.now)?.unverifiedMs == 0)
        // It wakes up with a message of an unknown age, before it meets the deadline that it missed.
        harness.suspend(for: .seconds(8))
        harness.receive(.trades, AggregateTrade.trades(3...3))
        #expect(harness.core.status(of: .trades, now: harness.now)?.unverifiedMs ?? 0 > 4_000)
        harness.step(.heard(harness.connection))
        #expect(harness.core.status(of: .trades, now: harness.now)?.unverifiedMs ?? 0 > 4_000)
        harness.pass(.milliseconds(1_100))
        harness.receive(.trades, AggregateTrade.trades(4...4))
        #expect(harness.core.status(of: .trades, now: harness.now)?.unverifiedMs == 0)
        #expect(harness.core.status(of: .trades, now: harness.now)?.state == .live)
    }
}
