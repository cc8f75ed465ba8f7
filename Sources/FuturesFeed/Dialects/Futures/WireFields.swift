import FeedCore

/// The one-letter fields of one event, held in place: a slot for each letter, without a dictionary.
///
/// A bar's fields stand in an object of their own (`k`), next to the event's; they overwrite letters the event itself has no use for.
struct WireFields {
    typealias Failure = JSONReader.Failure

    private(set) var event = ""
    private(set) var symbol = ""
    private(set) var eventTime: Int64?
    private(set) var bids: [PriceLevel]?
    private(set) var asks: [PriceLevel]?
    private(set) var previousUpdateID: UInt64?
    private(set) var averagePrice: DecimalString?
    /// A continuous bar's pair and contract type.
    private(set) var pair = ""
    private(set) var contractType = ""

    private var slots: InlineArray<64, Slot> = InlineArray(repeating: Slot())

    private struct Slot {
        var text: UnsafeBufferPointer<UInt8>?
        var isTrue: Bool?
    }

    mutating func read(_ reader: inout JSONReader) throws(Failure) {
        var fields = self
        defer { self = fields }
        try reader.object { (reader, key) throws(Failure) in try fields.take(&reader, key) }
    }

    private mutating func take(_ reader: inout JSONReader, _ key: UnsafeBufferPointer<UInt8>) throws(Failure) {
        if key.count == 2 {
            try takePair(&reader, key)
            return
        }
        guard key.count == 1, let slot = Self.slot(key[0]) else {
            try reader.skip()
            return
        }
        switch (key[0], try reader.peek()) {
        case (UInt8(ascii: "e"), .string): event = try reader.string()
        case (UInt8(ascii: "s"), .string): symbol = try reader.string()
        case (UInt8(ascii: "E"), .number):
            let start = reader.position
            eventTime = try reader.integer()
            var again = reader.reader(at: start)
            slots[slot].text = try again.scalar()
        case (UInt8(ascii: "b"), .array): bids = try PriceLevel.levels(&reader)
        case (UInt8(ascii: "a"), .array): asks = try PriceLevel.levels(&reader)
        case (UInt8(ascii: "k"), .object), (UInt8(ascii: "o"), .object): try reader.object { (reader, key) throws(Failure) in try take(&reader, key) }
        case (_, .boolean): slots[slot].isTrue = try reader.boolean()
        case (_, .string), (_, .number), (_, .null): slots[slot].text = try reader.scalar()
        case (_, .object), (_, .array): try reader.skip()
        }
    }

    /// The fields with names of two letters: a depth update's `pu`, a liquidation's `ap`, a continuous bar's `ps` and `ct`.
    private mutating func takePair(_ reader: inout JSONReader, _ key: UnsafeBufferPointer<UInt8>) throws(Failure) {
        switch (key[0], key[1], try reader.peek()) {
        case (UInt8(ascii: "p"), UInt8(ascii: "u"), .number): previousUpdateID = try reader.integer()
        case (UInt8(ascii: "a"), UInt8(ascii: "p"), .string):
            let text = try reader.rawString()
            if DecimalString.isDecimal(text) { averagePrice = DecimalString(checked: String(decoding: text, as: UTF8.self)) }
        case (UInt8(ascii: "p"), UInt8(ascii: "s"), .string): pair = try reader.string()
        case (UInt8(ascii: "c"), UInt8(ascii: "t"), .string): contractType = try reader.string()
        default: try reader.skip()
        }
    }

    private static func slot(_ letter: UInt8) -> Int? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(letter - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(letter - UInt8(ascii: "a")) + 32
        default: nil
        }
    }

    /// A bar's interval.
    var interval: String { text("i").map { String(decoding: $0, as: UTF8.self) } ?? "" }

    private func text(_ letter: Unicode.Scalar) -> UnsafeBufferPointer<UInt8>? {
        Self.slot(UInt8(ascii: letter)).flatMap { slots[$0].text }
    }

    func decimal(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> DecimalString {
        guard let text = text(letter), DecimalString.isDecimal(text) else { throw reader.failure("a decimal is missing or is none") }
        return DecimalString(checked: String(decoding: text, as: UTF8.self))
    }

    /// Nil where the field is missing, null or empty.
    func optionalDecimal(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> DecimalString? {
        guard let text = text(letter), !text.isEmpty else { return nil }
        return try decimal(letter, reader)
    }

    func integer<Integer: FixedWidthInteger>(
        _ letter: Unicode.Scalar, _ reader: JSONReader, _ type: Integer.Type = Integer.self
    ) throws(Failure) -> Integer {
        guard let text = text(letter), let value = Integer(String(decoding: text, as: UTF8.self)) else {
            throw reader.failure("an integer is missing or is none")
        }
        return value
    }

    /// A word, as in `BUY`; nil where the field is missing.
    func word(_ letter: Unicode.Scalar) -> String? {
        text(letter).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A trade id; nil for -1, which stands for none.
    func tradeID(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> UInt64? {
        let id = try integer(letter, reader, Int64.self)
        return UInt64(exactly: id)
    }

    func flag(_ letter: Unicode.Scalar, _ reader: JSONReader) throws(Failure) -> Bool {
        guard let slot = Self.slot(UInt8(ascii: letter)), let isTrue = slots[slot].isTrue else { throw reader.failure("a flag is missing") }
        return isTrue
    }
}

extension PriceLevel {
    /// Reads `[["price","quantity"],…]`. A price that cannot be compared by (more than 18 digits before or after the point) is refused.
    static func levels(_ reader: inout JSONReader) throws(JSONReader.Failure) -> [PriceLevel] {
        var levels: [PriceLevel] = []
        try reader.array { (reader) throws(JSONReader.Failure) in
            var texts: [DecimalString] = []
            try reader.array { (reader) throws(JSONReader.Failure) in
                guard let text = try reader.scalar(), DecimalString.isDecimal(text) else { throw reader.failure("a level is not decimal") }
                texts.append(DecimalString(checked: String(decoding: text, as: UTF8.self)))
            }
            guard texts.count >= 2, texts[0].scaled != nil else { throw reader.failure("a level is not a price and a quantity") }
            levels.append(PriceLevel(price: texts[0], quantity: texts[1]))
        }
        return levels
    }
}
