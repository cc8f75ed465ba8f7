import FuturesFeed
import GatewayAccess

/// One JSON-RPC 2.0 message, which is the body of one request.
struct AgentMessage: Sendable {
    /// The version of the Model Context Protocol whose messages are self-contained.
    static let version = "2026-07-28"
    /// The versions that start with `initialize`, newest first. PyPI's mcp 1.9 knows none after 2025-03-26, and mcp 1.23 none after 2025-06-18. Streamable
    /// HTTP, which this is, does not exist before 2025-03-26.
    static let legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26"]

    private static let versionKey = "io.modelcontextprotocol/protocolVersion"
    private static let capabilitiesKey = "io.modelcontextprotocol/clientCapabilities"

    /// The id as JSON text; nil for a notification, which gets no response.
    let id: String?
    let method: String
    let params: StrictJSON.Object

    /// Parses a body.
    init(_ body: [UInt8]) throws(AgentError) {
        guard let json = StrictJSON(body) else {
            throw AgentError(.malformed, "The body is not JSON text in UTF-8, is nested too deeply, or has a duplicate member.")
        }
        guard let members = json.object else {
            throw AgentError(
                .notAMessage, "The body must be one JSON-RPC message, an object. Batches are not supported: send each message separately.")
        }
        id = try Self.id(members["id"])
        guard members["jsonrpc"]?.string == "2.0", let method = members["method"]?.string else {
            throw AgentError(.notAMessage, "A message must have jsonrpc with the value \"2.0\", and a method. Responses are not accepted.")
        }
        self.method = method
        switch members["params"] {
        case nil, .null?: params = [:]
        case .object(let members)?: params = members
        default: throw AgentError(.notAMessage, "params must be an object.")
        }
    }

    private static func id(_ value: StrictJSON?) throws(AgentError) -> String? {
        switch value {
        case nil: return nil
        case .string(let text)? where text.utf8.count <= longestID: return jsonString(text)
        case .number(let text)? where text.utf8.count <= longestID && value?.integer != nil: return text
        default: throw AgentError(.notAMessage, "An id must be an integer, or a string of at most \(longestID) bytes.")
        }
    }

    /// Whether the message has the version with self-contained messages. The request's header fields must agree.
    ///
    /// - Parameter header: Returns a header field; nil if it is missing.
    func isModern(_ header: (String) -> String?) throws(AgentError) -> Bool {
        let named = header("MCP-Protocol-Version")
        guard let meta = params["_meta"]?.object, let own = meta[Self.versionKey] else {
            guard let named, !Self.legacyVersions.contains(named) else { return false }
            guard named == Self.version else { throw Self.unsupported(named) }
            guard id == nil else {
                throw AgentError(.badParameters, "params._meta must contain \(Self.versionKey) and \(Self.capabilitiesKey).")
            }
            return true
        }
        guard let own = own.string else { throw AgentError(.badParameters, "params._meta.\(Self.versionKey) must be a string.") }
        guard named == own else { throw Self.mismatch("MCP-Protocol-Version", "params._meta.\(Self.versionKey)") }
        guard header("Mcp-Method") == method else { throw Self.mismatch("Mcp-Method", "method") }
        if let key = Self.nameKey(of: method), let name = params[key]?.string, Self.plain(header("Mcp-Name")) != name {
            throw Self.mismatch("Mcp-Name", "params.\(key)")
        }
        guard own == Self.version else { throw Self.unsupported(own) }
        guard meta[Self.capabilitiesKey]?.object != nil else {
            throw AgentError(.badParameters, "params._meta must contain \(Self.capabilitiesKey).")
        }
        return true
    }

    private static func mismatch(_ field: String, _ member: String) -> AgentError {
        AgentError(.headerMismatch, "Header mismatch: the header \(field) must equal \(member) in the body.")
    }

    private static func unsupported(_ requested: String) -> AgentError {
        let supported = ([version] + legacyVersions).map(jsonString).joined(separator: ",")
        return AgentError(
            .unsupportedVersion, "Unsupported protocol version",
            data: "{\"supported\":[\(supported)],\"requested\":\(jsonString(String(requested.prefix(64))))}")
    }

    /// The parameter that the field `Mcp-Name` repeats; nil for methods without one.
    private static func nameKey(of method: String) -> String? {
        switch method {
        case "tools/call", "prompts/get": "name"
        case "resources/read": "uri"
        default: nil
        }
    }

    /// A field's value without the Base64 wrapping for characters that a field cannot contain.
    private static func plain(_ field: String?) -> String? {
        guard let field, field.hasPrefix("=?base64?"), field.hasSuffix("?="), field.utf8.count >= 11 else { return field }
        let digits = field.utf8.dropFirst(9).dropLast(2).map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return padding > 2 ? nil : Base64URL.decode(digits.dropLast(padding)).flatMap { String(validating: $0, as: UTF8.self) }
    }
}

/// The text as a JSON string.
func jsonString(_ text: String) -> String {
    var json = JSONWriter(capacity: text.utf8.count + 16)
    json.string(text)
    return String(decoding: json.bytes, as: UTF8.self)
}
