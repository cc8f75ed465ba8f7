import FuturesFeed
import MicroHTTP

/// `/events`: server-sent events, and the control of one connection.
struct EventHandlers: Sendable {
    let hub: EventHub
    let loop: EventStreamLoop

    private static let headers = [
        HTTPHeader(name: "Content-Type", value: "text/event-stream; charset=utf-8"),
        HTTPHeader(name: "Cache-Control", value: "no-store, no-transform"),
        HTTPHeader(name: "X-Accel-Buffering", value: "no"),
    ]

    /// `GET /events?streams=a,b`
    func open(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard let names = streams(request, responder) else { return }
        guard !names.isEmpty else {
            return responder.respond(
                Problems.badParameter("streams", "is missing: name the streams, as in /events?streams=btcusdt@markPrice.").response)
        }
        guard names.count <= hub.limits.streamsPerClient else {
            return responder.respond(Problems.badParameter("streams", "takes at most \(hub.limits.streamsPerClient) names.").response)
        }
        if let accept = request.header("Accept"), !Self.accepts(accept) {
            return responder.respond(
                HTTPProblem(status: 406, title: "Not acceptable", detail: "Events come as text/event-stream; accept that, or */*.").response)
        }
        for option in ["maxRate", "count", "timeout", "event"] where request.query(option) != nil {
            return responder.respond(Problems.badParameter(option, "is not available in this version; leave it out.").response)
        }
        guard let forceFetch = flag("forceFetch", of: request, responder), let heartbeat = heartbeat(of: request, responder) else { return }
        let lastEventID = request.header("Last-Event-ID") ?? request.query("lastEventId")
        if let lastEventID, lastEventID.utf8.count > 256 {
            return responder.respond(Problems.badParameter("lastEventId", "takes an id as the gateway gave it.").response)
        }
        let isHead = request.method == "HEAD"
        hub.run { [loop] hub in
            guard !isHead else { return responder.openStream(headers: Self.headers, loop: loop, context: 0) }
            guard
                let number = hub.prepare(
                    streams: names, heartbeat: heartbeat, wantsResume: lastEventID?.isEmpty == false, forceFetch: forceFetch)
            else { return responder.respond(Self.passing(code: "draining", reason: "The gateway is stopping.")) }
            responder.openStream(headers: Self.headers, loop: loop, context: number)
        }
    }

    /// A browser gives up for good on anything but 200; what will pass is said in a stream that ends.
    static func passing(code: String, reason: String) -> HTTPResponse {
        HTTPResponse(status: 200, headers: headers, body: EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs))
    }

    /// `GET /events/{client}`
    func view(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let id = request.parameters["client"] ?? ""
        hub.run { hub in Self.answer(hub.view(of: id), responder) }
    }

    /// `DELETE /events/{client}`
    func close(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let id = request.parameters["client"] ?? ""
        hub.run { hub in
            let view = hub.view(of: id)
            Self.answer(hub.close(id) ? view : nil, responder)
        }
    }

    /// `POST /events/{client}/pause`, `/resume`, `/subscribe`, `/unsubscribe`
    func control(_ control: EventHub.Control) -> @Sendable (HTTPRequest, HTTPResponder) -> Void {
        { request, responder in
            let id = request.parameters["client"] ?? ""
            guard let names = streams(request, responder) else { return }
            let needsNames = control == .subscribe || control == .unsubscribe
            if needsNames, names.isEmpty {
                return responder.respond(Problems.badParameter("streams", "is missing: name the streams, separated by commas.").response)
            }
            hub.run { hub in
                if control == .subscribe, let view = hub.view(of: id), Set(view.streams).union(names).count > hub.limits.streamsPerClient {
                    return responder.respond(
                        Problems.badParameter("streams", "would exceed the \(hub.limits.streamsPerClient) streams of one connection.").response)
                }
                hub.control(control, id, names.isEmpty ? nil : names) { Self.answer($0, responder) }
            }
        }
    }

    private static func answer(_ view: EventHub.ClientView?, _ responder: HTTPResponder) {
        guard let view else { return responder.respond(Problems.unknownClient.response) }
        var writer = JSONWriter()
        writer.object { json in
            json.member("client", view.id)
            json.member("streams")
            json.array(view.streams) { $0.string($1.description) }
            json.member("paused")
            json.array(view.paused) { $0.string($1.description) }
        }
        responder.respond(StreamHandlers.json(200, writer.bytes))
    }

    /// The streams asked for, each once, in order; nil where the request was answered with what is wrong.
    private func streams(_ request: HTTPRequest, _ responder: HTTPResponder) -> [FuturesServiceStreamName]? {
        let texts = request.queries("streams").flatMap { $0.split(separator: ",") }.map(String.init)
        var (names, seen, unknown): ([FuturesServiceStreamName], Set<FuturesServiceStreamName>, [String]) = ([], [], [])
        for text in texts {
            if let name = FuturesServiceStreamName(text), hub.knows(name) {
                if seen.insert(name).inserted { names.append(name) }
            } else {
                unknown.append(text)
            }
        }
        guard unknown.isEmpty else {
            responder.respond(Problems.unknownStreams(Array(unknown.prefix(20))).response)
            return nil
        }
        return names
    }

    private func flag(_ name: String, of request: HTTPRequest, _ responder: HTTPResponder) -> Bool? {
        switch request.query(name) {
        case nil, "false", "0": return false
        case "true", "1", "": return true
        default:
            responder.respond(Problems.badParameter(name, "takes true or false.").response)
            return nil
        }
    }

    private func heartbeat(of request: HTTPRequest, _ responder: HTTPResponder) -> Int? {
        guard let text = request.query("heartbeat") else { return hub.limits.heartbeat }
        guard let seconds = Int(text), (5...60).contains(seconds) else {
            responder.respond(Problems.badParameter("heartbeat", "takes whole seconds from 5 to 60.").response)
            return nil
        }
        return seconds
    }

    private static func accepts(_ header: String) -> Bool {
        header.split(separator: ",").contains { item in
            let type = (item.split(separator: ";").first ?? "").trimmed.lowercased()
            return type == "text/event-stream" || type == "text/*" || type == "*/*"
        }
    }
}
