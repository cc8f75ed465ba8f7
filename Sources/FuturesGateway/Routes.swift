import MicroHTTP

/// The route table, in the order of `openapi.yaml`.
enum Routes {
    static func router(hub: EventHub, loop: EventStreamLoop, metrics: MetricsHandler) -> Router {
        let streams = StreamHandlers(hub: hub)
        let events = EventHandlers(hub: hub, loop: loop)
        let probes = ProbeHandlers(hub: hub)
        var router = Router()
        router.on("GET", "/streams", streams.list)
        router.on("GET", "/streams/{name}", streams.snapshot)
        router.on("GET", "/streams/{name}/status", streams.status)
        router.on("POST", "/streams/{name}/refetch", streams.refetch)
        router.on("GET", "/events", events.open)
        router.on("GET", "/events/{client}", events.view)
        router.on("DELETE", "/events/{client}", events.close)
        router.on("POST", "/events/{client}/pause", events.control(.pause))
        router.on("POST", "/events/{client}/resume", events.control(.resume))
        router.on("POST", "/events/{client}/subscribe", events.control(.subscribe))
        router.on("POST", "/events/{client}/unsubscribe", events.control(.unsubscribe))
        router.on("GET", "/healthz", probes.health)
        router.on("GET", "/readyz", probes.ready)
        router.on("GET", "/metrics", metrics.answer)
        router.on("GET", "/openapi.yaml", probes.contract)
        router.on("GET", "/", WebHandlers.page)
        router.on("GET", "/client.js", WebHandlers.client)
        router.on("GET", "/web/{file}", WebHandlers.file)
        return router
    }

    /// Public data without credentials: any page may read it.
    static let anyOrigin = HTTPHeader(name: "Access-Control-Allow-Origin", value: "*")

    static let commonHeaders = [
        HTTPHeader(name: "Access-Control-Expose-Headers", value: "ETag, Link, Retry-After, X-Feed-State, X-Feed-Age-Ms, Preference-Applied"),
        HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
    ]

    static let preflightHeaders = [
        HTTPHeader(name: "Access-Control-Allow-Methods", value: "GET, HEAD, POST, DELETE, OPTIONS"),
        HTTPHeader(name: "Access-Control-Allow-Headers", value: "Last-Event-ID, Cache-Control, Authorization, If-None-Match, Prefer"),
        HTTPHeader(name: "Access-Control-Max-Age", value: "86400"),
    ]
}
