import Foundation
import Synchronization
import Testing

@testable import Tape

/// The venue's messages, as they came.
@Suite struct VenueFrameTapeTests {
    private func folder(_ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "frames-\(UInt64.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    private func lines(_ path: String) throws -> [String] {
        try Gunzipped.text(of: path).split(separator: "\n").map(String.init)
    }

    private static let hour: Int64 = 1_763_978_400_000

    private func tape(
        _ path: String, keep: Int64 = 86_400_000, bytes: Int = 1 << 30, now: Int64 = hour, tell: @escaping @Sendable (TapeError?) -> Void = { _ in }
    )
        -> VenueFrameTape
    {
        VenueFrameTape(directory: path, keep: keep, bytes: bytes, clock: { now }, tell: tell)
    }

    private func put(_ text: String, of subject: String? = nil, line: Int = 0, at nanoseconds: Int64, on tape: VenueFrameTape) {
        Array(text.utf8).withUnsafeBufferPointer { tape.record($0, of: subject, line: line, at: nanoseconds) }
    }

    @Test func eachSymbolHourAndLineHasAFileWithTheMessagesInOrder() async throws {
        try await folder { path in
            let (tape, begin) = (tape(path), Self.hour * 1_000_000)
            tape.start()
            put(#"{"stream":"btcusdt@depth","data":{"u":1}}"#, at: begin, on: tape)
            put(#"{"lastUpdateId":1}"#, of: "btcusdt", at: begin + 1, on: tape)
            put("{\"stream\":\"btcusdt@trade\",\n\"data\":{}}", at: begin + 2, on: tape)
            put(#"{"stream":"!markPrice@arr@1s","data":[]}"#, at: begin + 3, on: tape)
            put(#"{"stream":"btcusdt@depth","data":{"u":1}}"#, line: 1, at: begin + 4, on: tape)
            put(#"{"stream":"btcusdt@depth","data":{"u":2}}"#, at: begin + 3_600_000_000_000, on: tape)
            put(#"{"stream":"币安人生usdt@depth","data":{}}"#, at: begin + 6, on: tape)
            // Nothing that hftbacktest could not read, and no path.
            put(#"{"result":null,"id":1}"#, at: begin + 5, on: tape)
            put(#"{"stream":"../x@depth","data":{}}"#, at: begin + 5, on: tape)
            await tape.stop(within: .seconds(10))
            let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
            #expect(
                names == [
                    "!markprice_2025112410.gz", "btcusdt_2025112410.gz", "btcusdt_2025112410.line2.gz", "btcusdt_2025112411.gz",
                    "币安人生usdt_2025112410.gz",
                ])
            #expect(
                try lines(path + "/btcusdt_2025112410.gz") == [
                    #"1763978400000000000 {"stream":"btcusdt@depth","data":{"u":1}}"#, #"1763978400000000001 {"lastUpdateId":1}"#,
                    #"1763978400000000002 {"stream":"btcusdt@trade","data":{}}"#,
                ])
            #expect(tape.reading.messages == 7 && tape.reading.missed == 0 && tape.reading.bytes > 0)
        }
    }

    @Test func aVenueWithEverNewNamesMakesSoManyFilesAndNoMore() async throws {
        try await folder { path in
            let (tape, begin) = (tape(path), Self.hour * 1_000_000)
            tape.start()
            for number in 0..<VenueFrameWriter.mostFiles + 500 { put("{}", of: "s\(number)", at: begin, on: tape) }
            // Those that have a file go on, and the next hour has room again.
            put("{}", of: "s7", at: begin + 1, on: tape)
            put("{}", of: "late", at: begin + 3_600_000_000_000, on: tape)
            await tape.stop(within: .seconds(20))
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            #expect(names.count == VenueFrameWriter.mostFiles + 1 && names.contains("late_2025112411.gz"))
            #expect(try lines(path + "/s7_2025112410.gz").count == 2)
            #expect(tape.reading.missed == 500)
        }
    }

    @Test func anotherRunGoesOnWithTheSameFile() async throws {
        try await folder { path in
            for run in 0..<2 {
                let tape = tape(path)
                tape.start()
                put(#"{"stream":"btcusdt@depth","data":{}}"#, at: Self.hour * 1_000_000 + Int64(run), on: tape)
                await tape.stop(within: .seconds(10))
            }
            let found = try lines(path + "/btcusdt_2025112410.gz")
            #expect(found.count == 2)
        }
    }

    /// A kill in the header of a member, or in its content.
    @Test(arguments: [4, 30]) func aMemberThatAKillCutOffHidesNoneOfTheOthers(_ rest: Int) async throws {
        try await folder { path in
            let file = URL(fileURLWithPath: path + "/btcusdt_2025112410.gz")
            var sizes: [Int] = []
            for run in 0..<3 {
                let tape = tape(path)
                tape.start()
                put(#"{"stream":"btcusdt@depth","data":{}}"#, at: Self.hour * 1_000_000 + Int64(run), on: tape)
                await tape.stop(within: .seconds(10))
                let bytes = try Data(contentsOf: file)
                sizes.append(bytes.count)
                if run == 1 { try bytes.prefix(sizes[0] + rest).write(to: file) }
            }
            let found = try lines(file.path)
            #expect(found.map { $0.prefix(19) } == ["1763978400000000000", "1763978400000000002"])
        }
    }

    @Test func whatCannotBeWrittenIsCountedAndTold() async throws {
        let told = Mutex<[TapeError.Code?]>([])
        let tape = tape("/proc/nothing", tell: { error in told.withLock { $0.append(error?.code) } })
        tape.start()
        put(#"{"stream":"btcusdt@depth","data":{}}"#, at: Self.hour * 1_000_000, on: tape)
        await tape.stop(within: .seconds(10))
        #expect(tape.reading.missed == 1 && tape.reading.trouble != nil)
        #expect(told.withLock { $0.count } == 1)
    }

    @Test func theHourThatFillsItsBytesIsNotGoneOnWith() async throws {
        try await folder { path in
            let told = Mutex<[TapeError.Code?]>([])
            let tape = tape(path, bytes: 20_000, tell: { error in told.withLock { $0.append(error?.code) } })
            tape.start()
            var random = SystemRandomNumberGenerator()
            for number in 0..<2000 {
                put(#"{"stream":"btcusdt@depth","data":{"x":\#(UInt64.random(in: 0...(.max), using: &random))}}"#, at: Int64(number), on: tape)
            }
            await tape.stop(within: .seconds(10))
            #expect(tape.reading.missed == 2000 && told.withLock { $0 } == [.full])
        }
    }

    @Test func oldAndSurplusFilesGoTheOldestFirst() throws {
        let now = Self.hour + 60_000
        func file(_ name: String, _ bytes: Int) throws -> FrameFile { try #require(FrameFile(name, bytes: bytes)) }
        let files = [
            try file("btcusdt_2025112410.gz", 50), try file("btcusdt_2025112409.gz", 40), try file("ethusdt_2025112408.line2.gz", 30),
            try file("btcusdt_2025112308.gz", 20),
        ]
        func names(keep: Int64, bytes: Int) -> [String] { FrameFile.surplus(files, keep: keep, bytes: bytes, now: now).map(\.name) }
        #expect(names(keep: 86_400_000, bytes: 1000) == ["btcusdt_2025112308.gz"])
        #expect(names(keep: 864_000_000, bytes: 1000) == [])
        #expect(names(keep: 864_000_000, bytes: 95) == ["btcusdt_2025112308.gz", "ethusdt_2025112408.line2.gz"])
        // The hour that goes on stays, whatever it takes.
        #expect(names(keep: 864_000_000, bytes: 10).count == 3)
        for name in ["btcusdt_20251124.gz", "x.gz", "btcusdt_2025132410.gz", "btcusdt_2025112410.zst", "gaps.ndjson"] {
            #expect(FrameFile(name, bytes: 1) == nil, "\(name)")
        }
    }
}

/// Reads gzip files with the system's own tool.
enum Gunzipped {
    static func text(of path: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-dc", path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadCorruptFile) }
        return String(decoding: data, as: UTF8.self)
    }
}
