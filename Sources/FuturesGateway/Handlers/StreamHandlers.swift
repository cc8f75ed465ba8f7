import FuturesFeed
import GatewayAccess
import Glibc
import MicroHTTP

/// `/streams`: the catalogue, snapshots, refetch and status.
struct StreamHandlers: Sendable {
    let hub: EventHub

    /// `GET /streams`
    func list(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        hub.run { hub in
            let statuses = hub.statuses().filter { caller.principal.permission.allows(stream: $0.feed.name.description) }
            var writer = JSONWriter(capacity: 4096)
            writer.object { json in
                json.member("catalogue")
                json.array(hub.engine.dialect.catalogue) { json, entry in
                    json.object {
                        $0.member("pattern", entry.pattern)
                        $0.member("carries", entry.carries)
                        $0.member("merge", entry.rule.rawValue)
                        if let key = entry.key { $0.member("key", key) }
                        $0.member("keep", optional: entry.keep)
                        $0.member("refetch", entry.hasSnapshotSource)
                    }
                }
                json.member("active")
                json.array(statuses) { json, status in json.object { Self.write(status, &$0) } }
            }
            responder.respond(Self.json(200, writer.bytes))
        }
    }

    /// `GET /streams/{name}`
    func snapshot(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let name = stream(request, responder, caller) else { return }
        guard let wait = seconds("wait", of: request, default: 5, upTo: 30, responder) else { return }
        let maxAge = request.query("maxAge").flatMap { Int64($0) }
        guard request.query("maxAge") == nil || (maxAge ?? -1) >= 0 else {
            return responder.respond(Problems.badParameter("maxAge", "takes milliseconds, 0 or more.").response)
        }
        let depth = request.query("depth").flatMap { Int($0) }
        if let text = request.query("depth"), name.mergeRule != .book || ![5, 10, 20, 50, 100, 500, 1000].contains(depth) {
            return responder.respond(
                Problems.badParameter("depth", "takes 5, 10, 20, 50, 100, 500 or 1000, for order books alone; it was \(text.prefix(20)).").response)
        }
        let noneMatch = request.header("If-None-Match")
        let patience = noneMatch == nil ? nil : request.preferredWait
        let isGzip = request.acceptsGzip
        let target = maxAge == nil && patience == nil ? request.target : nil
        hub.run { hub in
            let answer = {
                Self.snapshot(
                    of: name, hub, depth: depth, maxAge: maxAge, noneMatch: noneMatch, waited: patience, isGzip: isGzip, preparedFor: target)
            }
            if let response = answer() {
                guard response.status == 304, let patience, patience > 0, !hub.isDraining, !hub.isRetired(name) else {
                    return responder.respond(response)
                }
                return hub.wait(for: name, .change, timeout: .seconds(patience)) { _ in responder.respond(answer() ?? Self.vanished(name)) }
            }
            guard !hub.isRetired(name) else { return responder.respond(Problems.settled(name.description)) }
            guard hub.hasRoom(for: [name]) else { return responder.respond(Problems.full.response) }
            hub.wait(for: name, .value, timeout: .seconds(wait)) { result in
                switch result {
                case .success: responder.respond(answer() ?? Self.vanished(name))
                case .failure(let error): responder.respond(Problems.failure(error))
                }
            }
        }
    }

    /// `POST /streams/{name}/refetch`
    func refetch(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let name = stream(request, responder, caller) else { return }
        do throws(LimitReached) {
            try hub.gatekeeper.refetch(by: caller.principal, from: caller.address, at: Access.now)
        } catch { return responder.respond(Problems.limited(error).response) }
        let isAsync = request.prefers("respond-async")
        hub.run { hub in
            guard hub.hasRoom(for: [name]) else { return responder.respond(Problems.full.response) }
            hub.wait(for: name, .fetch, timeout: .seconds(15)) { result in
                guard !isAsync else { return }
                switch result {
                case .success:
                    responder.respond(Self.snapshot(of: name, hub) ?? Self.vanished(name))
                case .failure(let error): responder.respond(Problems.failure(error))
                }
            }
            guard isAsync else { return }
            var writer = JSONWriter()
            writer.object {
                $0.member("stream", name.description)
                $0.member("accepted", true)
            }
            responder.respond(Self.json(202, writer.bytes, [HTTPHeader(name: "Preference-Applied", value: "respond-async")]))
        }
    }

    /// `GET /streams/{name}/status`
    func status(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let name = stream(request, responder, caller) else { return }
        hub.run { hub in
            let status = hub.status(of: name)
            let incidents = hub.engine.read { core, _ in core.incidents(of: name) }
            var writer = JSONWriter()
            writer.object { json in
                if let status {
                    Self.write(status, &json)
                    json.member("incidents")
                    json.array(incidents) { json, incident in
                        json.object {
                            $0.member("at", incident.at)
                            $0.member("kind", incident.kind.rawValue)
                            $0.member("detail", incident.detail)
                        }
                    }
                } else {
                    json.member("stream", name.description)
                    json.member("state", "idle")
                    json.member("readers", 0)
                }
            }
            responder.respond(Self.json(200, writer.bytes))
        }
    }

