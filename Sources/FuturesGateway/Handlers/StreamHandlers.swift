import FuturesFeed
import GatewayAccess
import Glibc
import MicroHTTP
import Rings

/// `/streams`: the catalog, snapshots, refetch and status.
struct StreamHandlers: Sendable {
    let hub: EventHub
    /// The catalog as JSON, which does not change.
    private let catalogue: [UInt8]

    init(hub: EventHub) {
        self.hub = hub
        catalogue = Self.catalogue(of: hub.feed.dialect)
    }

    /// `GET /streams`
    func list(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        let (upstreams, catalogue) = (hub.upstreams, catalogue)
        hub.tables.read(hub) { table in
            responder.respond(200) { Self.list(table, upstreams, catalogue, caller.principal.permission) }
        }
    }

    private static func list(_ table: StatusTable, _ upstreams: [Upstream], _ catalogue: [UInt8], _ permission: Permission) -> HTTPResponse {
        var writer = JSONWriter(capacity: 4096)
        writer.object { json in
            json.member("upstreams")
            json.array { json in
                for entry in Array(zip(upstreams, table.upstreams)) {
                    let (upstream, status) = entry
                    json.object {
                        $0.member("name", upstream.name)
                        if let venue = upstream.venue { $0.member("venue", venue) }
                        $0.member("simulated", upstream.isSimulated)
                        if let lines = status.lines {
                            $0.member("lines", lines.of)
                            $0.member("linesOpen", lines.open)
                        }
                    }
                }
            }
        }
        var body = writer.bytes
        body.removeLast()
        body += catalogue
        table.list(for: permission, now: Instant.current, to: &body, write)
        body += Array("]}".utf8)
        return Self.json(200, body)
    }

    /// The member with the catalog, and the beginning of the one with the streams in use.
    private static func catalogue(of dialect: any Dialect) -> [UInt8] {
        var writer = JSONWriter(capacity: 8192)
        writer.object { json in
            json.member("catalogue")
            json.array { json in
                for entry in dialect.catalogue {
                    json.object {
                        $0.member("pattern", entry.pattern)
                        $0.member("carries", entry.carries)
                        $0.member("merge", entry.rule.rawValue)
                        if let key = entry.key { $0.member("key", key) }
                        $0.member("keep", optional: entry.keep.map(Int64.init))
                        $0.member("refetch", entry.hasSnapshotSource)
                    }
                }
            }
        }
        return Array(",".utf8) + writer.bytes.dropFirst().dropLast() + Array(",\"active\":[".utf8)
    }

    /// `GET /streams/{name}`
    func snapshot(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let name = try Self.stream(request, caller, hub)
        let wait = try request.integer("wait", 0...30, "must be whole seconds from 0 to 30.") ?? 5
        let bounds = FreshnessBounds(age: request.query("maxAge"), unverified: request.query("maxUnverified"))
        if let unreadable = bounds.unreadable { throw Problems.badParameter(unreadable, "must be milliseconds, 0 or more.") }
        let depth = request.query("depth").flatMap { ParameterText.integer($0, 5...1000) }
        if request.query("depth") != nil, name.mergeRule != .book {
            throw Problems.badParameter("depth", "applies only to order books such as btcusdt@depth; leave it out here.")
        }
        if let text = request.query("depth"), ![5, 10, 20, 50, 100, 500, 1000].contains(depth) {
            throw Problems.badParameter("depth", "must be 5, 10, 20, 50, 100, 500 or 1000; it was \(text.prefix(20)).")
        }
        let noneMatch = request.header("If-None-Match")
        let patience = noneMatch == nil ? nil : request.preferredWait
        let isGzip = request.acceptsGzip
        let key = bounds.areNone && patience == nil ? Self.preparable(request.target, name, depth: depth, isGzip: isGzip) : nil
        hub.run { hub in
            let answer = {
                Self.snapshot(
                    of: name, hub, depth: depth, bounds, noneMatch: noneMatch, waited: patience, isGzip: isGzip, preparedFor: key)
            }
            if !hub.lacksHistory(name), let response = answer() {
                guard response.status == 304, let patience, patience > 0, !hub.isDraining, !hub.isRetired(name) else {
                    return responder.respond(response)
                }
                return Self.poll(hub, name, until: .now + .seconds(patience), bounds, caller, responder) { answer() ?? Self.vanished(name) }
            }
            guard !hub.isRetired(name) else { return responder.respond(Problems.settled(name.description).response) }
            do throws(EventHub.Refusal) { try hub.checkRoom(for: [name], from: caller.address) } catch {
                return responder.respond(EventHandlers.problem(error).response)
            }
            Self.wait(hub, for: name, name.isListOfBars ? .history : .value, timeout: .seconds(wait), caller, responder) { result in
                switch (result, answer()) {
                case (_, let response?): response
                case (.success, nil): Self.vanished(name)
                case (.failure(let error), nil):
                    switch hub.absence(of: name, error) {
                    case .quiet: Self.nothingYet(name, hub.status(of: name)?.feed.state ?? .connecting)
                    case .failed(let error): Problems.failure(error).response
                    }
                }
            }
        }
    }

