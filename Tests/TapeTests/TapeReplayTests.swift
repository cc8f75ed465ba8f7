import FeedCore
import Foundation
import Replication
import Rings
import Testing

@testable import Tape

/// What is played to one reader.
@Suite struct TapeReplayTests {
    private static let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")

    private func replay(_ storage: MemoryStorage, after id: EventID, to: Int64? = nil, isWhole: Bool = false) throws -> TapeReplay? {
        try TapeReplay(TapeReader(storage), of: [Self.name], .after(id), to: to.map { .at($0) }, isWhole: isWhole, format: .lines, reach: 75_000) {
            _ in 1000
        }
    }

    private func id(_ sequence: UInt64, epoch: UInt64 = 77) -> EventID { EventID(epoch: epoch, sequence: sequence) }

    /// The sequences of values and changes, and the names of other events, in order.
    private func told(_ bytes: [UInt8]) throws -> [String] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            let members = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            let id = (members["id"] as? String).flatMap { EventID($0) }
            return id.map { "\($0.sequence)" } ?? members["event"] as? String ?? ""
        }
    }

    private func numbers(_ range: ClosedRange<UInt64>) -> [String] { range.map { "\($0)" } }

    private func change(_ events: inout Events, isBroken: Bool = false) -> TapedRecord {
        let record = events.one()
        return TapedRecord(FeedRecord(.change, of: record.record.subject, record.record.body), id: record.id, at: record.at, isBroken: isBroken)
    }

    @Test func whatFollowsAnEventIsPlayedInOrderAndWhatIsWrittenMeanwhileToo() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        for _ in 0..<4 {
            recorder.write(
                (0..<50).map { $0 % 2 == 0 ? events.one() : events.one("ethusdt@bookTicker") })
        }
        var replay = try #require(try replay(storage, after: id(75)))
        #expect(replay.ahead.isEmpty)
        let first = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(first.bytes) == stride(from: 77, through: 199, by: 2).map { "\($0)" })
        #expect(first.next == .nothing && replay.last == id(200))
        recorder.write(events.some(10))
        let second = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(second.bytes) == numbers(201...210))
    }

    @Test func aPieceIsNoLongerThanItShouldBeAndNothingIsLostBetweenTwo() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        for _ in 0..<10 { recorder.write((0..<40).map { _ in events.one(at: events.at + 200) }) }
        var replay = try #require(try replay(storage, after: id(1)))
        var (all, pieces): ([String], Int) = ([], 0)
        while true {
            let (bytes, next) = try replay.next(until: .max, atMost: 3000)
            #expect(bytes.count < 3300)
            all += try told(bytes)
            pieces += 1
            guard next == .piece else { break }
        }
        #expect(all == numbers(2...400) && pieces > 10)
    }

    @Test func whatIsNotDueAndWhatIsBeyondTheEndIsNotPlayed() throws {
        let storage = MemoryStorage()
        var events = Events()
        let all = (0..<20).map { _ in events.one(at: events.at + 1000) }
        try TapeRecorder(storage).write(all)
        var replay = try #require(try replay(storage, after: id(1), to: all[14].at))
        let first = try replay.next(until: all[9].at, atMost: 1 << 20)
        #expect(try told(first.bytes) == numbers(2...10) && first.next == .later(all[10].at))
        let none = try replay.next(until: all[9].at, atMost: 1 << 20)
        #expect(none.bytes.isEmpty && none.next == .later(all[10].at))
        let rest = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(rest.bytes) == numbers(11...15) && rest.next == .end)
    }

    @Test func behindAHoleWhichIsToldAChangeWaitsForAValue() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(5) + [change(&events)])
        recorder.write([change(&events, isBroken: true), change(&events), events.one(), change(&events)])
        var replay = try #require(try replay(storage, after: id(3)))
        let piece = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(piece.bytes) == ["4", "5", "6", "tapeGap", "9", "10"])
    }

    @Test func damageIsToldOnce() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        for _ in 0..<3 { recorder.write(events.some(10)) }
        let (segment, block) = try #require(
            try TapeReader(storage).segments().first.flatMap { segment in
                try TapeReader(storage).blocks(of: segment).blocks[1...].first.map { (segment, $0) }
            })
        storage.change(segment.name) { $0[Int(block.frameStart) + 20] ^= 1 }
        var replay = try #require(try replay(storage, after: id(5)))
        let piece = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(piece.bytes) == numbers(6...10) + ["tapeDamage"] + numbers(21...30))
    }

    @Test func halfABlockAtTheEndIsNoDamage() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(10))
        let segment = try #require(try TapeReader(storage).segments().first)
        recorder.write(events.some(10))
        let whole = storage.bytes(of: segment.name)
        storage.change(segment.name) { $0.removeLast(30) }
        var replay = try #require(try replay(storage, after: id(5)))
        let first = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(first.bytes) == numbers(6...10) && first.next == .nothing)
        storage.change(segment.name) { $0 = whole }
        let second = try replay.next(until: .max, atMost: 1 << 20)
        #expect(try told(second.bytes) == numbers(11...20))
    }

    @Test func anEventThatIsNotOnTheTapeIsNoPlaceToBegin() throws {
        let storage = MemoryStorage()
        var events = Events()
        try TapeRecorder(storage).write(events.some(10))
        #expect(try replay(storage, after: id(5, epoch: 76)) == nil)
        #expect(try replay(storage, after: id(10))?.ahead == [])
        #expect(try replay(storage, after: id(11))?.ahead == [id(11)])
    }

    @Test func whatAKillLostIsToldToWhoHadIt() throws {
        let storage = MemoryStorage()
        var events = Events(epoch: 76)
        try TapeRecorder(storage).write(events.some(10))
        let before = events.at
        // An earlier gap is nothing to this reader.
        events = Events()
        events.at = before + 6000
        try TapeRecorder(storage, now: before + 5000).write(events.some(10))
        var others = Events(epoch: 78)
        others.at = events.at + 6000
        try TapeRecorder(storage, now: events.at + 5000).write(others.some(3))
        var replay = try #require(try replay(storage, after: id(12)))
        #expect(!replay.ahead.isEmpty)
        #expect(try told(replay.next(until: .max, atMost: 1 << 20).bytes) == ["tapeGap"] + numbers(1...3))
    }

    /// What a reader gets that was promised everything, and what comes then.
    private func whole(_ storage: MemoryStorage, after id: EventID) throws -> (told: [String], next: TapeReplay.Next) {
        var replay = try #require(try replay(storage, after: id, isWhole: true))
        let first = try replay.next(until: .max, atMost: 1 << 20)
        let second = try replay.next(until: .max, atMost: 1 << 20)
        #expect(second.bytes.isEmpty && second.next == first.next)
        return (try told(first.bytes), first.next)
    }

    @Test func whoWasPromisedEverythingIsPlayedUpToAHole() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        for _ in 0..<3 { recorder.write(events.some(10)) }
        #expect(try whole(storage, after: id(5)) == (numbers(6...30), .nothing))
        recorder.write([change(&events, isBroken: true), events.one()])
        #expect(try whole(storage, after: id(5)) == (numbers(6...30), .hole))
        let (segment, block) = try #require(
            try TapeReader(storage).segments().first.flatMap { segment in
                try TapeReader(storage).blocks(of: segment).blocks[1...].first.map { (segment, $0) }
            })
        storage.change(segment.name) { $0[Int(block.frameStart) + 20] ^= 1 }
        #expect(try whole(storage, after: id(5)) == (numbers(6...10), .hole))
    }

    @Test func aStreamThatNobodyReadForAWhileIsAHoleToWhoWasPromisedEverything() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(5))
        let (last, other) = (events.one(), events.one("ethusdt@bookTicker"))
        let ended = TapedRecord(FeedRecord(.ended, of: last.record.subject, []), id: last.id, at: last.at)
        let otherEnded = TapedRecord(FeedRecord(.ended, of: other.record.subject, []), id: other.id, at: other.at)
        recorder.write([ended, otherEnded])
        recorder.write(events.some(5))
        // Its own end is one, another stream's is none.
        #expect(try whole(storage, after: id(2)) == (numbers(3...5), .hole))
        #expect(try whole(storage, after: id(6)) == (numbers(8...12), .nothing))
        var replay = try #require(try replay(storage, after: id(2)))
        #expect(try told(replay.next(until: .max, atMost: 1 << 20).bytes) == numbers(3...5) + ["tapeGap"] + numbers(8...12))
    }

    @Test func otherStreamsThanBeforeAreAHole() throws {
        let storage = MemoryStorage()
        var events = Events()
        func run(_ streams: String) throws {
            let end = TapeReader(storage).end()?.position
            try TapeRecorder(storage, inherited: end, streams: streams).write(events.some(5))
        }
        try run("btcusdt@*")
        try run("btcusdt@*")
        #expect(try whole(storage, after: id(2)) == (numbers(3...10), .nothing))
        try run("*")
        #expect(try whole(storage, after: id(2)) == (numbers(3...10), .hole))
        try run("*")
        #expect(try whole(storage, after: id(12)) == (numbers(13...20), .nothing))
    }
}
