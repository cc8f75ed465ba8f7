import FeedCore
import Testing

@testable import Replication

/// How a node measures the transit time of records.
extension NoticesTests {
    private static func states(_ effects: [FeedMirror.Effect], of name: FuturesServiceStreamName) -> [FeedRecord.Kind] {
        effects.compactMap { if case .tell(let event) = $0, event.stream == name { event.kind } else { nil } }
    }

    /// On a link that is always slow, the times of the records do not show the delay.
    @Test mutating func slowRecordsAreNotCurrent() throws {
        for second in 0..<80 as Range<Int64> { tell([Self.value(receivedAt: second * 1_000)], sentAt: second * 1_000, at: second * 1_000 + 6_000) }
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(85_000)).state == .live, "the times do not show the delay")
        let head = mirror.epochs.head
        #expect(mirror.answered(head + 6, askedAt: Self.at(85_000), now: Self.moment(85_050)).isEmpty)
        #expect(mirror.deadline.map { $0 <= Self.at(87_050) } == true)
        let effects = mirror.passDeadline(now: Self.moment(87_050))
        #expect(Self.states(effects, of: Self.name).contains(.disconnected))
        for second in 80..<90 as Range<Int64> {
            let effects = tell([Self.value(receivedAt: second * 1_000)], sentAt: second * 1_000, at: second * 1_000 + 6_000)
            #expect(!Self.states(effects, of: Self.name).contains(.recovered))
        }
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(95_000)))
        #expect(status.state == .stale && status.unverifiedMs ?? 0 >= 6_000)
        #expect(mirror.trouble(now: Self.at(95_000)) != nil)
        // The link is fast again.
        tell([Self.value(receivedAt: 96_000)], sentAt: 96_000, at: 96_010)
        _ = mirror.answered(mirror.epochs.head, askedAt: Self.at(96_020), now: Self.moment(96_040))
        #expect(Self.states(tell([Self.value(receivedAt: 96_100)], sentAt: 96_100, at: 96_110), of: Self.name).contains(.recovered))
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(96_110)).state == .live)
    }

    @Test mutating func aNodeWithoutAnAnswerIsBehind() {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        tell([Self.value(receivedAt: 4_900)], sentAt: 4_900, at: 4_900)
        #expect(!mirror.unanswered(askedAt: Self.at(0), now: Self.moment(5_000)).isEmpty)
        #expect(mirror.streams[Self.name]?.isCut == true)
        _ = mirror.answered(mirror.epochs.head, askedAt: Self.at(5_000), now: Self.moment(5_010))
        tell([Self.value(receivedAt: 5_020)], sentAt: 5_020, at: 5_020)
        #expect(mirror.streams[Self.name]?.isCut == false)
        #expect(mirror.unanswered(askedAt: Self.at(1_000), now: Self.moment(6_000)).isEmpty, "a later question was answered")
    }
}
