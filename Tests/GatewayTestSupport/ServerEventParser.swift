/// One server-sent event.
package struct ServerEvent: Sendable {
    package let name: String
    package let data: JSON
    package let id: String?
    package let retry: Int?

    package init(name: String, data: JSON, id: String? = nil, retry: Int? = nil) {
        self.name = name
        self.data = data
        self.id = id
        self.retry = retry
    }

    /// The stream it is about.
    package var stream: String { data["stream"]?.text ?? "" }
    package var kind: String? { data["kind"]?.text }
    package var content: JSON { data["content"] ?? .null }
    /// The content's rows, also where there is one only.
    package var rows: [JSON] { content.array ?? [content] }
    /// The sequence of the content's own id.
    package var sequence: UInt64 { data["id"]?.text.flatMap(Self.sequence) ?? 0 }

    /// The sequence of an id, `<epoch>.<sequence>`, or of a point to resume from, `<epoch>.<sequence>.<streams>`.
    package static func sequence(_ id: String) -> UInt64? {
        let numbers = id.split(separator: ".", omittingEmptySubsequences: false).map { UInt64($0, radix: 36) }
        return [2, 3].contains(numbers.count) && !numbers.contains(nil) ? numbers[1] : nil
    }
}

/// Reads an event stream and insists on every promise about its wire: line feeds only, UTF-8, one event and one data line each, JSON data on
/// one line, ids on `fetch` and `update` alone, of one epoch and strictly rising, `retry` on `session` and `bye` alone.
struct ServerEventParser {
    private var line: [UInt8] = []
    private var fields: [(name: String, value: String)] = []
    private var isComment = false
    private var lastID: (epoch: Substring, sequence: UInt64)?
    private(set) var comments = 0

    /// The events that `bytes` complete.
    mutating func read(_ bytes: some Sequence<UInt8>) throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            guard let text = String(validating: line, as: UTF8.self), !line.contains(UInt8(ascii: "\r")) else {
                throw Unexpected("a line that is not UTF-8 or has a carriage return: \(String(decoding: line, as: UTF8.self))")
            }
            line.removeAll(keepingCapacity: true)
            if text.isEmpty {
                if let event = try end() { events.append(event) }
            } else {
                try take(text)
            }
        }
        return events
    }

    /// Whether nothing is left half read.
    var isBetweenEvents: Bool { line.isEmpty && fields.isEmpty && !isComment }

    private mutating func take(_ text: String) throws {
        if text == ":" {
            guard fields.isEmpty, !isComment else { throw Unexpected("a comment inside an event") }
            isComment = true
            return
        }
        guard !isComment, let colon = text.firstIndex(of: ":"), text[text.index(after: colon)...].hasPrefix(" ") else {
            throw Unexpected("no field: \(text.prefix(200))")
        }
        let name = String(text[..<colon])
        guard ["retry", "event", "data", "id"].contains(name), !fields.contains(where: { $0.name == name }) else {
            throw Unexpected("a field too many: \(text.prefix(200))")
        }
        fields.append((name, String(text[colon...].dropFirst(2))))
    }

    private mutating func end() throws -> ServerEvent? {
        defer { (fields, isComment) = ([], false) }
        if isComment {
            comments += 1
            return nil
        }
        func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        guard let name = value("event"), let data = value("data") else { throw Unexpected("an event without a name or data: \(fields)") }
        let json = try JSON(data)
        guard case .object = json else { throw Unexpected("data that is no object: \(data.prefix(200))") }
        let id = value("id").flatMap { $0.isEmpty ? nil : $0 }
        if let id { try check(id, of: name) }
        // A reset forgets the reader's point to resume from, and nothing else does.
        guard (value("id") == "") == (name == "session" && json["resume"]?.text == "reset") else {
            throw Unexpected("\(name) with an empty id, or a reset without")
        }
        let retry = value("retry").map { Int($0) ?? -1 }
        guard (retry != nil) == ["session", "bye"].contains(name), retry ?? 0 >= 0 else { throw Unexpected("\(name) with retry \(retry ?? -1)") }
        return ServerEvent(name: name, data: json, id: id, retry: retry)
    }

    private mutating func check(_ id: String, of name: String) throws {
        let epoch = id.prefix { $0 != "." }
        guard ["fetch", "update"].contains(name), let sequence = ServerEvent.sequence(id) else { throw Unexpected("\(name) with id \(id)") }
        // Another ingest of a cluster begins another epoch, and its numbers rise all the same: by 2^32 at least.
        if let lastID, lastID.sequence >= sequence || (lastID.epoch != epoch && sequence - lastID.sequence < 1 << 32) {
            throw Unexpected("id \(id) after \(lastID)")
        }
        lastID = (epoch, sequence)
    }
}
