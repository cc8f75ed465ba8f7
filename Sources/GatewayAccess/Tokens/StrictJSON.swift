/// Parses a JSON text (RFC 8259) strictly: no duplicate members in an object, no malformed number, at most 16 levels. With a duplicate member, two
/// parsers could use different values, so such a credential is refused (RFC 7519 §4).
package enum StrictJSON: Equatable, Sendable {
    case null
    case flag(Bool)
    /// The number's text.
    case number(String)
    case string(String)
    case array([StrictJSON])
    case object(Object)

    package typealias Object = [String: StrictJSON]

    /// Nil if the bytes are not one JSON text in UTF-8.
    package init?(_ bytes: some Sequence<UInt8>) {
        var reader = Reader(bytes: Array(bytes))
        guard String(validating: reader.bytes, as: UTF8.self) != nil, let value = reader.value(depth: 0) else { return nil }
        reader.skipBlanks()
        guard reader.place == reader.bytes.count else { return nil }
        self = value
    }

    package var object: Object? { if case .object(let members) = self { members } else { nil } }
    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var array: [StrictJSON]? { if case .array(let elements) = self { elements } else { nil } }
    /// An integer, even if written with a zero fraction or an exponent.
    package var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        if let number = Int64(text) { return number }
        // A number of digits only that is not an Int64 is out of range, and a Double would round it to the bound.
        return text.contains { ".eE".contains($0) } ? Double(text).flatMap { Int64(exactly: $0) } : nil
    }
    /// The number rounded toward zero; nil beyond 2^53.
    var seconds: Int64? {
        guard case .number(let text) = self, let number = Double(text), number.magnitude < 9_007_199_254_740_992 else { return nil }
        return Int64(number)
    }
    /// The elements of an array of strings; nil if an element is not a string.
    package var strings: [String]? {
        guard let array else { return nil }
        let texts = array.compactMap(\.string)
        return texts.count == array.count ? texts : nil
    }
}

private struct Reader {
    static let deepest = 16
    let bytes: [UInt8]
    var place = 0

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    mutating func skipBlanks() {
        while let next, next == 0x20 || next == 0x09 || next == 0x0A || next == 0x0D { place += 1 }
    }

    mutating func value(depth: Int) -> StrictJSON? {
        guard depth < Self.deepest else { return nil }
        skipBlanks()
        switch next {
        case UInt8(ascii: "{")?: return object(depth)
        case UInt8(ascii: "[")?: return array(depth)
        case UInt8(ascii: "\"")?: return string().map(StrictJSON.string)
        case UInt8(ascii: "t")?: return word("true", .flag(true))
        case UInt8(ascii: "f")?: return word("false", .flag(false))
        case UInt8(ascii: "n")?: return word("null", .null)
        default: return number()
        }
    }

    private mutating func word(_ text: String, _ value: StrictJSON) -> StrictJSON? {
        guard bytes[place...].starts(with: text.utf8) else { return nil }
        place += text.utf8.count
        return value
    }

    private mutating func object(_ depth: Int) -> StrictJSON? {
        place += 1
        var members: StrictJSON.Object = [:]
        skipBlanks()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipBlanks()
            guard let name = string() else { return nil }
            skipBlanks()
            guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1), members.updateValue(value, forKey: name) == nil else { return nil }
            skipBlanks()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func array(_ depth: Int) -> StrictJSON? {
        place += 1
        var elements: [StrictJSON] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            guard let value = value(depth: depth + 1) else { return nil }
            elements.append(value)
            skipBlanks()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { return nil }
        }
    }

    private mutating func number() -> StrictJSON? {
        let start = place
        _ = take(UInt8(ascii: "-"))
        // No digit follows a leading zero.
        guard take(UInt8(ascii: "0")) || skipDigits() else { return nil }
        if take(UInt8(ascii: ".")), !skipDigits() { return nil }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            guard skipDigits() else { return nil }
        }
        return .number(String(decoding: bytes[start..<place], as: UTF8.self))
    }

    /// False if there are none.
    private mutating func skipDigits() -> Bool {
        let start = place
        while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { place += 1 }
        return place > start
    }

    private mutating func string() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escaped() else { return nil }
                text += Array(String(scalar).utf8)
            case ..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let high = unit() else { return nil }
            if let scalar = Unicode.Scalar(high) { return scalar }
            guard high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = unit(), (0xDC00...0xDFFF).contains(low) else {
                return nil
            }
            return Unicode.Scalar(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        default: return nil
        }
    }

    private mutating func unit() -> UInt32? {
        guard bytes.count - place >= 4 else { return nil }
        let digits = bytes[place..<(place + 4)]
        place += 4
        var value: UInt32 = 0
        for digit in digits {
            guard let hex = Character(Unicode.Scalar(digit)).hexDigitValue, digit < 0x80 else { return nil }
            value = value << 4 | UInt32(hex)
        }
        return value
    }
}
