import FuturesFeed
import NIOCore
import Testing

@testable import FuturesGateway

@Suite struct ReplayPaceTests {
    private static func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func theFirstPieceIsDueImmediatelyAndTheOthersAtTheSpeed() {
        var pace = ReplayPace(speed: 10)
        #expect(pace.due(Self.at(100), from: 5_000) == 5_000)
        #expect(pace.due(Self.at(101), from: 7_000) == 15_000, "a second later, ten seconds of the past are due, counted from the first piece")
    }

    @Test func aReplayWithoutASpeedIsDueAsAWhole() {
        var pace = ReplayPace(speed: 0)
        #expect(pace.due(Self.at(100), from: 5_000) == .max)
    }

    @Test func aReplayOfAnEmptyTapeBeginsWithItsFirstEvent() {
        var pace = ReplayPace(speed: 2)
        #expect(pace.due(Self.at(100), from: nil) == .max)
        #expect(pace.due(Self.at(200), from: 9_000) == 9_000)
        #expect(pace.due(Self.at(201), from: nil) == 11_000)
    }

    @Test func theWaitForAnEventIsBounded() {
        let pace = ReplayPace(speed: 10)
        #expect(pace.wait(5_000) == .milliseconds(500))
        #expect(pace.wait(1) == .milliseconds(1))
        #expect(pace.wait(.max) == .seconds(1))
        #expect(pace.wait(.min) == .milliseconds(1))
    }
}
