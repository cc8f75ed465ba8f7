/// A request that passed the guard and found its route.
public struct HTTPRequest: Sendable {
    /// The method as sent, an RFC 9110 token.
    public let method: String
    /// The target as sent: path and query.
    public let target: String
    /// The path as sent, still percent-encoded, without the query.
    public let path: String
    /// The decoded segments of the path. Empty for `/`.
    public let segments: [String]
    /// The decoded segments that matched the route's `{name}`s.
    public internal(set) var parameters: [String: String] = [:]
    /// The decoded query fields in order; `+` stays `+`.
    public let query: [(name: String, value: String)]
    /// The header fields in order, values without surrounding white space.
    public let headers: [HTTPHeader]
    /// The body, within the limit of its route.
    public internal(set) var body: [UInt8] = []
    /// The client's address without port; an IPv4 client of an IPv6 socket appears as IPv4.
    public let remoteAddress: String

    init(head: RequestHead, target: RequestTarget, remoteAddress: String) {
        method = head.method
        self.target = head.target ?? ""
        path = target.path
        segments = target.segments
        query = target.query
        headers = head.headers
        self.remoteAddress = remoteAddress
    }

    /// The field's value, `nil` if absent. Names match in any case; repeated fields are joined by `", "` (RFC 9110 §5.3).
    public func header(_ name: String) -> String? {
        headers.value(of: name)
    }

    /// The first value of a query field.
    public func query(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// Whether `Accept-Encoding` contains gzip, or a wildcard, with a weight above zero (RFC 9110 §12.5.3).
    public var acceptsGzip: Bool { headers.acceptsGzip }

    /// All values of a query field, in order.
    public func queries(_ name: String) -> [String] {
        query.compactMap { $0.name == name ? $0.value : nil }
    }
}

extension [HTTPHeader] {
    var acceptsGzip: Bool {
        guard let accepted = value(of: "Accept-Encoding") else { return false }
        let codings = accepted.split(separator: ",").map { coding in
            coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        }
        let weighed = codings.first { $0.first == "gzip" || $0.first == "x-gzip" } ?? codings.first { $0.first == "*" }
        return weighed.map { !$0.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil } } ?? false
    }

    func value(of name: String) -> String? {
        var found: String?
        for header in self where header.name.equalsIgnoringCase(name) {
            found = found.map { $0 + ", " + header.value } ?? header.value
        }
        return found
    }
}

extension String {
    /// Whether the names are equal except for ASCII case, which suffices for HTTP names.
    func equalsIgnoringCase(_ other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        return left.count == right.count && zip(left, right).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension UInt8 {
    var lowercasedASCII: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }
}