    /// `POST /streams/{name}/refetch`
    func refetch(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let name = try Self.stream(request, caller, hub)
        do throws(LimitReached) {
            try hub.gatekeeper.spend(hub.cost(ofFetching: [name]), by: caller.principal, from: caller.address, at: Access.now)
        } catch { throw Problems.limited(error) }
        let isAsync = request.prefers("respond-async")
        hub.run { hub in
            do throws(EventHub.Refusal) { try hub.checkRoom(for: [name], from: caller.address) } catch {
                return responder.respond(EventHandlers.problem(error).response)
            }
            guard isAsync else {
                return Self.wait(hub, for: name, .fetch, timeout: .seconds(15), caller, responder) { result in
                    switch result {
                    case .success: Self.snapshot(of: name, hub) ?? Self.vanished(name)
                    case .failure(let error): Problems.failure(error).response
                    }
                }
            }
            hub.wait(for: name, .fetch, timeout: .seconds(15), from: caller.address) { _ in }
            var writer = JSONWriter()
            writer.object {
                $0.member("stream", name.description)
                $0.member("accepted", true)
            }
            responder.respond(Self.json(202, writer.bytes, [HTTPHeader(name: "Preference-Applied", value: "respond-async")]))
        }
    }

    /// `GET /streams/{name}/status`
    func status(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let name = try Self.stream(request, caller, hub)
        hub.run { hub in
            let status = hub.status(of: name)
            let incidents = hub.feed.incidents(of: name)
            var writer = JSONWriter()
            writer.object { json in
                if let status {
                    Self.write(status, &json)
                    json.member("ageMs", optional: status.feed.ageMs)
                    json.member("unverifiedMs", optional: status.feed.unverifiedMs)
                    json.member("incidents")
                    json.array(incidents)
                } else {
                    json.member("stream", name.description)
                    json.member("state", "idle")
                    json.member("readers", 0)
                }
            }
            responder.respond(Self.json(200, writer.bytes))
        }
    }

    /// Responds when the awaited event occurs or the time is up. Meanwhile the request counts as one of its address's connections. If the client
    /// disconnects, the wait ends.
    private static func wait(
        _ hub: EventHub, for name: FuturesServiceStreamName, _ awaited: AwaitedEvent, timeout: Duration, _ caller: Access.Caller,
        _ responder: HTTPResponder, longer: @escaping () -> Duration? = { nil }, _ answer: @escaping (Result<Void, FeedError>) -> HTTPResponse
    ) {
        let lease: Gatekeeper.Lease
        do throws(LimitReached) { lease = try hub.gatekeeper.wait(from: caller.address, at: Access.now) } catch {
            return responder.respond(Problems.limited(error).response)
        }
        let number = hub.wait(for: name, awaited, timeout: timeout, from: caller.address, longer: longer) { result in
            hub.gatekeeper.close(lease, streams: 0)
            responder.respond(answer(result))
        }
        responder.whenAbandoned { hub.run { $0.abandon(name, number) } }
    }

    /// The key under which a response may be prepared. Only the usual spellings of the target are allowed, so that each stream has few.
    static func preparable(_ target: String, _ name: FuturesServiceStreamName, depth: Int?, isGzip: Bool) -> PreparedAnswers.Key? {
        let encoded = name.description.percentEncoded
        let query = depth.map { "?depth=\($0)" } ?? ""
        let spellings = [name.description, encoded, encoded.replacing("@", with: "%40")]
        guard spellings.contains(where: { target.utf8.elementsEqual("/streams/\($0)\(query)".utf8) }) else { return nil }
        return PreparedAnswers.Key(target: target, isGzip: isGzip)
    }

    /// The stream in the path.
    static func stream(_ request: HTTPRequest, _ caller: Access.Caller, _ hub: EventHub) throws(HTTPProblem) -> FuturesServiceStreamName {
        let text = request.parameters["name"] ?? ""
        let name = FuturesServiceStreamName(text)
        if let name, !caller.principal.permission.allows(stream: name.description) {
            hub.gatekeeper.count(.forbidden)
            throw Problems.forbidden(stream: name.description)
        }
        guard let name, hub.knows(name) else {
            throw name.map(hub.isSettled) == true ? Problems.settled(text) : Problems.unknownStreams([(text, hub.mistake(in: text))])
        }
        return name
    }

