/// An RFC 9457 problem document.
public struct HTTPProblem: Error, Sendable {
    /// An extension member's value.
    public enum Value: Sendable {
        /// Valid JSON text, inserted unchanged.
        case json(String)
        /// A string, escaped here.
        case string(String)
        /// A list of strings, escaped here.
        case strings([String])
        /// An integer.
        case number(Int)
    }

    /// The status code, also a member of the document.
    public var status: Int
    /// A short, fixed summary of the kind of problem.
    public var title: String
    /// What went wrong in this case and what to do; `nil` omits the member. Never repeat the client's input here.
    public var detail: String?
    /// URI of the kind of problem; `about:blank` if the status suffices.
    public var type: String
    /// Extension members in order.
    public var extensions: [(name: String, value: Value)]
    /// Header fields of the response besides `Content-Type` and `Cache-Control`, such as `Retry-After`.
    public var headers: [HTTPHeader]

    /// Creates a problem; see the properties.
    public init(
        status: Int, title: String, detail: String? = nil, type: String = "about:blank", extensions: [(name: String, value: Value)] = [],
        headers: [HTTPHeader] = []
    ) {
        self.status = status
        self.title = title
        self.detail = detail
        self.type = type
        self.extensions = extensions
        self.headers = headers
    }

    /// The document as JSON text.
    public var json: String {
        var members = ["\"type\":\(type.jsonQuoted)", "\"title\":\(title.jsonQuoted)", "\"status\":\(status)"]
        if let detail { members.append("\"detail\":\(detail.jsonQuoted)") }
        for (name, value) in extensions {
            let text =
                switch value {
                case .json(let json): json
                case .string(let string): string.jsonQuoted
                case .strings(let strings): "[\(strings.map(\.jsonQuoted).joined(separator: ","))]"
                case .number(let number): String(number)
                }
            members.append("\(name.jsonQuoted):\(text)")
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// The response: `application/problem+json`, not to be stored.
    public var response: HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [HTTPHeader("Content-Type", "application/problem+json"), HTTPHeader("Cache-Control", "no-store")] + headers,
            body: Array(json.utf8))
    }
}

extension HTTPProblem {
    static func badRequest(_ detail: String) -> HTTPProblem { HTTPProblem(status: 400, title: "Bad Request", detail: detail) }
    static func upgradeRequired(_ detail: String) -> HTTPProblem {
        HTTPProblem(
            status: 426, title: "Upgrade Required", detail: detail,
            headers: [HTTPHeader("Upgrade", "websocket"), HTTPHeader("Sec-WebSocket-Version", "13")])
    }
    static let notFound = HTTPProblem(status: 404, title: "Not Found", detail: "No resource has this path.")
    static let requestTimeout = HTTPProblem(status: 408, title: "Request Timeout", detail: "The request did not arrive in time.")
    static let abandoned = HTTPProblem(status: 408, title: "Request Timeout", detail: "The client disconnected before the response.")
    static let contentTooLarge = HTTPProblem(status: 413, title: "Content Too Large", detail: "The request body is longer than this server accepts.")
    static let uriTooLong = HTTPProblem(status: 414, title: "URI Too Long", detail: "The request target is longer than this server accepts.")
    static let misdirected = HTTPProblem(
        status: 421, title: "Misdirected Request",
        detail: "This server does not serve this Host; its setting allowed-hosts lists the allowed names.")
    static let headersTooLarge = HTTPProblem(
        status: 431, title: "Request Header Fields Too Large", detail: "The request head is longer than this server accepts.")
    static let internalError = HTTPProblem(status: 500, title: "Internal Server Error", detail: "The request was not answered.")
    static let overloaded = HTTPProblem(
        status: 503, title: "Service Unavailable", detail: "All connections are in use. Try again later.", headers: [HTTPHeader("Retry-After", "5")])
    static let stopping = HTTPProblem(
        status: 503, title: "Service Unavailable", detail: "The server is stopping. Try again later.", headers: [HTTPHeader("Retry-After", "1")])

    static func methodNotAllowed(allow: String) -> HTTPProblem {
        HTTPProblem(
            status: 405, title: "Method Not Allowed", detail: "This resource allows \(allow).", headers: [HTTPHeader("Allow", allow)]
        )
    }
}

extension String {
    /// A JSON string literal (RFC 8259 §7).
    fileprivate var jsonQuoted: String {
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case _ where scalar.value < 0x20: text += "\\u00" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
