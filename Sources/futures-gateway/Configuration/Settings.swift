import ArgumentParser
import Configuration
import Foundation

/// The values of a list of settings: from the flag, otherwise the environment, otherwise the file, otherwise the default. `settings.port` is the
/// port.
@dynamicMemberLookup
struct Settings<List: SettingList>: Sendable {
    /// A given value.
    struct Given: Sendable {
        let text: String
        /// Its origin, such as `--port`, `FUTURES_GATEWAY_PORT` or `gateway.yaml:3`.
        let place: String
        /// Its keys, if it is a section of the file.
        var section: [ConfigurationFile.Entry]?

        /// The beginning of a sentence about it.
        func subject(_ setting: any SettingDeclaration) -> String { place.contains(":") ? "\(place): \(setting.name)" : place }
    }

    let list = List()
    let file: ConfigurationFile?
    private var given: [String: Given] = [:]

    /// Reads all settings. Every invalid value is added to `mistakes`, even if another source overrides it.
    init(flags: [String: String], environment: [String: String], file: ConfigurationFile? = nil, mistakes: inout [String]) {
        self.file = file
        let sources: [any ConfigSnapshot] =
            [GivenFlags(values: flags), EnvironmentVariablesProvider(environmentVariables: environment).snapshot()] + (file.map { [$0] } ?? [])
        for setting in List.all {
            let key = AbsoluteConfigKey(List.prefix + [setting.name])
            for source in sources {
                guard let found = try? source.value(forKey: key, type: .string), case .string(let text)? = found.value?.content, !text.isEmpty else {
                    continue
                }
                let section = (source as? ConfigurationFile)?.section(setting.name)
                if section != nil && !setting.takesSection {
                    mistakes.append("\(found.encodedKey): \(setting.name) is a section; it must be \(setting.takes).")
                } else if case let refused = setting.refused(text), !refused.isEmpty {
                    mistakes += refused.map { Self.sentence(setting, $0, isWhole: $0 == text, found.encodedKey) }
                } else if given[setting.name] == nil {
                    given[setting.name] = Given(text: text, place: found.encodedKey, section: section)
                }
            }
        }
    }

    /// Reads the settings of a command without a configuration file.
    ///
    /// - Throws: `ExitCode` after all mistakes have been printed.
    init(_ flags: Flags<List>) throws {
        var mistakes: [String] = []
        self.init(flags: flags.given, environment: ProcessInfo.processInfo.environment, mistakes: &mistakes)
        guard mistakes.isEmpty else { throw Mistakes(sentences: mistakes).report() }
    }

    subscript<Value>(dynamicMember path: KeyPath<List, Setting<Value>>) -> Value {
        let setting = list[keyPath: path]
        return given[setting.name].flatMap { setting.read($0.text) } ?? setting.standard
    }

    func given(_ setting: any SettingDeclaration) -> Given? { given[setting.name] }

    private static func sentence(_ setting: any SettingDeclaration, _ text: String, isWhole: Bool, _ place: String) -> String {
        let verb = isWhole ? "is" : "has"
        return "\(Given(text: text, place: place).subject(setting)) \(verb) \(quoted(setting.shown(text))); it must be \(setting.takes)."
    }
}

/// The command line as a source of values.
private struct GivenFlags: ConfigSnapshot {
    let values: [String: String]
    var providerName: String { "the command line" }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) -> LookupResult {
        let name = key.components.last ?? ""
        return LookupResult(encodedKey: "--\(name)", value: values[name].map { ConfigValue(.string($0), isSecret: false) })
    }
}
