extension Settings {
    /// The current values as YAML, each with its origin. Settings without a value are comments. Secrets are hidden.
    var yaml: String {
        List.all.map { setting in
            guard let given = given(setting) else {
                guard let standard = setting.standardText, !setting.isOptional else {
                    return "# \(setting.name): not set\(setting.standardText.map { " (\($0))" } ?? "")\n"
                }
                return "\(setting.name): \(Self.scalar(standard)) # default\n"
            }
            guard let section = given.section else { return "\(Self.key(setting)): \(Self.scalar(setting.shown(given.text))) # \(given.place)\n" }
            let parts = section.enumerated().map { "  \(Self.scalar($1.name)): \(Self.shown($1, number: $0))\n" }
            return "\(setting.name): # \(given.place), without secrets and hashes\n" + parts.joined()
        }.joined()
    }

    /// `config` is a comment, because a file cannot name itself.
    private static func key(_ setting: any SettingDeclaration) -> String { (setting.name == "config" ? "# " : "") + setting.name }

    /// A part of a section as JSON. Texts that may be secret are hidden, unless they only name a variable or a file. Each hash is replaced by a
    /// different one that belongs to no key.
    private static func shown(_ entry: ConfigurationFile.Entry, number: Int) -> String {
        if entry.name == "hash" { return quoted(String(repeating: "0", count: 64 - "\(number)".count) + "\(number)") }
        if openMembers.contains(entry.name) { return entry.json.replacing(#/\/\/[^\/@,"]*@/#) { _ in "//(hidden)@" } }
        if let entries = entry.entries {
            return "{" + entries.map { "\(quoted($0.name)): \(shown($0, number: number))" }.joined(separator: ", ") + "}"
        }
        guard entry.json.hasPrefix("\"") || entry.json.hasPrefix("[") else { return entry.json }
        return entry.text?.wholeMatch(of: #/\$\{[^}]*\}/#) != nil ? entry.json : quoted("(hidden)")
    }

    private static func scalar(_ text: String) -> String {
        text.wholeMatch(of: #/[A-Za-z0-9\/.][A-Za-z0-9_\/.@+-]*/#) == nil ? quoted(text) : text
    }
}

/// Members whose values are never secret.
private let openMembers = [
    "streams", "operations", "expires", "kind", "webSocket", "http", "transport", "subprotocols", "wire", "provider", "url", "restURL",
    "source", "language",
]

extension SettingList {
    /// The settings as a Markdown table.
    static var table: String {
        let rows = all.map { setting in
            let cells = ["`\(setting.name)`", setting.takes, setting.standardText ?? "", setting.help].map { $0.replacing("|", with: "\\|") }
            return "| " + cells.joined(separator: " | ") + " |\n"
        }
        return "| setting | takes | default | |\n|---|---|---|---|\n" + rows.joined()
    }
}
