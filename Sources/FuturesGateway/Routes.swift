import FuturesFeed
import GatewayAccess
import MicroHTTP

/// The route table, in the order of `openapi.yaml`.
enum Routes {
    static func router(
        hub: EventHub, loops: [EventStreamLoop], metrics: MetricsHandler, mirrors: [VenueMirror], recorded: TapeHandlers, replay: ReplayHandlers,
        agents: AgentHandlers, access: Access
    ) -> Router {
        let streams = StreamHandlers(hub: hub)
        let events = EventHandlers(hub: hub, loops: loops, recorded: recorded)
        let probes = ProbeHandlers(hub: hub, tape: metrics.tape)
        var router = Router()
        router.on("GET", "/streams", access.guarded(.operation(.read), streams.list))
        let snapshot = access.guarded(.operation(.read), parameters: snapshotParameters) { (request, responder, caller) throws(HTTPProblem) in
            guard let at = try request.time("at") else { return try streams.snapshot(request, responder, caller) }
            try recorded.snapshot(request, at: at, responder, caller)
        }
        router.on("GET", "/streams/{name}", snapshot)
        router.on("GET", "/streams/{name}/status", access.guarded(.operation(.read), streams.status))
        router.on("POST", "/streams/{name}/refetch", access.guarded(.operation(.refetch), streams.refetch))
        let markets = MarketHandlers(hub: hub)
        router.on("GET", "/markets", access.guarded(.operation(.read), parameters: ["wait"], markets.list))
        router.on("GET", "/markets/{asset}", access.guarded(.operation(.read), parameters: ["wait"], markets.one))
        router.on("GET", "/markets/{asset}/book", access.guarded(.operation(.read), parameters: ["wait", "depth"], markets.book))
        router.on("GET", "/markets/{asset}/trades", access.guarded(.operation(.read), parameters: ["wait", "limit"], markets.trades))
        router.on("GET", "/markets/{asset}/bars", access.guarded(.operation(.read), parameters: ["wait", "interval", "limit"], markets.bars))
        let open = access.guarded(
            .operation(.read), parameters: eventParameters, takesTicket: true, limited: EventHandlers.limited, events.open)
        router.on("GET", "/events", open)
        router.on("GET", "/events/{client}", access.guarded(.operation(.control), events.ask(.view)))
        router.on("DELETE", "/events/{client}", access.guarded(.operation(.control), events.ask(.close)))
        router.on("POST", "/events/{client}/pause", access.guarded(.operation(.control), parameters: ["streams"], events.control(.pause)))
        router.on("POST", "/events/{client}/resume", access.guarded(.operation(.control), parameters: ["streams"], events.control(.resume)))
        router.on("POST", "/events/{client}/subscribe", access.guarded(.operation(.control), parameters: ["streams"], events.control(.subscribe)))
        router.on("POST", "/events/{client}/unsubscribe", access.guarded(.operation(.control), parameters: ["streams"], events.control(.unsubscribe)))
        router.on("POST", "/tickets", access.guarded(.credential, TicketHandler(gatekeeper: access.gatekeeper, node: access.peers?.name).issue))
        let agent = access.guarded(.operation(.read), limited: AgentHandlers.limited, refused: AgentHandlers.refused, agents.answer)
        router.on("POST", "/mcp", body: AgentHandlers.maximumBodyBytes, agent)
        router.on("GET", "/tape", access.guarded(.operation(.read), recorded.overview))
        router.on("GET", "/tape/{name}", access.guarded(.operation(.read), parameters: ["from", "to", "after"], recorded.lines))
        router.on("GET", "/replay", access.guarded(.operation(.read), replay.overview))
        let step = access.guarded(.operation(.control), parameters: ["ms", "until", "messages", "events"], replay.step)
        router.on("POST", "/replay/step", step)
        for mirror in mirrors { VenueHandlers(mirror: mirror).addRoutes(to: &router, access) }
        if !mirrors.isEmpty {
            SocketHandlers(hub: hub, loops: loops).addRoutes(to: &router, access)
        }
        // Without access control: a supervisor must get an answer from these, however many other clients share its address.
        router.on("GET", "/healthz", probes.health)
        router.on("GET", "/servez", probes.serves)
        router.on("GET", "/readyz", probes.ready)
        router.on("GET", "/metrics", access.metrics(metrics.answer))
        router.on("GET", "/openapi.yaml", access.open(probes.contract))
        router.on("GET", "/", access.open(WebHandlers.page))
        router.on("GET", "/client.js", access.open(WebHandlers.client))
        router.on("GET", "/web/{file}", access.open(WebHandlers.file))
        return router
    }

    private static let snapshotParameters = ["wait", "maxAge", "maxUnverified", "depth", "at"]

    private static let eventParameters =
        [
            "streams", "forceFetch", "heartbeat", "maxRate", "count", "timeout", "event", "heartbeatEvent", "pad", "gzip", "timings", "ticket",
            "from", "to", "speed",
        ] + HTTPRequest.lastEventIDSpellings

    /// Allows every web page to read the responses. Used if no setting names the allowed origins.
    static let anyOrigin = HTTPHeader(name: "Access-Control-Allow-Origin", value: "*")

    static let commonHeaders = [
        HTTPHeader(
            name: "Access-Control-Expose-Headers",
            value:
                "ETag, Link, Retry-After, X-Feed-State, X-Feed-Source, X-Feed-Age-Ms, X-Feed-Unverified-Ms, Preference-Applied, RateLimit, RateLimit-Policy"
        ),
        HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
    ]

    static let preflightHeaders = [
        HTTPHeader(name: "Access-Control-Allow-Methods", value: "GET, HEAD, POST, DELETE, OPTIONS"),
        HTTPHeader(
            name: "Access-Control-Allow-Headers",
            value:
                "Last-Event-ID, Cache-Control, Authorization, X-API-Key, If-None-Match, Prefer, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name"
        ),
        HTTPHeader(name: "Access-Control-Max-Age", value: "86400"),
    ]
}
