/// A reader of `/events`. Parses what it is asked for; what nobody asks for waits in the kernel's buffers and in memory.
package actor EventReader {
    /// The answer's head.
    package nonisolated let head: HTTPHead
    /// The first event, `session` but for agents.
    package nonisolated let session: ServerEvent
    package nonisolated let connection: RawConnection

    private var parser: ServerEventParser
    private var events: ArraySlice<ServerEvent>
    private var end: ConnectionEnd?
    private var inflater: Inflater?
    /// Bytes that came over the wire after the head.
    package private(set) var bytesReceived = 0

    /// - Parameter first: the name of the first event.
    package init(_ connection: RawConnection, first name: String = "session") async throws {
        self.connection = connection
        var bytes: [UInt8] = []
        var head: HTTPHead?
        let deadline = ContinuousClock.Instant.safetyNet
        while head == nil {
            bytes += try await connection.receive(by: deadline, of: "the head of an event stream")
            head = try HTTPHead(&bytes)
        }
        guard let head, head.status == 200, head.header("Content-Type") == "text/event-stream; charset=utf-8" else {
            throw Unexpected("no event stream: \(head?.status ?? 0) \(String(decoding: bytes, as: UTF8.self))")
        }
        self.head = head
        var inflater = head.header("Content-Encoding") == "gzip" ? Inflater() : nil
        var received = bytes.count
        bytes = try inflater?.read(bytes) ?? bytes
        var parser = ServerEventParser()
        var events = try parser.read(bytes)[...]
        while events.isEmpty {
            let bytes = try await connection.receive(by: deadline, of: "the session")
            received += bytes.count
            events = try parser.read(try inflater?.read(bytes) ?? bytes)[...]
        }
        let session = events.removeFirst()
        guard session.name == name else { throw Unexpected("\(session) before \(name)") }
        self.session = session
        self.parser = parser
        self.events = events
        self.inflater = inflater
        bytesReceived = received
    }

    /// The id that controls this connection.
    package nonisolated var client: String { session.data["client"]?.text ?? "" }

    /// Waits for a heartbeat; events before it stay to be read.
    package func heartbeat() async throws {
        let known = parser.comments
        let deadline = ContinuousClock.Instant.safetyNet
        while parser.comments == known {
            events += try await receive(by: deadline, of: "a heartbeat")
        }
    }

    /// The next event; throws `ConnectionEnd` after the last.
    package func next() async throws -> ServerEvent { try await next(by: .safetyNet, of: "an event") }

    /// The next event of these names that fits; others are passed over.
    package func next(
        _ names: String..., of stream: String? = nil, where fits: @Sendable (ServerEvent) -> Bool = { _ in true }
    ) async throws -> ServerEvent {
        let deadline = ContinuousClock.Instant.safetyNet
        while true {
            let event = try await next(by: deadline, of: "\(names.joined(separator: " or ")) of \(stream ?? "any stream")")
            if names.contains(event.name), stream == nil || stream == event.stream, fits(event) { return event }
        }
    }

    /// Everything up to the first event that fits, that one included.
    package func all(until isLast: @Sendable (ServerEvent) -> Bool) async throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        let deadline = ContinuousClock.Instant.safetyNet
        while true {
            let event = try await next(by: deadline, of: "the last of some events")
            events.append(event)
            if isLast(event) { return events }
        }
    }

    /// Everything up to the connection's end, and how it ended.
    package func rest() async throws -> (events: [ServerEvent], end: ConnectionEnd) {
        var events: [ServerEvent] = []
        let deadline = ContinuousClock.Instant.safetyNet
        do {
            while true { events.append(try await next(by: deadline, of: "the connection's end")) }
        } catch let end as ConnectionEnd {
            return (events, end)
        }
    }

    private func next(by deadline: ContinuousClock.Instant, of what: @autoclosure @Sendable () -> String) async throws -> ServerEvent {
        while events.isEmpty {
            if let end { throw end }
            do {
                events = try await receive(by: deadline, of: what())[...]
            } catch let end as ConnectionEnd {
                guard end == .reset || parser.isBetweenEvents else { throw Unexpected("the stream ended within an event") }
                guard end == .reset || inflater?.isComplete != false else { throw Unexpected("gzip ended without a right trailer") }
                self.end = end
            }
        }
        guard ContinuousClock.now < deadline else { throw Unexpected("\(what()) did not come in time") }
        return events.removeFirst()
    }

    private func receive(by deadline: ContinuousClock.Instant, of what: @autoclosure @Sendable () -> String) async throws -> [ServerEvent] {
        let bytes = try await connection.receive(by: deadline, of: what())
        bytesReceived += bytes.count
        return try parser.read(try inflater?.read(bytes) ?? bytes)
    }
}
