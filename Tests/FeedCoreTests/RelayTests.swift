import Testing

@testable import FeedCore

/// Requests of readers that are passed on to the venue's REST.
@Suite struct RelayTests {
    private static func harness(weightLimit: Int = 2400, atOnce: Int = 8) -> CoreHarness {
        var configuration = FeedCore.Configuration()
        configuration.weightLimit = weightLimit
        configuration.relaysAtOnce = atOnce
        return CoreHarness(configuration: configuration)
    }

    @Test func whatManyWantIsPassedOnOnce() {
        var harness = Self.harness()
        for _ in 1...100 { harness.step(.relay(upstream: 0, RelayID(1), weight: 1)) }
        #expect(harness.relayed == [1])
        #expect(harness.core.weight(now: harness.moment).used == 1)
    }

    @Test func onlySoManyAreWithTheVenueAtATime() {
        var harness = Self.harness(atOnce: 2)
        for id in 1...5 { harness.step(.relay(upstream: 0, RelayID(UInt64(id)), weight: 1)) }
        #expect(harness.relayed == [1, 2])
        harness.step(.relayed(upstream: 0, RelayID(1), nil))
        #expect(harness.relayed == [1, 2, 3])
    }

    @Test func theMostWantedGoesFirst() {
        var harness = Self.harness(atOnce: 1)
        for id in [1, 2, 3, 3, 3, 4, 4] as [UInt64] { harness.step(.relay(upstream: 0, RelayID(id), weight: 1)) }
        for id in [1, 3, 4] as [UInt64] { harness.step(.relayed(upstream: 0, RelayID(id), nil)) }
        #expect(harness.relayed == [1, 3, 4, 2])
    }

    @Test func readersLeaveWeightToRecoveries() {
        var harness = Self.harness(weightLimit: 100)
        for id in 1...10 {
            harness.step(.relay(upstream: 0, RelayID(UInt64(id)), weight: 20))
            harness.step(.relayed(upstream: 0, RelayID(UInt64(id)), nil))
        }
        #expect(harness.relayed == [1, 2, 3], "60 of 100; 30 are left to recoveries, 10 to others")
    }

    @Test func whatHasToWaitForTooLongIsRefusedAtOnceWithTheWait() {
        var harness = Self.harness(weightLimit: 100)
        harness.step(.usedWeight(upstream: 0, 90))
        harness.step(.relay(upstream: 0, RelayID(1), weight: 5))
        #expect(harness.relayed.isEmpty)
        #expect(harness.refusedRelays.map(\.id) == [1])
        #expect(harness.refusedRelays.first?.error.code == .rateLimited)
        #expect(harness.refusedRelays.first?.error.retryAfterMs == 59_000, "a minute of the venue's begins then")
    }

    @Test func whatWaitsForTheNextMinuteIsPassedOnWithIt() {
        var harness = Self.harness(weightLimit: 100)
        harness.pass(.seconds(52))
        harness.step(.usedWeight(upstream: 0, 90))
        harness.step(.relay(upstream: 0, RelayID(1), weight: 5))
        #expect(harness.relayed.isEmpty && harness.refusedRelays.isEmpty)
        harness.pass(.seconds(8))
        #expect(harness.relayed == [1])
    }

    @Test func whatWaitsInTheQueueForTooLongIsRefused() {
        var harness = Self.harness(atOnce: 1)
        harness.step(.relay(upstream: 0, RelayID(1), weight: 1))
        harness.step(.relay(upstream: 0, RelayID(2), weight: 1))
        harness.pass(.seconds(11))
        #expect(harness.refusedRelays.map(\.id) == [2])
        harness.step(.relayed(upstream: 0, RelayID(1), nil))
        #expect(harness.relayed == [1])
    }

    @Test func aVenueThatAsksToWaitIsLeftAloneByAll() {
        var harness = Self.harness()
        harness.step(.relay(upstream: 0, RelayID(1), weight: 1))
        harness.step(.relayed(upstream: 0, RelayID(1), FeedError(.rateLimited, "banned", retryAfterMs: 120_000)))
        #expect(harness.core.restPause(now: harness.now) == .seconds(120))
        harness.step(.relay(upstream: 0, RelayID(2), weight: 1))
        #expect(harness.relayed == [1])
        #expect(harness.refusedRelays.map(\.id) == [2])
    }
}

extension CoreHarness {
    fileprivate var moment: Moment { Moment(instant: now, wallClock: now.nanoseconds / 1_000_000) }

    fileprivate var relayed: [UInt64] {
        effects.compactMap { if case .relay(_, let id, _) = $0 { id.value } else { nil } }
    }

    fileprivate var refusedRelays: [(id: UInt64, error: FeedError)] {
        effects.compactMap { if case .refuseRelay(let id, let error) = $0 { (id.value, error) } else { nil } }
    }
}
