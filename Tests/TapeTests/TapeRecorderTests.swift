import FeedCore
import Replication
import Synchronization
import Testing

@testable import Tape

@Suite struct TapeRecorderTests {
    @Test func whatIsReadIsWhatWasRecorded() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        let told = (0..<20).flatMap { _ in
            let some = events.some(50)
            recorder.write(some)
            return some
        }
        let read = try TapeReader(storage).everything()
        #expect(read.events.map(\.core) == told.map(\.core))
        #expect(read.damages.isEmpty)
        #expect(read.breaks == 1, "the first block follows nothing")
        #expect(zip(read.events, told).allSatisfy { abs($0.at - $1.at) < 100 })
    }

    @Test func numbersOfStreamsThatAreNotRecordedAreNoGap() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        let all = events.some(300)
        let told = all.filter { $0.id.sequence % 3 == 0 }
        recorder.write(told)
        let read = try TapeReader(storage).everything()
        #expect(read.events.map(\.core) == told.map(\.core))
        #expect(read.breaks == 1)
    }

    @Test func aRestartGoesOnInASegmentOfItsOwnAndTellsTheGap() throws {
        let storage = MemoryStorage()
        var events = Events()
        let first = events.some(10)
        let recorder = try TapeRecorder(storage)
        recorder.write(first)
        recorder.finish(now: events.at)
        let end = try #require(TapeReader(storage).end())
        #expect(end.isOrderly && end.position.next == 11)
        let later = try TapeRecorder(storage, now: events.at + 5_000)
        var others = Events(epoch: 78)
        others.at = events.at + 6_000
        let second = others.some(10)
        later.write(second)
        let read = try TapeReader(storage).everything()
        #expect(read.events.map(\.core) == (first + second).map(\.core))
        #expect(read.breaks == 2)
        #expect(try TapeReader(storage).segments().count == 2)
        let gaps = try TapeReader(storage).gaps()
        #expect(gaps.map(\.reason) == [.stopped])
        #expect(gaps.first?.from == events.at && gaps.first?.to == others.at - 9)
    }

    @Test func anEndWithoutAWordIsToldAsAKill() throws {
        let storage = MemoryStorage()
        var events = Events()
        try TapeRecorder(storage).write(events.some(10))
        let later = try TapeRecorder(storage, now: events.at + 5_000)
        later.write(events.some(1))
        #expect(try TapeReader(storage).gaps().map(\.reason) == [.killed])
    }

    /// A tape with ten events, the storage that it is in, and these events.
    private static func begun(_ events: inout Events) throws -> (MemoryStorage, TapeRecorder, [TapedRecord]) {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        let before = events.some(10)
        recorder.write(before)
        return (storage, recorder, before)
    }

    @Test(arguments: [TapeError.Code.full, .readOnly, .failed])
    func aDiskThatFailsStopsTheTapeUntilItWorksAgain(_ code: TapeError.Code) throws {
        var events = Events()
        let (storage, recorder, before) = try Self.begun(&events)
        // A part of the next block fits.
        storage.fill(leaving: 100, code)
        recorder.write(events.some(10))
        #expect(recorder.state.trouble?.code == code)
        recorder.write(events.some(10))
        #expect(recorder.state.trouble?.code == code)
        storage.empty()
        events.at += TapeRecorder.patience
        let after = events.some(10)
        recorder.write(after)
        #expect(recorder.state.trouble == nil)
        let read = try TapeReader(storage).everything()
        #expect(read.events.map(\.core) == (before + after).map(\.core))
        #expect(read.damages.isEmpty, "what was half written was cut")
        let gaps = try TapeReader(storage).gaps()
        #expect(gaps.count == 1)
        #expect(gaps.first?.from == before.last?.at && gaps.first?.to == after.first?.at)
        #expect((gaps.first?.events ?? 0) >= 20)
        let reason: TapeGap.Reason = code == .full ? .full : code == .readOnly ? .readOnly : .failed
        #expect(gaps.first?.reason == reason)
        #expect(read.breaks == 2)
    }

    @Test func aClockThatIsSetBackDoesNotProlongTheWaitForTheDisk() throws {
        var events = Events()
        let (storage, recorder, before) = try Self.begun(&events)
        storage.fill()
        recorder.write(events.some(10))
        #expect(recorder.state.trouble != nil)
        storage.empty()
        events.at -= 7_200_000
        let after = events.some(10)
        recorder.write(after)
        #expect(recorder.state.trouble == nil)
        #expect(try TapeReader(storage).everything().events.map(\.core) == (before + after).map(\.core))
    }

    @Test func aFullDiskCostsNothingThatIsOnTheTape() throws {
        var events = Events()
        let (storage, recorder, before) = try Self.begun(&events)
        storage.fill()
        // The second attempt begins a segment, which stays empty.
        for _ in 0..<4 {
            recorder.write(events.some(10))
            events.at += TapeRecorder.patience
            recorder.rest(now: events.at)
        }
        #expect(recorder.state.trouble?.code == .full && recorder.state.dropped == 0)
        #expect(try TapeReader(storage).everything().events.map(\.core) == before.map(\.core))
        #expect(try TapeReader(storage).segments().count == 1, "no attempt leaves an empty segment")
        // A segment that a kill left empty does not count as old either.
        _ = try storage.open(TapeReader.segmentName(99))
        storage.empty()
        try TapeRecorder(storage, now: events.at).rest(now: events.at)
        #expect(try TapeReader(storage).everything().events.map(\.core) == before.map(\.core))
    }

    @Test func aSegmentThatIsRemovedWhileItIsWrittenIsNoticed() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(10))
        try storage.remove(TapeReader.segmentName(1))
        recorder.rest(now: events.at)
        #expect(recorder.state.trouble?.message.contains("was removed while it was being written") == true)
        events.at += TapeRecorder.patience
        let after = events.some(10)
        recorder.write(after)
        #expect(recorder.state.trouble == nil)
        #expect(try TapeReader(storage).everything().events.map(\.core) == after.map(\.core))
        #expect(try TapeReader(storage).gaps().count == 1)
    }

    @Test func bothBoundsHoldAtEveryMoment() throws {
        let storage = MemoryStorage()
        let bytes = 64 << 10
        let recorder = try TapeRecorder(storage, bytes: bytes)
        var events = Events()
        for _ in 0..<500 { recorder.write(events.some(50)) }
        #expect(storage.state.withLock { $0.mostBytes } <= bytes)
        #expect(recorder.state.dropped > 10)
        let read = try TapeReader(storage).everything()
        #expect(read.events.last?.id.sequence == 25_000)
        #expect(read.damages.isEmpty)
        #expect(recorder.state.bytes <= bytes && recorder.state.bytes > bytes / 2)
        // A day later nothing of it is kept.
        recorder.rest(now: events.at + 7_200_000)
        recorder.rest(now: events.at + 86_400_000 + 3_700_000)
        #expect(try TapeReader(storage).segments().isEmpty)
    }

    @Test func aSegmentIsAFileOfZstdAndItsTextIsMessages() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(10))
        let bytes = storage.bytes(of: TapeReader.segmentName(1))
        #expect(bytes.prefix(4) == [0x54, 0x2A, 0x4D, 0x18], "a skippable frame, RFC 8878")
        #expect(Array(bytes.dropFirst(BlockHeader.length).prefix(4)) == [0x28, 0xB5, 0x2F, 0xFD], "a frame")
    }
}

