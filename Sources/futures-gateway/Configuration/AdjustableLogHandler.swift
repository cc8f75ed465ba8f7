import Logging
import Synchronization

/// A level that all loggers of the program share, so that it can be changed while they run.
final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    init(_ level: Logger.Level) { index = Atomic(Self.index(of: level)) }

    var level: Logger.Level {
        get { Logger.Level.allCases[index.load(ordering: .relaxed)] }
        set { index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

/// Writes as `StreamLogHandler` does, from the shared level on.
struct AdjustableLogHandler: LogHandler {
    private var handler: StreamLogHandler
    private let threshold: LogThreshold

    init(label: String, threshold: LogThreshold) {
        handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = .trace
        self.threshold = threshold
    }

    var logLevel: Logger.Level {
        get { threshold.level }
        set { threshold.level = newValue }
    }
    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { handler.log(event: event) }
}
