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

    /// `GET /servez`: whether this process can answer readers. An outage of an upstream changes nothing: readers get `stale` then, which no other gateway of
    /// the same venue could better.
    func serves(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let hasContents = hub.feed.isServing
        hub.tables.read(hub) { table in
            responder.respond(
                hasContents && table.isServing
                    ? Self.text(200, "serving\n") : Self.text(503, Self.reasons(table, Moment.current.instant)))
        }
    }

    /// `GET /readyz`: whether data flow from every upstream that somebody reads, which of its lines are lost, and why nothing is recorded. Without any
    /// reader the gateway is ready once the venue has listed its symbols.
    func ready(_ request: HTTPRequest, _ responder: HTTPResponder) {
        // Readers are served as well as ever, so a disk that fails makes nobody go elsewhere.
        let recording = tape?.reading.trouble.map { "nothing is recorded: \($0.message)\n" } ?? ""
        hub.tables.read(hub) {
            responder.respond(
                $0.isReady ? Self.text(200, "ready\n" + Self.lines($0) + recording) : Self.text(503, Self.reasons($0, Moment.current.instant)))
        }
    }

    /// Which upstreams have lost lines that readers do not miss.
    private static func lines(_ table: StatusTable) -> String {
        table.upstreams.map { upstream in
            guard let lines = upstream.lines, lines.open < lines.of else { return "" }
            return "\(lines.open) of \(lines.of) lines to \(upstream.name)\n"
        }.joined()
    }

    /// Why no data flow, a line for each upstream.
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
