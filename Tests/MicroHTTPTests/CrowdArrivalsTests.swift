import Testing

@testable import MicroHTTP

@Suite struct CrowdArrivalsTests {
    private let second: UInt64 = 1_000_000_000

    @Test func aCrowdIsServedOnceNoMoreHaveComeForASecond() {
        var arrivals = CrowdArrivals()
        #expect(arrivals.stage(600, now: 1 * second) == .few)
        #expect(arrivals.stage(1000, now: 2 * second) == .coming)
        #expect(arrivals.stage(1000, now: 3 * second - 1) == .coming)
        #expect(arrivals.stage(1400, now: 3 * second) == .coming)
        #expect(arrivals.stage(1400, now: 4 * second) == .served)
        #expect(arrivals.stage(1400, now: 9 * second) == .few, "once")
    }

    @Test func theNextCrowdCountsFromTheLast() {
        var arrivals = CrowdArrivals()
        _ = arrivals.stage(5000, now: 1 * second)
        #expect(arrivals.stage(5000, now: 2 * second) == .served)
        #expect(arrivals.stage(5999, now: 3 * second) == .few)
        #expect(arrivals.stage(6000, now: 4 * second) == .coming)
        #expect(arrivals.stage(6000, now: 5 * second) == .served)
    }
}