    private func stream(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) -> FuturesServiceStreamName? {
        let text = request.parameters["name"] ?? ""
        if let name = FuturesServiceStreamName(text), !caller.principal.permission.allows(stream: name.description) {
            hub.gatekeeper.count(.forbidden)
            responder.respond(Problems.forbidden(stream: name.description).response)
            return nil
        }
        guard let name = FuturesServiceStreamName(text), hub.knows(name) else {
            responder.respond(
                FuturesServiceStreamName(text).map(hub.isSettled) == true ? Problems.settled(text) : Problems.unknownStreams([text]).response)
            return nil
        }
        return name
    }

    private func seconds(_ name: String, of request: HTTPRequest, default value: Int, upTo limit: Int, _ responder: HTTPResponder) -> Int? {
        guard let text = request.query(name) else { return value }
        guard let seconds = Int(text), (0...limit).contains(seconds) else {
            responder.respond(Problems.badParameter(name, "takes whole seconds from 0 to \(limit).").response)
            return nil
        }
        return seconds
    }

    private static func snapshot(
        of name: FuturesServiceStreamName, _ hub: EventHub, depth: Int? = nil, maxAge: Int64? = nil, noneMatch: String? = nil, waited: Int? = nil,
        isGzip: Bool = false, preparedFor target: String? = nil
    ) -> HTTPResponse? {
        guard let snapshot = hub.snapshot(of: name, depth: depth, isGzip: isGzip), let id = snapshot.status.contentID else { return nil }
        let status = snapshot.status
        let age = status.ageMs ?? 0
        if let maxAge, age > maxAge {
            var response = HTTPProblem(
                status: 503, title: "Too old", detail: "The newest value of \(name) is \(age) ms old, older than the \(maxAge) ms asked for."
            ).response
            response.headers.append(HTTPHeader(name: "Retry-After", value: "1"))
            return response
        }
        // Each coding of a value is a representation of its own (RFC 9110 §8.8.3.3).
        let tag = "\"\(id)-\(status.state.rawValue)\(depth.map { "-\($0)" } ?? "")\(snapshot.isCompressed ? "-gzip" : "")\""
        var headers = [
            HTTPHeader(name: "ETag", value: tag),
            HTTPHeader(name: "X-Feed-State", value: status.state.rawValue),
            HTTPHeader(name: "Cache-Control", value: "max-age=0, must-revalidate"),
            HTTPHeader(name: "Vary", value: "Prefer, Accept-Encoding"),
        ]
        let point = ResumePoint(id, of: StreamSet(name))
        // A 304 leaves out what its client has with the body (RFC 9110 §15.4.5).
        var contentHeaders = [
            HTTPHeader(name: "Content-Type", value: "application/json"),
            HTTPHeader(name: "Last-Modified", value: httpDate(snapshot.receivedAt)),
            HTTPHeader(name: "Link", value: "</events?streams=\(name.description.percentEncoded)&lastEventId=\(point)>; rel=\"monitor\""),
        ]
        if snapshot.isCompressed { contentHeaders.append(HTTPHeader(name: "Content-Encoding", value: "gzip")) }
        let (body, ageHeader) = (snapshot.body, "X-Feed-Age-Ms")
        if let target {
            let prepared = PreparedAnswer(
                content: body, entityTag: tag, headers: headers, contentHeaders: contentHeaders, ageHeader: ageHeader, age: age, lifetime: .seconds(1)
            )
            hub.prepare(prepared, for: name, target: target, isGzip: isGzip)
        }
        headers.append(HTTPHeader(name: ageHeader, value: String(age)))
        if let waited { headers.append(HTTPHeader(name: "Preference-Applied", value: "wait=\(waited)")) }
        // A 304 states the length of the body it leaves out (RFC 9110 §8.6), so it is given that body.
        if let noneMatch, noneMatch.matches(entityTag: tag) { return HTTPResponse(status: 304, headers: headers, content: body) }
        return HTTPResponse(status: 200, headers: headers + contentHeaders, content: body)
    }

    private static func vanished(_ name: FuturesServiceStreamName) -> HTTPResponse {
        Problems.failure(FeedError(.timedOut, "The value of \(name) went while it was asked for; ask again."))
    }

    static func json(_ status: Int, _ body: [UInt8], _ headers: [HTTPHeader] = []) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: headers + [
                HTTPHeader(name: "Content-Type", value: "application/json"), HTTPHeader(name: "Cache-Control", value: "no-store"),
            ], body: body)
    }

    private static func write(_ status: EventHub.Status, _ json: inout JSONWriter) {
        json.member("stream", status.feed.name.description)
        json.member("state", status.feed.state.rawValue)
        if let id = status.feed.contentID { json.member("id", id.description) }
        json.member("ageMs", optional: status.feed.ageMs)
        json.member("source", status.feed.source.rawValue)
        json.member("connected", status.feed.isConnected)
        json.member("readers", status.readers)
    }

    /// An HTTP date (RFC 9110 §5.6.7) from ms since 1970 UTC.
    private static func httpDate(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 40)
        let count = strftime(&buffer, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension Substring {
    /// Without the blanks and tabs around it.
    var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
