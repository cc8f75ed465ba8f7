import FeedCore
import Foundation
import Replication
import Rings
import Testing

@testable import Tape

/// The clock is set back by a minute while a tape is recorded. Every block is whole, so nothing is missing, whatever the times say.
@Suite struct SteppedClockTests {
    private static let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")
    private static let begin: Int64 = 1_763_900_000_000
    /// How long the clock goes on before it is set back, and after that, ms. Events come ten times a second, a block has a second.
    private static let (before, after, step): (Int64, Int64, Int64) = (100_000, 90_000, -60_000)

    private let storage = MemoryStorage()
    private var reader: TapeReader { TapeReader(storage) }
    /// Of each event when it was received, in order; the first one has the number 1.
    private let times: [Int64]

    init() throws {
        let second = Self.begin + Self.before + Self.step
        let first = Array(stride(from: Self.begin, to: Self.begin + Self.before, by: 100))
        times = first + Array(stride(from: second, to: second + Self.after, by: 100))
        let recorder = try TapeRecorder(storage, now: Self.begin)
        let one = try #require(DecimalString("1"))
        var batch: [TapedRecord] = []
        for (place, at) in times.enumerated() {
            let id = EventID(epoch: 77, sequence: UInt64(place + 1))
            let row = BookTicker(
                symbol: "BTCUSDT", bidPrice: one, bidQuantity: one, askPrice: one, askQuantity: one, updateID: UInt64(place), time: at)
            let content = FuturesServiceFeedContent(
                streamName: Self.name, id: id, kind: .full, state: .live, source: .websocket, eventTime: at, receivedAt: at, rows: .bookTicker([row]))
            batch.append(TapedRecord(FeedRecord(.value, of: "\(Self.name)", ContentEncoder.event(content)[...]), id: id, at: at))
            guard batch.count == 10 else { continue }
            recorder.write(batch)
            batch = []
        }
    }

