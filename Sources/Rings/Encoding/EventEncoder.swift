package import FeedCore

/// A feed event as readers get it, written once, in the format `events`.
package struct EventWords: Sendable {
    package let name: StaticString
    /// The point to resume from; nil for events without one.
    package let id: EventID?
    /// The event up to the part of its id that readers have in common, or whole if it has no id.
    package let text: [UInt8]
    private let members: Range<Int>

    /// Where the id starts; for events without one, the end.
    package var idStart: Int { members.upperBound + 1 }

    /// The data, a JSON object.
    package var data: ArraySlice<UInt8> { text[members] }

    /// An event whose data are encoded already.
    package init(_ name: StaticString, id: EventID?, data: ArraySlice<UInt8>) {
        self.init(name, id: id, capacity: data.count + 64) { $0.plain(data) }
    }

    init(_ name: StaticString, id: EventID? = nil, capacity: Int = 256, _ write: (inout JSONWriter) -> Void) {
        self.init(name, id: id, capacity: capacity, writing: write) { writer in if let id { _ = writer.plain(id) } }
    }

    init(_ update: FeedEvent.Update) {
        var written = 0..<0
        self.init(update.isFetch ? "fetch" : "update", id: update.id, capacity: ContentEncoder.capacity(update.content)) {
            written = ContentEncoder.write(update.content, nil, kind: update.content.kind, &$0)
        } writingID: {
            // The data has the same id, and copying costs less than writing.
            if update.content.id == update.id { $0.repeating(written) } else { _ = $0.plain(update.id) }
        }
    }

    @inline(__always)
    private init(
        _ name: StaticString, id: EventID?, capacity: Int, writing write: (inout JSONWriter) -> Void, writingID: (inout JSONWriter) -> Void
    ) {
        self.name = name
        self.id = id
        var (start, end) = (0, 0)
        text = JSONWriter.bytes(capacity: capacity) { writer in
            writer.room(numbers: 0, others: 64)
            writer.part("event: ")
            writer.part(word: name)
            writer.part("\ndata: ")
            start = writer.length
            write(&writer)
            end = writer.length
            writer.room(numbers: 2, others: 16)
            writer.part("\n")
            guard id != nil else { return }
            writer.part("id: ")
            writingID(&writer)
            writer.part(".")
        }
        members = start..<end
    }
}

/// Writes feed events. Data is JSON on one line, and event names are constants, so no text from a venue or client can end a line.
package enum EventEncoder {
    package static func words(_ event: FeedEvent) -> EventWords? {
        switch event {
        case .update(let update): EventWords(update)
        case .notice(let notice): words(notice)
        }
    }

    private static func words(_ event: FeedEvent.Notice) -> EventWords? {
        switch event.kind {
        case .recovered(let recovery): EventWords("recover") { recovered(event.stream.description, recovery, &$0) }
        case .failed(let error, _): EventWords("fail") { failed(event.stream.description, error, &$0) }
        case .connected: EventWords("connect") { $0.object { $0.member("stream", event.stream) } }
        case .disconnected(let reason): EventWords("disconnect") { disconnected(event.stream.description, reason, &$0) }
        case .status(let state, let ageMs, let unverifiedMs):
            EventWords("status") {
                $0.object {
                    $0.member("stream", event.stream)
                    $0.member("state", word: ContentEncoder.word(state))
                    $0.member("ageMs", orNull: ageMs)
                    $0.member("unverifiedMs", orNull: unverifiedMs)
                }
            }
        case .fetched, .updated, .ended: nil
        }
    }

    /// A cached content as an `update`, without its end.
    package static func cached(_ content: FuturesServiceFeedContent, _ status: StreamStatus, _ format: EventFormat) -> [UInt8] {
        format.body("update", of: content.streamName.description, ContentEncoder.cached(content, status))
    }

    package static func disconnected(_ stream: FuturesServiceStreamName, _ reason: String) -> [UInt8] {
        var writer = JSONWriter()
        disconnected(stream.description, reason, &writer)
        return writer.bytes
    }

    private static func disconnected(_ stream: String, _ reason: String, _ json: inout JSONWriter) {
        json.object {
            $0.member("stream", stream)
            $0.member("reason", reason)
        }
    }

    /// Reports that a reader was too slow for a stream in which every message counts.
    package static func gap(_ stream: FuturesServiceStreamName, dropped: UInt64, _ format: EventFormat) -> [UInt8] {
        format.body(
            "gap", of: stream.description,
            object {
                $0.member("stream", stream.description)
                $0.member("dropped", dropped)
            }) + format.end(nil)
    }

    /// A sign of life that a page's script can see.
    package static func heartbeat(_ format: EventFormat) -> [UInt8] { format.body("heartbeat", of: nil, object { _ in }) + format.end(nil) }

    /// Announces that the server ends this connection. The browser reconnects after `retryMs`.
    package static func bye(code: String, reason: String, retryMs: Int, _ format: EventFormat) -> [UInt8] {
        format.retry(retryMs)
            + format.body(
                "bye", of: nil,
                object {
                    $0.member("code", code)
                    $0.member("reason", reason)
                    $0.member("retryMs", retryMs)
                }) + format.end(nil)
    }

    private static func recovered(_ stream: String, _ recovery: FeedRecovery, _ json: inout JSONWriter) {
        json.object {
            $0.member("stream", stream)
            $0.member("result", recovery.error == nil ? "success" : "failure")
            if let error = recovery.error {
                $0.member("error")
                write(error.reason, &$0)
            }
            $0.member("method", recovery.method.rawValue)
            $0.member("downMs", recovery.downMs)
            $0.member("detectedMs", recovery.detectedMs)
            $0.member("missed", orNull: recovery.missed)
        }
    }

    private static func failed(_ stream: String, _ error: FeedError, _ json: inout JSONWriter) {
        json.object {
            $0.member("stream", stream)
            $0.member("error")
            write(error, &$0)
        }
    }

    private static func write(_ error: FeedError, _ json: inout JSONWriter) {
        json.object {
            $0.member("code", error.code.rawValue)
            $0.member("message", error.message)
            $0.member("venueCode", optional: error.venueCode.map(Int64.init))
            $0.member("retryAfterMs", optional: error.retryAfterMs)
        }
    }

    package static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }
}
