package import FuturesFeed

/// How events are written to a connection.
package enum EventFormat: Int, CaseIterable, Sendable {
    /// Server-sent events (WHATWG HTML §9.2), named after what happened.
    case events
    /// Server-sent events named after their stream; the data tells what happened as `event`.
    case byStream
    /// One JSON object a line, which tells what happened as `event`.
    case lines

    /// One event up to where its id would stand. `members` is its data, a JSON object.
    package func body(_ event: String, of stream: String?, _ members: [UInt8]) -> [UInt8] {
        switch self {
        case .events: Array("event: \(event)\ndata: ".utf8) + members + Array("\n".utf8)
        case .byStream: Array("event: \(stream ?? event)\ndata: ".utf8) + Self.naming(event, members) + Array("\n".utf8)
        case .lines: Array(Self.naming(event, members).dropLast())
        }
    }

    /// What ends an event: the point to resume from, where it carries one.
    package func end(_ id: EventID?) -> [UInt8] {
        switch self {
        case .events, .byStream: Array((id.map { "id: \($0)\n\n" } ?? "\n").utf8)
        case .lines: Array((id.map { ",\"lastEventId\":\"\($0)\"}\n" } ?? "}\n").utf8)
        }
    }

    /// The browser's delay before it reconnects; lines have no such thing.
    func retry(_ milliseconds: Int) -> [UInt8] {
        self == .lines ? [] : Array("retry: \(milliseconds)\n".utf8)
    }

    /// A sign of life.
    var heartbeat: [UInt8] { Array((self == .lines ? "\n" : ":\n\n").utf8) }

    /// The content type.
    var contentType: String { self == .lines ? "application/x-ndjson" : "text/event-stream; charset=utf-8" }

    private static func naming(_ event: String, _ members: [UInt8]) -> [UInt8] {
        let rest = members.dropFirst()
        let comma = rest.first == UInt8(ascii: "}") ? "" : ","
        return Array("{\"event\":\"\(event)\"\(comma)".utf8) + rest
    }
}
