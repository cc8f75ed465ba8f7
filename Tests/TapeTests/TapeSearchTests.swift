import FeedCore
import Replication
import Synchronization
import Testing

@testable import Tape

/// Finding a place on a long tape.
@Suite struct TapeSearchTests {
    /// Counts how often the files are read.
    private final class CountedStorage: TapeStorage {
        let storage: MemoryStorage
        let reads = Mutex<[String: Int]>([:])

        init(_ storage: MemoryStorage) { self.storage = storage }

        func files() throws(TapeError) -> [(name: String, bytes: Int)] { try storage.files() }
        func open(_ name: String) throws(TapeError) -> any TapeFile { try storage.open(name) }
        func remove(_ name: String) throws(TapeError) { try storage.remove(name) }
        func read(_ name: String, at offset: Int, count: Int) throws(TapeError) -> [UInt8] {
            reads.withLock { $0[name, default: 0] += 1 }
            return try storage.read(name, at: offset, count: count)
        }

        func readFiles() -> [String] {
            reads.withLock { reads in
                defer { reads = [:] }
                return reads.keys.sorted()
            }
        }
    }

    /// A tape of so many segments. `step` is how much later, ms, each begins than the last one ended.
    private func tape(_ segments: Int, step: (Int) -> Int64) throws -> MemoryStorage {
        let storage = MemoryStorage()
        var events = Events()
        for number in 0..<segments {
            events.at += step(number)
            let recorder = try TapeRecorder(storage, inherited: TapeReader(storage).end()?.position, now: events.at)
            for _ in 0..<3 { recorder.write((0..<20).map { _ in events.one(at: events.at + 50) }) }
        }
        return storage
    }

    private func numbers(_ reader: TapeReader, _ from: Int64?, _ to: Int64?) throws -> [UInt64] {
        var numbers: [UInt64] = []
        try reader.walk(from: from, to: to) { item in
            guard case .messages(let messages, _) = item else { return true }
            for message in messages where message.sentAt >= from ?? .min && message.sentAt <= to ?? .max {
                numbers += message.records.indices.map { message.first + UInt64($0) }
            }
            return true
        }
        return numbers
    }

    @Test func whateverTheClockDidASearchFindsWhatAWalkOverEverythingDoes() throws {
        let seed = UInt64.random(in: 1 ... .max)
        print("seed \(seed)")
        var random = SplitMix64(seed: seed)
        for _ in 0..<5 {
            let storage = try tape(6) { _ in Int64.random(in: -5_000...5_000, using: &random) }
            let reader = TapeReader(storage)
            var all: [(number: UInt64, at: Int64)] = []
            try reader.walk { item in
                guard case .messages(let messages, _) = item else { return true }
                for message in messages { all += message.records.indices.map { (message.first + UInt64($0), message.sentAt) } }
                return true
            }
            #expect(all.count > 300)
            for _ in 0..<20 {
                let ends = (0..<2).map { _ in (all.randomElement(using: &random)?.at ?? 0) + Int64.random(in: -500...500, using: &random) }
                let (from, to) = (min(ends[0], ends[1]), Bool.random(using: &random) ? max(ends[0], ends[1]) : nil)
                let expected = all.filter { $0.at >= from && $0.at <= to ?? .max }.map(\.number)
                #expect(try numbers(reader, from, to) == expected, "seed \(seed)")
            }
            for (number, _) in all.shuffled(using: &random).prefix(10) {
                let cursor = try TapeCursor(reader, following: EventID(epoch: 77, sequence: number))
                var place = try #require(cursor)
                guard case .messages(let messages, _) = try place.next() else {
                    Issue.record("nothing behind \(number)")
                    continue
                }
                #expect(messages[0].first <= number + 1, "seed \(seed)")
            }
        }
    }

    @Test func aSearchReadsTheFilesThatItNeeds() throws {
        let storage = CountedStorage(try tape(30) { _ in 60_000 })
        let reader = TapeReader(storage)
        let extent = try #require(reader.extent(of: try reader.segments()[15]))
        let (from, to) = (extent.firstAt + 500, extent.lastAt - 500)
        let found = try numbers(reader, from, to)
        #expect(!found.isEmpty)
        _ = storage.readFiles()
        // Once the extents are known, the others are left alone.
        #expect(try numbers(reader, from, to) == found)
        #expect(storage.readFiles().count <= 4)
        _ = try TapeCursor(reader, following: EventID(epoch: 77, sequence: found[0]))
        #expect(storage.readFiles().count <= 2)
    }
}
