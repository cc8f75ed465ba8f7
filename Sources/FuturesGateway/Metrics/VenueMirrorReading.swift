import MicroHTTP

/// The metrics of the venue's own REST paths at one moment.
struct VenueMirrorReading: Sendable {
    let paths: [String]
    /// The outcomes of requests that were not answered immediately from a stream, by path.
    let counts: [String: [VenueMirror.Outcome: UInt64]]
    let kept: Int
    let keptBytes: Int
    /// Streams kept subscribed for bots.
    let held: Int

    func write(_ text: inout Exposition, _ http: HTTPServerReading) {
        text.metric(
            "futures_gateway_venue_requests_total", .counter,
            "Requests for the venue's own REST paths: answered immediately from a stream (hit), after waiting for a stream, from a cached venue answer, "
                + "from the venue, refused, or failed.")
        for path in paths {
            let route = VenueHandlers.route(of: path)
            let total = http.requests.reduce(UInt64(0)) { sum, requests in
                requests.route == route || requests.route == "/k/{key}" + route ? sum &+ requests.counts.reduce(0, &+) : sum
            }
            let others = counts[path] ?? [:]
            // Requests that still wait for an answer are in neither.
            text.sample(["path": path, "outcome": "hit"], total - min(total, others.values.reduce(0, &+)))
            for outcome in VenueMirror.Outcome.allCases { text.sample(["path": path, "outcome": outcome.rawValue], others[outcome] ?? 0) }
        }
        text.metric("futures_gateway_venue_kept_answers", .gauge, "Cached answers of the venue.", kept)
        text.metric("futures_gateway_venue_kept_bytes", .gauge, "Bytes of these answers.", keptBytes)
        text.metric("futures_gateway_venue_held_streams", .gauge, "Streams kept subscribed for bots that poll.", held)
    }
}
