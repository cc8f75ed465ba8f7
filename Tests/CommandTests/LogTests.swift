import Foundation
import FuturesGateway
import Glibc
import Logging
import Testing

@testable import futures_gateway

@Suite struct LogRateTests {
    private let second = LogRate.window

    @Test func aFactIsToldSoOftenAndThenCounted() {
        var rate = LogRate()
        var told = 0
        for now: Int64 in 0..<100 where rate.admits("lost", .warning, now: now) { told += 1 }
        #expect(told == LogRate.lines)
        let early = rate.summaries(now: 99)
        #expect(early.isEmpty)
        let summaries = rate.summaries(now: second)
        #expect(summaries.map(\.message) == ["lost"])
        #expect(summaries.first?.level == .warning)
        #expect(summaries.first?.metadata["more"] == "95")
        #expect(!rate.withholds)
        let isTold = rate.admits("lost", .warning, now: second)
        #expect(isTold)
    }

    @Test func oneFactDoesNotSilenceAnother() {
        var rate = LogRate()
        for _ in 0..<100 { _ = rate.admits("a", .notice, now: 0) }
        let isTold = rate.admits("b", .notice, now: 0)
        #expect(isTold)
    }

    @Test func whatIsWithheldIsToldBeforeTheFactBeginsAnew() {
        var rate = LogRate()
        for _ in 0..<6 { _ = rate.admits("a", .notice, now: 0) }
        let isTold = rate.admits("a", .notice, now: 5 * second)
        #expect(!isTold)
        let summaries = rate.summaries(now: 5 * second)
        #expect(summaries.first?.metadata["more"] == "2")
    }

    @Test func factsThatNeverComeAgainAreForgotten() {
        var rate = LogRate()
        for fact in 0..<10_000 {
            let isTold = rate.admits("fact \(fact)", .notice, now: Int64(fact) * second)
            #expect(isTold)
        }
    }
}

@Suite struct LogLineTests {
    private let line = LogLine(
        time: Date(timeIntervalSince1970: 1_795_230_258.864), level: .warning, message: "a \"b\"\n\u{1B}[31m\\",
        metadata: ["url": "ws://x y", "count": "2"])

    @Test func textIsOneLineWhateverIsInIt() {
        #expect(
            String(decoding: line.bytes(.text), as: UTF8.self)
                == "2026-11-21T03:04:18.864Z warning a \"b\"\\u000a\\u001b[31m\\ count=2 url=\"ws://x y\"\n")
    }

    @Test func jsonIsOneObjectALine() throws {
        struct Parsed: Decodable, Equatable {
            let time, level, message: String
            let metadata: [String: String]?
        }
        let bytes = line.bytes(.json)
        #expect(bytes.count { $0 == UInt8(ascii: "\n") } == 1)
        let parsed = try JSONDecoder().decode(Parsed.self, from: Data(bytes))
        let expected = Parsed(
            time: "2026-11-21T03:04:18.864Z", level: "warning", message: line.message, metadata: ["url": "ws://x y", "count": "2"])
        #expect(parsed == expected)
        let bare = try JSONDecoder().decode(Parsed.self, from: Data(LogLine(level: .notice, message: "x").bytes(.json)))
        #expect(bare.metadata == nil)
    }
}

@Suite struct ProgramLogWriterTests {
    private struct Pipe: ~Copyable {
        let read: Int32
        let write: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (read, write) = (ends[0], ends[1])
        }

        /// Reads until a line contains this.
        func lines(until text: String) -> [String] {
            var all = ""
            while !all.contains(text) {
                let block = [UInt8](unsafeUninitializedCapacity: 65_536) { $1 = max(0, Glibc.read(read, $0.baseAddress, 65_536)) }
                guard !block.isEmpty else { break }
                all += String(decoding: block, as: UTF8.self)
            }
            return all.split(separator: "\n").map(String.init)
        }
    }

    @Test func whatIsLoggedIsWrittenInOrder() throws {
        let pipe = try Pipe()
        let writer = ProgramLogWriter(descriptor: pipe.write, format: .text)
        for number in 0..<100 { writer.log(LogLine(level: .notice, message: "line \(number)")) }
        let lines = pipe.lines(until: "line 99")
        #expect(lines.map { $0.split(separator: " ").suffix(2).joined(separator: " ") } == (0..<100).map { "line \($0)" })
        #expect(writer.counts.written == 100)
    }

    @Test func nobodyWaitsForAReaderWhoStopped() throws {
        let pipe = try Pipe()
        let writer = ProgramLogWriter(descriptor: pipe.write, format: .json)
        let lines = 20_000
        let start = ContinuousClock.now
        for number in 0..<lines { writer.log(LogLine(level: .notice, message: "line \(number) " + String(repeating: "x", count: 100))) }
        let time = ContinuousClock.now - start
        let counts = writer.counts
        print("\(lines) lines into a pipe that nobody reads: \(time), \(counts.full) left out")
        #expect(counts.full > 0)
        #expect(counts.full + counts.written == UInt64(lines))
        writer.flush(within: .milliseconds(50))
        let read = pipe.lines(until: "line \(counts.written / 2) ")
        #expect(read.first?.contains("line 0 ") == true)
        // Room again: the next line says what went before it was lost.
        Thread.detachNewThread { [descriptor = pipe.read] in
            var block = [UInt8](repeating: 0, count: 65_536)
            while Glibc.read(descriptor, &block, block.count) > 0, !String(decoding: block, as: UTF8.self).contains("lines were dropped") {}
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while writer.counts.written == counts.written, ContinuousClock.now < deadline { writer.log(LogLine(level: .notice, message: "again")) }
        #expect(writer.counts.written > counts.written)
    }

    @Test func whatComesTooOftenIsToldAsANumber() throws {
        let pipe = try Pipe()
        let writer = ProgramLogWriter(descriptor: pipe.write, format: .text)
        for _ in 0..<50 { writer.log(LogLine(level: .error, message: "lost")) }
        let lines = pipe.lines(until: "more=")
        #expect(lines.count == LogRate.lines + 1)
        #expect(lines.last?.hasSuffix("error lost more=\(50 - LogRate.lines)") == true)
        #expect(writer.counts.repeated == UInt64(50 - LogRate.lines))
    }
}
