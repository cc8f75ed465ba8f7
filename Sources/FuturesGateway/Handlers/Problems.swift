import FuturesFeed
import MicroHTTP
import Rings

/// The gateway's problem details (RFC 9457): the mistake and its remedy.
enum Problems {
    /// - Parameter names: The invalid names and their mistakes.
    static func unknownStreams(_ names: [(text: String, mistake: StreamNameMistake)]) -> HTTPProblem {
        var writer = JSONWriter()
        writer.array { json in
            for name in names {
                json.object {
                    $0.member("stream", String(name.text.prefix(100)))
                    $0.member("code", name.mistake.code.rawValue)
                    $0.member("detail", name.mistake.detail)
                    $0.member("suggestions")
                    $0.array { json in for suggestion in name.mistake.suggestions { json.string(suggestion) } }
                }
            }
        }
        let detail = names.count == 1 ? names[0].mistake.detail : "\(names.count) of the names are not streams; see mistakes."
        return HTTPProblem(
            status: 404, title: "Unknown stream", detail: detail + " GET /streams lists all streams.",
            extensions: [
                ("code", .string(FeedError.Code.unknownStream.rawValue)), ("streams", .strings(names.map { String($0.text.prefix(100)) })),
                ("mistakes", .json(String(decoding: writer.bytes, as: UTF8.self))),
            ])
    }

    static func unknownAsset(_ text: String) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Unknown asset",
            detail: "No venue lists a contract of \(text.prefix(32)). GET /markets lists all; an asset is a name such as BTC.",
            extensions: [("code", .string("unknownAsset"))])
    }

    /// - Parameter known: The parameters that the resource accepts.
    static func unknownParameter(_ name: String, _ known: [String]) -> HTTPProblem {
        let hint = nearMiss(name, in: known).map { " Did you mean \($0)?" } ?? ""
        let takes = known.isEmpty ? "no parameters" : known.joined(separator: ", ")
        return HTTPProblem(
            status: 400, title: "Unknown parameter", detail: "This resource accepts \(takes).\(hint)",
            extensions: [("parameter", .string(String(name.prefix(100))))])
    }

    static func badParameter(_ name: String, _ rule: String) -> HTTPProblem {
        HTTPProblem(status: 400, title: "Bad parameter", detail: "\(name) \(rule)")
    }

    static let unknownClient = HTTPProblem(
        status: 404, title: "Unknown client", detail: "No open event connection has this id; take the id from the connection's session event.")

    static let replaying = HTTPProblem(
        status: 409, title: "Replaying", detail: "The connection is replaying the tape and cannot be changed; wait for its live event, or close it.",
        extensions: [("code", .string("replaying"))])

    static func settled(_ name: String) -> HTTPProblem {
        failure(FeedError(.settled, "The venue has settled the symbol of \(name); the stream has ended."))
    }

    static let noRequests = HTTPProblem(
        status: 501, title: "Not Implemented",
        detail: "Requests over a socket are not supported: use the venue's REST paths, and /ws or /stream for streams.")
    static let draining = HTTPProblem(
        status: 503, title: "Stopping", detail: "The gateway is stopping; try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "2")])

    static let starting = HTTPProblem(
        status: 503, title: "Starting", detail: "This gateway has not read the log of its cluster yet; try again in a second.",
        headers: [HTTPHeader(name: "Retry-After", value: "1")])

    static let behind = HTTPProblem(
        status: 503, title: "Behind", detail: "This gateway has not yet read its cluster's log as far as this reader has; try again in a second.",
        headers: [HTTPHeader(name: "Retry-After", value: "1")])

    static let controlledTooOften = HTTPProblem(
        status: 429, title: "Too many requests", detail: "The limit is ten control requests a second per connection; try again in a second.",
        headers: [HTTPHeader(name: "Retry-After", value: "1")])

    static let full = HTTPProblem(
        status: 503, title: "Full",
        detail: "The gateway has reached its limit of streams or readers; request streams that are already active, or try again later.",
        headers: [HTTPHeader(name: "Retry-After", value: "10")])

    static let overloaded = HTTPProblem(
        status: 503, title: "Overloaded", detail: "The gateway has reached its connection limit; try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "5")]
    ).response

    /// The problem of a request that failed because of the venue.
    static func failure(_ error: FeedError) -> HTTPProblem {
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
        let retryAfter = error.retryAfterMs.map { [HTTPHeader(name: "Retry-After", value: String(max(0, $0 &+ 999) / 1000))] }
        return HTTPProblem(status: status, title: title, detail: error.message, extensions: extensions, headers: retryAfter ?? [])
    }
}
