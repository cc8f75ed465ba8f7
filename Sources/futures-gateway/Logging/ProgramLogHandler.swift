import Logging
import Synchronization

/// A level shared by all loggers of the program, so that it can be changed while they run.
final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    init(_ level: Logger.Level) { index = Atomic(Self.index(of: level)) }

    var level: Logger.Level {
        get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
        set { index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

/// Passes the program's messages at or above the shared level to its writer.
struct ProgramLogHandler: LogHandler {
    let writer: ProgramLogWriter
    let threshold: LogThreshold
    var metadata: Logger.Metadata = [:]

    var logLevel: Logger.Level {
        get { threshold.level }
        set { threshold.level = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = event.metadata.map { metadata.merging($0) { $1 } } ?? metadata
        writer.log(LogLine(level: event.level, message: "\(event.message)", metadata: all))
    }
}
