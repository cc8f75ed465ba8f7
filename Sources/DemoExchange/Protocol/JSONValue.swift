/// A parsed JSON text. Numbers keep their text, so that ids and decimals are passed on unchanged.
indirect enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    struct Malformed: Error {
        let offset: Int
    }

    /// Parses a complete JSON text, nested at most 32 deep.
    init(parsing text: String) throws(Malformed) {
        var parser = JSONParser(bytes: Array(text.utf8))
        self = try parser.document()
    }

    subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a number without fraction or exponent.
    var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    var array: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    /// The JSON text of a scalar; nil for arrays and objects.
    var scalarText: String? {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array, .object: nil
        }
    }

    /// `text` as a JSON string.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

private struct JSONParser {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    private var malformed: JSONValue.Malformed { JSONValue.Malformed(offset: position) }
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func document() throws(JSONValue.Malformed) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard next == nil else { throw malformed }
        return value
    }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONValue.Malformed) -> JSONValue {
        guard depth < 32 else { throw malformed }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONValue.Malformed) -> JSONValue {
        for byte in text.description.utf8 where !take(byte) { throw malformed }
        return value
    }

    private mutating func number() throws(JSONValue.Malformed) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let leadsWithZero = next == UInt8(ascii: "0")
        guard digits() > 0, !leadsWithZero || position - start <= (bytes[start] == UInt8(ascii: "-") ? 2 : 1) else { throw malformed }
        if take(UInt8(ascii: ".")), digits() == 0 { throw malformed }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { throw malformed }
        }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() -> Int {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        return position - start
    }

    private mutating func array(_ depth: Int) throws(JSONValue.Malformed) -> JSONValue {
        position += 1
        var items: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            items.append(try value(depth: depth + 1))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw malformed }
        return .array(items)
    }

    private mutating func object(_ depth: Int) throws(JSONValue.Malformed) -> JSONValue {
        position += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object([:]) }
        repeat {
            skipSpace()
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw malformed }
            members[key] = try value(depth: depth + 1)
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw malformed }
        return .object(members)
    }

    private mutating func string() throws(JSONValue.Malformed) -> String {
        guard take(UInt8(ascii: "\"")) else { throw malformed }
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
            case 0..<0x20: throw malformed
            default: text.append(byte)
            }
        }
        throw malformed
    }

    private mutating func escape() throws(JSONValue.Malformed) -> [UInt8] {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try scalar())).utf8)
        default: throw malformed
        }
    }

    private mutating func scalar() throws(JSONValue.Malformed) -> Unicode.Scalar {
        var unit = try hex4()
        if (0xD800..<0xDC00).contains(unit) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw malformed }
            let low = try hex4()
            guard (0xDC00..<0xE000).contains(low) else { throw malformed }
            unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(unit) else { throw malformed }
        return scalar
    }

    private mutating func hex4() throws(JSONValue.Malformed) -> UInt32 {
        guard position + 4 <= bytes.count else { throw malformed }
        var unit: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = hexDigit(byte) else { throw malformed }
            unit = unit << 4 | UInt32(digit)
        }
        position += 4
        return unit
    }
}

func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
