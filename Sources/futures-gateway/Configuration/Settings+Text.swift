extension Settings {
    /// The values in effect as YAML, each with where it comes from; what is not set is a comment. Secrets are hidden.
    var yaml: String {
        List.all.map { setting in
            guard let given = given(setting) else {
                guard let standard = setting.standardText, setting.accepts(standard) else {
                    return "# \(setting.name): not set\(setting.standardText.map { " (\($0))" } ?? "")\n"
                }
                return "\(setting.name): \(Self.scalar(standard)) # default\n"
            }
            guard let section = given.section else { return "\(Self.key(setting)): \(Self.scalar(setting.shown(given.text))) # \(given.place)\n" }
            let parts = section.map { "  \($0.name): {} # its members are not shown\n" }
            return "\(setting.name): # \(given.place)\n" + parts.joined()
        }.joined()
    }

    /// Which file it is, the file cannot say.
    private static func key(_ setting: any SettingDeclaration) -> String { (setting.name == "config" ? "# " : "") + setting.name }

    private static func scalar(_ text: String) -> String {
        text.wholeMatch(of: #/[A-Za-z0-9\/.][A-Za-z0-9_\/.@+-]*/#) == nil ? quoted(text) : text
    }
}

extension SettingList {
    /// The settings as a table of Markdown.
    static var table: String {
        let rows = all.map { setting in
            let cells = ["`\(setting.name)`", setting.takes, setting.standardText ?? "", setting.help].map { $0.replacing("|", with: "\\|") }
            return "| " + cells.joined(separator: " | ") + " |\n"
        }
        return "| setting | takes | default | |\n|---|---|---|---|\n" + rows.joined()
    }
}
