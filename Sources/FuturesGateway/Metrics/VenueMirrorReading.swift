import MicroHTTP

/// The metrics of the venue's own REST paths at one moment.
struct VenueMirrorReading: Sendable {
    /// The segment before the paths, such as `/binance`; empty for the first venue.
    let prefix: String
    let paths: [String]
    /// The outcomes of requests that were not answered immediately from a stream, by path.
    let counts: [String: [VenueMirror.Outcome: UInt64]]
    let kept: Int
    let keptBytes: Int
    /// Streams kept subscribed for bots.
    let held: Int

    static func write(_ venues: [VenueMirrorReading], _ text: inout Exposition, _ http: HTTPServerReading) {
        guard !venues.isEmpty else { return }
        text.metric(
            "futures_gateway_venue_requests_total", .counter,
            "Requests for the venue's own REST paths: answered immediately from a stream (hit), after waiting for a stream, from a cached venue answer, "
                + "from the venue, refused, or failed.")
        for venue in venues { venue.writePaths(&text, http) }
        text.metric("futures_gateway_venue_kept_answers", .gauge, "Cached answers of the venues.", venues.reduce(0) { $0 + $1.kept })
        text.metric("futures_gateway_venue_kept_bytes", .gauge, "Bytes of these answers.", venues.reduce(0) { $0 + $1.keptBytes })
        text.metric("futures_gateway_venue_held_streams", .gauge, "Streams kept subscribed for bots that poll.", venues.reduce(0) { $0 + $1.held })
    }

    private func writePaths(_ text: inout Exposition, _ http: HTTPServerReading) {
        for path in paths {
            let route = prefix + VenueHandlers.route(of: path)
            let label = prefix.isEmpty ? path : "\(prefix.dropFirst())/\(path)"
            let total = http.requests.reduce(UInt64(0)) { sum, requests in
                requests.route == route || requests.route == "/k/{key}" + route ? sum &+ requests.counts.reduce(0, &+) : sum
            }
            let others = counts[path] ?? [:]
            // Requests that still wait for an answer are in neither.
            text.sample(["path": label, "outcome": "hit"], total - min(total, others.values.reduce(0, &+)))
            for outcome in VenueMirror.Outcome.allCases { text.sample(["path": label, "outcome": outcome.rawValue], others[outcome] ?? 0) }
        }
    }
}
