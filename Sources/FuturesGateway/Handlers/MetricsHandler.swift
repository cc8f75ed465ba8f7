import FuturesFeed
import MicroHTTP

/// `GET /metrics`: what the gateway counts, in the text format of Prometheus (version 0.0.4).
struct MetricsHandler: Sendable {
    let hub: EventHub

    func answer(_ request: HTTPRequest, _ responder: HTTPResponder) {
        hub.run { hub in
            responder.respond(
                HTTPResponse(
                    status: 200,
                    headers: [
                        HTTPHeader(name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8"),
                        HTTPHeader(name: "Cache-Control", value: "no-store"),
                    ], body: Array(Self.text(hub).utf8)))
        }
    }

    private static func text(_ hub: EventHub) -> String {
        let (counters, streams) = hub.engine.read { core, now in
            (core.counters, core.streamNames.compactMap { core.status(of: $0, now: now) })
        }
        var text = MetricsText()
        text.counter("feed_disconnects_total", "Venue connections that were lost.", counters.disconnects)
        text.counter("feed_rotations_total", "Venue connections replaced before the venue cut them.", counters.rotations)
        text.counter("feed_recoveries_total", "Streams that came back after an outage.", counters.recoveries)
        text.counter("feed_failed_recoveries_total", "Streams that could not be brought back.", counters.failedRecoveries)
        text.counter("feed_missed_messages_total", "Messages nobody saw, where ids tell it.", counters.missedMessages)
        text.counter("feed_backfilled_messages_total", "Missed messages that were fetched over REST.", counters.backfilledMessages)
        text.counter("feed_malformed_frames_total", "Frames that could not be read.", counters.malformedFrames)
        text.counter("feed_ignored_events_total", "Events nobody asked for.", counters.ignoredEvents)
        text.counter("feed_book_resyncs_total", "Order books built anew.", counters.bookResyncs)
        text.counter("feed_book_audits_total", "Order books compared with REST at one update id.", counters.bookAudits)
        text.counter("feed_book_divergences_total", "Order books that differed from REST.", counters.bookDivergences)
        text.gauge("feed_streams", "Streams by state.", streams.reduce(into: [:]) { $0[$1.state.rawValue, default: 0] += 1 })
        return text.text
    }
}

private struct MetricsText {
    private(set) var text = ""

    mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
        head(name, help, "counter")
        text += "futures_gateway_\(name) \(value)\n"
    }

    /// One line for every state there is, so that none vanishes when its streams do.
    mutating func gauge(_ name: String, _ help: String, _ counts: [String: Int]) {
        head(name, help, "gauge")
        for state in FeedState.allCases {
            text += "futures_gateway_\(name){state=\"\(state.rawValue)\"} \(counts[state.rawValue] ?? 0)\n"
        }
    }

    private mutating func head(_ name: String, _ help: String, _ type: String) {
        text += "# HELP futures_gateway_\(name) \(help)\n# TYPE futures_gateway_\(name) \(type)\n"
    }
}
