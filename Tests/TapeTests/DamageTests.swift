import FeedCore
import Testing

@testable import Tape

/// A tape is damaged at random places: the damage is found, and everything else can be read.
@Suite struct DamageTests {
    private static func tape(_ seed: UInt64) throws -> (storage: MemoryStorage, told: [TapedRecord]) {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage, bytes: 1 << 20)
        var events = Events(seed: seed)
        let told = (0..<40).flatMap { _ in
            let some = events.some(25)
            recorder.write(some)
            return some
        }
        return (storage, told)
    }

    @Test func aThousandFlippedBitsAreFoundAndTheRestIsReadable() throws {
        let seed = UInt64.random(in: 1 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let (storage, told) = try Self.tape(seed)
        let name = TapeReader.segmentName(1)
        let whole = storage.bytes(of: name)
        for _ in 0..<1_000 {
            let (place, bit) = (Int.random(in: 0..<whole.count, using: &random), UInt8.random(in: 0..<8, using: &random))
            storage.change(name) { $0[place] ^= 1 << bit }
            defer { storage.change(name) { $0 = whole } }
            let report = try TapeReader(storage).verify()
            #expect(!report.damages.isEmpty, "byte \(place), bit \(bit)")
            #expect(report.damages.allSatisfy { $0.bytes.contains(UInt64(place)) }, "byte \(place), bit \(bit)")
            try Self.check(storage, told, mostLost: 25, "byte \(place), bit \(bit)")
            // Without the index the headers alone have to show the way.
            let index = storage.bytes(of: TapeReader.indexName(1))
            storage.change(TapeReader.indexName(1)) { $0 = [] }
            try Self.check(storage, told, mostLost: 25, "byte \(place), bit \(bit), no index")
            storage.change(TapeReader.indexName(1)) { $0 = index }
        }
    }

    @Test func aThousandTruncationsAreFoundAndWhatStandsBeforeThemIsReadable() throws {
        let seed = UInt64.random(in: 1 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let (storage, told) = try Self.tape(seed)
        let name = TapeReader.segmentName(1)
        let whole = storage.bytes(of: name)
        let ends = Set(try TapeReader(storage).blocks(of: TapeReader(storage).segments()[0]).blocks.map(\.end) + [0])
        for _ in 0..<1_000 {
            let count = Int.random(in: 0..<whole.count, using: &random)
            storage.change(name) { $0 = Array(whole.prefix(count)) }
            let report = try TapeReader(storage).verify()
            #expect(report.damages.isEmpty == ends.contains(UInt64(count)), "\(count) bytes")
            let read = try TapeReader(storage).everything()
            #expect(read.events.map(\.core) == told.prefix(read.events.count).map(\.core))
            #expect(read.events.count == ends.filter { $0 <= UInt64(count) }.count * 25 - 25, "\(count) bytes")
            // Whoever goes on from there begins behind what is whole, in a segment of its own.
            let end = TapeReader(storage).end()
            #expect(end?.position.next ?? 1 == UInt64(read.events.count) + 1)
        }
    }

    /// A tape of three segments in order: the first two of one epoch, the third of a gateway that was started after the first was killed or stopped.
    private static func restarted(isOrderly: Bool) throws -> MemoryStorage {
        let storage = MemoryStorage()
        var events = Events()
        let first = try TapeRecorder(storage, bytes: 1 << 20)
        // A segment has at most a sixteenth of the tape.
        while try TapeReader(storage).segments().count < 2 { first.write(events.some(100)) }
        if isOrderly { first.finish(now: events.at) }
        var later = Events(epoch: 78)
        later.at = events.at + 60_000
        let second = try TapeRecorder(storage, bytes: 1 << 20, inherited: TapeReader(storage).end()?.position, now: later.at)
        second.write(later.some(10))
        return storage
    }

    @Test func aWholeTapeHasNoUnlistedGap() throws {
        for isOrderly in [false, true] {
            let report = try TapeReader(Self.restarted(isOrderly: isOrderly)).verify()
            #expect(report.unlisted.isEmpty && report.gaps.map(\.reason) == [isOrderly ? .stopped : .killed] && report.segments == 3)
        }
    }

    @Test func aLostSegmentIsAGap() throws {
        for isOrderly in [false, true] {
            let storage = try Self.restarted(isOrderly: isOrderly)
            let reader = TapeReader(storage)
            let (first, third) = (try #require(try reader.segments().first), try #require(try reader.segments().last))
            try storage.remove(TapeReader.segmentName(2))
            try storage.remove(TapeReader.indexName(2))
            let gap = try #require(try reader.verify().unlisted.first)
            #expect(gap.from == reader.extent(of: first)?.lastAt && gap.to == reader.extent(of: third)?.firstAt && gap.reason == .damaged)
            #expect(try reader.gaps().first == gap)
        }
    }

    @Test func aGapAfterAStopOrAKillIsFoundWithoutTheListOfGaps() throws {
        for isOrderly in [false, true] {
            let storage = try Self.restarted(isOrderly: isOrderly)
            let listed = try #require(try TapeReader(storage).gaps().first)
            try storage.remove(TapeReader.gapLog)
            let found = try TapeReader(storage).gaps()
            #expect(found.map(\.reason) == [isOrderly ? .stopped : .killed] && found.first?.from == listed.from && found.first?.to == listed.to)
            #expect(try TapeReader(storage).verify().unlisted == found)
        }
    }

    @Test func aDamagedIndexCostsNothing() throws {
        let seed = UInt64.random(in: 1 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        let (storage, told) = try Self.tape(seed)
        let name = TapeReader.indexName(1)
        let whole = storage.bytes(of: name)
        for _ in 0..<300 {
            let place = Int.random(in: 0..<whole.count, using: &random)
            storage.change(name) { $0[place] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
            #expect(try TapeReader(storage).everything().events.map(\.core) == told.map(\.core), "byte \(place)")
            storage.change(name) { $0 = Array(whole.prefix(place)) }
            #expect(try TapeReader(storage).everything().events.map(\.core) == told.map(\.core), "cut at \(place)")
            storage.change(name) { $0 = whole }
        }
    }

    /// What is read is a part of what was recorded, in order, and no more than one block is lost, with a break in its place.
    private static func check(_ storage: MemoryStorage, _ told: [TapedRecord], mostLost: Int, _ where: Comment) throws {
        let read = try TapeReader(storage).everything()
        let known = Dictionary(uniqueKeysWithValues: told.map { ($0.id, $0.core) })
        #expect(read.events.allSatisfy { known[$0.id] == $0.core }, `where`)
        #expect(zip(read.events, read.events.dropFirst()).allSatisfy { $0.id.sequence < $1.id.sequence }, `where`)
        #expect(told.count - read.events.count <= mostLost, `where`)
        let holes = zip(read.events, read.events.dropFirst()).count { $0.id.sequence + 1 != $1.id.sequence }
        #expect(holes == 0 || read.breaks == 2, `where`)
    }
}
