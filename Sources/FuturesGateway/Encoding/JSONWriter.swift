import FuturesFeed

/// Writes compact JSON text into bytes.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    mutating func object(_ members: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    mutating func array<Elements: Sequence>(_ elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        for element in elements { write(&self, element) }
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    mutating func member(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func member(_ name: StaticString, _ text: String) {
        member(name)
        string(text)
    }

    mutating func member(_ name: StaticString, _ number: some BinaryInteger) {
        member(name)
        integer(number)
    }

    mutating func member(_ name: StaticString, _ flag: Bool) {
        member(name)
        separate()
        append(flag ? "true" : "false")
        needsComma = true
    }

    mutating func member(_ name: StaticString, _ decimal: DecimalString) {
        member(name)
        quoted(decimal.text)
    }

    mutating func decimal(_ decimal: DecimalString) { quoted(decimal.text) }

    /// Leaves the member out where there is no value.
    mutating func member(_ name: StaticString, optional decimal: DecimalString?) {
        if let decimal { member(name, decimal) }
    }

    /// Leaves the member out where there is no value.
    mutating func member(_ name: StaticString, optional number: (some BinaryInteger)?) {
        if let number { member(name, number) }
    }

    mutating func null() {
        separate()
        append("null")
        needsComma = true
    }

    mutating func integer(_ number: some BinaryInteger) {
        separate()
        var digits: InlineArray<20, UInt8> = InlineArray(repeating: 0)
        var count = 0
        var rest = number.magnitude
        repeat {
            digits[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            count += 1
        } while rest > 0 && count < 20
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        while count > 0 {
            count -= 1
            bytes.append(digits[count])
        }
        needsComma = true
    }

    /// Writes a string; control characters, quotes and backslashes are escaped, so no line break of any kind stands in the text.
    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        var copy = text
        copy.withUTF8 { units in
            for unit in units {
                switch unit {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                    bytes.append(UInt8(ascii: "\\"))
                    bytes.append(unit)
                case 0..<0x20, 0x7F:
                    append("\\u00")
                    bytes.append(Self.hexadecimal(unit >> 4))
                    bytes.append(Self.hexadecimal(unit & 15))
                default: bytes.append(unit)
                }
            }
        }
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Text known to need no escape.
    private mutating func quoted(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
