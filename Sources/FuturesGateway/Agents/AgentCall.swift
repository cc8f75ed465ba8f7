import FuturesFeed
import MicroHTTP
import Rings

/// One request of an agent, and the ways to answer it.
struct AgentCall: Sendable {
    /// Its id as JSON text.
    let id: String
    /// Whether its protocol version requires self-contained responses (2026-07-28).
    let isModern: Bool
    let caller: Access.Caller
    let responder: HTTPResponder
    let tally: AgentTally

    func refuse(_ error: AgentError, as label: String) {
        tally.count(label, error.code == .unavailable ? .unavailable : .refused)
        responder.respond(AgentHandlers.response(error, id: id, isModern: isModern))
    }

    /// Sends a result, which is written on a server thread.
    ///
    /// - Parameters:
    ///   - label: The label under which the call is counted.
    ///   - cacheFor: How long the result may be cached, ms; nil to omit it.
    ///   - isPublic: Whether the result is the same for all callers.
    func result(
        as label: String, _ outcome: AgentTally.Outcome = .given, cacheFor: Int? = nil, isPublic: Bool = false,
        _ members: @escaping @Sendable (inout JSONWriter) -> Void
    ) {
        tally.count(label, outcome)
        responder.respond(200) { [id, isModern] in
            var json = JSONWriter(capacity: 1024)
            json.object {
                $0.member("jsonrpc", "2.0")
                $0.member("id")
                $0.raw(JSONRow(checked: id))
                $0.member("result")
                $0.object {
                    members(&$0)
                    guard isModern else { return }
                    $0.member("resultType", "complete")
                    if let cacheFor {
                        $0.member("ttlMs", cacheFor)
                        $0.member("cacheScope", isPublic ? "public" : "private")
                    }
                    $0.member("_meta")
                    $0.object {
                        $0.member("io.modelcontextprotocol/serverInfo")
                        Self.writeServer(&$0)
                    }
                }
            }
            return StreamHandlers.json(200, json.bytes)
        }
    }

    static func writeServer(_ json: inout JSONWriter) {
        json.object {
            $0.member("name", "futures-gateway")
            $0.member("version", GatewayService.version)
        }
    }

    /// Sends a tool's result, as JSON and, for clients that do not support such content, as text.
    func toolResult(as label: String, _ members: @escaping @Sendable (inout JSONWriter) -> Void) {
        result(as: label) { Self.write(EventEncoder.object(members), isError: false, &$0) }
    }

    /// Reports that a tool has no result.
    func toolError(_ outcome: AgentTally.Outcome, code: String, _ message: String, _ label: String) {
        result(as: label, outcome) { json in
            json.member("content")
            Self.writeText("\(message) (\(code))", &json)
            json.member("isError", true)
        }
    }

    func toolResult(_ found: ContentSearch.Found, of question: ContentQuestion, _ label: String) {
        switch found {
        case .content(let content, let status, let isSimulated):
            result(as: label) { Self.write(Self.object(content, status, isSimulated), isError: false, &$0) }
        case .quiet(let name, let status, let isSimulated):
            toolResult(as: label) {
                Self.write(name, status, isSimulated, &$0)
                $0.member("content")
                $0.null()
                $0.member("note", "The subscription is active and the connection is up, but no event has arrived yet.")
            }
        case .old(let status, let isSimulated, let message):
            result(as: label, .stale) { json in
                let object = EventEncoder.object {
                    Self.write(status.name, status, isSimulated, &$0)
                    $0.member("error")
                    $0.object {
                        $0.member("code", "notCurrent")
                        $0.member("message", message)
                    }
                }
                Self.write(object, isError: true, &json)
            }
        case .failed(let outcome, let code, let message): toolError(outcome, code: code, message, label)
        }
    }

    /// Sends a resource. It must not be cached, because its age would be wrong later.
    func resource(_ found: ContentSearch.Found, of question: ContentQuestion, _ uri: String) {
        let text: @Sendable () -> [UInt8]
        switch found {
        case .content(let content, let status, let isSimulated): text = { Self.object(content, status, isSimulated) }
        case .quiet(let name, let status, let isSimulated):
            text = {
                EventEncoder.object {
                    Self.write(name, status, isSimulated, &$0)
                    $0.member("content")
                    $0.null()
                }
            }
        case .old(let status, let isSimulated, let message):
            let data = EventEncoder.object { Self.write(status.name, status, isSimulated, &$0) }
            tally.count("read", .stale)
            let error = AgentError(.unavailable, message, data: String(decoding: data, as: UTF8.self))
            return responder.respond(AgentHandlers.response(error, id: id, isModern: isModern))
        case .failed(let outcome, _, let message):
            return refuse(AgentError(outcome == .refused ? .badParameters : .unavailable, message), as: "read")
        }
        result(as: "read", cacheFor: 0) { json in
            json.member("contents")
            json.array {
                $0.object {
                    $0.member("uri", uri)
                    $0.member("mimeType", "application/json")
                    $0.member("text", String(decoding: text(), as: UTF8.self))
                }
            }
        }
    }

    /// A content in the form of a snapshot, with a flag that says whether it is simulated.
    private static func object(_ content: FuturesServiceFeedContent, _ status: StreamStatus, _ isSimulated: Bool) -> [UInt8] {
        ContentEncoder.snapshot(content, status).dropLast() + Array(",\"simulated\":\(isSimulated)}".utf8)
    }

    private static func write(_ name: FuturesServiceStreamName, _ status: StreamStatus?, _ isSimulated: Bool, _ json: inout JSONWriter) {
        json.member("stream", name.description)
        json.member("state", (status?.state ?? .connecting).rawValue)
        json.market(status)
        json.member("ageMs", orNull: status?.ageMs)
        json.member("unverifiedMs", orNull: status?.unverifiedMs)
        json.member("simulated", isSimulated)
    }

    private static func write(_ object: [UInt8], isError: Bool, _ json: inout JSONWriter) {
        let text = String(decoding: object, as: UTF8.self)
        json.member("content")
        writeText(text, &json)
        json.member("structuredContent")
        json.raw(JSONRow(checked: text))
        json.member("isError", isError)
    }

    private static func writeText(_ text: String, _ json: inout JSONWriter) {
        json.array {
            $0.object {
                $0.member("type", "text")
                $0.member("text", text)
            }
        }
    }
}
