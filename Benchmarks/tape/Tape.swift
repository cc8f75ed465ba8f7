import FeedCore
import Foundation
import Glibc
import Replication
import Rings
import Tape

/// What a long tape costs: a recorded tape is told again and again, with later times, until it covers the hours; then it is searched and played.
///
///     tape SOURCE TARGET HOURS
@main struct TapeBenchmark {
    private let source: TapeReader
    private let target: String
    private let hours: Int64
    private var random = SystemRandomNumberGenerator()

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let hours = Int64(arguments[3]), hours > 0 else {
            print("usage: tape SOURCE TARGET HOURS; TARGET is made")
            exit(64)
        }
        var benchmark = TapeBenchmark(source: TapeReader(TapeDirectory(arguments[1])), target: arguments[2], hours: hours)
        try benchmark.run()
    }

    private init(source: TapeReader, target: String, hours: Int64) { (self.source, self.target, self.hours) = (source, target, hours) }

    private mutating func run() throws {
        var taped: [TapedRecord] = []
        try source.walk { item in
            guard case .messages(let messages, _) = item else { return true }
            for message in messages {
                var number = message.first
                for record in message.records {
                    defer { number += record.numbers }
                    guard record.kind != .epoch, record.kind != .resigned, record.kind != .nothing else { continue }
                    taped.append(TapedRecord(record, id: EventID(epoch: message.epoch, sequence: number), at: message.sentAt))
                }
            }
            return true
        }
        guard let first = taped.first, let last = taped.last, last.at > first.at else { throw TapeError(.notFound, "nothing is on the tape") }
        let span = last.at - first.at + 10
        let names = Set(taped.filter { $0.record.kind.carriesData }.map(\.record.subject)).compactMap { FuturesServiceStreamName($0) }
        // Later than the source, since a value tells when it was received.
        let end = last.at + hours * 3_600_000
        let begin = end - hours * 3_600_000
        let recorder = try write(taped, span, from: begin, to: end)
        let events = recorder.records
        print("\(hours) h of \(names.count) streams: \(events) records, \(recorder.storedBytes) bytes of \(recorder.plainBytes)")
        try search(names, begin, end)
        try play(names, end)
    }

    private static var processor: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    private func write(_ taped: [TapedRecord], _ span: Int64, from begin: Int64, to end: Int64) throws -> TapeReading {
        let storage = TapeDirectory(target)
        let recorder = try TapeRecorder(
            storage: storage, lock: try storage.lock(), keep: (hours + 1) * 3_600_000, bytes: 1 << 40, streams: "*", now: begin)
        let before = Self.processor
        guard let first = taped.first else { return recorder.state }
        // Without holes: behind one, nothing is known before the next full value.
        var (shift, number, batch, due): (Int64, UInt64, [TapedRecord], Int64) = (begin - first.at, 1, [], begin + Int64(Tape.period))
        while first.at + shift < end {
            for record in taped where record.at + shift < end {
                let at = record.at + shift
                if at >= due {
                    recorder.take(HandOver.Batch(records: batch), isHurried: false, now: at)
                    recorder.rest(now: at)
                    (batch, due) = ([], at + Int64(Tape.period))
                }
                batch.append(TapedRecord(record.record, id: EventID(epoch: 1, sequence: number), at: at))
                number += record.record.numbers
            }
            shift += span
        }
        recorder.take(HandOver.Batch(records: batch), isHurried: false, now: end)
        recorder.finish(now: end)
        let seconds = Self.processor - before
        print(String(format: "written with %.0f s of processor, %.2f %% of a core", seconds, seconds / Double(hours * 36)))
        return recorder.state
    }

    /// How long it takes to have the values of all streams, or of one, at a random instant.
    private mutating func search(_ names: [FuturesServiceStreamName], _ begin: Int64, _ end: Int64) throws {
        let reader = TapeReader(TapeDirectory(target))
        let first = ContinuousClock.now
        _ = reader.extent()
        var replay = try TapeReplay(reader, of: names, .at(begin + 200_000), to: nil, format: .lines, reach: 75_000) { _ in 1000 }
        _ = try replay?.prepare { false }
        print("the first search took \(ContinuousClock.now - first)")
        for some in [names, Array(names.prefix(1))] {
            var (took, values): ([Duration], Int) = ([], 0)
            for _ in 0..<200 {
                let at = Int64.random(in: begin + 120_000..<end - 5_000, using: &random)
                let start = ContinuousClock.now
                var replay = try TapeReplay(reader, of: some, .at(at), to: nil, format: .lines, reach: 75_000) { _ in 1000 }
                _ = try replay?.prepare { false }
                took.append(ContinuousClock.now - start)
                values += replay?.valuesAtStart ?? 0
            }
            took.sort()
            print(
                "a search for \(some.count) streams: median \(took[100]), 99 of 100 within \(took[197]); \(values) of \(200 * some.count) values found"
            )
        }
    }

    private func play(_ names: [FuturesServiceStreamName], _ end: Int64) throws {
        let reader = TapeReader(TapeDirectory(target))
        var replay = try TapeReplay(reader, of: names, .at(end - min(hours, 1) * 3_600_000 + 200_000), to: nil, format: .lines, reach: 75_000) { _ in
            1000
        }
        let start = ContinuousClock.now
        var (events, bytes) = (0, 0)
        while let (piece, next) = try replay?.next(until: .max, atMost: 256 << 10), next == .piece {
            (events, bytes) = (events + piece.count { $0 == UInt8(ascii: "\n") }, bytes + piece.count)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(String(format: "played: %d events, %d MB, in %.2f s: %.0f events a second", events, bytes >> 20, seconds, Double(events) / seconds))
    }
}
