import FuturesFeed
import GatewayAccess
import MicroHTTP

/// The venue's own sockets (docs/read/bots.md), for clients that know nothing of this gateway.
struct SocketHandlers: Sendable {
    let hub: EventHub
    /// The event stream loops of the fan-out threads, in order.
    let loops: [EventStreamLoop]
    /// The venues besides the first one, each with its place among the upstreams.
    private let venues: [String: Int]

    init(hub: EventHub, loops: [EventStreamLoop]) {
        (self.hub, self.loops) = (hub, loops)
        let others = hub.feed.dialect.upstreams.enumerated().dropFirst().filter { $0.element.venue != nil }
        venues = Dictionary(others.map { ($0.element.name, $0.offset) }) { first, _ in first }
    }

    /// The paths, each of which is also below the venue's routes.
    static let paths = ["/ws", "/ws/{names...}", "/stream", "/stream/{number}"]
    /// The path of the venue's requests over a socket.
    static let requests = "/ws-fapi/{version}"

    /// Adds the routes. A prefix `k/{key}` carries one of the gateway's keys.
    func addRoutes(to router: inout Router, _ access: Access) {
        let refuse = access.guarded(.operation(.read), parameters: nil) { (_, _, _) throws(HTTPProblem) in throw Problems.noRequests }
        let open = access.guarded(.operation(.read), parameters: nil, takesTicket: true) { (request, responder, caller) throws(HTTPProblem) in
            guard !access.isForeignSocket(request) else { throw Problems.foreignOrigin }
            try self.open(request, responder, caller)
        }
        for venue in [""] + venues.keys.sorted().map({ "/" + $0 }) {
            for key in ["", "/k/{key}"] {
                for route in [""] + SocketTarget.routes.map({ "/" + $0 }) {
                    for path in Self.paths { router.on("GET", key + venue + route + path, open) }
                }
                router.on("GET", key + venue + Self.requests, refuse)
            }
        }
    }

    private func open(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let handshake = try WebSocketHandshake(request)
        let segments = request.parameters["key"] == nil ? request.segments : Array(request.segments.dropFirst(2))
        guard let target = SocketTarget(segments, streams: request.queries("streams"), venues: venues) else {
            throw Problems.badParameter("streams", "has a name that no stream can have.")
        }
        guard target.names.count <= hub.limits.streamsPerClient else {
            throw Problems.badParameter("streams", "must have at most \(hub.limits.streamsPerClient) names.")
        }
        let prefix = target.upstream > 0 ? hub.feed.dialect.upstreams[target.upstream].name + ":" : ""
        if let forbidden = target.names.map({ prefix + $0 }).first(where: { !caller.principal.permission.allows(stream: $0) }) {
            hub.gatekeeper.count(.forbidden)
            throw Problems.forbidden(stream: forbidden)
        }
        hub.run { open(target, handshake, responder, caller, $0) }
    }

    private func open(
        _ target: SocketTarget, _ handshake: WebSocketHandshake, _ responder: HTTPResponder, _ caller: Access.Caller, _ hub: EventHub
    ) {
        // A message that is on its way to the rings would be sent twice.
        guard hub.feed.hasToldAll else { return hub.run { open(target, handshake, responder, caller, $0) } }
        do throws(EventHub.Refusal) {
            let number = try hub.prepare(target, for: caller)
            responder.openSocket(handshake, loop: loops[hub.rings.thread(of: number)], context: number)
        } catch { responder.respond(EventHandlers.problem(error).response) }
    }
}
