import MicroHTTP
import Tape

/// `GET /metrics`: the gateway's metrics in the Prometheus text format (version 0.0.4).
struct MetricsHandler: Sendable {
    let hub: EventHub
    let memory: MemoryWatch
    let mirrors: [VenueMirror]
    let agents: AgentTally
    let tape: Tape?
    let frames: VenueFrameTape?
    let log: @Sendable () -> LogCounts

    /// Collects the numbers of each thread, and writes the text on none of these threads.
    func answer(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let (http, process, log, memory) = (responder.serverReading, ProcessReading(), log(), memory.reading)
        hub.tables.read(hub) { [mirrors, agents, tape, frames] table in
            hub.run { hub in
                let feed = hub.reading
                let venues = mirrors.map(\.reading)
                let rings = hub.rings.reading
                hub.rings.measure { fanOut in
                    let reading = GatewayReading(
                        feed: feed, streams: table, tape: tape?.reading, frames: frames?.reading, venues: venues, agents: agents.reading,
                        fanOut: fanOut,
                        rings: rings, http: http, process: process, memory: memory, log: log)
                    responder.respond(200) { Self.response(reading) }
                }
            }
        }
    }

    private static func response(_ reading: GatewayReading) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                HTTPHeader(name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8"),
                HTTPHeader(name: "Cache-Control", value: "no-store"),
            ], body: Array(reading.text.utf8))
    }
}
