import FeedCore
import FeedDialects
import Testing

@testable import FuturesFeed

@Suite struct KeptAnswersTests {
    private func relay(_ number: Int) -> VenueRelay {
        VenueRelay(upstream: 0, target: "/fapi/v1/x?n=\(number)", weight: 1, keep: .milliseconds(1000))
    }
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func thoseGoFirstWhoseTimeEndsFirst() {
        var kept = KeptAnswers<Int>(maximumBytes: 3 * 1512)
        for (number, lifetime) in [(1, 300), (2, 100), (3, 200)] {
            kept.keep(number, bytes: 1000, to: relay(number), for: .milliseconds(lifetime), receivedAt: at(0), now: at(0))
        }
        kept.keep(4, bytes: 1000, to: relay(4), for: .milliseconds(900), receivedAt: at(0), now: at(0))
        #expect((1...4).map { kept.answer(to: relay($0), now: at(1), maxAge: nil)?.answer } == [1, nil, 3, 4])
        // One that is replaced has its new end.
        kept.keep(33, bytes: 1000, to: relay(3), for: .milliseconds(950), receivedAt: at(0), now: at(0))
        kept.keep(5, bytes: 1000, to: relay(5), for: .milliseconds(10), receivedAt: at(0), now: at(0))
        #expect((1...5).map { kept.answer(to: relay($0), now: at(1), maxAge: nil)?.answer } == [nil, nil, 33, 4, 5])
        #expect(kept.bytes == 3 * 1512 && kept.count == 3)
        kept.keep(6, bytes: 10_000, to: relay(6), for: .seconds(1), receivedAt: at(0), now: at(0))
        #expect(kept.answer(to: relay(6), now: at(1), maxAge: nil) == nil, "what is larger than all room is not kept")
    }

    @Test func anAnswerThatIsReplacedForEverTakesNoMorePlaces() {
        var kept = KeptAnswers<Int>(maximumBytes: 1 << 20)
        for number in 0..<10_000 { kept.keep(number, bytes: 10, to: relay(number % 7), for: .seconds(1), receivedAt: at(0), now: at(Int64(number))) }
        #expect(kept.count == 7 && kept.placeCount <= 65)
    }

    @Test func whatIsKeptIsWhatAnOrderedListWouldKeep() {
        let seed = UInt64.random(in: 1 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        var kept = KeptAnswers<Int>(maximumBytes: 20 * 612)
        var expected: [Int: Int64] = [:]
        for step in 0..<2000 {
            let (number, until) = (
                Int.random(in: 0..<100, using: &random), Int64(step * 1000) + Int64.random(in: 0..<1_000_000, using: &random) * 1000
            )
            kept.keep(number, bytes: 100, to: relay(number), for: .milliseconds(until - Int64(step)), receivedAt: at(0), now: at(Int64(step)))
            expected[number] = nil
            while expected.count >= 20, let first = expected.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) { expected[first.key] = nil }
            expected[number] = until
        }
        #expect(kept.count == 20 && expected.keys.allSatisfy { kept.answer(to: relay($0), now: at(0), maxAge: nil) != nil }, "seed \(seed)")
    }

    @Test func aFullStoreIsAsFastAsAnEmptyOne() {
        // Sorting 100,000 answers for each new one takes minutes here.
        var kept = KeptAnswers<Int>(maximumBytes: 100_000 * 612)
        let began = ContinuousClock.now
        for number in 0..<120_000 { kept.keep(number, bytes: 100, to: relay(number), for: .seconds(1), receivedAt: at(0), now: at(Int64(number))) }
        #expect(kept.count == 100_000 && ContinuousClock.now - began < .seconds(60))
    }
}
