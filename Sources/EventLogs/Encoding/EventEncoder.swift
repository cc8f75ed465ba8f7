package import FeedCore

/// What a reader hears of a feed event, before a format writes it.
package struct EventWords {
    package let name: StaticString
    /// The data, a JSON object.
    package let members: [UInt8]
    /// The point to resume from; nil for events that carry none.
    package let id: EventID?
}

/// Writes feed events. Data is JSON on one line, and event names are constants, so nothing that a venue or a client says can end a line.
package enum EventEncoder {
    package static func words(_ event: FeedEvent) -> EventWords? {
        switch event.kind {
        case .fetched(let content): EventWords(name: "fetch", members: ContentEncoder.event(content), id: event.id)
        case .updated(let content): EventWords(name: "update", members: ContentEncoder.event(content), id: event.id)
        case .recovered(let recovery): EventWords(name: "recover", members: recovered(event.stream, recovery), id: nil)
        case .failed(let error, _): EventWords(name: "fail", members: failed(event.stream, error), id: nil)
        case .connected: EventWords(name: "connect", members: object { $0.member("stream", event.stream.description) }, id: nil)
        case .disconnected(let reason): EventWords(name: "disconnect", members: disconnected(event.stream, reason), id: nil)
        case .status(let state, let ageMs, let unverifiedMs):
            EventWords(
                name: "status",
                members: object {
                    $0.member("stream", event.stream.description)
                    $0.member("state", state.rawValue)
                    $0.member("ageMs", orNull: ageMs)
                    $0.member("unverifiedMs", orNull: unverifiedMs)
                }, id: nil)
        case .ended: nil
        }
    }

    /// A cached content as an `update`, without its end.
    package static func cached(_ content: FuturesServiceFeedContent, _ status: StreamStatus, _ format: EventFormat) -> [UInt8] {
        format.body("update", of: content.streamName.description, ContentEncoder.cached(content, status))
    }

    package static func disconnected(_ stream: FuturesServiceStreamName, _ reason: String) -> [UInt8] {
        object {
            $0.member("stream", stream.description)
            $0.member("reason", reason)
        }
    }

    /// Says that a reader was too slow for a stream in which every message counts.
    package static func gap(_ stream: FuturesServiceStreamName, dropped: UInt64, _ format: EventFormat) -> [UInt8] {
        format.body(
            "gap", of: stream.description,
            object {
                $0.member("stream", stream.description)
                $0.member("dropped", dropped)
            }) + format.end(nil)
    }

    /// A sign of life that a script of a page can see.
    package static func heartbeat(_ format: EventFormat) -> [UInt8] { format.body("heartbeat", of: nil, object { _ in }) + format.end(nil) }

    /// Says that the server ends this connection; the browser comes back after `retryMs`.
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
            $0.member("detectedMs", recovery.detectedMs)
            $0.member("missed", orNull: recovery.missed)
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