    /// Waits for the next change of a known snapshot, but no longer than the current one stays within the bounds.
    private static func poll(
        _ hub: EventHub, _ name: FuturesServiceStreamName, until end: ContinuousClock.Instant, _ bounds: FreshnessBounds,
        _ caller: Access.Caller, _ responder: HTTPResponder, _ answer: @escaping () -> HTTPResponse
    ) {
        let longer: () -> Duration? = {
            guard .now < end, !hub.isDraining, let status = hub.status(of: name)?.feed, bounds.problem(of: status) == nil else { return nil }
            return min(end - .now, bounds.rest(of: status) ?? .seconds(60))
        }
        wait(hub, for: name, .change, timeout: longer() ?? .zero, caller, responder, longer: longer) { _ in answer() }
    }

    private static func snapshot(
        of name: FuturesServiceStreamName, _ hub: EventHub, depth: Int? = nil, _ bounds: FreshnessBounds = FreshnessBounds(),
        noneMatch: String? = nil, waited: Int? = nil, isGzip: Bool = false, preparedFor key: PreparedAnswers.Key? = nil
    ) -> HTTPResponse? {
        guard let snapshot = hub.snapshot(of: name, depth: depth, isGzip: isGzip), let id = snapshot.status.contentID else { return nil }
        let status = snapshot.status
        if let problem = bounds.problem(of: status) {
            var response = problem.response
            response.headers.append(HTTPHeader(name: "Retry-After", value: "1"))
            return response
        }
        // A weak ETag, because the body contains its freshness, which changes while the value stays the same (RFC 9110 §8.8.1).
        let tag = "W/\"\(id)-\(status.state.rawValue)\(depth.map { "-\($0)" } ?? "")\(snapshot.body.isCompressed ? "-gzip" : "")\""
        var headers = [
            HTTPHeader(name: "ETag", value: tag),
            HTTPHeader(name: "X-Feed-State", value: status.state.rawValue),
            HTTPHeader(name: "Cache-Control", value: "max-age=0, must-revalidate"),
            HTTPHeader(name: "Vary", value: "Prefer, Accept-Encoding"),
        ]
        let point = ResumePoint(id, of: StreamSet(name))
        // A 304 omits fields that the client already has with the body (RFC 9110 §15.4.5).
        var contentHeaders = [
            HTTPHeader(name: "Content-Type", value: "application/json"),
            HTTPHeader(name: "Last-Modified", value: httpDate(snapshot.receivedAt)),
            HTTPHeader(name: "Link", value: "</events?streams=\(name.description.percentEncoded)&lastEventId=\(point)>; rel=\"monitor\""),
        ]
        if snapshot.body.isCompressed { contentHeaders.append(HTTPHeader(name: "Content-Encoding", value: "gzip")) }
        let body = snapshot.body.bytes
        let freshness = [("X-Feed-Age-Ms", status.ageMs ?? 0), ("X-Feed-Unverified-Ms", status.unverifiedMs ?? 0)]
        if let key {
            let prepared = PreparedAnswer(
                content: body, entityTag: tag, headers: headers, contentHeaders: contentHeaders, countingHeaders: freshness,
                asOf: UInt64(clamping: snapshot.instant.nanoseconds), lifetime: snapshot.body.lifetime, route: "/streams/{name}")
            hub.prepare(prepared, for: name, key)
        }
        headers += freshness.map { HTTPHeader(name: $0.0, value: String($0.1)) }
        if let waited { headers.append(HTTPHeader(name: "Preference-Applied", value: "wait=\(waited)")) }
        // A 304 states the length of the omitted body (RFC 9110 §8.6), so it needs that body.
        if let noneMatch, noneMatch.matches(entityTag: tag) { return HTTPResponse(status: 304, headers: headers, content: body) }
        return HTTPResponse(status: 200, headers: headers + contentHeaders, content: body)
    }

    /// The response if the stream is subscribed and connected, no event has happened yet, and there is no other source. This is a success (2xx)
    /// without content (RFC 9110 §15.3.5).
    private static func nothingYet(_ name: FuturesServiceStreamName, _ state: FeedState) -> HTTPResponse {
        HTTPResponse(
            status: 204,
            headers: [
                HTTPHeader(name: "X-Feed-State", value: state.rawValue), HTTPHeader(name: "Cache-Control", value: "no-store"),
                HTTPHeader(name: "Link", value: "</events?streams=\(name.description.percentEncoded)>; rel=\"monitor\""),
            ], body: [])
    }

    private static func vanished(_ name: FuturesServiceStreamName) -> HTTPResponse {
        Problems.failure(FeedError(.timedOut, "The stream \(name) was released during the request; try again.")).response
    }

    static func json(_ status: Int, _ body: [UInt8], _ headers: [HTTPHeader] = []) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: headers + [
                HTTPHeader(name: "Content-Type", value: "application/json"), HTTPHeader(name: "Cache-Control", value: "no-store"),
            ], body: body)
    }

    /// The members that do not change with time.
    private static func write(_ status: EventHub.Status, _ json: inout JSONWriter) {
        json.member("stream", status.feed.name.description)
        json.member("state", status.feed.state.rawValue)
        json.market(status.feed)
        if let id = status.feed.contentID { json.member("id", id.description) }
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
