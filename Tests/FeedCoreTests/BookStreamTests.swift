import Testing

@testable import FeedCore

/// Books of streams: when a snapshot is requested, and what readers get.
@Suite struct BookStreamTests {
    static let name = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
    static let other = FuturesServiceStreamName.depth(symbol: "ETHUSDT")

    static func harness() -> CoreHarness {
        var harness = CoreHarness()
        harness.goLive([name, other])
        for name in [name, other] { harness.receive(name, .depth([bookEvent(0, 1, 5)])) }
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(3)]), eventTime: 1)) }
        for name in [name, other] { harness.receive(name, .depth([bookEvent(5, 6, 6)])) }
        return harness
    }

    @Test func aBookIsAskedForOnlyOnceAnEventIsBuffered() {
        var harness = CoreHarness()
        harness.goLive([Self.name])
        #expect(harness.attempts.isEmpty)
        harness.receive(Self.name, .depth([bookEvent(0, 1, 5)]))
        #expect(harness.attempts.count == 1)
        #expect(harness.kinds == ["connect"], "nothing is handed out before the book stands")
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(3)]), eventTime: 1)) }
        harness.receive(Self.name, .depth([bookEvent(5, 6, 7)]))
        #expect(harness.kinds == ["connect", "fetch", "update delta"])
    }

    @Test func whatAThinBookIsAskedForIsCountedApartAndToldToNobody() {
        var harness = CoreHarness(fetchWeight: 20)
        harness.goLive([Self.name])
        harness.receive(Self.name, .depth([bookEvent(0, 1, 5)]))
        let full = bookSnapshot(5, bids: (0..<5).map { (99 - $0, 1) }, asks: (0..<5).map { (101 + $0, 1) })
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([full]), eventTime: 1)) }
        harness.receive(Self.name, .depth([bookEvent(5, 6, 6)]))
        harness.forgetEffects()
        harness.receive(Self.name, .depth([bookEvent(6, 7, 7, bids: (0..<4).map { (99 - $0, 0) })]))
        #expect(harness.attempts.count == 1)
        #expect(harness.core.counters.weight.content == 20 && harness.core.counters.weight.refills == 20)
        #expect(harness.kinds == ["update delta"])
    }

    @Test func aGapInOneBookLeavesTheOthersAlone() {
        var harness = Self.harness()
        harness.forgetEffects()
        harness.receive(Self.name, .depth([bookEvent(90, 91, 92)]))
        harness.receive(Self.other, .depth([bookEvent(6, 7, 7)]))
        #expect(harness.events.map { "\($0.stream) \(CoreHarness.kind($0))" } == ["btcusdt@depth status recovering", "ethusdt@depth update delta"])
        #expect(harness.attempts.map(\.name) == [Self.name])
        #expect(!harness.effects.contains { if case .disconnect = $0 { true } else { false } })
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(91)]), eventTime: 1)) }
        #expect(harness.kinds.suffix(3) == ["recover success", "status live", "fetch"])
    }

    @Test func aBookThatKeepsBreakingIsRebuiltEverMoreSlowly() {
        var harness = Self.harness()
        harness.forgetEffects()
        var id: UInt64 = 100
        for _ in 0..<20 {
            harness.step(.heard(harness.connection))
            harness.receive(Self.name, .depth([bookEvent(id, id + 1, id + 2)]))
            if let last = harness.attempts.last {
                harness.step(.fetched(Self.name, attempt: last.attempt, .success(FetchedContent(rows: .depth([bookSnapshot(1)]), eventTime: 1))))
            }
            harness.pass(.milliseconds(100))
            id += 10
        }
        #expect((2...9).contains(harness.attempts.count), "2 s of trouble cost \(harness.attempts.count) requests")
        #expect(harness.kinds.filter { $0.hasPrefix("recover") }.isEmpty)
    }

    @Test func aReplyFromBeforeAReconnectBuildsNoBook() {
        var harness = CoreHarness()
        harness.goLive([Self.name])
        harness.receive(Self.name, .depth([bookEvent(0, 1, 5)]))
        let early = harness.attempts
        harness.step(.closed(harness.connection, reason: "gone"))
        harness.pass(.seconds(3))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(Self.name, .depth([bookEvent(50, 51, 55)]))
        for (name, attempt) in early {
            #expect(harness.step(.fetched(name, attempt: attempt, .success(FetchedContent(rows: .depth([bookSnapshot(3)]), eventTime: 1)))).isEmpty)
        }
        #expect(!harness.kinds.contains("fetch"))
    }

    @Test func aSnapshotCutOffWithItsConnectionIsAskedForAtOnceOnTheNextOne() {
        var harness = CoreHarness()
        harness.goLive([Self.name])
        harness.receive(Self.name, .depth([bookEvent(0, 1, 5)]))
        #expect(harness.attempts.count == 1)
        harness.step(.closed(harness.connection, reason: "reset"))
        harness.pass(.seconds(2))
        harness.step(.opened(harness.connection))
        harness.acknowledge()
        harness.receive(Self.name, .depth([bookEvent(5, 6, 20)]))
        #expect(harness.attempts.count == 2)
    }

    @Test func aQuietBookIsShownFromItsSnapshotAlone() {
        var harness = CoreHarness()
        harness.goLive([Self.name])
        harness.pass(.seconds(2))
        harness.answerFetches { _ in .success(FetchedContent(rows: .depth([bookSnapshot(3)]), eventTime: 1)) }
        #expect(harness.kinds == ["connect", "fetch"])
        harness.receive(Self.name, .depth([bookEvent(2, 9, 9, bids: [(98, 4)])]))
        #expect(harness.kinds == ["connect", "fetch", "update full"])
        #expect(harness.core.content(of: Self.name)?.state == .live)
    }
}
