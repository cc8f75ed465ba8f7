import FuturesFeed
import MicroHTTP

/// `/healthz`, `/readyz` and `/openapi.yaml`.
struct ProbeHandlers: Sendable {
    let hub: EventHub

    /// `GET /healthz`: the process answers.
    func health(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(Self.text(200, "ok\n"))
    }

    /// `GET /readyz`: data really flows. Without any reader there is nothing to flow, and the gateway is ready once the venue has listed
    /// its symbols.
    func ready(_ request: HTTPRequest, _ responder: HTTPResponder) {
        hub.run { hub in
            if hub.isDraining { return responder.respond(Self.text(503, "draining\n")) }
            let statuses = hub.statuses()
            let flows = statuses.contains { $0.feed.state == .live }
            let isReady = flows || (statuses.allSatisfy { $0.readers == 0 } && hub.engine.read { core, _ in core.knowsSymbols })
            responder.respond(isReady ? Self.text(200, "ready\n") : Self.text(503, "no data flows from the venue\n"))
        }
    }

    /// `GET /openapi.yaml`: this contract.
    func contract(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(
            HTTPResponse(
                status: 200,
                headers: [
                    HTTPHeader(name: "Content-Type", value: "application/yaml"), HTTPHeader(name: "Cache-Control", value: "max-age=300"),
                ], body: PackageResources.openapi_yaml))
    }

    private static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [
                HTTPHeader(name: "Content-Type", value: "text/plain; charset=utf-8"), HTTPHeader(name: "Cache-Control", value: "no-store"),
            ], body: Array(text.utf8))
    }
}
