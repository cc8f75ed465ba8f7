import FeedCore
import Testing

@testable import FuturesFeed

@Suite struct ReplayClockTests {
    private static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func timeDoesNotPassBeforeTheFirstReader() {
        let clock = ReplayClock(.speed(1), at: 1_000)
        #expect(!clock.allows(1_001, Self.at(1_000_000)))
        #expect(clock.time(Self.at(1_000_000)) == 1_000)
        #expect(clock.wait(for: 2_000, Self.at(0)) == nil)
    }

    @Test(arguments: [(0.5, 500), (1, 1_000), (1_000, 1_000_000)] as [(Double, Int64)])
    func aSecondIsSoManyOfThePast(_ speed: Double, _ passed: Int64) {
        var clock = ReplayClock(.speed(speed), at: 10_000)
        clock.begin(Self.at(7_000))
        clock.note(next: 10_000_000)
        #expect(clock.allows(10_000 + passed, Self.at(8_000)))
        #expect(!clock.allows(10_001 + passed, Self.at(8_000)))
        #expect(clock.time(Self.at(8_000)) == 10_000 + passed)
        #expect(clock.wait(for: 10_000 + 2 * passed, Self.at(8_000)) == .seconds(1))
    }

    @Test func withSpeedZeroEverythingIsDue() {
        var clock = ReplayClock(.speed(0), at: 0)
        #expect(!clock.allows(1, Self.at(0)))
        clock.begin(Self.at(0))
        #expect(clock.allows(1 << 40, Self.at(0)))
    }

    /// Otherwise an age would grow although nothing is missing: the replay itself is late.
    @Test func timePassesNoFurtherThanToTheNextRecord() {
        var clock = ReplayClock(.speed(1), at: 0)
        clock.begin(Self.at(0))
        clock.note(next: 400)
        #expect(clock.time(Self.at(300)) == 300)
        #expect(clock.time(Self.at(5_000)) == 400)
    }

    @Test func aRecordedClockThatWasSetBackLetsNoTimePass() {
        var clock = ReplayClock(.speed(1), at: 0)
        clock.begin(Self.at(0))
        clock.played((5_000, isMessage: false, isEvent: true))
        #expect(clock.allows(1_000, Self.at(5_000)), "data received after the change follows immediately")
        clock.played((1_000, isMessage: false, isEvent: true))
        #expect(clock.elapsed == 5_000 && clock.at == 1_000)
        #expect(!clock.allows(1_100, Self.at(5_050)))
        #expect(clock.allows(1_100, Self.at(5_100)))
    }

    @Test func stepsLetTimePassAndNothingElseDoes() {
        var clock = ReplayClock(.steps, at: 0)
        clock.begin(Self.at(0))
        #expect(!clock.allows(1, Self.at(1_000_000)))
        clock.step(.elapsed(100))
        #expect(clock.allows(100, Self.at(0)) && !clock.allows(101, Self.at(1_000_000)))
        clock.played((60, isMessage: true, isEvent: false))
        clock.endStep(isWhole: true)
        #expect(clock.time(Self.at(0)) == 100, "a step without data at its end has passed too")
        #expect(!clock.allows(101, Self.at(0)))
    }

    @Test func aStepOfMessagesEndsWithTheLastOfThem() {
        var clock = ReplayClock(.steps, at: 0)
        clock.step(.messages(2))
        clock.played((10, isMessage: false, isEvent: true))
        clock.played((10, isMessage: true, isEvent: false))
        #expect(!clock.hasReachedCount)
        clock.played((20, isMessage: true, isEvent: false))
        #expect(clock.hasReachedCount && clock.messages == 2 && clock.events == 1)
        clock.endStep(isWhole: true)
        #expect(clock.time(Self.at(0)) == 20)
    }

    @Test(arguments: [.nan, .infinity, -.infinity, -1] as [Double]) func anAbsurdSpeedDoesNotTrap(_ speed: Double) {
        var clock = ReplayClock(.speed(speed), at: 0)
        clock.begin(Self.at(0))
        _ = (clock.allows(5, Self.at(0)), clock.wait(for: 5, Self.at(0)), clock.time(Self.at(9)))
    }

    @Test func absurdTimesDoNotTrap() {
        var clock = ReplayClock(.speed(10_000), at: .min)
        clock.begin(Self.at(0))
        #expect(clock.elapsed(at: .max) == 0)
        clock.played((.max, isMessage: true, isEvent: true))
        clock.note(next: .min)
        var slowest = ReplayClock(.speed(.leastNonzeroMagnitude), at: 0)
        slowest.begin(Self.at(0))
        #expect(slowest.wait(for: -5, Self.at(9)) == .zero)
        _ = (clock.time(Instant(nanoseconds: .max)), clock.instant(Instant(nanoseconds: .min)), clock.wait(for: .max, Instant(nanoseconds: .min)))
    }
}
