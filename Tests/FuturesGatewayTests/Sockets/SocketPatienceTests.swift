import FuturesFeed
import Testing

@testable import FuturesGateway

@Suite struct SocketPatienceTests {
    private static func at(_ second: Int64) -> Instant { Instant(nanoseconds: second * 1_000_000_000) }

    /// Observes a state at each second from 1 on; returns the first second at which patience of 10 s is exhausted.
    private static func end(_ states: [FeedState?], isQuiet: Bool = false) -> Int64? {
        var patience = SocketPatience()
        for (place, state) in states.enumerated() {
            patience.observe(state, isQuiet: isQuiet, at: at(Int64(place) + 1))
            if patience.isExhausted(.seconds(10), at: at(Int64(place) + 1)) { return Int64(place) + 1 }
        }
        return nil
    }

    @Test(arguments: [FeedState.stale, .recovering, .failed, .connecting]) func itIsExhaustedTenSecondsAfterTheLastCurrentData(_ state: FeedState) {
        #expect(Self.end(Array(repeating: state, count: 20)) == 11)
        #expect(Self.end([.live, .live] + Array(repeating: state, count: 20)) == 13)
    }

    @Test func changesAmongStatesWithoutCurrentDataDoNotBeginItAnew() {
        #expect(Self.end([.stale, .recovering, .stale, .connecting, .recovering] + Array(repeating: .stale, count: 20)) == 11)
    }

    @Test(arguments: [FeedState.live, .ended]) func currentDataBeginItAnew(_ state: FeedState) {
        #expect(Self.end(Array(repeating: .stale, count: 9) + [state] + Array(repeating: .stale, count: 10)) == nil)
    }

    @Test func aQuietStreamThatNothingConfirmsIsNotLate() {
        #expect(Self.end(Array(repeating: .connecting, count: 20), isQuiet: true) == nil)
        #expect(Self.end(Array(repeating: .stale, count: 20), isQuiet: true) == 11)
    }
}
