import FeedCore
import Foundation
import Replication
import Testing

@testable import Tape

/// Files that a tape's lines are written into.
@Suite struct TapeExportTests {
    private func folder(_ body: (String) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "export-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test func aFileIsThereOnceItIsWholeAndReadsAsWhatWasWritten() throws {
        try folder { folder in
            let lines = (0..<1000).map { Array("{\"line\":\($0)}\n".utf8) }
            for name in ["lines.ndjson", "lines.ndjson.zst"] {
                // What an interrupted export left.
                try Data("half".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).part"))
                let export = try TapeExport("\(folder)/\(name)")
                for line in lines { try export.write(line) }
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(name)"))
                try export.finish()
                #expect(export.lines == 1000)
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(name).part"))
                let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
                let text = lines.flatMap(\.self)
                #expect((name.hasSuffix(".zst") ? FrameDecompressor().text(bytes[...], count: text.count) : bytes) == text)
            }
        }
    }

    @Test func aFileThatCannotBeMadeIsTold() throws {
        #expect(throws: TapeError.self) { try TapeExport("/nowhere/at/all/lines.ndjson") }
    }

    @Test func linesSayWhenNobodyReadAStream() throws {
        let storage = MemoryStorage()
        let recorder = try TapeRecorder(storage)
        var events = Events()
        recorder.write(events.some(2) + [events.one("ethusdt@bookTicker")])
        let last = events.one()
        recorder.write([TapedRecord(FeedRecord(.ended, of: last.record.subject, []), id: last.id, at: last.at)])
        recorder.write([events.one("ethusdt@bookTicker")] + events.some(2))
        func names(_ stream: String?) throws -> [String] {
            var lines = TapeLines(stream: stream, gaps: [])
            var bytes: [UInt8] = []
            try TapeReader(storage).walk { item in
                bytes += lines.lines(of: item)
                return true
            }
            return try bytes.split(separator: UInt8(ascii: "\n")).map {
                let members = try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
                return try #require(members["event"] as? String) + (members["reason"].map { " \($0)" } ?? "")
            }
        }
        #expect(try names("btcusdt@bookTicker") == ["update", "update", "tapeGap unread", "update", "update"])
        #expect(try names("ethusdt@bookTicker") == ["update", "update"])
        #expect(try names(nil) == ["update", "update", "update", "update", "tapeGap unread", "update", "update"])
    }
}
