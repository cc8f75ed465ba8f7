package import FeedCore

/// The one-letter fields of one event, parsed in place: a slot per letter instead of a dictionary.
///
/// A bar's fields are in a nested object (`k`); they overwrite letters that the event does not use.
struct WireFields: ~Copyable {
    typealias Failure = JSONReader.Failure

    private(set) var symbol = ""
    private(set) var bids: [PriceLevel]?
    private(set) var asks: [PriceLevel]?
    private(set) var previousUpdateID: UInt64?
    private(set) var averagePrice: DecimalString?
    private(set) var normalQuantity: DecimalString?
    /// The pair and contract type of a continuous bar.
    private(set) var pair = ""
    private(set) var contractType = ""

    /// The expected symbol, if the stream has one: it is compared and not copied.
    private let expectedSymbol: String?
    /// The value of each letter: a text, a decimal number or an integer, depending on the letter's bit in the next three properties. A value without
    /// a bit is invalid, so the next row does not need to clear the values.
    private let values: UnsafeMutableRawPointer
    private static let valueBytes = 16
    private var texts: UInt64 = 0
    private var decimals: UInt64 = 0
    private var integers: UInt64 = 0
    /// One bit per letter: whether it is a flag, and the flag's value.
    private var flags: UInt64 = 0
    private var trueFlags: UInt64 = 0

    /// Parses objects one by one, with room for a value per letter.
    static func with<Result>(symbol: String?, _ body: (inout WireFields) throws(Failure) -> Result) throws(Failure) -> Result {
        try withUnsafeTemporaryAllocation(byteCount: 64 * valueBytes, alignment: 16) { values throws(Failure) in
            guard let start = values.baseAddress else { throw Failure(reason: "there is not enough memory", offset: 0) }
            var fields = WireFields(symbol, values: start)
            return try body(&fields)
        }
    }

    private init(_ symbol: String?, values: UnsafeMutableRawPointer) {
        expectedSymbol = symbol
        self.values = values
    }

    /// Parses an object and discards the previous one.
    mutating func read(_ reader: inout JSONReader) throws(Failure) {
        (texts, decimals, integers, flags, trueFlags) = (0, 0, 0, 0, 0)
        (symbol, pair, contractType) = ("", "", "")
        (bids, asks, previousUpdateID, averagePrice, normalQuantity) = (nil, nil, nil, nil, nil)
        try readMembers(&reader)
    }

    private mutating func readMembers(_ reader: inout JSONReader) throws(Failure) {
        guard try reader.open(UInt8(ascii: "{"), UInt8(ascii: "}")) else { return }
        repeat {
            if let letter = reader.shortName() {
                try take(&reader, letter)
            } else {
                let name = try reader.name()
                switch name.count {
                case 1: try take(&reader, name[0])
                case 2: try takePair(&reader, name)
                default: try reader.skip()
                }
            }
        } while try reader.another(before: UInt8(ascii: "}"))
    }

    @inline(__always)
    private mutating func take(_ reader: inout JSONReader, _ letter: UInt8) throws(Failure) {
        guard let slot = Self.slot(letter) else {
            try reader.skip()
            return
        }
        switch reader.current {
        case UInt8(ascii: "\"") where letter != UInt8(ascii: "s"):
            if letter != UInt8(ascii: "e"), let decimal = reader.plain({ $0.quotedDecimal() }) {
                put(decimal, at: slot)
            } else {
                put(try reader.rawString(), at: slot)
            }
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            if let integer = reader.plain({ $0.integer() }) { put(integer, at: slot) } else { put(try reader.number(), at: slot) }
        default: try take(&reader, letter, slot)
        }
    }

