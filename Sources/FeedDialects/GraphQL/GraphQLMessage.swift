/// One message of a GraphQL server, over any transport: a message of `graphql-transport-ws` or of the older `graphql-ws`, a part of a multipart
/// response, an event of an SSE response, or the response to a query.
struct GraphQLMessage {
    enum Kind {
        case acknowledged
        /// A ping; the client answers with a pong.
        case ping
        /// A pong, the older protocol's keep-alive, or the empty object of a multipart response.
        case alive
        /// The result of an operation: data, errors or both. More may follow.
        case result
        /// The operation failed and has ended.
        case failed
        /// The operation has ended.
        case complete
        /// The connection was not accepted, or a message was not understood.
        case refused
        /// An unknown message, which is skipped.
        case unknown
    }

    var kind = Kind.unknown
    /// The operation's id; nil if the transport carries only one operation.
    var id: String?
    /// The first error's text, and the number of errors.
    var errors: String?
    /// The JSON text of the value at the data path; nil if it is missing or null.
    var value: UnsafeBufferPointer<UInt8>?

    /// Parses one message.
    ///
    /// - Parameter path: The path of the wanted member in `data`, for an operation's id.
    init(_ bytes: UnsafeBufferPointer<UInt8>, path: (String?) -> [String]) throws(JSONReader.Failure) {
        var reader = JSONReader(bytes)
        var type: String?
        var payload: Int?
        var data: Int?
        var errors: Int?
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            let isString = try reader.peek() == .string
            if name.isText("type"), isString { return type = try reader.string() }
            if name.isText("id"), isString { return id = try reader.string() }
            if name.isText("payload") { payload = reader.position }
            if name.isText("data") { data = reader.position }
            if name.isText("errors") { errors = reader.position }
            try reader.skip()
        }
        try reader.end()
        if let type {
            kind = Self.kinds[type] ?? .unknown
            try read(payload.map { reader.reader(at: $0) }, path)
        } else if let payload, try !reader.reader(at: payload).isNull {
            kind = .result
            try read(reader.reader(at: payload), path)
        } else if data != nil || (errors != nil && payload == nil) {
            kind = .result
            try read(reader.reader(at: 0), path)
        } else if let errors {
            kind = .failed
            self.errors = try Self.words(reader.reader(at: errors))
        } else {
            kind = .alive
        }
    }

    private static let kinds: [String: Kind] = [
        "connection_ack": .acknowledged, "ping": .ping, "pong": .alive, "ka": .alive, "start_ack": .alive, "next": .result, "data": .result,
        "error": .failed, "complete": .complete, "connection_error": .refused,
    ]

    private mutating func read(_ payload: JSONReader?, _ path: (String?) -> [String]) throws(JSONReader.Failure) {
        guard let payload else { return }
        switch kind {
        case .failed, .refused: errors = try Self.words(payload)
        case .result:
            var payload = payload
            var (data, errors): (JSONReader?, JSONReader?)
            guard try payload.peek() == .object else { return }
            try payload.object { (reader, name) throws(JSONReader.Failure) in
                if name.isText("data") { data = reader }
                if name.isText("errors") { errors = reader }
                try reader.skip()
            }
            if let errors { self.errors = try Self.words(errors) }
            value = try data.flatMap { (data) throws(JSONReader.Failure) in try Self.value(in: data, path(id)[...]) }
        default: break
        }
    }

    private static func value(in reader: JSONReader, _ path: ArraySlice<String>) throws(JSONReader.Failure) -> UnsafeBufferPointer<UInt8>? {
        var reader = reader
        guard let member = path.first else { return try reader.isNull ? nil : reader.raw() }
        guard try reader.peek() == .object else { return nil }
        var found: JSONReader?
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            if name.elementsEqual(member.utf8) { found = reader }
            try reader.skip()
        }
        guard let found else { return nil }
        return try value(in: found, path.dropFirst())
    }

    /// The text of an error: an object with a `message` (or a `reason`), an array of such objects, or a string.
    private static func words(_ reader: JSONReader) throws(JSONReader.Failure) -> String? {
        var reader = reader
        var words: String?
        switch try reader.peek() {
        case .string: words = try reader.string()
        case .object:
            try reader.object { (reader, name) throws(JSONReader.Failure) in
                if words == nil, name.isText("message") || name.isText("reason"), try reader.peek() == .string {
                    words = try reader.string()
                } else {
                    try reader.skip()
                }
            }
            words = words ?? "an error without a message"
        case .array:
            var count = 0
            try reader.array { (reader) throws(JSONReader.Failure) in
                count += 1
                let next = try Self.words(reader)
                if count == 1 { words = next }
                try reader.skip()
            }
            if count > 1 { words = (words ?? "") + " (and \(count - 1) more)" }
        case .null: return nil
        case .number, .boolean: words = String(decoding: try reader.raw(), as: UTF8.self)
        }
        return words.map { $0.utf8.excerpt }
    }
}

extension JSONReader {
    fileprivate var isNull: Bool {
        get throws(Failure) {
            var copy = self
            return try copy.peek() == .null
        }
    }
}
