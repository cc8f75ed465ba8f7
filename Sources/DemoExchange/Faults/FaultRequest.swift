/// The bodies of `POST /control/fault`: `{"fault":NAME, …parameters}`. Durations are in milliseconds; `forMs` is how long the fault lasts.
extension Fault {
    struct Refused: Error {
        let message: String
    }

    static let names = [
        "drop", "dropRandomly", "refuse", "stall", "forget", "blackhole", "gap", "duplicate", "garbage", "restStatus", "restDelay", "restHang",
        "restHtml", "rateLimit", "restartIDs", "slowAck", "serverShutdown", "still", "halt",
    ]

    init(parsing text: String) throws(Refused) {
        guard case .object(let members)? = try? JSONValue(parsing: text), let name = members["fault"]?.string else {
            throw Refused(message: #"the body must be a JSON object such as {"fault":"drop"}"#)
        }
        var parameters = FaultParameters(members)
        self = try Self.make(name, &parameters)
        if let unknown = parameters.unused.first { throw Refused(message: "\(name) has no parameter \(unknown)") }
    }

    private static func make(_ name: String, _ given: inout FaultParameters) throws(Refused) -> Fault {
        switch name {
        case "drop":
            return .drop(code: try given.integer("code", 1_000...4_999).map(UInt16.init), afterBytes: try given.integer("afterBytes", 0...1 << 30))
        case "dropRandomly":
            let mean = try given.needed("meanMs", try given.milliseconds("meanMs"))
            return .dropRandomly(
                mean: mean, seed: UInt64(try given.integer("seed", 0...Int.max) ?? 1), duration: try given.milliseconds("forMs"))
        case "refuse": return .refuse(duration: try given.milliseconds("forMs"))
        case "stall": return .stall(streams: try given.texts("streams"), duration: try given.milliseconds("forMs"))
        case "still": return .still(duration: try given.milliseconds("forMs"))
        case "halt": return .halt(symbols: try given.texts("symbols") ?? [], duration: try given.milliseconds("forMs"))
        case "forget": return .forget(streams: try given.needed("streams", try given.texts("streams")))
        case "blackhole": return .blackhole(duration: try given.milliseconds("forMs"))
        case "gap": return .gap(stream: try given.stream(), count: try given.integer("count", 1...1_000) ?? 1)
        case "duplicate": return .duplicate(stream: try given.stream(), count: try given.integer("count", 1...1_000) ?? 1)
        case "garbage":
            let text = try given.text("text")
            return .garbage(text: text, stream: text == nil ? try given.stream() : try given.text("stream"))
        case "rateLimit":
            let status = try given.integer("status", 400...499) ?? 429
            guard status == 429 || status == 418 else { throw Refused(message: "status must be 429 or 418") }
            return .rateLimit(
                status: status, retryAfter: try given.integer("retryAfter", 0...1_000_000), duration: try given.milliseconds("forMs"))
        case "restartIDs": return .restartIDs
        case "slowAck":
            return .slowAck(try given.needed("delayMs", try given.milliseconds("delayMs")), duration: try given.milliseconds("forMs"))
        case "serverShutdown": return .serverShutdown(closeAfter: try given.milliseconds("closeAfterMs"))
        default:
            guard let fault = try rest(name, &given) else {
                throw Refused(message: "there is no fault \(name.prefix(40)); the names are \(names.joined(separator: ", "))")
            }
            return .rest(fault, path: try given.text("path"), duration: try given.milliseconds("forMs"))
        }
    }

    private static func rest(_ name: String, _ given: inout FaultParameters) throws(Refused) -> RESTFault? {
        switch name {
        case "restStatus":
            let status = try given.needed("status", try given.integer("status", 200...599))
            return .status(status, body: try given.text("body") ?? "{}", headers: try given.headers())
        case "restDelay": return .delay(try given.needed("delayMs", try given.milliseconds("delayMs")))
        case "restHang": return .hang
        case "restHtml": return .html500
        default: return nil
        }
    }
}

/// The members of a request's body, and which of them were not read.
private struct FaultParameters {
    private let members: [String: JSONValue]
    private(set) var unused: Set<String>

    init(_ members: [String: JSONValue]) {
        self.members = members
        unused = Set(members.keys).subtracting(["fault"])
    }

    private mutating func take(_ name: String) -> JSONValue? {
        unused.remove(name)
        return members[name] == .null ? nil : members[name]
    }

    func needed<Value>(_ name: String, _ value: Value?) throws(Fault.Refused) -> Value {
        guard let value else { throw Fault.Refused(message: "\(name) is missing") }
        return value
    }

    mutating func integer(_ name: String, _ range: ClosedRange<Int>) throws(Fault.Refused) -> Int? {
        guard let given = take(name) else { return nil }
        guard let value = given.integer, let value = Int(exactly: value), range.contains(value) else {
            throw Fault.Refused(message: "\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// At most a day.
    mutating func milliseconds(_ name: String) throws(Fault.Refused) -> Duration? {
        try integer(name, 1...86_400_000).map { .milliseconds($0) }
    }

    mutating func text(_ name: String) throws(Fault.Refused) -> String? {
        guard let given = take(name) else { return nil }
        guard let text = given.string else { throw Fault.Refused(message: "\(name) must be a string") }
        return text
    }

    mutating func stream() throws(Fault.Refused) -> String { try needed("stream", try text("stream")) }

    mutating func texts(_ name: String) throws(Fault.Refused) -> [String]? {
        guard let given = take(name) else { return nil }
        let texts = given.array?.compactMap(\.string)
        guard let texts, texts.count == given.array?.count else { throw Fault.Refused(message: "\(name) must be an array of strings") }
        return texts
    }

    mutating func headers() throws(Fault.Refused) -> [String: String] {
        guard let given = take("headers") else { return [:] }
        guard case .object(let members) = given else { throw Fault.Refused(message: "headers must be an object of strings") }
        let texts = members.compactMapValues(\.string)
        guard texts.count == members.count else { throw Fault.Refused(message: "headers must be an object of strings") }
        return texts
    }
}
