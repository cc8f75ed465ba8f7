/// Checks request headers (RFC 9110 §5.1, §5.5), so that no value can inject a line.
enum HTTPFields {
    /// - Throws: `TransportError` with code `invalidHeader`.
    static func check(_ headers: [(String, String)]) throws(TransportError) {
        for (name, value) in headers {
            guard name.isHTTPToken, value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
                throw TransportError(
                    .invalidHeader, "Header \(name.utf8.excerpt) has characters HTTP does not allow: remove them.")
            }
        }
    }
}
