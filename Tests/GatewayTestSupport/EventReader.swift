/// A reader of `/events`. Parses what it is asked for; what nobody asks for waits in the kernel's buffers and in memory.
package actor EventReader {
    /// The answer's head.
    package nonisolated let head: HTTPHead
    /// The `session` event.
    package nonisolated let session: ServerEvent
    package nonisolated let connection: RawConnection

    private var parser: ServerEventParser
    private var events: ArraySlice<ServerEvent>
    private var end: ConnectionEnd?

    init(_ connection: RawConnection) async throws {
        self.connection = connection
        var bytes: [UInt8] = []
        var head: HTTPHead?
        while head == nil {
            bytes += try await connection.receive(of: "the head of an event stream").readableBytesView
            head = try HTTPHead(&bytes)
        }
        guard let head, head.status == 200, head.header("Content-Type") == "text/event-stream; charset=utf-8" else {
            throw Unexpected("no event stream: \(head?.status ?? 0) \(String(decoding: bytes, as: UTF8.self))")
        }
        self.head = head
        var parser = ServerEventParser()
        var events = try parser.read(bytes)[...]
        while events.isEmpty { events = try parser.read(try await connection.receive(of: "the session").readableBytesView)[...] }
        let session = events.removeFirst()
        guard session.name == "session" else { throw Unexpected("\(session) before the session") }
        self.session = session
        self.parser = parser
        self.events = events
    }

    /// The id that controls this connection.
    package nonisolated var client: String { session.data["client"]?.text ?? "" }

    /// Heartbeats read so far.
    package var comments: Int { parser.comments }

    /// The next event; throws `ConnectionEnd` after the last.
    package func next(within limit: Duration = .seconds(30), of what: @autoclosure () -> String = "an event") async throws -> ServerEvent {
        while events.isEmpty {
            if let end { throw end }
            do {
                let bytes = try await connection.receive(within: limit, of: what())
                events = try parser.read(bytes.readableBytesView)[...]
            } catch let end as ConnectionEnd {
                guard end == .reset || parser.isBetweenEvents else { throw Unexpected("the stream ended within an event") }
                self.end = end
            }
        }
        return events.removeFirst()
    }

    /// The next event of these names that fits; others are passed over.
    package func next(
        _ names: String..., of stream: String? = nil, where fits: @Sendable (ServerEvent) -> Bool = { _ in true }
    ) async throws -> ServerEvent {
        while true {
            let event = try await next(of: "\(names.joined(separator: " or ")) of \(stream ?? "any stream")")
            if names.contains(event.name), stream == nil || stream == event.stream, fits(event) { return event }
        }
    }

    /// Everything up to the first event that fits, that one included.
    package func all(until isLast: @Sendable (ServerEvent) -> Bool) async throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        while true {
            let event = try await next(of: "the last of \(events.count) events")
            events.append(event)
            if isLast(event) { return events }
        }
    }

    /// Everything up to the connection's end, and how it ended.
    package func rest() async throws -> (events: [ServerEvent], end: ConnectionEnd) {
        var events: [ServerEvent] = []
        do {
            while true { events.append(try await next(of: "the end")) }
        } catch let end as ConnectionEnd {
            return (events, end)
        }
    }
}
