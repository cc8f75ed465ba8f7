import Testing

@testable import FuturesFeed

/// What requests for the venue's time say of its clock.
struct ClockDifferenceTests {
    @Test func theTrueDifferenceIsWithinTheErrorHoweverLongEachWayTakes() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let seed = UInt64.random(in: .min ... .max, using: &random)
            var steps = SplitMix(state: seed)
            let ahead = Int64.random(in: -5_000_000...5_000_000, using: &steps)
            var all: ClockDifference?
            for _ in 0..<4 {
                let requested = 1_763_679_600_000_000 + Int64.random(in: 0...1_000_000, using: &steps)
                let read = requested + Int64.random(in: 0...20_000, using: &steps)
                let answered = read + Int64.random(in: 0...20_000, using: &steps)
                let one = try #require(ClockDifference(requested: requested, answered: answered, time: (read + ahead) / 1000))
                #expect(abs(one.offset - ahead) <= one.error, "seed \(seed)")
                var narrowed = all ?? one
                narrowed.narrow(one)
                #expect(narrowed.error <= one.error && abs(narrowed.offset - ahead) <= narrowed.error, "seed \(seed)")
                all = narrowed
            }
        }
    }

    @Test func answersThatCannotBothHoldWidenTheBounds() throws {
        var one = try #require(ClockDifference(requested: 1_000_000, answered: 1_001_000, time: 1_000))
        one.narrow(try #require(ClockDifference(requested: 2_000_000, answered: 2_001_000, time: 2_100)))
        #expect(one.offset - one.error <= 0 && one.offset + one.error >= 100_000)
    }

    @Test func timesOfNoEraAreNone() {
        for time: Int64 in [-1, .min, .max, 9_007_199_254_741] { #expect(ClockDifference(requested: 0, answered: 1, time: time) == nil) }
        #expect(ClockDifference(requested: 2, answered: 1, time: 0) == nil)
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
}
