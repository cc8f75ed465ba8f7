import Testing

@testable import FuturesGateway

/// Which events the feed's thread sends itself.
struct ServingHereTests {
    @Test func fewReadersAreServedAtOnceAndManyByTheirThread() {
        var serving = ServingHere(mostReaders: 4)
        let allowed = [0, 1, 4, 5].enumerated().map { serving.allows($1, Int64($0 + 1) * 1_000_000) }
        #expect(allowed == [false, true, true, false])
    }

    @Test func whatFollowsAtOnceIsLeftToTheThread() {
        var serving = ServingHere(mostReaders: 4)
        let start: Int64 = 1_000_000_000
        let allowed = [0, 0, 1, ServingHere.pause - 1, ServingHere.pause, ServingHere.pause + 1].map { serving.allows(1, start + $0) }
        #expect(allowed == [true, false, false, false, true, false])
    }

    @Test func anEventThatWasHeldBackIsLeftToTheThread() {
        var serving = ServingHere(mostReaders: 4)
        let first = serving.allows(1, 2_000_000_000)
        let held = serving.allows(1, 1_000_000_000)
        #expect(first && !held)
    }
}
