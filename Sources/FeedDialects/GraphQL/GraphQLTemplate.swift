import FeedCore

/// The variables of an operation, with `{key}` in place of the name's key.
///
/// A key is inserted between the quotes of a validated JSON text, and contains no character that could end the string. So no name can change the
/// query.
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
    /// - Throws: `FeedError` if it is not an object.
    init(_ text: String) throws(FeedError) {
        var copy = text
        let isObject = copy.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return (try? reader.peek()) == .object && (try? reader.skip()) != nil && (try? reader.end()) != nil
        }
        guard isObject else {
            throw FeedError(.malformed, "The variables of a GraphQL stream must be a JSON object, such as {\"symbol\":\"{key}\"}.")
        }
        self.text = text
        takesKey = text.contains(Self.placeholder)
    }

    /// The variables for a key; nil if the key is not allowed, is missing, or is given although none is expected.
    func variables(key: String?) -> String? {
        guard takesKey else { return key == nil ? text : nil }
        guard let key, Self.isKey(key) else { return nil }
        return text.replacing(Self.placeholder, with: key)
    }

    /// Whether the text has 1 to 64 ASCII letters, digits and `. _ - / : ^ = + &`, which suffices for tickers, pairs and identifiers.
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
