/// The subscriptions of one WebSocket connection, and the venue's answers to its messages (docs/reference/venues.md §4). A value type: it sends nothing itself.
struct ControlSession {
    static let streamLimit = 200
    static let messagesPerSecond = 10
    /// In bytes. An id is a number, or a text such as a UUID; the answer repeats it.
    static let longestID = 64

    struct Answer: Equatable {
        var replies: [String] = []
        var subscribed: [String] = []
        var unsubscribed: [String] = []
        /// Close with 1008 and this reason, after the replies.
        var close: String?
    }

    let route: WebSocketTarget.Route
    private(set) var combined: Bool
    /// In the order of subscription.
    private(set) var names: [String] = []
    private var held: Set<String> = []
    private var recentMessages: [Int64] = []

    init(_ target: WebSocketTarget) {
        route = target.route
        combined = target.combined
    }

    /// Subscribes the names of the connection's URL.
    mutating func open(_ streams: [String]) -> Answer { subscribe(streams, id: nil, acknowledged: false) }

    /// Counts a message of any kind; false if more than ten arrived within one second. `now` is on the monotonic clock (ms).
    mutating func admitsMessage(now: Int64) -> Bool {
        recentMessages.removeAll { $0 <= now - 1_000 }
        recentMessages.append(now)
        return recentMessages.count <= Self.messagesPerSecond
    }

    mutating func receive(_ text: String) -> Answer {
        guard let message = try? JSONValue(parsing: text) else {
            return failure(3, "Invalid JSON: expected value at line 1 column 1", id: nil)
        }
        guard case .object(let members) = message else {
            return failure(2, "Invalid request: request must be an object", id: nil)
        }
        var id: String?
        if let given = members["id"] {
            switch given {
            case .number(let text) where UInt64(text) != nil: id = text
            case .string(let text) where text.utf8.count <= Self.longestID: id = JSONValue.quoted(text)
            default: return failure(2, "Invalid request: request ID must be an unsigned integer or a short text", id: nil)
            }
        }
        guard let method = members["method"]?.string else {
            return failure(2, "Invalid request: missing field `method`", id: id)
        }
        switch method {
        case "SUBSCRIBE", "UNSUBSCRIBE":
            guard let params = members["params"]?.array else {
                return failure(2, "Invalid request: params must be an array of strings", id: id)
            }
            let streams = params.compactMap(\.string)
            guard streams.count == params.count else {
                return failure(2, "Invalid request: params must be an array of strings", id: id)
            }
            return method == "SUBSCRIBE" ? subscribe(streams, id: id, acknowledged: true) : unsubscribe(streams, id: id)
        case "LIST_SUBSCRIPTIONS":
            return result("[" + names.map(JSONValue.quoted).joined(separator: ",") + "]", id: id)
        case "SET_PROPERTY", "GET_PROPERTY":
            return property(members["params"]?.array ?? [], setting: method == "SET_PROPERTY", id: id)
        default:
            return failure(2, "Invalid request: unknown variant `\(method.prefix(40))`", id: id)
        }
    }

    private mutating func subscribe(_ streams: [String], id: String?, acknowledged: Bool) -> Answer {
        let added = streams.reduce(into: [String]()) { added, name in
            if !held.contains(name), !added.contains(name) { added.append(name) }
        }
        guard names.count + added.count <= Self.streamLimit else {
            var answer = failure(4, "Too many subscriptions; the limit is \(Self.streamLimit) streams per connection", id: id)
            answer.close = "Too many subscriptions"
            return answer
        }
        names += added
        held.formUnion(added)
        var answer = acknowledged ? result("null", id: id) : Answer()
        answer.subscribed = streams
        return answer
    }

    private mutating func unsubscribe(_ streams: [String], id: String?) -> Answer {
        let gone = Set(streams)
        names.removeAll { gone.contains($0) }
        held.subtract(gone)
        var answer = result("null", id: id)
        answer.unsubscribed = streams
        return answer
    }

    private mutating func property(_ params: [JSONValue], setting: Bool, id: String?) -> Answer {
        guard params.count <= (setting ? 2 : 1) else { return failure(2, "Invalid request: too many parameters", id: id) }
        guard let name = params.first?.string else { return failure(2, "Invalid request: property name must be a string", id: id) }
        guard name == "combined" else { return failure(0, "Unknown property", id: id) }
        guard setting else { return result(combined ? "true" : "false", id: id) }
        guard params.count == 2, let value = params[1].bool else {
            return failure(1, "Invalid value type: expected Boolean", id: id)
        }
        combined = value
        return result("null", id: id)
    }

    private func result(_ json: String, id: String?) -> Answer {
        Answer(replies: [#"{"result":\#(json),"id":\#(id ?? "null")}"#])
    }

    /// ApolloX and Aster put code and message at the top level, Binance into `error`.
    private func failure(_ code: Int, _ message: String, id: String?) -> Answer {
        let error = #""code":\#(code),"msg":\#(JSONValue.quoted(message))"#
        guard route != .everything else { return Answer(replies: ["{\(error)}"]) }
        return Answer(replies: [#"{"error":{\#(error)}"# + (id.map { #","id":\#($0)}"# } ?? "}")])
    }
}
