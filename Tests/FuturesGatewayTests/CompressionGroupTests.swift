import FuturesFeed
import Testing

@testable import FuturesGateway
@testable import Rings

/// Who reads which group, without sockets.
@Suite struct CompressionGroupTests {
    private static let second: Int64 = 1_000_000_000

    private static func ring() -> Ring { Ring(floor: 0, maximumBytes: 1 << 20, maximumEvents: 100, maximumAge: .max) }

    /// A reader that has had everything.
    private static func reader(_ rings: borrowing Slab<FollowedRing>, _ format: EventFormat = .events) -> ReaderCursors {
        var reader = ReaderCursors(format: format)
        reader.subscriptions.append(ReaderCursors.Subscription(ring: 0, cursor: rings[0].view.endOrdinal))
        return reader
    }

    private static func followed() throws -> FollowedRing {
        FollowedRing(name: try #require(FuturesServiceStreamName("btcusdt@bookTicker")), view: ring().view)
    }

    /// Makes the ring hold these events.
    private static func fill(_ followed: inout FollowedRing, _ bodies: [UInt8]...) {
        var ring = ring()
        for (place, body) in bodies.enumerated() {
            ring.append(sequence: UInt64(place) + 1, text: body + [4], idStart: body.count, carriesData: true, now: 0)
        }
        followed.view = ring.view
    }

    @Test func aReaderWaitsUntilTheGroupHasHadAsMuchAndBeginsAnew() throws {
        var rings = Slab<FollowedRing>()
        rings.insert(try Self.followed(), at: 0)
        var compression = Compression(maximumGroups: 1, window: .milliseconds(100))
        guard case .joined(let first) = compression.enter(7, Self.reader(rings), rings, 0, blocks: Self.ring) else {
            Issue.record("the first reader makes a group")
            return
        }
        let group = first.group
        Self.fill(&rings[0], [1, 2, 3])
        compression.ringGrew(0, rings[0])
        let entry = compression.enter(8, Self.reader(rings), rings, 0, blocks: Self.ring)
        guard case .waits(forGroup: group) = entry else {
            Issue.record("the group has not had the event: \(entry)")
            return
        }
        let (due, none) = (compression.takeDue(0), compression.takeDue(0))
        #expect(due == [group] && none.isEmpty)
        let isWhole = compression.compress(group, rings, 0)
        let blocks = compression.groups[group].blocks.view.endOrdinal
        #expect(isWhole && blocks == first.block + 1)
        let (early, late) = (compression.takeWaiting(group, Self.second - 1), compression.takeWaiting(group, Self.second))
        #expect(early.isEmpty && late == [8], "a block that refers to others is nobody's first")
        guard case .joined = compression.enter(8, Self.reader(rings), rings, Self.second, blocks: Self.ring) else {
            Issue.record("the next block refers to none")
            return
        }
    }

    @Test func aWindowEndsLaterUnlessMuchCame() throws {
        var rings = Slab<FollowedRing>()
        rings.insert(try Self.followed(), at: 0)
        var compression = Compression(maximumGroups: 1, window: .milliseconds(100))
        _ = compression.enter(7, Self.reader(rings), rings, 0, blocks: Self.ring)
        _ = compression.compress(0, rings, 0)
        Self.fill(&rings[0], [1, 2, 3])
        compression.ringGrew(0, rings[0])
        let (early, next) = (compression.takeDue(0), compression.nextDue)
        #expect(early.isEmpty && next == Self.second / 10)
        Self.fill(&rings[0], [1, 2, 3], [UInt8](repeating: 0, count: Compression.blockBytes))
        compression.ringGrew(0, rings[0])
        let due = compression.takeDue(0)
        #expect(due == [0])
    }

    @Test func aGroupIsThereAsLongAsSomebodyReadsIt() throws {
        var rings = Slab<FollowedRing>()
        rings.insert(try Self.followed(), at: 0)
        var compression = Compression(maximumGroups: 1, window: .milliseconds(100))
        for slot in [7, 8] { _ = compression.enter(slot, Self.reader(rings), rings, 0, blocks: Self.ring) }
        guard case .alone = compression.enter(9, Self.reader(rings, .lines), rings, 0, blocks: Self.ring) else {
            Issue.record("there is one group at most")
            return
        }
        Self.fill(&rings[0], [1, 2, 3])
        compression.ringGrew(0, rings[0])
        _ = compression.enter(9, Self.reader(rings), rings, 0, blocks: Self.ring)
        let afterOne = compression.leave(7, 0, rings)
        let isThere = compression.groups.contains(0)
        #expect(afterOne.isEmpty && isThere)
        let afterBoth = compression.leave(8, 0, rings)
        let isGone = !compression.groups.contains(0)
        let (left, due) = (rings[0].groups, compression.takeDue(Self.second))
        #expect(afterBoth == [9] && isGone && left.isEmpty && due.isEmpty)
    }

    /// A cluster node's own notices have the number of the event before them.
    @Test func aReaderThatLeavesBeforeANoticeWithTheNumberOfItsLastEventGetsTheNotice() throws {
        var rings = Slab<FollowedRing>()
        for place in 0...1 { rings.insert(try Self.followed(), at: place) }
        var reader = Self.reader(rings)
        reader.subscriptions.append(ReaderCursors.Subscription(ring: 1, cursor: 0))
        var compression = Compression(maximumGroups: 1, window: .zero)
        _ = compression.enter(7, reader, rings, 0, blocks: Self.ring)
        let events: [(ring: Int, number: UInt64, carriesData: Bool)] = [
            (1, 99, true), (0, 100, true), (0, 100, false), (1, 100, false), (1, 100, false), (0, 101, true), (1, 101, false),
        ]
        // A block for each event.
        for count in 1...events.count {
            for place in 0...1 {
                var ring = Self.ring()
                for event in events.prefix(count) where event.ring == place {
                    ring.append(
                        sequence: event.number, text: [1, 2], idStart: event.carriesData ? 1 : nil, carriesData: event.carriesData, now: 0)
                }
                rings[place].view = ring.view
            }
            let isWhole = compression.compress(0, rings, 0)
            #expect(isWhole)
        }
        for block in events.indices {
            let end = compression.groups[0].end(of: UInt64(block))
            let (first, second) = (end.cursor(in: 0, rings[0].view), end.cursor(in: 1, rings[1].view))
            let sent = events.prefix(through: block)
            #expect(first == sent.count { $0.ring == 0 } && second == sent.count { $0.ring == 1 }, "behind block \(block)")
        }
    }
}
