import FeedCore
import ReplicatedLog
import Rings
import Testing

@testable import Replication

/// A node that is behind the log, or whose log lacks an event.
extension NoticesTests {
    @Test mutating func aNodeThatIsBehindTheLogCallsItsStreamsStale() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        tell([], sentAt: 500, at: 500)
        tell([], sentAt: 600, at: 6_600)
        _ = mirror.passDeadline(now: Moment(instant: try #require(mirror.deadline), wallClock: 0))
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_700)).state == .stale)
        tell([], sentAt: 700, at: 6_750)
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_750)).state == .stale, "its records are six seconds old")
        tell([], sentAt: 6_800, at: 6_800)
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_800)).state == .live)
    }

    @Test mutating func aNodeThatIsBehindOrCutOffSaysSo() {
        #expect(mirror.trouble(now: Self.at(0)) == nil)
        tell([], sentAt: 10, at: 10)
        tell([], sentAt: 20, at: 3_020)
        #expect(mirror.trouble(now: Self.at(3_020)) == "this node is 3000 ms behind the log")
        tell([], sentAt: 3_030, at: 3_030)
        #expect(mirror.trouble(now: Self.at(3_030)) == nil)
        _ = mirror.passDeadline(now: Self.moment(5_100))
        #expect(mirror.trouble(now: Self.at(5_100)) == nil, "an engine may be electing its leader")
        #expect(mirror.trouble(now: Self.at(8_100)) == "the log has delivered nothing for 5 s")
    }

    @Test mutating func aStreamThatAppearsOnANodeBehindTheLogIsNotLive() {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        tell([Self.value(receivedAt: 1_000)], sentAt: 1_000, at: 5_000)
        _ = mirror.passDeadline(now: Self.moment(5_000))
        let other = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")
        let content = FuturesServiceFeedContent(
            streamName: other, id: EventID(epoch: 7, sequence: next), kind: .full, state: .live, source: .rest, eventTime: 5, receivedAt: 1_001_100,
            rows: .markPrice([]))
        let effects = tell(
            [EncodedEvent(FeedEvent(stream: other, id: content.id, kind: .fetched(content)), receivedAt: nil).record], sentAt: 1_200, at: 5_200)
        let ids = effects.compactMap { (effect) -> UInt64? in if case .tell(let event) = effect { event.id.sequence } else { nil } }
        #expect(ids.count == 3 && ids == ids.sorted(), "a reader never goes back to an earlier event: \(ids)")
        #expect(mirror.streams[other]?.status(mirror.clock, now: Self.at(5_200)).state == .stale)
    }

    /// A venue's short outage, as the writer reports it.
    private static func outage(receivedAt: Int64) -> [FeedRecord] {
        let events: [FeedEvent.Kind] = [
            .disconnected(reason: "cut"), .status(.recovering, ageMs: nil, unverifiedMs: nil),
            .recovered(FeedRecovery(error: nil, method: .snapshot, downMs: 5, missed: nil)), .status(.live, ageMs: nil, unverifiedMs: nil),
        ]
        let records = events.map { EncodedEvent.notice(name, EventID(epoch: 7, sequence: 1), $0).record }
        return records[..<3] + [value(receivedAt: receivedAt)] + records[3...]
    }

    @Test(arguments: [false, true]) mutating func anOutageThatEndsInTheLogDoesNotEndThatOfANodeBehindIt(isLostBefore: Bool) {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let outage = Self.outage(receivedAt: 800)
        if isLostBefore { tell(Array(outage[..<2]), sentAt: 500, at: 500) }
        tell([], sentAt: 600, at: 6_600)
        _ = mirror.passDeadline(now: Self.moment(6_600))
        tell(isLostBefore ? Array(outage[2...]) : outage, sentAt: 800, at: 6_850)
        #expect(mirror.isAway && mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_850)).state == .stale)
        #expect(mirror.streams[Self.name]?.cutAt == mirror.epochs.head, "a reader that has this event does not find the outage in the ring")
        tell([], sentAt: 6_900, at: 6_900)
        #expect(!mirror.isAway && mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_900)).state == .live)
    }

    @Test mutating func aTakeoverDoesNotEndTheOutageOfANodeBehindTheLog() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        tell([], sentAt: 600, at: 6_600)
        _ = mirror.passDeadline(now: Self.moment(6_600))
        let claim = mirror.epochs.claim(8, highest: next - 1, term: 1, sentAt: 1_000_700)
        next = claim.first
        tell(claim, at: 6_800)
        tell([Self.value(receivedAt: 750)], epoch: 8, sentAt: 800, at: 6_900)
        #expect(mirror.isAway && mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(6_900)).state == .stale)
    }

    @Test mutating func anEventThatIsTooLargeForTheLogIsAnOutageUntilTheContentIsComplete() throws {
        func told(_ effects: [FeedMirror.Effect]) -> [FeedRecord.Kind] {
            effects.compactMap { if case .tell(let event) = $0 { event.kind } else { nil } }
        }
        func state(at milliseconds: Int64) -> FeedState? { mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(milliseconds)).state }
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let omitted = [FeedRecord(.nothing, of: Self.name.description, [UInt8(ascii: "-")])]
        #expect(told(tell(omitted, sentAt: 100, at: 100)) == [.disconnected, .status])
        #expect(state(at: 100) == .stale && mirror.content(of: Self.name) == nil)
        #expect(told(tell(omitted, sentAt: 200, at: 200)).isEmpty)
        // The venue's own outage, which ends without a new content.
        let outage = Self.outage(receivedAt: 0).filter { !$0.kind.carriesData }
        #expect(told(tell(outage, sentAt: 300, at: 300)).isEmpty && state(at: 300) == .stale)
        #expect(told(tell([Self.value(receivedAt: 400)], sentAt: 400, at: 400)) == [.recovered, .status, .fetchedValue])
        #expect(state(at: 400) == .live && mirror.content(of: Self.name) != nil)
    }
}
