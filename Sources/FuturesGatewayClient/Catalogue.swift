import FeedCore
import FeedDialects

/// The content of `GET /streams`: how many rows of each stream are kept, and the age of the newest content.
struct Catalogue {
    private var patterns: [(pattern: String, keep: Int?)] = []
    private var ages: [String: (id: String, unverifiedMs: Int64)] = [:]
    private var askedAt = Instant(nanoseconds: 0)

    init() {}

    /// Parses a response; nil if it is invalid.
    init?(_ answer: [UInt8], at now: Instant) {
        let read = RowFields.read(answer[...]) { (fields) throws(RowFields.Failure) in
            (
                try fields.list("catalogue") { (entry) throws(RowFields.Failure) in
                    (pattern: try entry.string("pattern"), keep: try entry.optionalInteger("keep") as Int?)
                },
                try fields.list("active") { (stream) throws(RowFields.Failure) in
                    (
                        try stream.string("stream"), try stream.optionalString("id"), try stream.optionalInteger("unverifiedMs") as Int64?
                    )
                }
            )
        }
        guard let (patterns, active) = read, let patterns, let active else { return nil }
        (self.patterns, askedAt) = (patterns, now)
        for (name, id, unverifiedMs) in active { if let id, let unverifiedMs { ages[name] = (id, unverifiedMs) } }
    }

    /// How many rows, or levels per side, of a stream are kept.
    func limit(of name: FuturesServiceStreamName) -> Int {
        let keep = patterns.first { Self.fits(name.description[...], $0.pattern[...]) }?.keep
        return min(max(keep ?? Self.most, 1), Self.most)
    }

    /// How long a content has been unverified: until its stream was listed, plus the time since then. Nil if another content was the newest.
    func unverifiedMs(of name: FuturesServiceStreamName, _ id: EventID, now: Instant) -> Int64? {
        guard let age = ages[name.description], age.id == id.description else { return nil }
        return age.unverifiedMs &+ now.milliseconds(since: askedAt)
    }

    /// Whether a name matches a pattern: `{symbol}` is any text without `@`, `{5|10}` is one of the alternatives, `[@1s]` is optional,
    /// `[@100ms|@500ms]` is one of these or nothing.
    static func fits(_ name: Substring, _ pattern: Substring) -> Bool {
        guard let first = pattern.first else { return name.isEmpty }
        guard first == "{" || first == "[", let end = pattern.firstIndex(of: first == "{" ? "}" : "]") else {
            return name.first == first && fits(name.dropFirst(), pattern.dropFirst())
        }
        let (inner, rest) = (pattern[pattern.index(after: pattern.startIndex)..<end], pattern[pattern.index(after: end)...])
        if first == "{", !inner.contains("|") {
            let longest = name.prefix { $0 != "@" }.count
            return longest > 0 && (1...longest).contains { fits(name.dropFirst($0), rest) }
        }
        var choices = inner.split(separator: "|", omittingEmptySubsequences: false)
        if first == "[" { choices.append("") }
        return choices.contains { name.hasPrefix($0) && fits(name.dropFirst($0.count), rest) }
    }
}
