/// The checks that libmicrohttpd 0.9.75 does not make (RFC 9110 §5, RFC 9112 §3, §6.1, §6.3). They run before anything else reads a request.
struct RequestGuard: Sendable {
    /// The kind of body after the head.
    enum Body: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    /// The maximum memory of a request's head, so that the rest suffices for the response's head.
    private static let maximumHeadMemory = HTTPServer.connectionMemory - 4096

    private let allowedHosts: Set<String>?

    init(_ configuration: HTTPServerConfiguration) {
        allowedHosts = configuration.allowedHosts.map { names in
            let bound = configuration.host.lowercased()
            return Set(names.map { $0.lowercased() }).union(["localhost", "127.0.0.1", "[::1]", bound, "[\(bound)]"])
        }
    }

    /// The kind of body, or the problem with which to answer. `RequestTarget` checks the target.
    func admit(_ head: RequestHead) -> Result<Body, HTTPProblem> {
        guard head.isWellSpaced, head.method.isToken, head.version == "HTTP/1.1" || head.version == "HTTP/1.0" else {
            return .failure(.badRequest("The request line or the spacing of the head is malformed."))
        }
        for field in head.headers {
            guard field.name.isToken else { return .failure(.badRequest("A header name is not a token.")) }
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                return .failure(.badRequest("A header value contains a control character."))
            }
        }
        guard let raw = head.target else { return .failure(.badRequest("The request target is not UTF-8.")) }
        guard raw.utf8.count <= Self.maximumTargetBytes else { return .failure(.uriTooLong) }
        guard head.memory <= Self.maximumHeadMemory else { return .failure(.headersTooLarge) }
        if let problem = hostProblem(head) { return .failure(problem) }
        return framing(head)
    }

    private func hostProblem(_ head: RequestHead) -> HTTPProblem? {
        let hosts = head.headers.filter { $0.name.equalsIgnoringCase("Host") }
        if hosts.isEmpty && head.version == "HTTP/1.0" { return nil }
        guard hosts.count == 1, let name = hosts.first?.value.hostName else {
            return .badRequest("A request must have exactly one Host header: a name or an address with an optional port.")
        }
        guard let allowedHosts, !allowedHosts.contains(name.lowercased()) else { return nil }
        return .misdirected
    }

    private func framing(_ head: RequestHead) -> Result<Body, HTTPProblem> {
        let lengths = head.headers.filter { $0.name.equalsIgnoringCase("Content-Length") }
        let codings = head.headers.filter { $0.name.equalsIgnoringCase("Transfer-Encoding") }
        var body = Body.none
        switch (lengths.count, codings.count) {
        case (0, 0): break
        case (1, 0):
            let digits = lengths[0].value
            guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
                return .failure(.badRequest("Content-Length is not a number."))
            }
            // The route decides how long a body may be. A number beyond `Int` is always too large.
            guard let length = Int(digits) else { return .failure(.contentTooLarge) }
            body = length == 0 ? .none : .length(length)
        case (0, 1):
            guard head.version == "HTTP/1.1", codings[0].value.equalsIgnoringCase("chunked") else {
                return .failure(.badRequest("The only supported Transfer-Encoding is chunked, on HTTP/1.1."))
            }
            body = .chunked
        default:
            return .failure(.badRequest("A request may have Content-Length or Transfer-Encoding, not both, and only once."))
        }
        guard body == .none || !Self.bodiless.contains(head.method) else { return .failure(.badRequest("This method does not allow a body.")) }
        return .success(body)
    }

    private static let bodiless: Set<String> = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
}

extension String {
    /// Whether the text is a token (RFC 9110 §5.6.2).
    var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// The name in a `Host` value without its port, brackets kept; `nil` for anything but a name or an address.
    fileprivate var hostName: String? {
        let name: Substring
        let port: Substring
        if hasPrefix("[") {
            guard let close = firstIndex(of: "]") else { return nil }
            name = self[...close]
            port = self[index(after: close)...]
            guard name.dropFirst().dropLast().utf8.allSatisfy({ $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || $0.isHexDigit }) else {
                return nil
            }
        } else {
            name = prefix { $0 != ":" }
            port = self[name.endIndex...]
            guard name.utf8.allSatisfy(\.isHostByte) else { return nil }
        }
        guard !name.isEmpty, port.isEmpty || port.first == ":" && port.dropFirst().utf8.allSatisfy(\.isDigit) else { return nil }
        return String(name)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
    fileprivate var isHexDigit: Bool { isDigit || lowercasedASCII >= UInt8(ascii: "a") && lowercasedASCII <= UInt8(ascii: "f") }
    fileprivate var isHostByte: Bool {
        isDigit || lowercasedASCII >= UInt8(ascii: "a") && lowercasedASCII <= UInt8(ascii: "z") || "-._~".utf8.contains(self)
    }
}
