import ArgumentParser

/// The flags of a list of settings, as texts. They are checked together with the values from the environment and the file.
///
/// The parser finds options by reflection; this type creates them from the declarations.
struct Flags<List: SettingList>: ParsableArguments, CustomReflectable {
    /// The given values, by the setting's name.
    var given: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for setting in List.all {
            given[setting.name] = try container.decode(Option<String?>.self, forKey: Key(stringValue: setting.name)).wrappedValue
        }
    }

    var customMirror: Mirror {
        Mirror(self, children: List.all.map { ($0.name, option($0) as Any) })
    }

    private func option(_ setting: any SettingDeclaration) -> Option<String?> {
        let standard = setting.isSwitch ? "" : setting.standardText.map { " (default \($0))" } ?? ""
        let help = ArgumentHelp("\(setting.help)\(setting.isSwitch ? "" : ": \(setting.takes)")\(standard).", valueName: valueName(setting))
        let name = NameSpecification.customLong(setting.name)
        return setting.isSwitch ? Option(name: name, defaultAsFlag: "true", parsing: .next, help: help) : Option(name: name, help: help)
    }

    private func valueName(_ setting: any SettingDeclaration) -> String {
        setting.name.split(separator: "-").last.map(String.init) ?? setting.name
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