    private mutating func take(_ reader: inout JSONReader, _ letter: UInt8, _ slot: Int) throws(Failure) {
        switch (try reader.peek(), letter) {
        case (.string, UInt8(ascii: "s")): try takeSymbol(&reader)
        case (.string, _): put(try reader.rawString(), at: slot)
        case (.number, _): put(try reader.number(), at: slot)
        case (.array, UInt8(ascii: "b")): bids = try PriceLevel.levels(&reader)
        case (.array, UInt8(ascii: "a")): asks = try PriceLevel.levels(&reader)
        case (.object, UInt8(ascii: "k")), (.object, UInt8(ascii: "o")): try readMembers(&reader)
        case (.boolean, _):
            flags |= 1 << UInt64(slot)
            if try reader.boolean() { trueFlags |= 1 << UInt64(slot) } else { trueFlags &= ~(1 << UInt64(slot)) }
        case (.null, _):
            try reader.null()
            forget(slot)
        case (.object, _), (.array, _): try reader.skip()
        }
    }

    private mutating func takeSymbol(_ reader: inout JSONReader) throws(Failure) {
        let start = reader.position
        let text = try reader.rawString()
        if var expected = expectedSymbol, expected.withUTF8({ $0.isEqual(to: text) }) {
            symbol = expected
        } else {
            reader = reader.reader(at: start)
            symbol = try reader.string()
        }
    }

    @inline(__always)
    private mutating func forget(_ slot: Int) {
        let others: UInt64 = ~(1 &<< UInt64(slot))
        (texts, decimals, integers) = (texts & others, decimals & others, integers & others)
    }

    @inline(__always)
    private mutating func put(_ text: UnsafeBufferPointer<UInt8>, at slot: Int) {
        forget(slot)
        texts |= 1 &<< UInt64(slot)
        values.storeBytes(of: text, toByteOffset: slot * Self.valueBytes, as: UnsafeBufferPointer<UInt8>.self)
    }

    @inline(__always)
    private mutating func put(_ decimal: DecimalString, at slot: Int) {
        forget(slot)
        decimals |= 1 &<< UInt64(slot)
        values.storeBytes(of: decimal, toByteOffset: slot * Self.valueBytes, as: DecimalString.self)
    }

    @inline(__always)
    private mutating func put(_ integer: UInt64, at slot: Int) {
        forget(slot)
        integers |= 1 &<< UInt64(slot)
        values.storeBytes(of: integer, toByteOffset: slot * Self.valueBytes, as: UInt64.self)
    }

    /// Reads the two-letter fields: a depth update's `pu`, a liquidation's `ap`, an aggregate trade's `nq`, a continuous bar's `ps` and `ct`.
    private mutating func takePair(_ reader: inout JSONReader, _ key: UnsafeBufferPointer<UInt8>) throws(Failure) {
        switch (key[0], key[1], try reader.peek()) {
        case (UInt8(ascii: "p"), UInt8(ascii: "u"), .number): previousUpdateID = try reader.integer()
        case (UInt8(ascii: "a"), UInt8(ascii: "p"), .string):
            let text = try reader.rawString()
            averagePrice = DecimalString(text)
        case (UInt8(ascii: "n"), UInt8(ascii: "q"), .string): normalQuantity = DecimalString(try reader.rawString())
        case (UInt8(ascii: "p"), UInt8(ascii: "s"), .string): pair = try reader.string()
        case (UInt8(ascii: "c"), UInt8(ascii: "t"), .string): contractType = try reader.string()
        default: try reader.skip()
        }
    }

    @inline(__always)
    private static func slot(_ letter: UInt8) -> Int? { (letter | 0x20) &- UInt8(ascii: "a") < 26 ? Int(letter & 63) : nil }

    /// The field's value, if its bit is set in `kind`, which corresponds to this type.
    @inline(__always)
    private func value<Value: BitwiseCopyable>(_ letter: Unicode.Scalar, in kind: UInt64, as type: Value.Type) -> Value? {
        guard let slot = Self.slot(UInt8(truncatingIfNeeded: letter.value)), kind & 1 &<< UInt64(slot) != 0 else { return nil }
        return values.load(fromByteOffset: slot * Self.valueBytes, as: type)
    }

    @inline(__always)
    private func text(_ letter: Unicode.Scalar) -> UnsafeBufferPointer<UInt8>? { value(letter, in: texts, as: UnsafeBufferPointer<UInt8>.self) }

