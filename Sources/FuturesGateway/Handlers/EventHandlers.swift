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
        for option in ["count", "timeout", "event"] where request.query(option) != nil {
            return responder.respond(Problems.badParameter(option, "is not available in this version; leave it out.").response)
        }
        guard let forceFetch = flag("forceFetch", of: request, responder), let heartbeat = heartbeat(of: request, responder) else { return }
        guard let lastEventID = lastEventID(of: request, responder), let maxRate = maxRate(of: request, responder) else { return }
        let wishes = EventHub.Wishes(heartbeat: heartbeat, lastEventID: lastEventID, forceFetch: forceFetch, maxRate: maxRate)
        let isHead = request.method == "HEAD"
        hub.run { [loop] hub in
            guard !isHead else { return responder.openStream(headers: Self.headers, loop: loop, context: 0) }
            guard let number = hub.prepare(streams: names, wishes)
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
                guard hub.mayControl(id) else { return responder.respond(Problems.controlledTooOften) }
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

    /// The header's id, which a browser keeps up to date, goes before the query's, which stays as it was; polyfills spell the latter in their
    /// own ways. What no gateway ever gave is an error in a query, and a point that cannot be gone back to in a header, since a browser
    /// would never come back from an error. Outer nil where the request was answered.
    private func lastEventID(of request: HTTPRequest, _ responder: HTTPResponder) -> EventHub.LastEventID?? {
        if let header = request.header("Last-Event-ID"), !header.isEmpty { return .some(EventID(header).map { .id($0) } ?? .unreadable) }
        for spelling in ["lastEventId", "last_event_id", "lastEvent", "Last-Event-ID"] {
            guard let text = request.query(spelling), !text.isEmpty else { continue }
            guard let id = EventID(text) else {
                responder.respond(Problems.badParameter(spelling, "takes an id as the gateway gave it, k3f9a.1z4.").response)
                return nil
            }
            return .some(.id(id))
        }
        return .some(nil)
    }

    /// Outer nil where the request was answered.
    private func maxRate(of request: HTTPRequest, _ responder: HTTPResponder) -> Double?? {
        guard let text = request.query("maxRate") else { return .some(nil) }
        guard text.utf8.count <= 12, text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let rate = Double(text), (0.01...100).contains(rate)
        else {
            responder.respond(Problems.badParameter("maxRate", "takes deliveries per second from 0.01 to 100.").response)
            return nil
        }
        return .some(rate)
    }

    private static func accepts(_ header: String) -> Bool {
        header.split(separator: ",").contains { item in
            let type = (item.split(separator: ";").first ?? "").trimmed.lowercased()
            return type == "text/event-stream" || type == "text/*" || type == "*/*"
        }
    }
}
