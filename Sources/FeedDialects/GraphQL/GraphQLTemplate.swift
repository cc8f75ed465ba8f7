import FeedCore

/// The variables of an operation, with `{key}` in place of the name's key.
///
/// A key goes between the quotes of a JSON text that was checked before, and has no character that could end the string. So no name can change what
/// is asked for.
struct GraphQLTemplate: Sendable, Equatable {
    static let placeholder = "{key}"

    private let text: String
    let takesKey: Bool

    /// No variables.
    static let none = GraphQLTemplate()

    private init() {
        text = "{}"
        takesKey = false
    }

    /// - Parameter text: A JSON object.
    /// - Throws: `FeedError` if it is none.
    init(_ text: String) throws(FeedError) {
        var copy = text
        let isObject = copy.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return (try? reader.peek()) == .object && (try? reader.skip()) != nil && (try? reader.end()) != nil
        }
        guard isObject else { throw FeedError(.malformed, "The variables of a GraphQL stream are a JSON object, as in {\"symbol\":\"{key}\"}.") }
        self.text = text
        takesKey = text.contains(Self.placeholder)
    }

    /// The variables for a key; nil if the key is not allowed, or is missing, or is given though none is wanted.
    func variables(key: String?) -> String? {
        guard takesKey else { return key == nil ? text : nil }
        guard let key, Self.isKey(key) else { return nil }
        return text.replacing(Self.placeholder, with: key)
    }

    /// ASCII letters, digits and `. _ - / : ^ = + &`, 64 at most: enough for tickers, pairs and identifiers.
    static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "._-/:^=+&".utf8.contains(byte)
                }
            }
    }
}
