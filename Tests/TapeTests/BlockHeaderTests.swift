import FeedCore
import FeedDialects
import Replication
import Testing

@testable import Tape

/// A header whose checksum is right can still say anything.
@Suite struct BlockHeaderTests {
    private static let whole = BlockHeader(
        epoch: .max, term: 3, first: 5, next: 9, firstAt: 1_763_900_000_000, lastAt: 1_763_900_000_900, records: 4, storedBytes: 100, plainBytes: 400,
        checksum: 7)

    @Test func aHeaderIsReadAsItWasWritten() { #expect(BlockHeader(Self.whole.bytes[...]) == Self.whole) }

    @Test(
        arguments: [
            { $0.next = 4 }, { $0.next = .max }, { $0.next = LogMessage.largestNumber + 1 }, { $0.firstAt = .min }, { $0.firstAt = -1 },
            { $0.lastAt = .max }, { $0.lastAt = UTCTime.latest + 1 }, { $0.plainBytes = .max },
        ] as [@Sendable (inout BlockHeader) -> Void])
    func aHeaderWithImpossibleNumbersIsNone(_ change: @Sendable (inout BlockHeader) -> Void) {
        var header = Self.whole
        change(&header)
        #expect(BlockHeader(header.bytes[...]) == nil)
    }

    @Test(arguments: [Int64.min, -1, .max]) func aRecordOfAnImpossibleTimeIsRecordedWithAPossibleOne(_ at: Int64) throws {
        let storage = MemoryStorage()
        var events = Events()
        let record = events.one()
        try TapeRecorder(storage).write([TapedRecord(record.record, id: record.id, at: at)], now: 1_763_900_000_000)
        #expect(try TapeReader(storage).everything().events.count == 1)
        #expect(try TapeReader(storage).verify().damages.isEmpty)
    }

    @Test(arguments: [UInt64.max, LogMessage.largestNumber]) func anImpossibleIdIsNoPlaceToBegin(_ sequence: UInt64) throws {
        let storage = MemoryStorage()
        var events = Events()
        try TapeRecorder(storage).write(events.some(3))
        #expect(try TapeCursor(TapeReader(storage), following: EventID(epoch: 77, sequence: sequence)) == nil)
    }

    @Test func aGapOfImpossibleTimesIsNone() {
        let line = TapeGap(from: 0, to: .max, reason: .late, events: nil).line
        #expect(TapeGap(line[...]) == nil)
    }
}
