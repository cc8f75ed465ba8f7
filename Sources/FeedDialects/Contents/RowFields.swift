package import FeedCore

/// The members of one JSON object, each as its text, to be read by name. Valid only while the bytes exist.
package struct RowFields {
    package typealias Failure = JSONReader.Failure

    private var members: [(name: UnsafeBufferPointer<UInt8>, text: UnsafeBufferPointer<UInt8>)] = []

    /// Parses a text that is one object; nil if it is not, or if `read` fails.
    package static func read<Value>(_ text: ArraySlice<UInt8>, _ read: (RowFields) throws(Failure) -> Value?) -> Value? {
        text.withUnsafeBufferPointer { bytes in
            do throws(Failure) {
                var reader = JSONReader(bytes)
                let fields = try RowFields(&reader)
                try reader.end()
                return try read(fields)
            } catch { return nil }
        }
    }

    /// Parses a text that is an array of objects; nil if it is not.
    package static func readList<Element>(_ text: ArraySlice<UInt8>, _ read: (RowFields) throws(Failure) -> Element) -> [Element]? {
        text.withUnsafeBufferPointer { bytes in
            do throws(Failure) {
                var (reader, elements) = (JSONReader(bytes), [Element]())
                try reader.array { (reader) throws(Failure) in elements.append(try read(RowFields(&reader))) }
                try reader.end()
                return elements
            } catch { return nil }
        }
    }

    package init(_ reader: inout JSONReader) throws(Failure) {
        var members: [(name: UnsafeBufferPointer<UInt8>, text: UnsafeBufferPointer<UInt8>)] = []
        members.reserveCapacity(16)
        try reader.object { (reader, name) throws(Failure) in members.append((name, try reader.raw())) }
        self.members = members
    }

    /// A member's JSON text; nil if it is missing or null.
    package subscript(_ name: StaticString) -> UnsafeBufferPointer<UInt8>? {
        guard let text = members.first(where: { $0.name.isText(name) })?.text, text.first != UInt8(ascii: "n") else { return nil }
        return text
    }

    package func optionalString(_ name: StaticString) throws(Failure) -> String? {
        guard let text = self[name] else { return nil }
        var reader = JSONReader(text)
        return try reader.string()
    }

    package func string(_ name: StaticString) throws(Failure) -> String {
        guard let value = try optionalString(name) else { throw Self.missing }
        return value
    }

    package func optionalDecimal(_ name: StaticString) throws(Failure) -> DecimalString? {
        guard let text = self[name] else { return nil }
        var reader = JSONReader(text)
        guard let digits = try reader.scalar(), let value = DecimalString(digits) else { throw reader.failure("a decimal was expected") }
        return value
    }

    package func decimal(_ name: StaticString) throws(Failure) -> DecimalString {
        guard let value = try optionalDecimal(name) else { throw Self.missing }
        return value
    }

    package func optionalInteger<Integer: FixedWidthInteger>(_ name: StaticString) throws(Failure) -> Integer? {
        guard let text = self[name] else { return nil }
        guard let value = Integer(digits: text) else { throw JSONReader(text).failure("an integer was expected") }
        return value
    }

    package func integer<Integer: FixedWidthInteger>(_ name: StaticString) throws(Failure) -> Integer {
        guard let value: Integer = try optionalInteger(name) else { throw Self.missing }
        return value
    }

    /// A number in a range. Any other number is an error.
    package func integer<Integer: FixedWidthInteger>(_ name: StaticString, _ range: ClosedRange<Integer>) throws(Failure) -> Integer {
        let value: Integer = try integer(name)
        guard range.contains(value) else { throw JSONReader.Failure(reason: "a smaller number was expected", offset: 0) }
        return value
    }

    package func flag(_ name: StaticString) throws(Failure) -> Bool {
        guard let text = self[name] else { throw Self.missing }
        var reader = JSONReader(text)
        return try reader.boolean()
    }

    package func levels(_ name: StaticString) throws(Failure) -> [PriceLevel] {
        guard let text = self[name] else { throw Self.missing }
        var reader = JSONReader(text)
        return try PriceLevel.levels(&reader)
    }

    /// The objects of an array; nil if there is no array.
    package func list<Element>(_ name: StaticString, _ read: (RowFields) throws(Failure) -> Element) throws(Failure) -> [Element]? {
        guard let text = self[name] else { return nil }
        var elements: [Element] = []
        var reader = JSONReader(text)
        try reader.array { (reader) throws(Failure) in elements.append(try read(RowFields(&reader))) }
        return elements
    }

    /// The object of a member; nil if there is none.
    package func object(_ name: StaticString) throws(Failure) -> RowFields? {
        guard let text = self[name] else { return nil }
        var reader = JSONReader(text)
        return try RowFields(&reader)
    }

    /// The texts of an array.
    package func strings(_ name: StaticString) throws(Failure) -> [String] {
        guard let text = self[name] else { throw Self.missing }
        var (reader, strings) = (JSONReader(text), [String]())
        try reader.array { (reader) throws(Failure) in strings.append(try reader.string()) }
        return strings
    }

    private static let missing = JSONReader(UnsafeBufferPointer(start: nil, count: 0)).failure("a member is missing")
}
