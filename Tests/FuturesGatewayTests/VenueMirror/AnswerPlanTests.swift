import FeedCore
import FeedDialects
import FuturesFeed
import Testing

@testable import FuturesGateway

/// The steps for a request of a venue's path, their order, and their end.
@Suite struct AnswerPlanTests {
    private static let patience = Duration.milliseconds(4_500)
    private static let bars = VenueRelay(upstream: 0, target: "/fapi/v1/klines?endTime=1", weight: 1, keep: .milliseconds(1000))

    /// The plan for the newest bars, as the dialect reads the request.
    private static func plan(_ target: String = "klines") throws -> AnswerPlan {
        let query = [("symbol", "BTCUSDT"), ("interval", "1m"), ("limit", "10")].map { (name: $0.0, value: $0.1) }
        let venue = try #require(FuturesDialect(venue: .aster).venueREST())
        let found = try #require(venue.answer(["fapi", "v1", target], target == "klines" ? query : [query[0]], now: 0) { _ in true })
        guard case .stream(let reading) = found.answer else { throw FeedError(.unknownStream, "no stream") }
        return AnswerPlan(reading)
    }

    private static func next(_ plan: inout AnswerPlan, _ found: AnswerPlan.Found, at ms: Int64 = 0, mayAsk: Bool = false) -> AnswerPlan.Step {
        plan.next(found, now: HubParts.at(ms), venueNow: ms, patience: patience) { _ in mayAsk }
    }

    @Test func eachFindingHasItsStep() throws {
        let waits = Self.patience
        let table: [(AnswerPlan.Found, AnswerPlan.Step)] = [
            (.noStream, .relay), (.rendering(.lacks), .relay), (.rendering(.body([1], until: 5)), .respond([1], until: 5)),
            (.unverified(isComing: true, isUsed: false), .wait(.value, waits)), (.unverified(isComing: true, isUsed: true), .wait(.change, waits)),
            (.unverified(isComing: false, isUsed: true), .relay), (.rendering(.needs([Self.bars])), .fetchBars([Self.bars])),
            (.rendering(.isBehind(since: 0)), .wait(.change, VenueMirror.barPatience)),
        ]
        for (found, step) in table {
            var plan = try Self.plan()
            #expect(Self.next(&plan, found) == step, "\(found)")
        }
    }

    @Test func theWaitForContentEndsAtOneDeadlineHoweverManyChangesCome() throws {
        var plan = try Self.plan()
        let coming = AnswerPlan.Found.unverified(isComing: true, isUsed: true)
        #expect(Self.next(&plan, coming, at: 0) == .wait(.change, .milliseconds(4_500)))
        #expect(Self.next(&plan, coming, at: 4_000) == .wait(.change, .milliseconds(500)))
        #expect(Self.next(&plan, coming, at: 4_500) == .relay)
    }

    @Test func aBookThatTheMarketHasLeftIsRefilledOnce() throws {
        var plan = try Self.plan("depth")
        plan.join(.depth(symbol: "BTCUSDT"))
        #expect(Self.next(&plan, .rendering(.lacks)) == .refill)
        #expect(Self.next(&plan, .rendering(.lacks)) == .relay)
    }

    @Test func barsAreFetchedOnce() throws {
        var plan = try Self.plan()
        let needs = AnswerPlan.Found.rendering(.needs([Self.bars]))
        #expect(Self.next(&plan, needs) == .fetchBars([Self.bars]))
        #expect(Self.next(&plan, needs) == .relay)
    }

    @Test func aQuietMarketIsAskedForOnceAndThenBelieved() throws {
        let behind = AnswerPlan.Found.rendering(.isBehind(since: 0))
        var plan = try Self.plan()
        let newest = try #require(plan.reading.newest)
        #expect(Self.next(&plan, behind, at: 2_400, mayAsk: true) == .wait(.change, .milliseconds(100)))
        #expect(Self.next(&plan, behind, at: 2_500, mayAsk: true) == .fetchNewest(newest))
        #expect(Self.next(&plan, behind, at: 2_600, mayAsk: true) == .relay, "the answer did not help")

        plan = try Self.plan()
        #expect(Self.next(&plan, behind, at: 2_500) == .renderAgain && plan.believesSilence)
        #expect(Self.next(&plan, behind, at: 2_500) == .fetchNewest(newest), "even the believed bar is behind")
        #expect(Self.next(&plan, behind, at: 2_600) == .relay)
    }

    @Test func aReadingWithoutBarsIsNeverAskedForThem() throws {
        var plan = try Self.plan("depth")
        #expect(plan.reading.newest == nil)
        #expect(Self.next(&plan, .rendering(.isBehind(since: 0)), at: 9_000, mayAsk: true) == .relay)
    }
}
