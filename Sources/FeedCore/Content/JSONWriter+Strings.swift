/// Writes strings, and escapes their characters where JSON demands it.
extension JSONWriter {
    /// Writes a string. Control characters, quotes and backslashes are escaped, so the text contains no line break.
    package mutating func string(_ text: String) {
        var copy = text
        copy.withUTF8 { units in
            if let start = units.baseAddress, (1...8).contains(units.count) {
                let eight = EightCharacters(at: start, units.count)
                if !eight.needEscape { return quoted(eight, units.count) }
            }
            guard Self.needEscape(units) else { return quoted(units) }
            reserve(units.count * 6 + 3)
            separate()
            put(UInt8(ascii: "\""))
            for unit in units { if Self.needsEscape(unit) { escape(unit) } else { put(unit) } }
            put(UInt8(ascii: "\""))
            needsComma = true
        }
    }

    /// Writes one to eight characters that need no escape.
    @inline(__always)
    private mutating func quoted(_ characters: EightCharacters, _ length: Int) {
        reserve(11)
        separate()
        put(UInt8(ascii: "\""))
        UnsafeMutableRawPointer(buffer + count).storeBytes(of: characters.bits.littleEndian, as: UInt64.self)
        count += length
        put(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Whether any of the bytes needs an escape. Eight bytes are tested at a time.
    private static func needEscape(_ units: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = units.baseAddress else { return false }
        var place = 0
        while units.count - place >= 8 {
            if EightCharacters(at: start + place).needEscape { return true }
            place += 8
        }
        return units[place...].contains(where: needsEscape)
    }

    private static func needsEscape(_ unit: UInt8) -> Bool {
        unit < 0x20 || unit == UInt8(ascii: "\"") || unit == UInt8(ascii: "\\") || unit == 0x7F
    }

    private mutating func escape(_ unit: UInt8) {
        put(UInt8(ascii: "\\"))
        guard unit < 0x20 || unit == 0x7F else { return put(unit) }
        for byte in [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0"), Self.hexadecimal(unit >> 4), Self.hexadecimal(unit & 15)] { put(byte) }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
