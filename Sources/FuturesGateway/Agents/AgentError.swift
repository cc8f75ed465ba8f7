import MicroHTTP

/// Why an agent's message is refused, by the codes of JSON-RPC 2.0 (§5.1) and the Model Context Protocol.
struct AgentError: Error, Equatable {
    enum Code: Int {
        /// The body is not JSON.
        case malformed = -32700
        /// The body is not a JSON-RPC message, or has several.
        case notAMessage = -32600
        case unknownMethod = -32601
        case badParameters = -32602
        /// The access rules refuse the message, or a limit is reached.
        case refused = -32000
        /// The value is unavailable, or not verified to be current.
        case unavailable = -32001
        /// A header field contradicts the body.
        case headerMismatch = -32020
        case unsupportedVersion = -32022
    }

    let code: Code
    /// What went wrong, and what to do.
    let message: String
    /// A JSON text with details; nil if there are none.
    var data: String?
    /// The HTTP status, if the code alone does not determine it.
    var status: Int?
    var headers: [HTTPHeader] = []

    init(_ code: Code, _ message: String, data: String? = nil) {
        self.code = code
        self.message = message
        self.data = data
    }

    /// An error for a problem of the gateway's other resources.
    init(_ problem: HTTPProblem) {
        self.init(.refused, problem.detail ?? problem.title)
        status = problem.status
        headers = problem.headers
    }

    /// The HTTP status of the response. MCP 2026-07-28 defines it for the protocol's own errors. In earlier versions, only an unreadable message had
    /// one.
    func status(isModern: Bool) -> Int {
        if let status { return status }
        switch code {
        case .malformed, .notAMessage, .headerMismatch, .unsupportedVersion: return 400
        case .badParameters: return isModern ? 400 : 200
        case .unknownMethod: return isModern ? 404 : 200
        case .refused, .unavailable: return 200
        }
    }

    static func == (a: Self, b: Self) -> Bool { a.code == b.code && a.message == b.message && a.data == b.data && a.status == b.status }
}
