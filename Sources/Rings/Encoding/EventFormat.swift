package import FeedCore

/// The format of a connection's events.
package enum EventFormat: Int, CaseIterable, Sendable {
    /// Server-sent events (WHATWG HTML §9.2), named after their kind.
    case events
    /// Server-sent events named after their stream; `event` in the data gives the kind.
    case byStream
    /// One JSON object per line; its `event` gives the kind.
    case lines
    /// WebSocket messages with the venue's own data.
    case frames
    /// The same, each in an envelope with the name of its stream.
    case combinedFrames

    /// The formats in which the events of a stream are encoded.
    package static let ofEvents: [EventFormat] = [.events, .byStream, .lines]

    /// Whether the ring has the venue's own messages, which have no id.
    package var isOfVenue: Bool { self == .frames || self == .combinedFrames }

    /// An event up to the part of its id that readers have in common, and where the id starts; for an event without id, the whole event and nil.
    package func text(_ words: EventWords, of stream: String) -> (text: [UInt8], idStart: Int?) {
        if self == .events { return words.id == nil ? (words.text + end(nil), nil) : (words.text, words.idStart) }
        let body: [UInt8] = words.name.withUTF8Buffer { self.body(named: $0, of: stream, words.data) }
        return words.id.map { (body + idStart($0), body.count) } ?? (body + end(nil), nil)
    }

    /// One event up to the place of its id. `members` is its data, a JSON object.
    package func body(_ event: StaticString, of stream: String?, _ members: [UInt8]) -> [UInt8] {
        event.withUTF8Buffer { body(named: $0, of: stream, members[...]) }
    }

    /// Converts an event of the format `events` to this format, up to the place of its id.
    package func body(of stream: String, like event: [UInt8]) -> [UInt8] {
        let lines = event.split(separator: UInt8(ascii: "\n"), maxSplits: 2)
        guard lines.count > 1 else { return [] }
        return lines[0].dropFirst(7).withUnsafeBufferPointer { body(named: $0, of: stream, lines[1].dropFirst(6)) }
    }

    private func body(named event: UnsafeBufferPointer<UInt8>, of stream: String?, _ members: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(members.count + 64)
        switch self {
        case .events:
            bytes.append("event: ")
            bytes.append(contentsOf: event)
        case .byStream:
            bytes.append("event: ")
            if let stream { bytes.append(contentsOf: stream.utf8) } else { bytes.append(contentsOf: event) }
        case .lines:
            bytes.append(naming: event, members)
            bytes.removeLast()
            return bytes
        case .frames, .combinedFrames: return []
        }
        bytes.append("\ndata: ")
        if self == .events { bytes.append(contentsOf: members) } else { bytes.append(naming: event, members) }
        bytes.append("\n")
        return bytes
    }

    /// How many bytes of an event's body follow the last member of its data.
    var closing: UInt64 { self == .lines ? 0 : 2 }

    /// The end of an event, with the point to resume from if it has one.
    package func end(_ point: ResumePoint?) -> [UInt8] {
        guard !isOfVenue else { return [] }
        guard let point else { return Array((self == .lines ? "}\n" : "\n").utf8) }
        return idStart(point.id) + idEnd(of: point.streams)
    }

    /// The end of an event after which a reader has no point to resume from. A browser keeps its last id until another one arrives. It sends no empty id
    /// when it reconnects (WHATWG HTML §9.2).
    package var endWithoutPoint: [UInt8] { isOfVenue ? [] : Array((self == .lines ? ",\"lastEventId\":\"\"}\n" : "id: \n\n").utf8) }

    /// The part of an event's end that is the same for all its readers.
    package func idStart(_ id: EventID) -> [UInt8] {
        let name: StaticString = self == .lines ? ",\"lastEventId\":\"" : "id: "
        return [UInt8](unsafeUninitializedCapacity: name.utf8CodeUnitCount + EventID.room + 1) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            start.initialize(from: name.utf8Start, count: name.utf8CodeUnitCount)
            count = name.utf8CodeUnitCount + id.write(to: start + name.utf8CodeUnitCount)
            start[count] = UInt8(ascii: ".")
            count += 1
        }
    }

    /// The same, converted from the format `events`.
    package func idStart(like id: [UInt8]) -> [UInt8] {
        id.isEmpty || self != .lines ? id : Array(",\"lastEventId\":\"".utf8) + id.dropFirst(4)
    }

    /// The rest of the end, for readers of these streams.
    package func idEnd(of streams: StreamSet) -> [UInt8] {
        isOfVenue ? [] : Array((self == .lines ? "\(streams)\"}\n" : "\(streams)\n\n").utf8)
    }

    /// Writes the result of `idEnd(of:)`, at most `idEndRoom` bytes, and returns its length.
    func writeIDEnd(of streams: StreamSet, to start: UnsafeMutablePointer<UInt8>) -> Int {
        guard !isOfVenue else { return 0 }
        let digits = streams.write(to: start)
        let rest: StaticString = self == .lines ? "\"}\n" : "\n\n"
        (start + digits).update(from: rest.utf8Start, count: rest.utf8CodeUnitCount)
        return digits + rest.utf8CodeUnitCount
    }

    static var idEndRoom: Int { 24 }

    /// The browser's delay before it reconnects; empty in the format `lines`, which does not support it.
    package func retry(_ milliseconds: Int) -> [UInt8] {
        self == .lines ? [] : Array("retry: \(milliseconds)\n".utf8)
    }

    /// A sign of life.
    package var heartbeat: [UInt8] { Array((self == .lines ? "\n" : ":\n\n").utf8) }

    /// The content type.
    package var contentType: String { self == .lines ? "application/x-ndjson" : "text/event-stream; charset=utf-8" }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) { text.withUTF8Buffer { append(contentsOf: $0) } }

    /// Appends the members, after a member with the event's kind.
    fileprivate mutating func append(naming event: UnsafeBufferPointer<UInt8>, _ members: ArraySlice<UInt8>) {
        let rest = members.dropFirst()
        append("{\"event\":\"")
        append(contentsOf: event)
        append(rest.first == UInt8(ascii: "}") ? "\"" : "\",")
        append(contentsOf: rest)
    }
}
