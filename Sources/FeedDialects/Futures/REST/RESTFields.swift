import FeedCore

/// The scalar fields of one object by name, and the requested lists of objects. Used for REST and for rare frames.
struct RESTFields {
    typealias Failure = JSONReader.Failure

    private var texts: [String: UnsafeBufferPointer<UInt8>] = [:]
    private var flags: [String: Bool] = [:]
    private var lists: [String: [RESTFields]] = [:]
    private(set) var symbolIfTold: String?
    private var place = 0

    init() {}

    init(_ reader: inout JSONReader, lists wanted: Set<String> = []) throws(Failure) {
        var fields = RESTFields()
        try reader.object { (reader, key) throws(Failure) in
            let key = String(decoding: key, as: UTF8.self)
            guard wanted.contains(key), try reader.peek() == .array else { return try fields.take(&reader, key) }
            var list: [RESTFields] = []
            try reader.array { (reader) throws(Failure) in list.append(try RESTFields(&reader)) }
            fields.lists[key] = list
        }
        self = fields
    }

    /// Skips an object and returns one of its members if that is a string; otherwise nil.
    ///
    /// - Throws: If the object is not JSON.
    static func text(_ key: StaticString, in reader: inout JSONReader) throws(Failure) -> String? {
        guard try reader.peek() == .object else {
            try reader.skip()
            return nil
        }
        var text: String?
        try reader.object { (reader, name) throws(Failure) in
            if name.isText(key), try reader.peek() == .string { text = try reader.string() } else { try reader.skip() }
        }
        return text
    }

    /// Skips an unreadable row of a list of all symbols, and records its symbol.
    ///
    /// - Parameters:
    ///   - start: The position at which the row starts.
    ///   - key: The member with the row's symbol.
    /// - Throws: If the row is not JSON.
    static func leaveOut(
        _ reader: inout JSONReader, from start: Int, symbol key: StaticString, _ error: Failure, _ leftOut: inout LeftOutRows
    ) throws(Failure) {
        reader = reader.reader(at: start)
        leftOut.add(try text(key, in: &reader), "\(error.reason)")
    }

    /// The objects of a list; empty if the list is missing.
    func list(_ key: String) -> [RESTFields] { lists[key] ?? [] }

    mutating func take(_ reader: inout JSONReader, _ key: String) throws(Failure) {
        place = reader.position
        switch try reader.peek() {
        case .string where key == "symbol": symbolIfTold = try reader.string()
        case .string, .number, .null: texts[key] = try reader.scalar()
        case .boolean: flags[key] = try reader.boolean()
        case .object, .array: try reader.skip()
        }
    }

    func symbol() throws(Failure) -> String {
        guard let symbolIfTold else { throw failure("a symbol is missing") }
        return symbolIfTold
    }

    func word(_ key: String) -> String? { texts[key].map { String(decoding: $0, as: UTF8.self) } }

    /// A required word.
    func required(_ key: String) throws(Failure) -> String {
        guard let word = word(key), !word.isEmpty else { throw failure("a word is missing") }
        return word
    }

    func decimal(_ key: String) throws(Failure) -> DecimalString {
        guard let text = texts[key], let decimal = DecimalString(text) else {
            throw failure("a decimal is missing, malformed or longer than 32 characters")
        }
        return decimal
    }

    func optionalDecimal(_ key: String) throws(Failure) -> DecimalString? {
        guard let text = texts[key], !text.isEmpty else { return nil }
        return try decimal(key)
    }

    func integer<Integer: FixedWidthInteger>(_ key: String, _ type: Integer.Type = Integer.self) throws(Failure) -> Integer {
        guard let text = texts[key], let value = Integer(digits: text) else {
            throw failure("an integer is missing or malformed")
        }
        return value
    }

    func flag(_ key: String) throws(Failure) -> Bool {
        guard let isTrue = flags[key] else { throw failure("a flag is missing") }
        return isTrue
    }

    private func failure(_ reason: StaticString) -> Failure { Failure(reason: reason, offset: place) }
}
