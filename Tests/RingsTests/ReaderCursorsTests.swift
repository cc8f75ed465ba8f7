import FeedCore
import Testing

@testable import Rings

@Suite struct ReaderCursorsTests {
    /// A reader of two hundred streams has as many.
    @Test func aCursorTakes24Bytes() {
        #expect(MemoryLayout<ReaderCursors.Subscription>.stride == 24)
    }

    @Test func aCursorKeepsItsLogAndItsPlaceInTheLogsList() {
        var cursor = ReaderCursors.Subscription(ring: 70_000, cursor: .max)
        #expect(cursor.ring == 70_000 && cursor.readerIndex == -1 && cursor.cursor == .max)
        cursor.readerIndex = 49_999
        #expect(cursor.readerIndex == 49_999)
    }

    @Test func whatIsNotedOfACursorStandsAlone() {
        let notes: [WritableKeyPath<ReaderCursors.Subscription, Bool>] = [\.isPaused, \.awaitsValue, \.needsValue, \.isHeld]
        for note in notes {
            var cursor = ReaderCursors.Subscription(ring: 268_435_455, cursor: 0)
            cursor[keyPath: note] = true
            #expect(notes.filter { cursor[keyPath: $0] } == [note] && cursor.ring == 268_435_455)
            cursor[keyPath: note] = false
            #expect(!notes.contains { cursor[keyPath: $0] } && cursor.ring == 268_435_455)
        }
    }

    /// If the first stream has fallen behind again when its snapshot is sent, the others would wait forever.
    @Test func streamsThatNeedASnapshotTakeTurns() throws {
        var rings = Slab<FollowedRing>()
        var reader = ReaderCursors(format: .events)
        for (place, symbol) in ["BTCUSDT", "ETHUSDT", "BNBUSDT"].enumerated() {
            let ring = Ring(floor: 0, maximumBytes: 1 << 20, maximumEvents: 100, maximumAge: .max)
            rings.insert(FollowedRing(name: .bookTicker(symbol: symbol), view: ring.view), at: place)
            reader.subscriptions.append(ReaderCursors.Subscription(ring: place, cursor: 0))
            reader.subscriptions[place].needsValue = place != 1
        }
        var turns: [Int?] = []
        for _ in 0..<3 { turns.append(reader.nextFallen(rings)) }
        #expect(turns == [0, 2, 0])
        for place in 0..<3 { reader.subscriptions[place].needsValue = false }
        let none = reader.nextFallen(rings)
        #expect(none == nil)
    }
}
