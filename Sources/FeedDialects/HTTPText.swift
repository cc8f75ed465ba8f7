/// The beginning of a server's text, for an error message.
package enum Excerpt {
}

extension Sequence<UInt8> {
    /// The first bytes of a text, safe to log: invalid UTF-8 and control characters are replaced; at most 512 bytes remain.
    package var excerpt: String {
        var excerpt = ""
        var length = 0
        for scalar in String(decoding: Array(prefix(Excerpt.maximumBytes)), as: UTF8.self).unicodeScalars {
            let printable = scalar.properties.generalCategory == .control ? " " : scalar
            length += String(printable).utf8.count
            if length > Excerpt.maximumBytes { break }
            excerpt.unicodeScalars.append(printable)
        }
        return excerpt
    }
}

extension String {
    /// Whether the text is a token (RFC 9110 §5.6.2).
    package var isHTTPToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