    @inline(__always)
    private func number(_ letter: Unicode.Scalar) -> DecimalString? { value(letter, in: decimals, as: DecimalString.self) }

    @inline(__always)
    private func whole(_ letter: Unicode.Scalar) -> UInt64? { value(letter, in: integers, as: UInt64.self) }

    /// Whether the field is present and not null.
    @inline(__always)
    private func has(_ letter: Unicode.Scalar) -> Bool {
        Self.slot(UInt8(truncatingIfNeeded: letter.value)).map { (texts | decimals | integers) & 1 &<< UInt64($0) != 0 } ?? false
    }

    /// Whether the field equals the word.
    func isWord(_ letter: Unicode.Scalar, _ word: StaticString) -> Bool {
        text(letter)?.isText(word) ?? false
    }

    /// The venue's time of the event; nil if it has none.
    func eventTime(_ reader: JSONReader) throws(Failure) -> Int64? {
        has("E") ? try integer("E", reader) : nil
    }

    func decimal(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> DecimalString {
        if let decimal = number(letter) { return decimal }
        guard let decimal = text(letter).map({ DecimalString($0) }) ?? whole(letter).map({ DecimalString("\($0)") }) ?? nil else {
            throw reader.failure("a decimal is missing, malformed or longer than 32 characters")
        }
        return decimal
    }

    /// Nil if the field is missing, null or empty.
    func optionalDecimal(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> DecimalString? {
        guard has(letter), text(letter)?.isEmpty != true else { return nil }
        return try decimal(letter, reader)
    }

    func integer<Integer: FixedWidthInteger>(
        _ letter: Unicode.Scalar, _ reader: JSONReader, _ type: Integer.Type = Integer.self
    ) throws(Failure) -> Integer {
        let value =
            if let integer = whole(letter) { Integer(exactly: integer) } else if let text = text(letter) { Integer(digits: text) } else {
                number(letter).flatMap { Integer($0.text) }
            }
        guard let value else { throw reader.failure("an integer is missing or malformed") }
        return value
    }

    /// A word, such as `BUY`; nil if the field is missing.
    func word(_ letter: Unicode.Scalar) -> String? {
        if let text = text(letter) { return String(decoding: text, as: UTF8.self) }
        return number(letter)?.text ?? whole(letter).map { "\($0)" }
    }

    /// A trade id; nil for -1, which means none.
    func tradeID(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> UInt64? {
        let id = try integer(letter, reader, Int64.self)
        return UInt64(exactly: id)
    }

    func flag(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> Bool {
        guard let slot = Self.slot(UInt8(ascii: letter)), flags & 1 << UInt64(slot) != 0 else { throw reader.failure("a flag is missing") }
        return trueFlags & 1 << UInt64(slot) != 0
    }
}

extension PriceLevel {
    /// The minimum size of most levels in bytes, to reserve room for a whole list.
    static let leastBytes = 24

    /// Parses `[["price","quantity"],…]`. Refuses a price that cannot be compared (more than 18 digits before or after the point).
    package static func levels(_ reader: inout JSONReader) throws(JSONReader.Failure) -> [PriceLevel] {
        guard try reader.open(UInt8(ascii: "["), UInt8(ascii: "]")) else { return [] }
        var levels: [PriceLevel] = []
        levels.reserveCapacity(min(reader.remaining / leastBytes, 1000) + 1)
        repeat {
            let level = if let level = reader.plain({ $0.level() }) { level } else { try level(&reader) }
            guard level.isComparable else { throw reader.failure("a level is not a price and a quantity") }
            levels.append(level)
        } while try reader.another(before: UInt8(ascii: "]"))
        return levels
    }

    private static func level(_ reader: inout JSONReader) throws(JSONReader.Failure) -> PriceLevel {
        let (first, second) = try reader.pair()
        guard let first, let second, let price = DecimalString(first), let quantity = DecimalString(second) else {
            throw reader.failure("a level is not a decimal or is longer than 32 characters")
        }
        return PriceLevel(price: price, quantity: quantity)
    }
}
