import FeedCore

/// The variables of an operation, with `{key}` where the name's key goes.
///
/// A key is put between the quotes of a JSON text that was checked beforehand, and holds nothing that could end them, so that no name can change
/// what is asked for: the document is a constant, and a key is never more than a piece of a string.
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
    /// - Throws: `FeedError` where it is none.
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

    /// The variables for a key; nil where it is no key, or one is wanted and missing, or given and not wanted.
    func variables(key: String?) -> String? {
        guard takesKey else { return key == nil ? text : nil }
        guard let key, Self.isKey(key) else { return nil }
        return text.replacing(Self.placeholder, with: key)
    }

    /// Letters, digits and `. _ - / : ^ = + &` of ASCII, 64 at most: what tickers, pairs and identifiers are written with.
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
