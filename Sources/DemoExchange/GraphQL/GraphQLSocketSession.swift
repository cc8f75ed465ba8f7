/// The messages and subscriptions of one WebSocket of the simulated GraphQL server, in either protocol. A value type without I/O: it takes text and
/// returns replies.
struct GraphQLSocketSession {
    enum Answer: Equatable {
        case send(String)
        case subscribe(id: String, PriceQuery)
        case unsubscribe(id: String)
        /// Closes the socket with this code.
        case close(Int, String)
    }

    let isLegacy: Bool
    private let token: String?
    private(set) var isAccepted = false
    private(set) var operations: [String: PriceQuery] = [:]

    /// - Parameter token: The `authToken` that the first message's payload must contain; nil accepts all clients.
    init(isLegacy: Bool, token: String?) {
        self.isLegacy = isLegacy
        self.token = token
    }

    mutating func receive(_ text: String) -> [Answer] {
        guard let message = try? JSONValue(parsing: text), let type = message["type"]?.string else {
            return isLegacy ? [.send(#"{"type":"connection_error","payload":{"message":"not a message"}}"#)] : [.close(4400, "Invalid message")]
        }
        switch (type, isLegacy) {
        case ("connection_init", _): return accept(message)
        case ("ping", false): return [.send(#"{"type":"pong"\#(Self.payload(message))}"#)]
        case ("pong", false): return []
        case ("subscribe", false), ("start", true): return start(message)
        case ("complete", false), ("stop", true):
            guard let id = message["id"]?.string, operations.removeValue(forKey: id) != nil else { return [] }
            return [.unsubscribe(id: id)] + (isLegacy ? [.send(#"{"type":"complete","id":\#(JSONValue.quoted(id))}"#)] : [])
        case ("connection_terminate", true): return [.close(1000, "")]
        default: return isLegacy ? [] : [.close(4400, "Unknown message type: \(type)")]
        }
    }

    private mutating func accept(_ message: JSONValue) -> [Answer] {
        guard !isAccepted else { return isLegacy ? [] : [.close(4429, "Too many initialisation requests")] }
        guard token == nil || message["payload"]?["authToken"]?.string == token else {
            guard isLegacy else { return [.close(4403, "Forbidden")] }
            return [.send(#"{"type":"connection_error","payload":{"message":"bad or missing authToken"}}"#), .close(1011, "")]
        }
        isAccepted = true
        return [.send(#"{"type":"connection_ack"}"#)] + (isLegacy ? [.send(#"{"type":"ka"}"#)] : [])
    }

    private mutating func start(_ message: JSONValue) -> [Answer] {
        guard let id = message["id"]?.string, let payload = message["payload"] else {
            return isLegacy ? [] : [.close(4400, "Invalid message")]
        }
        guard isAccepted || isLegacy else { return [.close(4401, "Unauthorized")] }
        guard isAccepted else { return [] }
        guard operations[id] == nil || isLegacy else { return [.close(4409, "Subscriber for \(id) already exists")] }
        do {
            let query = try PriceQuery(payload)
            operations[id] = query
            return [.subscribe(id: id, query)]
        } catch {
            let failure = PriceQuery.failure(error.message)
            return [.send(#"{"type":"error","id":\#(JSONValue.quoted(id)),"payload":\#(isLegacy ? failure : "[\(failure)]")}"#)]
        }
    }

    /// The message that carries a result to an operation.
    func next(id: String, _ result: String) -> String {
        #"{"type":"\#(isLegacy ? "data" : "next")","id":\#(JSONValue.quoted(id)),"payload":\#(result)}"#
    }

    /// The message that ends an operation on the server's side.
    mutating func complete(id: String) -> String {
        operations[id] = nil
        return #"{"type":"complete","id":\#(JSONValue.quoted(id))}"#
    }

    private static func payload(_ message: JSONValue) -> String {
        guard let payload = message["payload"]?["t"]?.scalarText else { return "" }
        return #","payload":{"t":\#(payload)}"#
    }
}
