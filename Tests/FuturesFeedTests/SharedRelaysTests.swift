import FeedCore
import FeedDialects
import NIOCore
import NIOEmbedded
import Testing

@testable import FuturesFeed

/// Requests that several callers share, without a venue.
@Suite struct SharedRelaysTests {
    /// A venue that notes the requests and answers when the test says so.
    private final class Venue: VenueAsking, @unchecked Sendable {
        let embedded = EmbeddedEventLoop()
        var loop: any EventLoop { embedded }
        var mayAnswerLate = false
        var requests: [(relay: VenueRelay, maxAge: Int64?, answer: (Result<RelayedAnswer, FeedError>) -> Void)] = []
        var joined = 0
        var time: Int64? = 0

        func relay(
            _ request: VenueRelay, newestOf name: FuturesServiceStreamName?, maxAge: Int64?,
            _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
        ) -> (() -> Void)? {
            requests.append((request, maxAge, answer))
            return mayAnswerLate ? nil : { self.joined += 1 }
        }

        func knows(_ name: FuturesServiceStreamName) -> Bool { true }
        func isSettled(_ name: FuturesServiceStreamName) -> Bool { false }
        func listing(of upstream: Int) -> VenueListing? { nil }
        func refreshListing(of upstream: Int) {}
        func venueTime(of upstream: Int) -> Int64? { time }
        func compareClock(_ done: @escaping @Sendable (ClockDifference?) -> Void) { done(nil) }
        func weight(of upstream: Int) -> (used: Int, limit: Int) { (0, 2400) }
    }

    private let relay = VenueRelay(upstream: 0, target: "/fapi/v1/x", weight: 1, keep: .milliseconds(60_000))

    private func relays(_ venue: Venue) -> SharedRelays<String> {
        SharedRelays(venue, maximumBytes: 1 << 20) { answer, _ in (String(decoding: answer.body, as: UTF8.self), answer.body.count) }
    }

    private func answer(_ text: String) -> Result<RelayedAnswer, FeedError> { .success(RelayedAnswer(status: 200, body: Array(text.utf8))) }

    @Test func oneRequestAnswersAllWhoAskMeanwhileAndTheAnswerIsKept() {
        let venue = Venue()
        let relays = relays(venue)
        var told: [String] = []
        for _ in 0..<3 { relays.ask(relay) { told.append((try? $0.get()) ?? "failed") } }
        #expect(venue.requests.count == 1 && venue.joined == 2 && relays.isRunning(relay) && relays.kept(relay) == nil)
        venue.requests[0].answer(answer("a"))
        #expect(told == ["a", "a", "a"] && !relays.isRunning(relay) && relays.kept(relay)?.answer == "a" && relays.size.count == 1)
        relays.ask(relay) { told.append((try? $0.get()) ?? "failed") }
        #expect(venue.requests.count == 2, "a later request is sent again")
    }

    @Test func whileTheVenuesTimeIsUnknownNoAnswerIsKeptUntilItsPeriodEnds() {
        let answer = RelayedAnswer(status: 200, body: Array("[1]".utf8), ageMs: 1_000)
        func lifetime(_ keep: VenueKeep, _ time: Int64?) -> Duration {
            answer.lifetime(of: VenueRelay(upstream: 0, target: "/", weight: 1, keep: keep), at: time)
        }
        #expect(lifetime(.period(3_600_000), 1_800_000) == .seconds(1_800) && lifetime(.period(3_600_000), nil) == .seconds(4))
        #expect(lifetime(.bar(60_000), nil) == .seconds(4) && lifetime(.milliseconds(30_000), nil) == .seconds(29))
    }

    @Test func aFailureAnswersAllAndNothingIsKept() {
        let venue = Venue()
        let relays = relays(venue)
        var failures = 0
        for _ in 0..<2 { relays.ask(relay) { if case .failure = $0 { failures += 1 } } }
        venue.requests[0].answer(.failure(FeedError(.unreachable, "no venue")))
        #expect(failures == 2 && relays.kept(relay) == nil && !relays.isRunning(relay))
    }

    @Test func thePermittedAgeSeparatesRequestsOnlyIfAnotherNodeMayAnswerLate() {
        for mayAnswerLate in [false, true] {
            let venue = Venue()
            venue.mayAnswerLate = mayAnswerLate
            let relays = relays(venue)
            for maxAge in [nil, 0, 500] as [Int64?] { relays.ask(relay, maxAge: maxAge) { _ in } }
            #expect(venue.requests.map(\.maxAge) == (mayAnswerLate ? [nil, 0, 500] : [nil]))
        }
    }
}
