/// Checks request headers (RFC 9110 §5.1, §5.5), so that no value can begin a line of its own.
enum HTTPFields {
    /// - Throws: `TransportError` with code `invalidHeader`.
    static func check(_ headers: [(String, String)]) throws(TransportError) {
        for (name, value) in headers {
            guard isToken(name), value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
                throw TransportError(
                    .invalidHeader, "Header \(TransportError.excerpt(of: name.utf8)) has characters HTTP does not allow: remove them.")
            }
        }
    }

    /// Whether a text is a token (RFC 9110 §5.6.2).
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
