import FuturesFeed
import MicroHTTP
import Tape

/// `/healthz`, `/servez`, `/readyz` and `/openapi.yaml`.
struct ProbeHandlers: Sendable {
    let hub: EventHub
    let tape: Tape?

    /// `GET /healthz`: whether the process answers.
    func health(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(Self.text(200, "ok\n"))
    }

    /// `GET /servez`: whether this process can answer readers. It is independent of upstream outages: readers then get `stale`, and no other gateway
    /// of the same venue could do better.
    func serves(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let hasContents = hub.feed.isServing
        hub.tables.read(hub) { table in
            responder.respond(
                hasContents && table.isServing
                    ? Self.text(200, "serving\n") : Self.text(503, Self.reasons(table, Moment.current.instant)))
        }
    }

    /// `GET /readyz`: whether data arrives from every upstream with readers, which of its lines are lost, and why nothing is recorded. Without
    /// readers, the gateway is ready when the venue has listed its symbols.
    func ready(_ request: HTTPRequest, _ responder: HTTPResponder) {
        // A failing disk does not affect readers, so it must not make load balancers send them elsewhere.
        let recording = tape?.reading.trouble.map { "nothing is recorded: \($0.message)\n" } ?? ""
        hub.tables.read(hub) {
            responder.respond(
                $0.isReady ? Self.text(200, "ready\n" + Self.lines($0) + recording) : Self.text(503, Self.reasons($0, Moment.current.instant)))
        }
    }

    /// The upstreams that have lost lines without an effect on readers.
    private static func lines(_ table: StatusTable) -> String {
        table.upstreams.map { upstream in
            guard let lines = upstream.lines, lines.open < lines.of else { return "" }
            return "\(lines.open) of \(lines.of) lines to \(upstream.name)\n"
        }.joined()
    }

    /// Why no data arrives, one line per upstream.
    private static func reasons(_ table: StatusTable, _ now: Instant) -> String {
        if table.isStopping { return "draining\n" }
        if let trouble = table.trouble { return trouble + "\n" }
        func trouble(_ upstream: StatusTable.Upstream) -> String {
            upstream.trouble.map { "; \(now.milliseconds(since: $0.at) / 1000) s ago: \($0.text)" } ?? ""
        }
        let lines = table.down.map { "no data flows from \($0.name) (streams read: \($0.read))\(trouble($0))\n" }
        guard lines.isEmpty else { return lines.joined() + Self.lines(table) }
        return "\(table.upstreams.first?.name ?? "the venue") has not listed its symbols yet\(table.upstreams.first.map(trouble) ?? "")\n"
    }

    /// `GET /openapi.yaml`: the API contract.
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
