import FeedCore

/// Parses one JSON text (RFC 8259) in place, member by member, without building a tree.
///
/// A string without escapes is returned as the bytes between its quotes, so skipping a field costs only a scan. Nesting is limited to 32 levels.
/// Every violation throws; no input can trap.
package struct JSONReader {
    package struct Failure: Error {
        package let reason: StaticString
        package let offset: Int
    }

    package enum Kind { case object, array, string, number, boolean, null }

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    private var depth = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// Parses a text.
    static func read<Result>(_ text: [UInt8], _ read: (inout JSONReader) throws(Failure) -> Result) throws(Failure) -> Result {
        try text.withUnsafeBufferPointer { (bytes) throws(Failure) in
            var reader = JSONReader(bytes)
            return try read(&reader)
        }
    }

    package func failure(_ reason: StaticString) -> Failure { Failure(reason: reason, offset: position) }

    /// The kind of the next value.
    package mutating func peek() throws(Failure) -> Kind {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"): return .null
        default: throw failure("a value was expected")
        }
    }

    /// Parses an object; calls `member` with each name, which must read the value.
    @inline(__always)
    package mutating func object(_ member: (inout JSONReader, UnsafeBufferPointer<UInt8>) throws(Failure) -> Void) throws(Failure) {
        guard try open(UInt8(ascii: "{"), UInt8(ascii: "}")) else { return }
        repeat { try member(&self, try name()) } while try another(before: UInt8(ascii: "}"))
    }

    /// Parses an array; calls `element` at each element, which must read it.
    @inline(__always)
    package mutating func array(_ element: (inout JSONReader) throws(Failure) -> Void) throws(Failure) {
        guard try open(UInt8(ascii: "["), UInt8(ascii: "]")) else { return }
        repeat { try element(&self) } while try another(before: UInt8(ascii: "]"))
    }

    /// Reads a member's name and the following colon.
    @inline(__always)
    mutating func name() throws(Failure) -> UnsafeBufferPointer<UInt8> {
        let name = try rawString()
        try expect(UInt8(ascii: ":"))
        return name
    }

    /// The number of unread bytes.
    var remaining: Int { bytes.count - position }

    /// Reads the opening bracket of an array and its first two elements, which must be scalars, and skips the others.
    @inline(__always)
    mutating func pair() throws(Failure) -> (UnsafeBufferPointer<UInt8>?, UnsafeBufferPointer<UInt8>?) {
        guard try open(UInt8(ascii: "["), UInt8(ascii: "]")) else { throw failure("a value was expected") }
        let first = try scalar()
        try expect(UInt8(ascii: ","))
        let second = try scalar()
        while try another(before: UInt8(ascii: "]")) { try skip() }
        return (first, second)
    }

    /// Reads a string and resolves its escapes.
    package mutating func string() throws(Failure) -> String {
        let raw = try rawString()
        if let text = String(short: raw) { return text }
        guard raw.contains(UInt8(ascii: "\\")) else {
            guard let text = String(utf8: raw) else { throw failure("a string is not UTF-8") }
            return text
        }
        return try unescape(raw)
    }

    /// Reads a string and returns the bytes between the quotes, with its escapes.
    @inline(__always)
    mutating func rawString() throws(Failure) -> UnsafeBufferPointer<UInt8> {
        try expect(UInt8(ascii: "\""))
        let start = position
        let end = plainEnd(from: start)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            position = end + 1
            return text(from: start, to: end)
        }
        return try rawString(from: start, at: end)
    }

    /// The position of the next byte that is a quote, a backslash or a control character, or is among the last seven. Eight bytes are tested at a
    /// time.
    @inline(__always)
    private func plainEnd(from start: Int) -> Int {
        guard let base = bytes.baseAddress else { return start }
        var end = start
        while bytes.count - end >= 8 {
            let eight = UInt64(littleEndian: UnsafeRawPointer(base + end).loadUnaligned(as: UInt64.self))
            let quotes = eight ^ 0x2222_2222_2222_2222
            let slashes = eight ^ 0x5C5C_5C5C_5C5C_5C5C
            // The first match is always right: a borrow marks only later bytes.
            let found =
                ((quotes &- 0x0101_0101_0101_0101) & ~quotes | (slashes &- 0x0101_0101_0101_0101) & ~slashes
                    | (eight &- 0x2020_2020_2020_2020) & ~eight) & 0x8080_8080_8080_8080
            if found != 0 { return end + found.trailingZeroBitCount / 8 }
            end += 8
        }
        return end
    }

    private mutating func rawString(from start: Int, at first: Int) throws(Failure) -> UnsafeBufferPointer<UInt8> {
        var end = first
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "\"") {
                position = end + 1
                return text(from: start, to: end)
            }
            if byte < 0x20 {
                position = end
                throw failure("a string contains a control character")
            }
            end += byte == UInt8(ascii: "\\") ? try escapeLength(at: end) : 1
        }
        position = end
        throw failure("a string is not terminated")
    }

    private mutating func escapeLength(at start: Int) throws(Failure) -> Int {
        if start + 1 < bytes.count, Self.escapes[bytes[start + 1]] != nil { return 2 }
        let digits = bytes.dropFirst(start + 2).prefix(4)
        let isUnit = start + 1 < bytes.count && bytes[start + 1] == UInt8(ascii: "u") && digits.count == 4
        guard isUnit, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 || ($0 | 0x20) &- UInt8(ascii: "a") < 6 }) else {
            position = start
            throw failure("an escape is unknown")
        }
        return 6
    }

    /// Reads a number or a string as its text; nil for null.
    @inline(__always)
    package mutating func scalar() throws(Failure) -> UnsafeBufferPointer<UInt8>? {
        if current == UInt8(ascii: "\"") { return try rawString() }
        switch try peek() {
        case .string: return try rawString()
        case .number: return try number()
        case .null:
            try null()
            return nil
        case .object, .array, .boolean: throw failure("a number or string was expected")
        }
    }

    mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) throws(Failure) -> Integer {
        guard let value = Integer(digits: try number()) else { throw failure("an integer was expected") }
        return value
    }

    package mutating func boolean() throws(Failure) -> Bool {
        skipSpace()
        let isTrue = current == UInt8(ascii: "t")
        try literal(isTrue ? "true" : "false")
        return isTrue
    }

    /// Skips any value, checks its syntax, and returns its text.
    package mutating func raw() throws(Failure) -> UnsafeBufferPointer<UInt8> {
        skipSpace()
        let start = position
        try skip()
        return text(from: start, to: position)
    }

    /// Skips any value and checks its syntax.
    mutating func skip() throws(Failure) {
        switch try peek() {
        case .object: try object { (reader, _) throws(Failure) in try reader.skip() }
        case .array: try array { (reader) throws(Failure) in try reader.skip() }
        case .string: _ = try rawString()
        case .number: _ = try number()
        case .boolean: _ = try boolean()
        case .null: try null()
        }
    }

    /// Checks that the text ends here.
    package mutating func end() throws(Failure) {
        skipSpace()
        guard position == bytes.count else { throw failure("extra text follows the value") }
    }

    /// A second reader at an earlier position, to read a skipped value again.
    func reader(at earlier: Int) -> JSONReader {
        var copy = self
        copy.position = min(earlier, bytes.count)
        return copy
    }

    /// The next byte; 0 after the end.
    @inline(__always)
    var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    /// Reads a number as its text.
    mutating func number() throws(Failure) -> UnsafeBufferPointer<UInt8> {
        skipSpace()
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        let firstDigit = position
        try digits()
        if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 { throw failure("a number has a leading zero") }
        if current == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if current | 0x20 == UInt8(ascii: "e") {
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        return text(from: start, to: position)
    }

    private mutating func digits() throws(Failure) {
        var end = position
        if let base = bytes.baseAddress {
            while bytes.count - end >= 8 {
                let others = EightCharacters(at: base + end).others
                end += others.trailingZeroBitCount / 8
                if others != 0 { break }
            }
        }
        while end < bytes.count, bytes[end] &- UInt8(ascii: "0") < 10 { end += 1 }
        guard end > position else { throw failure("a digit was expected") }
        position = end
    }

    private func text(from start: Int, to end: Int) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[start..<end]) }

    mutating func null() throws(Failure) { try literal("null") }

    private mutating func literal(_ text: StaticString) throws(Failure) {
        skipSpace()
        for offset in 0..<text.utf8CodeUnitCount {
            guard current == text.utf8Start[offset] else { throw failure("a literal is misspelt") }
            position += 1
        }
    }

    /// Reads the opening bracket of an object or an array; false if the closing one follows, which is also read.
    @inline(__always)
    mutating func open(_ bracket: UInt8, _ end: UInt8) throws(Failure) -> Bool {
        try expect(bracket)
        depth += 1
        guard depth <= 32 else { throw failure("values are nested deeper than 32") }
        return !close(end)
    }

    @inline(__always)
    private mutating func close(_ bracket: UInt8) -> Bool {
        skipSpace()
        guard current == bracket else { return false }
        position += 1
        depth -= 1
        return true
    }

    /// Reads a comma, or the closing bracket of an object or an array; returns whether there is another member or element.
    @inline(__always)
    mutating func another(before bracket: UInt8) throws(Failure) -> Bool {
        if close(bracket) { return false }
        try expect(UInt8(ascii: ","))
        return true
    }

    @inline(__always)
    private mutating func expect(_ byte: UInt8) throws(Failure) {
        skipSpace()
        guard current == byte, position < bytes.count else { throw failure("another character was expected") }
        position += 1
    }

    @inline(__always)
    private mutating func skipSpace() { if current <= 0x20 { skipSpaces() } }

    private mutating func skipSpaces() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private func unescape(_ raw: UnsafeBufferPointer<UInt8>) throws(Failure) -> String {
        var units: [UInt8] = []
        var pendingHigh: UInt16?
        var index = 0
        while index < raw.count {
            guard raw[index] == UInt8(ascii: "\\") else {
                if pendingHigh != nil { throw failure("a surrogate is unpaired") }
                units.append(raw[index])
                index += 1
                continue
            }
            guard index + 1 < raw.count else { throw failure("an escape is incomplete") }
            let escape = raw[index + 1]
            index += 2
            guard escape == UInt8(ascii: "u") else {
                if pendingHigh != nil { throw failure("a surrogate is unpaired") }
                guard let byte = Self.escapes[escape] else { throw failure("an escape is unknown") }
                units.append(byte)
                continue
            }
            guard index + 4 <= raw.count,
                let unit = UInt16(String(decoding: raw[index..<(index + 4)], as: UTF8.self), radix: 16)
            else { throw failure("an escape is incomplete") }
            index += 4
            if let high = pendingHigh {
                guard UTF16.isTrailSurrogate(unit) else { throw failure("a surrogate is unpaired") }
                units.append(contentsOf: String(decoding: [high, unit], as: UTF16.self).utf8)
                pendingHigh = nil
            } else if UTF16.isLeadSurrogate(unit) {
                pendingHigh = unit
            } else {
                guard let scalar = Unicode.Scalar(unit) else { throw failure("a surrogate is unpaired") }
                units.append(contentsOf: String(scalar).utf8)
            }
        }
        guard pendingHigh == nil, let text = String(utf8: units) else { throw failure("a string is not UTF-8") }
        return text
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C,
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]
}
