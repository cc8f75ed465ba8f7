import MicroHTTP

/// Why a message of an agent is refused, as JSON-RPC 2.0 (§5.1) and the Model Context Protocol say it.
struct AgentError: Error, Equatable {
    enum Code: Int {
        /// The body is no JSON.
        case malformed = -32700
        /// It is no message of JSON-RPC, or several.
        case notAMessage = -32600
        case unknownMethod = -32601
        case badParameters = -32602
        /// The access rules refuse it, or a limit is reached.
        case refused = -32000
        /// The value cannot be had now, or is not proved to be current.
        case unavailable = -32001
        /// A field of the request's head does not say what its body says.
        case headerMismatch = -32020
        case unsupportedVersion = -32022
    }

    let code: Code
    /// What went wrong, and what to do.
    let message: String
    /// A JSON text that tells more; nil if there is none.
    var data: String?
    /// The answer's status, if the code alone does not say it.
    var status: Int?
    var headers: [HTTPHeader] = []

    init(_ code: Code, _ message: String, data: String? = nil) {
        self.code = code
        self.message = message
        self.data = data
    }

    /// A problem of the gateway's other resources.
    init(_ problem: HTTPProblem) {
        self.init(.refused, problem.detail ?? problem.title)
        status = problem.status
        headers = problem.headers
    }

    /// The status of the answer. Of the protocol's own errors MCP 2026-07-28 names it; before, only a message that cannot be read had one.
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