    /// The numbers of events in lines, and what else there is.
    private func told(_ lines: [UInt8]) throws -> (numbers: [UInt64], others: [String]) {
        var (numbers, others): ([UInt64], [String]) = ([], [])
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            let members = try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
            if let id = (members["id"] as? String).flatMap({ EventID($0) }) { numbers.append(id.sequence) } else { others.append("\(members)") }
        }
        return (numbers, others)
    }

    /// Everything that a reader is played.
    private func played(_ from: Int64, to: Int64? = nil) throws -> (numbers: [UInt64], others: [String]) {
        let made = try TapeReplay(
            reader, of: [Self.name], .at(from), to: to.map { .at($0) }, format: .lines, reach: 75_000
        ) { _ in 1000 }
        var replay = try #require(made)
        var all: [UInt8] = []
        while true {
            let (bytes, next) = try replay.next(until: .max, atMost: 1 << 20)
            all += bytes
            guard next == .piece else { return try told(all) }
        }
    }

    @Test func theTapeReachesFromTheEarliestTimeToTheLatest() {
        let extent = reader.extent()
        #expect(extent?.firstAt == times.min() && extent?.lastAt == times.max())
    }

    @Test(arguments: Array(stride(from: Int64(0), to: 130_000, by: 7_300))) func aReplayGoesOnWithoutAHole(_ offset: Int64) throws {
        let from = Self.begin + offset
        let (numbers, others) = try played(from)
        #expect(others.isEmpty)
        let first = try #require(numbers.first)
        #expect(numbers == Array(first...UInt64(times.count)))
        // It begins with the value of then, where the clock came by that time first.
        #expect(times[Int(first) - 1] == times[..<(times.firstIndex { $0 > from } ?? times.count)].last)
    }

    @Test func aReplayEndsWhereTheClockComesByItsEndForTheLastTime() throws {
        let to = Self.begin + 70_050
        let (numbers, others) = try played(Self.begin + 65_000, to: to)
        #expect(others.isEmpty)
        #expect(numbers.last.map { times[Int($0) - 1] } == Self.begin + 70_000 && numbers.last == 1301)
        #expect(numbers == Array((numbers.first ?? 0)...1301), "whoever is played changes needs all of them")
        // What was received later than asked for comes only if more follows that was not.
        #expect(try played(Self.begin + 101_000, to: Self.begin + 110_050).numbers.allSatisfy { times[Int($0) - 1] <= Self.begin + 110_050 })
    }

    @Test(arguments: [0, 5_000, 39_900, 41_000, 99_900, 100_500, 129_900] as [Int64]) func aSnapshotOfAnyTimeIsFound(_ offset: Int64) throws {
        let at = Self.begin + offset
        var reading = try PastReading(reader, of: [Self.name], at: at, reach: 75_000) { _ in 1000 }
        let isDone = try reading.step { false }
        #expect(isDone)
        let found = reading.past.content(of: Self.name)
        let content = try #require(found)
        #expect(content.receivedAt == times[..<(times.firstIndex { $0 > at } ?? times.count)].last)
    }

    @Test func aTapeThatBeganBeforeTheStepHasTheTimesBehindItToo() throws {
        // Only what follows the step is of these times, and the content of then was recorded before it.
        let storage = MemoryStorage()
        var recorder = try TapeRecorder(storage, now: Self.begin)
        var events = Events()
        events.at = Self.begin
        recorder.write(events.some(20))
        recorder = try TapeRecorder(storage, inherited: TapeReader(storage).end()?.position, now: Self.begin - 60_000)
        events.at = Self.begin - 60_000
        for _ in 0..<5 { recorder.write(events.some(1000)) }
        let reader = TapeReader(storage)
        #expect(reader.extent().map { $0.firstAt <= Self.begin - 59_999 } == true)
        let place = try reader.place(reaching: Self.begin - 58_500)
        let start = try reader.place(75_000, before: place)
        #expect(place?.segment == 2 && start?.segment == 1)
    }

    @Test func whatIsResumedBehindTheStepIsEverything() throws {
        var past = PastFeed { _ in 1000 }
        let position = try reader.read(last: 75_000, into: &past)
        #expect(position?.next == UInt64(times.count + 1))
        #expect(past.head == EventID(epoch: 77, sequence: UInt64(times.count)))
        #expect(past.events.count > 750)
    }

    @Test func linesGoOnBehindAnEventWhateverItsTime() throws {
        // Behind the last event before the step.
        let point = EventID(epoch: 77, sequence: UInt64(Self.before / 100))
        let made = try TapeCursor(reader, following: point, from: Self.begin, isFollowing: false)
        var (cursor, lines) = (try #require(made), TapeLines(from: Self.begin, after: point, gaps: []))
        var all: [UInt8] = []
        while let item = try cursor.next() { all += lines.lines(of: item) }
        #expect(try told(all).numbers == Array(point.sequence + 1...UInt64(times.count)))
    }

    @Test func aSegmentOfATimeToComeDoesNotKeepOlderOnesForEver() {
        let retention = Retention(keep: 10_000, bytes: 1 << 30)
        let segments = [50_000, 900_000, 60_000, 95_000].map { (lastAt: Int64) in Retention.Segment(name: "\(lastAt)", bytes: 1, lastAt: lastAt) }
        #expect(retention.surplus(segments, besides: 0, more: 0, now: 100_000) == 3)
    }

    @Test func anEmptySegmentDoesNotMakeTheOthersOld() {
        let retention = Retention(keep: 10_000, bytes: 1 << 30)
        let times: [Int64?] = [92_000, nil, 95_000, nil]
        let segments = times.map { Retention.Segment(name: "x", bytes: 1, lastAt: $0) }
        #expect(retention.surplus(segments, besides: 0, more: 0, now: 100_000) == 0)
        #expect(retention.surplus(segments, besides: 0, more: 0, now: 103_000) == 1)
        #expect(retention.surplus(segments, besides: 0, more: 0, now: 106_000) == 3)
    }
}
