import ArgumentParser
import Foundation
import FuturesFeed
import Tape

/// `futures-gateway tape`
struct TapeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tape", abstract: "Inspect a tape.",
        discussion: "Works while a gateway records. Times are RFC 3339, such as 2026-11-23T09:00:00Z, or milliseconds since 1970 UTC.",
        subcommands: [ListCommand.self, PrintCommand.self, ExportCommand.self, VerifyCommand.self])

    /// `futures-gateway tape ls`
    struct ListCommand: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "ls", abstract: "List the files, the times they cover, and the gaps.")

        @Argument(help: "The tape's directory.") var directory: String

        func run() throws {
            try TapeCommand.reading {
                let reader = TapeReader(TapeDirectory(directory))
                for segment in try reader.segments() {
                    let times = reader.extent(of: segment).map { "\(TapeTime($0.firstAt)) to \(TapeTime($0.lastAt))" } ?? "unreadable"
                    announce("\(segment.name) \(segment.bytes) bytes \(times)")
                }
                for gap in try reader.gaps() { announce("gap \(TapeTime(gap.from)) to \(TapeTime(gap.to)) \(gap.words)") }
            }
        }
    }

    /// `futures-gateway tape cat`
    struct PrintCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "cat", abstract: "Print events as lines of JSON, each with its name and number.",
            discussion: "A line with the event tapeGap or tapeDamage marks missing events.")

        @OptionGroup var part: Part

        func run() throws {
            let isTerminal = isatty(STDOUT_FILENO) == 1
            try TapeCommand.reading {
                try part.lines { lines in
                    // A venue's text may contain terminal control sequences.
                    let shown = isTerminal ? Array(String(decoding: lines, as: UTF8.self).plainLines.utf8) : lines
                    FileHandle.standardOutput.write(Data(shown))
                }
            }
        }
    }

    /// `futures-gateway tape export`
    struct ExportCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write events to a file as lines of JSON, like cat, or to tables.",
            discussion: """
                The file is compressed with zstd if its name ends with .zst. It is named FILE.part until it is complete. The format csv writes a folder of \
                tables with the columns of tardis.dev: trades, book changes, quotes, derivative tickers and liquidations, by day and symbol.
                """)

        /// The format of the output.
        enum Format: String, ExpressibleByArgument, CaseIterable { case lines, csv }

        @OptionGroup var part: Part
        @Option(help: "The file, or the folder of the tables.") var output: String
        @Option(help: "lines or csv.") var format = Format.lines
        @Option(help: "The text of the column exchange; default: the tape's venue.") var exchange: String?
        @Flag(help: "Replace an existing file.") var force = false

        func run() throws {
            try TapeCommand.reading {
                if format == .csv { return try exportTables() }

                let export = try TapeExport(output, replaces: force)
                try part.lines { try export.write($0) }
                try export.finish()
                announce("\(export.lines) lines in \(output)")
            }
        }

        private func exportTables() throws {
            let directory = TapeDirectory(part.directory)
            let venue = try exchange ?? directory.venue()?.split(separator: ",").first.map(String.init) ?? "unknown"
            let exchange = venue.filter { $0.isLetter || $0.isNumber || "-_.".contains($0) }
            var tables = TapeTables(exchange: exchange, stream: part.stream, from: part.from?.milliseconds, to: part.to?.milliseconds)
            let files = try TableFiles(output, exchange: exchange, replaces: force)
            var failure: (any Error)?
            try TapeReader(directory).walk(from: part.from?.milliseconds, to: part.to?.milliseconds) { item in
                do { try files.write(tables.rows(of: item)) } catch { failure = error }
                return failure == nil
            }
            if let failure { throw failure }
            try files.finish()
            if files.rows == 0 {
                throw TapeError(.notFound, "\(part.directory) has no trades, books or prices in that time; tape ls shows what it covers")
            }
            announce("\(files.rows) rows in \(files.count) files in \(output)")
        }
    }

    /// The requested part of a tape.
    struct Part: ParsableArguments {
        @Argument(help: "The tape's directory.") var directory: String
        @Option(help: "The stream; default: all.") var stream: String?
        @Option(help: "The first time.") var from: TapeTime?
        @Option(help: "The last time.") var to: TapeTime?

        func validate() throws {
            if let stream, FuturesServiceStreamName(stream) == nil {
                throw ValidationError("\(stream.plain) is not a stream name; give one such as btcusdt@aggTrade.")
            }
            if let from, let to, from.milliseconds > to.milliseconds {
                throw ValidationError("--from \(from) is later than --to \(to); change one of them.")
            }
        }

        /// Passes the lines to `take` in portions.
        ///
        /// - Throws: `TapeError` with the code `notFound` if there are none.
        func lines(_ take: ([UInt8]) throws -> Void) throws {
            let reader = TapeReader(TapeDirectory(directory))
            var lines = TapeLines(stream: stream, from: from?.milliseconds, to: to?.milliseconds, gaps: try reader.gaps())
            var failure: (any Error)?
            try reader.walk(from: from?.milliseconds, to: to?.milliseconds) { item in
                do { try take(lines.lines(of: item)) } catch { failure = error }
                return failure == nil
            }
            if let failure { throw failure }
            try take(lines.rest())
            if lines.events == 0 {
                throw TapeError(.notFound, "\(directory) has nothing of \(stream ?? "any stream") in that time; tape ls shows what it covers")
            }
        }
    }

    /// `futures-gateway tape verify`
    struct VerifyCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Read every byte and report damage.",
            discussion: "Exits with status 65 if anything is damaged, or if a gap is not listed.")

        @Argument(help: "The tape's directory.") var directory: String

        func run() throws {
            try TapeCommand.reading {
                let report = try TapeReader(TapeDirectory(directory)).verify()
                for damage in report.damages {
                    let times = damage.times.map { ", received \(TapeTime($0.lowerBound)) to \(TapeTime($0.upperBound))" } ?? ""
                    announce("\(damage.segment): \(damage.kind.words), bytes \(damage.bytes.lowerBound) to \(damage.bytes.upperBound)\(times)")
                }
                for gap in report.unlisted { announce("a gap is not listed: \(TapeTime(gap.from)) to \(TapeTime(gap.to)), \(gap.reason.rawValue)") }
                announce(
                    "\(report.segments) files, \(report.bytes) bytes, \(report.blocks) blocks and \(report.records) records are intact; "
                        + "\(report.damages.count) places are damaged; \(report.gaps.count) gaps")
                if !report.damages.isEmpty || !report.unlisted.isEmpty { throw ExitCode(EX_DATAERR) }
            }
        }
    }

    private static func reading(_ body: () throws -> Void) throws {
        do { try body() } catch let error as TapeError {
            Terminal.complain("Error: \(error.message)")
            throw ExitCode(error.code == .notFound ? EX_NOINPUT : error.code == .exists ? EX_CANTCREAT : EX_IOERR)
        }
    }
}

/// A time on the command line.
struct TapeTime: ExpressibleByArgument, CustomStringConvertible {
    /// Milliseconds since 1970 UTC.
    let milliseconds: Int64

    init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    init?(argument: String) {
        guard let milliseconds = UTCTime.read(argument) else { return nil }
        self.milliseconds = milliseconds
    }

    var description: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension TapeGap {
    /// The reason, and how many records are missing.
    var words: String { "\(reason.rawValue), \(events.map(String.init) ?? "an unknown number of") records\(detail.isEmpty ? "" : "; \(detail)")" }
}

extension TapeDamage.Kind {
    var words: String {
        switch self {
        case .header: "no block starts where one should"
        case .content: "a block's content is damaged"
        case .cut: "the file ends within a block"
        case .unreadable: "the file cannot be read"
        }
    }
}
