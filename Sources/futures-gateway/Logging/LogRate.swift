import Logging

/// Limits how often one message is logged: a few lines per second, then the number of further ones.
///
/// A value without a clock. Messages that differ only in metadata count as the same fact, so a thousand failing connections are one.
struct LogRate {
    private struct Fact {
        let level: Logger.Level
        let since: Int64
        var told = 1
        var withheld: UInt64 = 0
    }

    /// The number of lines of one fact within a window, and the window's length in nanoseconds.
    static let lines = 5
    static let window: Int64 = 1_000_000_000
    /// The maximum number of remembered facts. If there are more, those with a past window are dropped; if there are none, a new fact is logged
    /// without a limit.
    private static let mostFacts = 256

    private var facts: [String: Fact] = [:]

    /// Whether any lines were withheld that `summaries` will count.
    private(set) var withholds = false

    /// Whether the line may be logged now. `now` is monotonic nanoseconds.
    mutating func admits(_ fact: String, _ level: Logger.Level, now: Int64) -> Bool {
        guard var known = facts[fact], known.withheld > 0 || now &- known.since < Self.window else {
            if facts.count >= Self.mostFacts { facts = facts.filter { $0.value.withheld > 0 || now &- $0.value.since < Self.window } }
            if facts.count < Self.mostFacts { facts[fact] = Fact(level: level, since: now) }
            return true
        }
        let isTold = known.told < Self.lines
        if isTold { known.told += 1 } else { known.withheld &+= 1 }
        if !isTold { withholds = true }
        facts[fact] = known
        return isTold
    }

    /// One line for each fact with withheld lines in a past window.
    mutating func summaries(now: Int64) -> [LogLine] {
        guard withholds else { return [] }
        let due = facts.filter { $0.value.withheld > 0 && now &- $0.value.since >= Self.window }
        for fact in due.keys { facts[fact] = nil }
        withholds = facts.contains { $0.value.withheld > 0 }
        return due.sorted { $0.key < $1.key }.map { LogLine(level: $1.level, message: $0, metadata: ["more": "\($1.withheld)"]) }
    }
}
