import FuturesFeed
import MicroHTTP

/// The gateway's problems (RFC 9457): what is at fault and what to do.
enum Problems {
    static func unknownStreams(_ names: [String]) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Unknown stream",
            detail: "The venue has no such stream, or does not list its symbol. Names are lower case, as in btcusdt@markPrice; "
                + "GET /streams lists what there is.",
            extensions: [("streams", .strings(names.map { String($0.prefix(100)) }))])
    }

    static func badParameter(_ name: String, _ rule: String) -> HTTPProblem {
        HTTPProblem(status: 400, title: "Bad parameter", detail: "\(name) \(rule)")
    }

    static let unknownClient = HTTPProblem(
        status: 404, title: "Unknown client", detail: "No open event connection has this id; the session event of a connection tells its own.")

    static func settled(_ name: String) -> HTTPResponse {
        failure(FeedError(.settled, "The venue has settled the symbol of \(name); there is nothing more to come."))
    }

    static let draining = HTTPProblem(
        status: 503, title: "Stopping", detail: "The gateway is stopping; try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "2")]
    ).response

    static let controlledTooOften = HTTPProblem(
        status: 429, title: "Too many requests", detail: "One connection takes ten control requests a second; try again in a second.",
        headers: [HTTPHeader(name: "Retry-After", value: "1")]
    ).response

    static let full = HTTPProblem(
        status: 503, title: "Full",
        detail: "The gateway has as many streams or readers as it may; ask for streams that others read, or try again later.",
        headers: [HTTPHeader(name: "Retry-After", value: "10")])

    static let overloaded = HTTPProblem(
        status: 503, title: "Overloaded", detail: "The gateway serves as many connections as it may; try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "5")]
    ).response

    /// What became of a request that needed the venue.
    static func failure(_ error: FeedError) -> HTTPResponse {
        let (status, title): (Int, String) =
            switch error.code {
            case .unknownStream: (404, "Unknown stream")
            case .settled: (410, "The stream has ended")
            case .noSnapshotSource: (422, "No REST source")
            case .rateLimited: (429, "The venue's budget is used up")
            case .timedOut: (504, "No answer in time")
            case .venueRejected, .subscriptionRejected: (502, "The venue refused")
            case .unreachable: (502, "The venue cannot be reached")
            case .malformed: (502, "The venue's answer cannot be read")
            }
        var extensions: [(String, HTTPProblem.Value)] = [("code", .string(error.code.rawValue))]
        if let venueCode = error.venueCode { extensions.append(("venueCode", .number(venueCode))) }
        var response = HTTPProblem(status: status, title: title, detail: error.message, extensions: extensions).response
        if let retryAfterMs = error.retryAfterMs {
            response.headers.append(HTTPHeader(name: "Retry-After", value: String((retryAfterMs + 999) / 1000)))
        }
        return response
    }
}
