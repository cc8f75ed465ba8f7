/// Finds the handler of a method and path. Built before the server starts, then immutable.
public struct Router: Sendable {
    /// Answers a request through its responder, immediately or later. Runs on a server thread and must not block it.
    public typealias Handler = @Sendable (HTTPRequest, HTTPResponder) -> Void

    fileprivate enum Segment: Sendable, Equatable {
        case literal(String)
        case parameter(String)
        case rest(String)
    }

    fileprivate struct Route: Sendable {
        let pattern: [Segment]
        var handlers: [String: (answer: Handler, counter: RequestCounter, bodyLimit: Int?)]
    }

    enum Outcome: Sendable {
        case handler(Handler, parameters: [String: String], RequestCounter)
        case answer(HTTPResponse)
    }

    private var routes: [Route] = []
    /// Counts requests that no handler answers.
    let unmatched = RequestCounter()

    /// Creates a router without routes: everything is 404.
    public init() {}

    /// Adds a route. `pattern` is a path such as `/streams/{name}/refetch`; `{name}` matches any one segment, which is decoded in
    /// ``HTTPRequest/parameters``; `{name...}` at the end matches one or more. The matching route with the most literal segments handles the request,
    /// with every method. A GET route also handles HEAD; the server handles OPTIONS.
    ///
    /// - Parameter body: The maximum size of a request's body in bytes; by default ``HTTPServerConfiguration/maximumBodyBytes``. A larger one results
    ///   in 413.
    public mutating func on(_ method: String, _ pattern: String, body: Int? = nil, _ handler: @escaping Handler) {
        let segments = pattern.split(separator: "/").map { part in
            guard part.hasPrefix("{"), part.hasSuffix("}") else { return Segment.literal(String(part)) }
            let name = part.dropFirst().dropLast()
            return name.hasSuffix("...") ? .rest(String(name.dropLast(3))) : .parameter(String(name))
        }
        if let known = routes.firstIndex(where: { $0.pattern == segments }) {
            routes[known].handlers[method] = (handler, RequestCounter(), body)
        } else {
            routes.append(Route(pattern: segments, handlers: [method: (handler, RequestCounter(), body)]))
        }
    }

    /// The counters of the GET routes, by pattern.
    var counters: [String: RequestCounter] {
        Dictionary(routes.compactMap { route in route.handlers["GET"].map { (route.text, $0.counter) } }, uniquingKeysWith: { first, _ in first })
    }

    var requests: [HTTPServerReading.Requests] {
        routes.flatMap { route in
            route.handlers.map { HTTPServerReading.Requests(method: $0.key, route: route.text, counts: $0.value.counter.counts) }
        }
    }

    /// The maximum size of a request's body in bytes, if its route sets one.
    func bodyLimit(_ request: HTTPRequest) -> Int? { bestRoute(request)?.handlers[request.method]?.bodyLimit }

    private func bestRoute(_ request: HTTPRequest) -> Route? {
        routes.filter { $0.matches(request.segments) }.max { $0.literalCount < $1.literalCount }
    }

    func route(_ request: HTTPRequest, preflightHeaders: [HTTPHeader]) -> Outcome {
        guard let route = bestRoute(request) else {
            return .answer(HTTPProblem.notFound.response)
        }
        if let handler = route.handlers[request.method] ?? (request.method == "HEAD" ? route.handlers["GET"] : nil) {
            return .handler(handler.answer, parameters: route.parameters(in: request.segments), handler.counter)
        }
        var methods = Set(route.handlers.keys)
        if methods.contains("GET") { methods.insert("HEAD") }
        methods.insert("OPTIONS")
        let allow = methods.sorted().joined(separator: ", ")
        guard request.method == "OPTIONS" else { return .answer(HTTPProblem.methodNotAllowed(allow: allow).response) }
        return .answer(HTTPResponse(status: 204, headers: [HTTPHeader("Allow", allow)] + preflightHeaders))
    }
}

extension Router.Route {
    var text: String {
        "/"
            + pattern.map { segment in
                switch segment {
                case .literal(let text): text
                case .parameter(let name): "{\(name)}"
                case .rest(let name): "{\(name)...}"
                }
            }.joined(separator: "/")
    }

    var literalCount: Int {
        pattern.count { if case .literal = $0 { true } else { false } }
    }

    func matches(_ segments: [String]) -> Bool {
        let takesRest = if case .rest? = pattern.last { true } else { false }
        return (takesRest ? segments.count >= pattern.count : pattern.count == segments.count)
            && zip(pattern, segments).allSatisfy { expected, actual in
                if case .literal(let text) = expected { text == actual } else { !actual.isEmpty }
            }
    }

    func parameters(in segments: [String]) -> [String: String] {
        var found: [String: String] = [:]
        for (expected, actual) in zip(pattern, segments) {
            if case .parameter(let name) = expected { found[name] = actual }
        }
        return found
    }
}
