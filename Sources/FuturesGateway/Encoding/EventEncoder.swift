package import FuturesFeed

/// One server-sent event in bytes (WHATWG HTML §9.2), in two parts: what every reader gets, and the `id:` line that only the log's copy has.
package struct EncodedEvent: Sendable {
    /// The event and data lines, each with its line feed.
    package let body: [UInt8]
    /// The point to resume from; nil for events that carry none.
    let id: EventID?

    /// The whole event.
    var bytes: [UInt8] { body + EncodedEvent.end(id) }

    /// What ends an event: its id line, where it has one, and the empty line.
    static func end(_ id: EventID?) -> [UInt8] {
        guard let id else { return [UInt8(ascii: "\n")] }
        return Array("id: \(id)\n\n".utf8)
    }
}

/// Writes feed events as server-sent events. Data is JSON on one line, and event names are constants, so nothing a venue or a client says
/// can end a line.
package enum EventEncoder {
    package static func encode(_ event: FeedEvent) -> EncodedEvent? {
        switch event.kind {
        case .fetched(let content): EncodedEvent(body: body("fetch", ContentEncoder.event(content)), id: event.id)
        case .updated(let content): EncodedEvent(body: body("update", ContentEncoder.event(content)), id: event.id)
        case .recovered(let recovery): EncodedEvent(body: body("recover", recovered(event.stream, recovery)), id: nil)
        case .failed(let error, _): EncodedEvent(body: body("fail", failed(event.stream, error)), id: nil)
        case .connected: EncodedEvent(body: body("connect") { $0.member("stream", event.stream.description) }, id: nil)
        case .disconnected(let reason):
            EncodedEvent(
                body: body("disconnect") {
                    $0.member("stream", event.stream.description)
                    $0.member("reason", reason)
                }, id: nil)
        case .status(let state, let ageMs):
            EncodedEvent(
                body: body("status") {
                    $0.member("stream", event.stream.description)
                    $0.member("state", state.rawValue)
                    $0.member("ageMs")
                    if let ageMs { $0.integer(ageMs) } else { $0.null() }
                }, id: nil)
        case .ended: nil
        }
    }

    /// A cached content as an `update`.
    static func cached(_ content: FuturesServiceFeedContent) -> [UInt8] { body("update", ContentEncoder.event(content)) }

    /// The first event of a connection. `retryMs` is the browser's delay before it reconnects.
    static func session(client: String, streams: [FuturesServiceStreamName], wantsResume: Bool, heartbeat: Int, retryMs: Int) -> [UInt8] {
        Array("retry: \(retryMs)\n".utf8)
            + body("session") {
                $0.member("client", client)
                $0.member("streams")
                $0.array(streams) { $0.string($1.description) }
                $0.member("resume", wantsResume ? "reset" : "none")
                $0.member("replayed", 0)
                $0.member("heartbeat", heartbeat)
            } + EncodedEvent.end(nil)
    }

    /// A reader was too slow for a stream in which every message counts.
    static func gap(_ stream: FuturesServiceStreamName, dropped: UInt64) -> [UInt8] {
        body("gap") {
            $0.member("stream", stream.description)
            $0.member("dropped", dropped)
        } + EncodedEvent.end(nil)
    }

    /// The server ends this connection; the browser comes back after `retryMs`.
    static func bye(code: String, reason: String, retryMs: Int) -> [UInt8] {
        Array("retry: \(retryMs)\n".utf8)
            + body("bye") {
                $0.member("code", code)
                $0.member("reason", reason)
                $0.member("retryMs", retryMs)
            } + EncodedEvent.end(nil)
    }

    private static func recovered(_ stream: FuturesServiceStreamName, _ recovery: FeedRecovery) -> [UInt8] {
        object {
            $0.member("stream", stream.description)
            $0.member("result", recovery.error == nil ? "success" : "failure")
            if let error = recovery.error {
                $0.member("error")
                write(error.reason, &$0)
            }
            $0.member("method", recovery.method.rawValue)
            $0.member("downMs", recovery.downMs)
            $0.member("missed")
            if let missed = recovery.missed { $0.integer(missed) } else { $0.null() }
        }
    }

    private static func failed(_ stream: FuturesServiceStreamName, _ error: FeedError) -> [UInt8] {
        object {
            $0.member("stream", stream.description)
            $0.member("error")
            write(error, &$0)
        }
    }

    private static func write(_ error: FeedError, _ json: inout JSONWriter) {
        json.object {
            $0.member("code", error.code.rawValue)
            $0.member("message", error.message)
            $0.member("venueCode", optional: error.venueCode)
        }
    }

    private static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }

    private static func body(_ name: StaticString, _ members: (inout JSONWriter) -> Void) -> [UInt8] { body(name, object(members)) }

    private static func body(_ name: StaticString, _ data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 48)
        bytes.append(contentsOf: Array("event: ".utf8))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: Array("\ndata: ".utf8))
        bytes.append(contentsOf: data)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}
