import Glibc
import Testing

@testable import FeedCore
@testable import Rings

/// The times that events tell a reader that asked for them.
struct TimingsTests {
    private static let event = #"event: update"# + "\n" + #"data: {"price":"1.0"}"# + "\n"
    private static let name = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT")
    private static let now = SendTime(wallClock: 1_763_679_600_000_500, monotonic: 9_000_000)

    private static func expected(_ sequence: Int, venue: String) -> String {
        "event: update\ndata: {\"price\":\"1.0\",\"t\":{\"venue\":\(venue),\"received\":1763679600000100,\"sent\":1763679600000500}}\nid: \(sequence)."
    }

    /// A ring, small enough that events wrap in it, and a reader of it and of nothing else.
    private static func begin(_ rings: inout Slab<FollowedRing>, events: Int, capacity: UInt64 = 1 << 20) -> ReaderCursors {
        let streams = StreamSet(name)
        var ring = Ring(
            floor: 0, maximumBytes: capacity, maximumEvents: 100_000, maximumAge: .max, ownEnd: EventFormat.events.idEnd(of: streams))
        for sequence in 1...events {
            let time: Int64? = sequence % 3 == 0 ? nil : sequence % 3 == 1 ? 1_763_679_599_999 : .max
            ring.append(
                sequence: UInt64(sequence), text: Array("\(event)id: \(sequence).".utf8), idStart: event.utf8.count, carriesData: true,
                eventTime: time, now: 8_600_000)
        }
        var reader = ReaderCursors(format: .events, tellsTimings: true)
        reader.subscriptions = [ReaderCursors.Subscription(ring: 0, cursor: ring.view.firstOrdinal)]
        reader.streams = streams
        rings.insert(FollowedRing(name: name, view: ring.view), at: 0)
        return reader
    }

    private static func text(_ list: GatherList) -> String { list.withBytes { String(decoding: $0, as: UTF8.self) } }

    private static func whole(_ first: Int, _ last: Int) -> String {
        let end = String(decoding: EventFormat.events.idEnd(of: StreamSet(Self.name)), as: UTF8.self)
        return (first...last).map { expected($0, venue: $0 % 3 == 1 ? "1763679599999000" : "null") + end }.joined()
    }

    @Test func eachEventTellsItsTimesWhereItsDataEnd() {
        var rings = Slab<FollowedRing>()
        var reader = Self.begin(&rings, events: 5)
        let list = GatherList()
        list.gather(&reader, rings, Self.now)
        #expect(Self.text(list) == Self.whole(1, 5))
        #expect(list.advance(&reader, rings, by: .max) == nil && reader.subscriptions[0].cursor == 5)
    }

    @Test func whatTheKernelDoesNotTakeOfAnEventIsKeptToTheByte() throws {
        let list = GatherList()
        var rings = Slab<FollowedRing>()
        let begun = Self.begin(&rings, events: 3)
        let whole = Array(Self.whole(1, 3).utf8)
        for sent in 0..<whole.count {
            var reader = begun
            list.gather(&reader, rings, Self.now)
            let rest = try #require(list.advance(&reader, rings, by: sent))
            list.gather(&reader, rings, Self.now)
            #expect(whole[..<sent] + rest + Array(Self.text(list).utf8) == whole, "after \(sent)")
        }
    }

    @Test func manyEventsOfARingThatWrapsComeInSeveralCalls() {
        var rings = Slab<FollowedRing>()
        var reader = Self.begin(&rings, events: 1000, capacity: 32 << 10)
        let list = GatherList()
        let first = Int(reader.subscriptions[0].cursor) + 1
        var (text, calls) = ("", 0)
        repeat {
            list.gather(&reader, rings, Self.now)
            #expect(list.count <= GatherList.capacity)
            text += Self.text(list)
            _ = list.advance(&reader, rings, by: .max)
            calls += 1
        } while reader.subscriptions[0].cursor < 1000
        #expect(text == Self.whole(first, 1000) && calls > 1)
    }
}
