import Logging

/// Bounds how often one fact is told: so many lines a second, and then how many more there were.
///
/// A value without a clock. A fact is a message without its metadata, so that a thousand failing connections are one.
struct LogRate {
    private struct Fact {
        let level: Logger.Level
        let since: Int64
        var told = 1
        var withheld: UInt64 = 0
    }

    /// Lines of one fact that are told within a window, and how long a window is, nanoseconds.
    static let lines = 5
    static let window: Int64 = 1_000_000_000
    /// Facts remembered at once; beyond, those whose window is over are forgotten, and what is new then is told.
    private static let mostFacts = 256

    private var facts: [String: Fact] = [:]

    /// Whether anything is withheld that `summaries` will tell.
    private(set) var withholds = false

    /// Whether the line may be told now. `now` is monotonic nanoseconds.
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

    /// What was withheld in the windows that are over, each fact once.
    mutating func summaries(now: Int64) -> [LogLine] {
        guard withholds else { return [] }
        let due = facts.filter { $0.value.withheld > 0 && now &- $0.value.since >= Self.window }
        for fact in due.keys { facts[fact] = nil }
        withholds = facts.contains { $0.value.withheld > 0 }
        return due.sorted { $0.key < $1.key }.map { LogLine(level: $1.level, message: $0, metadata: ["more": "\($1.withheld)"]) }
    }
}
