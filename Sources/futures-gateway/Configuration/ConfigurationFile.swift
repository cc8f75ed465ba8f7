import Configuration
import Yams

/// The settings of a YAML file: its keys in order, each with its line number.
struct ConfigurationFile: ConfigSnapshot {
    /// A key and its value.
    struct Entry: Sendable {
        let name: String
        let line: Int
        /// The text of a scalar, or a list's elements separated by commas; nil for a section and for an empty value.
        let text: String?
        /// The value as JSON.
        let json: String
        /// A section's keys.
        let entries: [Entry]?
    }

    let path: String
    let entries: [Entry]
    var providerName: String { path }

    /// - Throws: `Mistakes`, with one mistake, if the text is not YAML or not a mapping.
    init(_ text: String, path: String) throws(Mistakes) {
        self.path = path
        if let line = Self.lineOfAnchor(text) {
            throw Mistakes(sentences: [
                "\(path):\(line) has a YAML anchor (&), which is not supported. Repeat the value, or quote a text that starts with &."
            ])
        }
        let root: Node?
        do { root = try Yams.compose(yaml: text) } catch { throw Mistakes(sentences: ["\(path)\(Self.words(error))"]) }
        switch root {
        case nil: entries = []
        case .scalar(let scalar)? where scalar.string.isEmpty: entries = []
        case .mapping(let mapping)?: entries = mapping.map(Self.entry)
        default: throw Mistakes(sentences: ["\(path):1 is not a mapping; write lines of NAME: VALUE."])
        }
    }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) -> LookupResult {
        let entry = entries.first { $0.name == key.components.last }
        let text = entry.flatMap { $0.entries == nil ? $0.text : $0.json }
        return LookupResult(encodedKey: entry.map { place($0) } ?? path, value: text.map { ConfigValue(.string($0), isSecret: false) })
    }

    /// The position of an entry, such as `gateway.yaml:7`.
    func place(_ entry: Entry) -> String { "\(path):\(entry.line)" }

    func section(_ name: String) -> [Entry]? { entries.first { $0.name == name }?.entries }

    private static func entry(_ key: Node, _ value: Node) -> Entry {
        let text: String? =
            switch value {
            case .scalar(let scalar): isNull(scalar) ? nil : scalar.string
            case .sequence(let sequence): sequence.map { $0.scalar?.string ?? json($0) }.joined(separator: ",")
            case .mapping, .alias: nil
            }
        return Entry(
            name: key.scalar?.string ?? json(key), line: key.mark?.line ?? 1, text: text, json: json(value), entries: value.mapping?.map(entry))
    }

    private static func isNull(_ scalar: Node.Scalar) -> Bool { scalar.style == .plain && ["", "~", "null"].contains(scalar.string) }

    /// The value as JSON. An unquoted text is a number or a boolean if JSON would parse it as one, otherwise a string: `no` is a string.
    private static func json(_ node: Node) -> String {
        switch node {
        case .mapping(let mapping): "{" + mapping.map { "\(quoted($0.scalar?.string ?? json($0))):\(json($1))" }.joined(separator: ",") + "}"
        case .sequence(let sequence): "[" + sequence.map(json).joined(separator: ",") + "]"
        case .alias: "null"
        case .scalar(let scalar):
            if scalar.style != .plain {
                quoted(scalar.string)
            } else if isNull(scalar) {
                "null"
            } else if ["true", "false"].contains(scalar.string) || scalar.string.wholeMatch(of: #/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/#) != nil {
                scalar.string
            } else {
                quoted(scalar.string)
            }
        }
    }

    /// The first line with an anchor. Anchors are refused, because a few nested aliases (`*`) can expand to a billion nodes. Quotes and comments are
    /// recognized within one line.
    private static func lineOfAnchor(_ text: String) -> Int? {
        var (line, quote, previous): (Int, UInt8?, UInt8) = (1, nil, UInt8(ascii: " "))
        var isComment = false
        for byte in text.utf8 {
            defer { previous = byte }
            if byte == UInt8(ascii: "\n") {
                (line, quote, isComment) = (line + 1, nil, false)
                continue
            }
            guard !isComment else { continue }
            if let open = quote {
                if byte == open, open == UInt8(ascii: "'") || previous != UInt8(ascii: "\\") { quote = nil }
            } else if " \t\n\r[{,:".utf8.contains(previous) {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
                case UInt8(ascii: "#"): isComment = true
                case UInt8(ascii: "&"): return line
                default: break
                }
            }
        }
        return nil
    }

    private static func words(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _)?, .parser(_, let problem, let mark, _)?, .composer(_, let problem, let mark, _)?:
            ":\(mark.line) is not valid YAML: \(problem)."
        case .duplicatedKeysInMapping(let keys, let context)?:
            ":\(context.mark.line) has \(keys.joined(separator: ", ")) twice in one section; use each key once."
        default: " is not valid YAML: \(error)."
        }
    }
}

/// A text as a JSON string (RFC 8259 §7).
func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}":
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
