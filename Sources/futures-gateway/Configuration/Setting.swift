import Glibc

/// One setting: what it is called everywhere, what it takes, and what it is where nobody gives it.
struct Setting<Value: Sendable>: SettingDeclaration {
    let name: String
    let help: String
    let takes: String
    let standard: Value
    let standardText: String?
    var isSwitch = false
    var isSecret = false
    var takesSection = false
    let read: @Sendable (String) -> Value?

    func accepts(_ text: String) -> Bool { read(text) != nil }
}

/// A setting of whatever type.
protocol SettingDeclaration: Sendable {
    /// As in `rest-url`: `--rest-url`, `FUTURES_GATEWAY_REST_URL` and `rest-url:` in the file.
    var name: String { get }
    var help: String { get }
    /// What a value has to look like, as in `1 to 1500`.
    var takes: String { get }
    /// The default in words; nil where it is none.
    var standardText: String? { get }
    /// Whether the flag alone means true.
    var isSwitch: Bool { get }
    /// Whether nobody may read its value in an output.
    var isSecret: Bool { get }
    /// Whether it may be a section of the file.
    var takesSection: Bool { get }
    func accepts(_ text: String) -> Bool
}

extension SettingDeclaration {
    /// A value for people's eyes: secrets, and credentials within an address, are hidden.
    func shown(_ text: String) -> String {
        isSecret ? "(hidden)" : text.replacing(#/\/\/[^\/@,]*@/#) { _ in "//(hidden)@" }
    }
}

extension Setting where Value == Int {
    static func number(_ name: String, _ range: ClosedRange<Int>, default standard: Int, _ help: String) -> Self {
        Setting(name: name, help: help, takes: "\(range.lowerBound) to \(range.upperBound)", standard: standard, standardText: "\(standard)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == Int? {
    static func number(_ name: String, _ range: ClosedRange<Int>, unset: String, _ help: String) -> Self {
        Setting.optional(name, takes: "\(range.lowerBound) to \(range.upperBound)", unset: unset, help) {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Setting where Value == UInt64 {
    static func integer(_ name: String, default standard: UInt64, _ help: String) -> Self {
        Setting(name: name, help: help, takes: "a whole number", standard: standard, standardText: "\(standard)") { UInt64($0) }
    }
}

extension Setting where Value == Double {
    static func factor(_ name: String, default standard: Int, _ help: String) -> Self {
        Setting(name: name, help: help, takes: "a number of 0 or more", standard: Double(standard), standardText: "\(standard)") {
            Double($0).flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
        }
    }
}

extension Setting where Value == Bool {
    static func toggle(_ name: String, _ help: String) -> Self {
        Setting(name: name, help: help, takes: "true or false", standard: false, standardText: "false", isSwitch: true) { Bool($0) }
    }
}

extension Setting where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    static func choice(_ name: String, default standard: Value, _ help: String) -> Self {
        let names = Value.allCases.map(\.rawValue)
        let takes = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        return Setting(name: name, help: help, takes: takes, standard: standard, standardText: standard.rawValue) { Value(rawValue: $0) }
    }
}

extension Setting where Value == String {
    static func text(
        _ name: String, takes: String, default standard: String, _ help: String, where fits: @escaping @Sendable (String) -> Bool = { !$0.isEmpty }
    ) -> Self {
        Setting(name: name, help: help, takes: takes, standard: standard, standardText: standard) { fits($0) ? $0 : nil }
    }
}

extension Setting where Value == String? {
    /// A path; in the configuration file it may be a section instead where `isSection`.
    static func file(_ name: String, takes: String = "a path", isSection: Bool = false, _ help: String) -> Self {
        var setting = Setting.optional(name, takes: takes, help) { $0.isEmpty ? nil : $0 }
        setting.takesSection = isSection
        return setting
    }

    static func secret(_ name: String, takes: String, _ help: String) -> Self {
        var setting = Setting.optional(name, takes: takes, help) { $0.isEmpty ? nil : $0 }
        setting.isSecret = true
        return setting
    }
}

extension Setting {
    /// A setting without a default value; `unset` says what holds then.
    static func optional<Wrapped: Sendable>(
        _ name: String, takes: String, unset: String? = nil, _ help: String, _ read: @escaping @Sendable (String) -> Wrapped?
    ) -> Self where Value == Wrapped? {
        Setting(name: name, help: help, takes: takes, standard: nil, standardText: unset) { text in read(text).map { .some($0) } }
    }

    /// A list, separated by commas; in the file it may be a list of YAML. It is refused where `element` is nil for any of its parts.
    static func list<Element: Sendable>(
        _ name: String, takes: String, unset: String? = nil, _ help: String, _ element: @escaping @Sendable (String) -> Element?
    ) -> Self where Value == [Element]? {
        optional(name, takes: takes, unset: unset, help) { text in
            let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingPrefix(" ") }
            let elements = parts.compactMap { element(String($0)) }
            return elements.count == parts.count ? elements : nil
        }
    }
}

/// Whether a socket can be bound to it as it stands.
@Sendable func isAddress(_ text: String) -> Bool {
    var (four, six) = (in_addr(), in6_addr())
    return text == "localhost" || inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1
}
