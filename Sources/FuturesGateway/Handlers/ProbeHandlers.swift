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
                    ? Self.text(200, "serving\n") : Self.text(503, Self.reasons(table, Instant.current)))
        }
    }

    /// `GET /readyz`: whether data arrives from every upstream with readers, which of its lines are lost, and why nothing is recorded. Without
    /// readers, the gateway is ready when a venue has listed its symbols. With `venue`, only that upstream counts.
    func ready(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if let name = request.query("venue") { return ready(name, responder) }
        // A failing disk does not affect readers, so it must not make load balancers send them elsewhere.
        let recording = tape?.reading.trouble.map { "nothing is recorded: \($0.message)\n" } ?? ""
        hub.tables.read(hub) {
            responder.respond(
                $0.isReady ? Self.text(200, "ready\n" + Self.lines($0) + recording) : Self.text(503, Self.reasons($0, Instant.current)))
        }
    }

    private func ready(_ name: String, _ responder: HTTPResponder) {
        hub.tables.read(hub) { table in
            guard let upstream = table.upstreams.first(where: { $0.name == name }) else {
                let names = table.upstreams.map(\.name).joined(separator: ", ")
                return responder.respond(Self.text(404, "there is no upstream with this name; available: \(names)\n"))
            }
            if table.isStopping { return responder.respond(Self.text(503, "draining\n")) }
            if let trouble = table.trouble { return responder.respond(Self.text(503, trouble + "\n")) }
            let now = Instant.current
            if upstream.isDown { return responder.respond(Self.text(503, Self.silence(upstream, now) + Self.lines(upstream))) }
            if upstream.isListed == false, !upstream.isReached { return responder.respond(Self.text(503, Self.unlisted(upstream, now))) }
            responder.respond(Self.text(200, "ready\n" + Self.lines(upstream)))
        }
    }

    /// The upstreams that have lost lines or have not been reached, without an effect on readers.
    private static func lines(_ table: StatusTable) -> String {
        table.upstreams.map { upstream in
            let isMissing = upstream.isListed == false && !upstream.isReached && !upstream.isDown
            return lines(upstream) + (isMissing ? unlisted(upstream, Instant.current) : "")
        }.joined()
    }

    private static func lines(_ upstream: StatusTable.Upstream) -> String {
        guard let lines = upstream.lines, lines.open < lines.of else { return "" }
        return "\(lines.open) of \(lines.of) lines to \(upstream.name)\n"
    }

    private static func silence(_ upstream: StatusTable.Upstream, _ now: Instant) -> String {
        "no data flows from \(upstream.name) (streams read: \(upstream.read))\(trouble(upstream, now))\n"
    }

    private static func unlisted(_ upstream: StatusTable.Upstream, _ now: Instant) -> String {
        "\(upstream.name) has not listed its symbols yet\(trouble(upstream, now))\n"
    }

    private static func trouble(_ upstream: StatusTable.Upstream, _ now: Instant) -> String {
        upstream.trouble.map { "; \(now.milliseconds(since: $0.at) / 1000) s ago: \($0.text)" } ?? ""
    }

    /// Why no data arrives, one line per upstream.
    private static func reasons(_ table: StatusTable, _ now: Instant) -> String {
        if table.isStopping { return "draining\n" }
        if let trouble = table.trouble { return trouble + "\n" }
        let lines = table.down.map { silence($0, now) }
        guard lines.isEmpty else { return lines.joined() + Self.lines(table) }
        return table.upstreams.first.map { unlisted($0, now) } ?? "the venue has not listed its symbols yet\n"
    }

    private static let contract = SharedBytes(EmbeddedFiles.bytes("openapi.yaml"))

    /// `GET /openapi.yaml`: the API contract.
    func contract(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(
            HTTPResponse(
                status: 200,
                headers: [
                    HTTPHeader(name: "Content-Type", value: "application/yaml"), HTTPHeader(name: "Cache-Control", value: "max-age=300"),
                ], content: Self.contract))
    }

    private static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [
                HTTPHeader(name: "Content-Type", value: "text/plain; charset=utf-8"), HTTPHeader(name: "Cache-Control", value: "no-store"),
            ], body: Array(text.utf8))
    }
}
