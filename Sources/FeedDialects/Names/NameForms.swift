import FeedCore

/// The possible forms of the names of a dialect's streams: its patterns, expanded.
struct NameForms {
    /// The part of a pattern after a name's key, such as `markPrice@1s`, or a whole name if there is no key.
    struct Form: Hashable {
        /// The text before the key, such as `prices:`.
        let prefix: String
        /// Whether there is a key, such as the symbol in `{symbol}@markPrice`.
        let takesKey: Bool
        /// The text after the key, or the whole name.
        let suffix: String

        func name(_ key: String) -> String { takesKey ? prefix + key + suffix : prefix + suffix }
    }

    let forms: [Form]

    init(patterns: [String]) { forms = patterns.flatMap(Self.texts).map(Self.form) }

    /// Expands a pattern: `[@1s]` is optional, `{5|10}` is one of the alternatives, `{interval}` is one of the intervals.
    private static func texts(_ pattern: String) -> [String] {
        guard let open = pattern.firstIndex(where: { $0 == "[" || $0 == "{" }),
            let close = pattern[open...].firstIndex(of: pattern[open] == "[" ? "]" : "}")
        else { return [pattern] }
        let inner = pattern[pattern.index(after: open)..<close]
        let isKey = pattern[open] == "{" && inner != "interval" && !inner.contains("|")
        let choices: [String] =
            if isKey {
                ["\u{0}"]
            } else if inner == "interval" {
                KlineInterval.allCases.map(\.rawValue)
            } else {
                (pattern[open] == "[" ? [""] : []) + inner.split(separator: "|").map(String.init)
            }
        return texts(String(pattern[pattern.index(after: close)...])).flatMap { rest in choices.map { pattern[..<open] + $0 + rest } }
    }

    private static func form(_ text: String) -> Form {
        guard let key = text.firstIndex(of: "\u{0}") else { return Form(prefix: "", takesKey: false, suffix: text) }
        return Form(prefix: String(text[..<key]), takesKey: true, suffix: String(text[text.index(after: key)...]))
    }
}