@Suite struct TapeOpeningTests {
    @Test func recordsLostBeforeTheTapeOpensAreAGap() async throws {
        let storage = MemoryStorage()
        var events = Events()
        let first = events.some(10)
        try TapeRecorder(storage).write(first)
        let (end, at) = (TapeReader(storage).end()?.position, events.at)
        let (troubles, told) = AsyncStream<Bool>.makeStream()
        let (time, attempts) = (Counter(), Counter())
        // Whenever the tape reads the clock, its next attempt is due.
        let tape = Tape(clock: { at + time.next() * TapeRecorder.patience }, tell: { told.yield($0 != nil) }) { () throws(TapeError) in
            guard attempts.next() > 1 else { throw TapeError(.inUse, "another process writes it") }
            return try TapeRecorder(storage: storage, keep: 86_400_000, bytes: 1 << 30, inherited: end, streams: "*", now: at)
        }
        // This much wakes the thread at once.
        let lost = FeedRecord(.value, of: "btcusdt@bookTicker", [UInt8](repeating: UInt8(ascii: "x"), count: TapeRecorder.blockBytes)[...])
        tape.record(TapedRecord(lost, id: EventID(epoch: 78, sequence: 11), at: at))
        tape.start()
        for await isTroubled in troubles where !isTroubled { break }
        var others = Events(epoch: 78)
        (others.next, others.at) = (12, at)
        let second = others.some(5)
        for record in second { tape.record(record) }
        #expect(await tape.stop(within: .seconds(10)))
        let read = try TapeReader(storage).everything()
        #expect(read.events.map(\.core) == (first + second).map(\.core))
        #expect(read.breaks == 2, "the second feed's events do not continue those of the first one")
        #expect(tape.reading.missed == 1)
        #expect(try TapeReader(storage).gaps().count == 1)
    }

    private final class Counter: Sendable {
        private let count = Mutex<Int64>(0)

        /// 1, 2 and so on.
        func next() -> Int64 {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }
}

@Suite struct HandOverTests {
    @Test func whatDoesNotFitIsOneGapBehindWhatDid() {
        var handOver = HandOver(limit: 2_000)
        var events = Events()
        let all = events.some(100)
        for event in all { handOver.offer(event) }
        let batch = handOver.take()
        #expect(batch.records == Array(all.prefix(batch.records.count)))
        #expect(batch.gap?.reason == .late && batch.gap?.events == UInt64(100 - batch.records.count))
        #expect(batch.gap?.from == batch.records.last?.at && batch.gap?.to == all.last?.at)
        // As long as the disk has not taken them, there is no more room.
        handOver.offer(events.one())
        handOver.takenBytes = 0
        #expect(handOver.take().records.isEmpty)
    }
}
