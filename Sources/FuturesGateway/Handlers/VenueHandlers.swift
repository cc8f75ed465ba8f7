import FuturesFeed
import GatewayAccess
import MicroHTTP

/// The venue's own REST paths (docs/read/bots.md). Requests are parsed, refused in the venue's format, or passed to the mirror.
struct VenueHandlers: Sendable {
    let mirror: VenueMirror

    /// Adds a route per path, so that each is counted separately. A prefix `k/{key}` carries one of the gateway's keys.
    func addRoutes(to router: inout Router, _ access: Access) {
        let guarded: (@escaping Access.Handler) -> Router.Handler = {
            access.guarded(.operation(.read), parameters: nil, limited: Self.limited, refused: Self.refused, $0)
        }
        let others = ["/fapi/{version}/{path}", "/fapi/{version}/{path}/{rest}", "/futures/data/{path}", "/api/v3/{path}", "/dapi/v1/{path}"]
        let lists = ["/api/v3/exchangeInfo", "/sapi/api/v3/exchangeInfo", "/sapi/{version}/api/v3/exchangeInfo", "/dapi/v1/exchangeInfo"]
        for prefix in ["", "/k/{key}"].map({ $0 + mirror.prefix }) {
            for route in mirror.venue.paths.map(Self.route(of:)) + lists + others { router.on("GET", prefix + route, guarded(answer)) }
            for method in ["POST", "PUT", "DELETE"] {
                for route in others { router.on(method, prefix + route, guarded { _, responder, _ in responder.respond(Self.response(.keyed)) }) }
            }
        }
    }

    /// The route of a path without a key.
    static func route(of path: String) -> String {
        guard let slash = path.firstIndex(of: "/") else { return "/" + path }
        return path.hasPrefix("futures/") ? "/" + path : "/\(path[..<slash])/{version}\(path[slash...])"
    }

    private func answer(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        let before = (request.parameters["key"] == nil ? 0 : 2) + (mirror.prefix.isEmpty ? 0 : 1)
        let segments = Array(request.segments.dropFirst(before))
        let (feed, upstream) = (mirror.hub.feed, mirror.venue.upstream)
        let (listing, now) = (feed.listing(of: upstream), feed.venueTime(of: upstream))
        let found = mirror.venue.answer(segments, request.query, now: now) { symbol in
            let isListed = listing.map { $0.symbols.contains(symbol) || $0.settled.contains(symbol) || $0.assetIndices.contains(symbol) } ?? true
            if !isListed { feed.refreshListing(of: upstream) }
            return isListed
        }
        guard let (path, exact) = found else {
            return responder.respond(Self.response(.unknownPath("/" + segments.joined(separator: "/"), request.method)))
        }
        let answer = if mirror.closesBarsEarly, case .stream(let reading) = exact { VenueAnswer.stream(reading.early) } else { exact }
        let maxAge = request.query("maxAge").map { ParameterText.integer($0, 0...Int64.max) }
        if case .some(.none) = maxAge {
            return responder.respond(Self.response(VenueRefusal(code: -1100, "maxAge must be milliseconds, 0 or more.")))
        }
        if case .stream(let reading) = exact, !caller.principal.permission.allows(stream: reading.name.description) {
            mirror.hub.gatekeeper.count(.forbidden)
            return responder.respond(Self.response(Self.forbidden))
        }
        if case .relay = answer, !caller.principal.permission.allowsEveryStream {
            mirror.hub.gatekeeper.count(.forbidden)
            return responder.respond(Self.response(Self.forbidden))
        }
        let isGzip = request.acceptsGzip
        let isPreparable = request.parameters["key"] == nil && request.query.allSatisfy { Self.preparable.contains($0.name) }
        let ask = VenueMirror.Ask(
            path: path, answer: answer, maxAge: maxAge.flatMap(\.self), isGzip: isGzip,
            key: isPreparable ? PreparedAnswers.Key(target: request.target, isGzip: isGzip) : nil, caller: caller, responder: responder)
        mirror.hub.run { [mirror] _ in mirror.answer(ask) }
    }

    /// Parameters with few possible values, so that a path has few prepared responses.
    private static let preparable: Set<String> = ["symbol", "interval", "limit", "pair", "contractType"]

    private static let forbidden = VenueRefusal(
        status: 403, code: -2015, "The credential does not permit this stream, or this path, which needs a credential for all streams.")

    /// A refusal in the venue's format.
    static func response(_ refusal: VenueRefusal, retryAfter: Int? = nil, weight: HTTPHeader? = nil) -> HTTPResponse {
        let wait = retryAfter.map { [HTTPHeader("Retry-After", String($0))] } ?? []
        return HTTPResponse(
            status: refusal.status, headers: [HTTPHeader("Content-Type", "application/json")] + wait + [weight].compactMap(\.self),
            body: refusal.body)
    }

    /// The venue's response to a target with invalid escapes or control characters; nil if it is not one of the venue's paths.
    static func malformed(_ target: String, _ mirrors: [VenueMirror]) -> HTTPResponse? {
        let paths = mirrors.flatMap { mirror in ["/fapi/", "/futures/data/", "/api/", "/dapi/", "/sapi/"].map { mirror.prefix + $0 } } + ["/k/"]
        return !mirrors.isEmpty && paths.contains(where: target.hasPrefix)
            ? response(VenueRefusal(code: -1100, "Illegal characters found in a parameter.")) : nil
    }

    /// A refusal because of the gateway's own limit.
    static func refusal(_ limit: LimitReached) -> VenueRefusal {
        VenueRefusal(status: 429, code: -1003, "This gateway limits its callers: " + (Problems.limited(limit).detail ?? "ask again later."))
    }

    private static func limited(_ request: HTTPRequest, _ limit: LimitReached) -> HTTPResponse {
        response(refusal(limit), retryAfter: limit.retryAfter)
    }

    private static func refused(_ problem: HTTPProblem) -> HTTPResponse {
        var response = response(VenueRefusal(status: problem.status, code: -2015, problem.detail ?? problem.title))
        response.headers += problem.headers
        return response
    }
}
