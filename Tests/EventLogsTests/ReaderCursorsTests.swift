import EventLogs
import Testing

@Suite struct ReaderCursorsTests {
    /// A reader of two hundred streams has as many.
    @Test func aCursorTakes32Bytes() {
        #expect(MemoryLayout<ReaderCursors.Subscription>.stride == 32)
    }

    @Test func aCursorKeepsItsLogAndItsPlaceInTheLogsList() {
        var cursor = ReaderCursors.Subscription(log: 70_000, cursor: .max)
        #expect(cursor.log == 70_000 && cursor.readerIndex == -1 && cursor.cursor == .max)
        cursor.readerIndex = 49_999
        #expect(cursor.readerIndex == 49_999)
    }
}
