import Glibc

/// One setting: its name, its accepted values, and its default.
struct Setting<Value: Sendable>: SettingDeclaration {
    let name: String
    let help: String
    let takes: String
    let standard: Value
    let standardText: String?
    var isSwitch = false
    var isSecret = false
    var takesSection = false
    var isOptional = false
    /// For a list: whether an element is valid.
    var acceptsElement: (@Sendable (String) -> Bool)?
    let read: @Sendable (String) -> Value?

    func refused(_ text: String) -> [String] {
        guard read(text) == nil else { return [] }
        guard let acceptsElement else { return [text] }
        let refused = elements(text).filter { !acceptsElement($0) }
        return refused.isEmpty ? [text] : refused
    }
}

/// A command's settings, each a stored property. Code that needs all settings iterates over the properties.
protocol SettingList: Sendable {
    /// The prefix of the names in the environment.
    static var prefix: [String] { get }
    init()
}

extension SettingList {
    static var prefix: [String] { ["futures-gateway"] }

    static var all: [any SettingDeclaration] { Mirror(reflecting: Self()).children.compactMap { $0.value as? any SettingDeclaration } }

    /// The settings' names in the environment, such as `FUTURES_GATEWAY_REST_URL`.
    static var variables: [String] { all.map { (prefix + [$0.name]).joined(separator: "_").uppercased().replacing("-", with: "_") } }
}

/// A setting of any type.
protocol SettingDeclaration: Sendable {
    /// The name, such as `rest-url`: `--rest-url`, `FUTURES_GATEWAY_REST_URL` and `rest-url:` in the file.
    var name: String { get }
    var help: String { get }
    /// The accepted values, such as `1 to 1500`.
    var takes: String { get }
    /// The default. If it `isOptional`, a description of what applies without a value; nil if nothing does.
    var standardText: String? { get }
    /// Whether it has no default value.
    var isOptional: Bool { get }
    /// Whether the flag alone means true.
    var isSwitch: Bool { get }
    /// Whether its value must never be printed.
    var isSecret: Bool { get }
    /// Whether it may be a section of the file.
    var takesSection: Bool { get }
    /// The invalid parts of a text: the whole text, or elements of a list. Empty if the text is valid.
    func refused(_ text: String) -> [String]
}

extension SettingDeclaration {
    func accepts(_ text: String) -> Bool { refused(text).isEmpty }

    /// A value that may be printed: secrets, and credentials in a URL, are hidden.
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
    /// A path. If `isSection`, the configuration file may have a section instead.
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
    /// A setting without a default; `unset` describes the value in effect without it.
    static func optional<Wrapped: Sendable>(
        _ name: String, takes: String, unset: String? = nil, _ help: String, _ read: @escaping @Sendable (String) -> Wrapped?
    ) -> Self where Value == Wrapped? {
        Setting(name: name, help: help, takes: takes, standard: nil, standardText: unset, isOptional: true) { text in read(text).map { .some($0) } }
    }

    /// A list separated by commas; in the file it may be a YAML list. It is refused if `element` is nil for one of its parts.
    static func list<Element: Sendable>(
        _ name: String, takes: String, unset: String? = nil, _ help: String, _ element: @escaping @Sendable (String) -> Element?
    ) -> Self where Value == [Element]? {
        var setting = optional(name, takes: takes, unset: unset, help) { text in
            let parts = elements(text)
            let values = parts.compactMap(element)
            return values.count == parts.count ? values : nil
        }
        setting.acceptsElement = { element($0) != nil }
        return setting
    }
}

private func elements(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map { String($0.trimmingPrefix(" ")) }
}

/// Whether a socket can be bound to this address.
@Sendable func isAddress(_ text: String) -> Bool {
    var (four, six) = (in_addr(), in6_addr())
    return text == "localhost" || inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1
}
