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
}
