import GatewayAccess
import MicroHTTP

extension Problems {
    /// The credential is missing or not accepted (RFC 6750 §3). The field names an error only if the request had a credential.
    static func unauthorized(_ error: AccessError?) -> HTTPProblem {
        let challenge = "Bearer realm=\"futures-gateway\""
        guard let error else {
            return HTTPProblem(
                status: 401, title: "Unauthorized",
                detail: "This gateway requires a credential: send Authorization: Bearer with a key or a token, or a ticket from POST /tickets.",
                headers: [HTTPHeader("WWW-Authenticate", challenge)])
        }
        guard error.code != .ambiguousCredential else {
            return HTTPProblem(
                status: 400, title: "Bad request", detail: error.message,
                headers: [HTTPHeader("WWW-Authenticate", challenge + ", error=\"invalid_request\"")])
        }
        return HTTPProblem(
            status: 401, title: "Unauthorized", detail: error.message,
            headers: [HTTPHeader("WWW-Authenticate", challenge + ", error=\"invalid_token\", error_description=\"\(error.message.quotable)\"")])
    }

    static func forbidden(_ operation: Permission.Operation) -> HTTPProblem {
        forbidden(
            "The credential does not permit the operation \(operation.rawValue); use one that does.", [("operation", .string(operation.rawValue))]
        )
    }

    static let forbiddenFetch = forbidden(
        "The credential does not permit the operation refetch, which forceFetch needs. Leave forceFetch out: a new stream is fetched anyway.",
        [("operation", .string(Permission.Operation.refetch.rawValue))])

    /// The request needs more fetches than a minute allows.
    static func tooManyFetches(_ count: Int, _ limit: LimitReached) -> HTTPProblem {
        HTTPProblem(
            status: 400, title: "Bad parameter",
            detail:
                "forceFetch would cost \(count) refetches; the limit per \(limit.holder.rawValue) is \(limit.limit) a minute. Name fewer streams, or "
                + "leave forceFetch out: a new stream is fetched anyway.",
            extensions: [("limit", .string("\(limit.holder.rawValue)-\(limit.kind.rawValue)")), ("allowed", .number(limit.limit))])
    }

    /// The problem for the first stream that is not permitted.
    static func forbidden(stream name: String) -> HTTPProblem {
        forbidden(
            "The credential does not permit the first of these streams; use one that does, or leave the stream out.", [("streams", .strings([name]))])
    }

    private static func forbidden(_ detail: String, _ extensions: [(name: String, value: HTTPProblem.Value)]) -> HTTPProblem {
        HTTPProblem(
            status: 403, title: "Forbidden", detail: detail, extensions: extensions,
            headers: [HTTPHeader("WWW-Authenticate", "Bearer realm=\"futures-gateway\", error=\"insufficient_scope\"")])
    }

    static let foreignOrigin = HTTPProblem(
        status: 403, title: "Foreign origin",
        detail: "Pages of this origin may not change anything here. The setting cors-origins lists the origins that may.")

    /// The problem for a reached limit: it names the limit and its holder, and says when to retry.
    static func limited(_ limit: LimitReached) -> HTTPProblem {
        let (what, advice) =
            switch limit.kind {
            case .connections: ("simultaneous event connections", "Close one, or read more streams over one connection.")
            case .streams: ("simultaneous streams", "Unsubscribe from some.")
            case .requests: ("requests a second", "Wait, and read an event stream instead of polling.")
            case .refetches: ("refetches a minute", "Wait; values stay current without refetches.")
            case .weight: ("of the venue's request weight a minute", "Wait, or request data that a stream already has: that costs no weight.")
            }
        let isRate = [.requests, .refetches, .weight].contains(limit.kind)
        let policy = "\"\(limit.kind.rawValue)\";q=\(limit.limit)" + (isRate ? ";w=\(limit.kind == .requests ? 1 : 60)" : "")
        return HTTPProblem(
            status: 429, title: "Too many \(limit.kind.rawValue)",
            detail: "The limit per \(limit.holder.rawValue) is \(limit.limit) \(what). \(advice)",
            extensions: [("limit", .string("\(limit.holder.rawValue)-\(limit.kind.rawValue)")), ("allowed", .number(limit.limit))],
            headers: [
                HTTPHeader("Retry-After", String(limit.retryAfter)), HTTPHeader("RateLimit-Policy", policy),
                HTTPHeader("RateLimit", "\"\(limit.kind.rawValue)\";r=0;t=\(limit.retryAfter)"),
            ])
    }
}

extension String {
    /// The text with quotes and backslashes replaced, as an error description requires (RFC 6750 §3).
    fileprivate var quotable: String { replacing("\"", with: "'").replacing("\\", with: "/") }
}
