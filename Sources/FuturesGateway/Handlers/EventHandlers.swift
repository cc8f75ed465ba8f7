import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings
import Tape

/// `/events`: event connections, and their control.
struct EventHandlers: Sendable {
    let hub: EventHub
    /// The event stream loops of the fan-out threads, in order.
    let loops: [EventStreamLoop]
    let recorded: TapeHandlers

    static func headers(_ format: EventFormat, isCompressed: Bool = false) -> [HTTPHeader] {
        [
            HTTPHeader(name: "Content-Type", value: format.contentType),
            HTTPHeader(name: "Cache-Control", value: "no-store, no-transform"),
            HTTPHeader(name: "X-Accel-Buffering", value: "no"),
            HTTPHeader(name: "Vary", value: "Accept, Accept-Encoding"),
        ] + (isCompressed ? [HTTPHeader(name: "Content-Encoding", value: "gzip")] : [])
    }

    /// `GET /events?streams=a,b`
    func open(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let names = streams(request, responder, caller) else { return }
        guard !names.isEmpty else {
            return responder.respond(
                Problems.badParameter("streams", "is missing: name the streams, for example /events?streams=btcusdt@markPrice.").response)
        }
        guard names.count <= hub.limits.streamsPerClient else {
            return responder.respond(Problems.badParameter("streams", "must have at most \(hub.limits.streamsPerClient) names.").response)
        }
        guard let options = options(of: request, names, responder) else { return }
        guard !options.forceFetch || caller.principal.permission.allows(.refetch) else {
            hub.gatekeeper.count(.forbidden)
            return responder.respond(Problems.forbiddenFetch.response)
        }
        let isStrict = request.prefers("handling=strict")
        let isHead = request.method == "HEAD"
        hub.run { [loops] hub in
            if options.replay == nil, names.allSatisfy({ hub.isRetired($0) }) {
                return responder.respond(HTTPResponse(status: 204, headers: [], body: []))
            }
            guard !isHead else {
                return responder.openStream(headers: Self.headers(options.format, isCompressed: options.isCompressed), loop: loops[0], context: 0)
            }
            let begin = { @Sendable (hub: EventHub, play: Replays.Play?, clock: ClockDifference?) in
                var options = options
                options.clock = clock
                if let play {
                    options.replay = play.options
                    options.isCompressed = false
                }
                do throws(EventHub.Refusal) {
                    let number = try hub.prepare(streams: names, options, for: caller)
                    if let play { hub.state.value.replays?.start(play, for: number) }
                    responder.openStream(
                        headers: Self.headers(options.format, isCompressed: options.isCompressed), loop: loops[hub.rings.thread(of: number)],
                        context: number)
                } catch {
                    responder.respond(isStrict || error.isPermanent ? Self.problem(error).response : Self.passing(error, options.format))
                }
            }
            if options.tellsTimings { return hub.feed.compareClock { clock in begin(hub, nil, clock) } }
            if let replay = options.replay {
                return play(replay, of: names, options.format, responder, caller) { hub, play in
                    do throws(TapeHandlers.Refused) { begin(hub, try play.get(), nil) } catch { responder.respond(error.answer) }
                }
            }
            guard let point = options.replayablePoint, point.streams == StreamSet(names), recorded.areRecorded(names) else {
                return begin(hub, nil, nil)
            }
            guard !hub.reach(names, options.format, backTo: point.id), !hub.feed.isBehind(point.id) else { return begin(hub, nil, nil) }
            let replay = ReplayOptions(start: .after(point.id), end: nil, speed: 0, isResume: true)
            // A failed replay results in a `reset` session.
            play(replay, of: names, options.format, responder, caller) { hub, play in begin(hub, try? play.get(), nil) }
        }
    }

    /// Prepares a replay. Calls back once, on the feed's thread.
    private func play(
        _ options: ReplayOptions, of names: [FuturesServiceStreamName], _ format: EventFormat, _ responder: HTTPResponder, _ caller: Access.Caller,
        _ done: @escaping @Sendable (EventHub, Result<Replays.Play, TapeHandlers.Refused>) -> Void
    ) {
        recorded.prepare(options, of: names, format, responder, caller) { result in
            hub.run { hub in
                guard case .success(let play) = result else { return done(hub, result) }
                guard hub.state.value.replays?.hasRoom(for: play) == true else { return done(hub, .failure(TapeHandlers.crowded)) }
                // The feed must know an event that is not on the tape yet.
                let isKnown = play.ahead.allSatisfy { hub.feed.canResume(behind: $0) && $0.sequence <= hub.feed.head.sequence }
                done(hub, isKnown ? result : .failure(TapeHandlers.lost))
            }
        }
    }

    /// The problem for a refusal.
    static func problem(_ refusal: EventHub.Refusal) -> HTTPProblem {
        switch refusal {
        case .draining: Problems.draining
        case .starting: Problems.starting
        case .behind: Problems.behind
        case .full: Problems.full
        case .limited(let limit): Problems.limited(limit)
        case .tooManyFetches(let count, let limit): Problems.tooManyFetches(count, limit)
        }
    }

    /// A refusal as an event stream that ends immediately.
    private static func passing(_ refusal: EventHub.Refusal, _ format: EventFormat) -> HTTPResponse {
        switch refusal {
        case .draining: passing(code: "draining", reason: "The gateway is stopping.", format)
        case .starting: passing(code: "starting", reason: Problems.starting.detail ?? "", format)
        case .behind: passing(code: "behind", reason: Problems.behind.detail ?? "", format)
        case .full: passing(code: "overloaded", reason: Problems.full.detail ?? "", format)
        case .limited(let limit), .tooManyFetches(_, let limit): passing(code: "limited", reason: Problems.limited(limit).detail ?? "", format)
        }
    }

    /// The response to a request beyond a limit, before its parameters are parsed.
    static func limited(_ request: HTTPRequest, _ limit: LimitReached) -> HTTPResponse {
        request.prefers("handling=strict") ? problem(.limited(limit)).response : passing(.limited(limit), format(request.header("Accept")) ?? .events)
    }

    /// The options of a connection; nil if one is invalid and the request has been answered.
    private func options(of request: HTTPRequest, _ names: [FuturesServiceStreamName], _ responder: HTTPResponder) -> ConnectionOptions? {
        guard var format = Self.format(request.header("Accept")) else {
            responder.respond(
                HTTPProblem(
                    status: 406, title: "Not acceptable",
                    detail: "Events are sent as text/event-stream or application/x-ndjson; accept one of them, or */*."
                ).response)
            return nil
        }
        switch request.query("event") {
        case nil: break
        case "stream": if format == .events { format = .byStream }
        default:
            responder.respond(Problems.badParameter("event", "must be stream, which names events after their stream.").response)
            return nil
        }
        guard let forceFetch = flag("forceFetch", of: request, responder), let sendsHeartbeatEvents = flag("heartbeatEvent", of: request, responder),
            let isPadded = flag("pad", of: request, responder), let tellsTimings = flag("timings", of: request, responder),
            let heartbeat = number("heartbeat", 5...60, of: request, responder),
            let count = number("count", 1...1_000_000, of: request, responder), let timeout = number("timeout", 1...86_400, of: request, responder),
            let lastEventID = lastEventID(of: request, responder), let maxRate = maxRate(of: request, responder),
            let mayCompress = flag("gzip", of: request, default: Self.isBrowser(request), responder),
            let replay = replay(of: request, names, responder)
        else { return nil }
        return ConnectionOptions(
            heartbeat: heartbeat ?? hub.limits.heartbeat, sendsHeartbeatEvents: sendsHeartbeatEvents, lastEventID: lastEventID,
            forceFetch: forceFetch,
            interval: maxRate.map { Int64(1_000_000_000 / $0) } ?? 0, format: format, isPadded: isPadded && format != .lines,
            isCompressed: mayCompress && request.acceptsGzip && replay == nil && !tellsTimings, count: count, timeout: timeout,
            tellsTimings: tellsTimings, replay: replay)
    }

    /// The response to a request that may succeed later: 200 with an event stream that ends immediately. On any other status, a browser's
    /// `EventSource` would never reconnect.
    static func passing(code: String, reason: String, _ format: EventFormat = .events) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: headers(format), body: EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, format))
    }

    /// The response on a connection beyond the server's limit of connections.
    static func overloaded(_ request: HTTPRequest) -> HTTPResponse {
        passing(code: "overloaded", reason: "The gateway has reached its connection limit.", format(request.header("Accept")) ?? .events)
    }

    /// `GET /events/{client}`, `DELETE /events/{client}`
    func ask(_ action: ConnectionRequest.Action) -> Access.Handler {
        { request, responder, caller in
            carryOut(
                ConnectionRequest(action: action, id: request.parameters["client"] ?? "", names: nil, identity: caller.principal.identity), responder)
        }
    }

    /// `POST /events/{client}/pause`, `/resume`, `/subscribe`, `/unsubscribe`
    func control(_ action: ConnectionRequest.Action) -> Access.Handler {
        { request, responder, caller in
            guard let names = streams(request, responder, caller) else { return }
            let needsNames = action == .subscribe || action == .unsubscribe
            if needsNames, names.isEmpty {
                return responder.respond(Problems.badParameter("streams", "is missing: name the streams, separated by commas.").response)
            }
            carryOut(
                ConnectionRequest(
                    action: action, id: request.parameters["client"] ?? "", names: names.isEmpty ? nil : names, identity: caller.principal.identity),
                responder)
        }
    }

    /// Forwards the request to the node that has the connection.
    private func carryOut(_ request: ConnectionRequest, _ responder: HTTPResponder) {
        guard let peers = hub.feed.peers, let node = NodeName.of(connection: request.id), node != peers.name else {
            return hub.run { $0.carryOut(request) { responder.respond($0) } }
        }
        peers.ask(node, PeerQuestion.connection(request).bytes) { bytes in
            responder.respond(bytes.flatMap(HTTPResponse.init(portable:)) ?? Problems.unknownClient.response)
        }
    }

    /// The streams that the request names, in order and without duplicates; nil if a name is invalid or not permitted and the request has been
    /// answered.
    private func streams(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) -> [FuturesServiceStreamName]? {
        let texts = request.queries("streams").flatMap { $0.split(separator: ",") }.map(String.init)
        var (names, seen, unknown): ([FuturesServiceStreamName], Set<FuturesServiceStreamName>, [String]) = ([], [], [])
        for text in texts {
            if let name = FuturesServiceStreamName(text), !caller.principal.permission.allows(stream: name.description) {
                hub.gatekeeper.count(.forbidden)
                responder.respond(Problems.forbidden(stream: name.description).response)
                return nil
            }
            if let name = FuturesServiceStreamName(text), hub.knows(name) || hub.isSettled(name) {
                if seen.insert(name).inserted { names.append(name) }
            } else {
                unknown.append(text)
            }
        }
        guard unknown.isEmpty else {
            responder.respond(Problems.unknownStreams(unknown.prefix(20).map { ($0, hub.mistake(in: $0)) }).response)
            return nil
        }
        return names
    }

    /// Whether the client is a browser. Script libraries accept gzip by default, but it would delay their events.
    private static func isBrowser(_ request: HTTPRequest) -> Bool { request.header("User-Agent")?.hasPrefix("Mozilla/") ?? false }

    /// A Boolean parameter; nil if it is invalid and the request has been answered.
    private func flag(_ name: String, of request: HTTPRequest, default value: Bool = false, _ responder: HTTPResponder) -> Bool? {
        switch request.query(name) {
        case nil: return value
        case "false", "0": return false
        case "true", "1", "": return true
        default:
            responder.respond(Problems.badParameter(name, "must be true or false.").response)
            return nil
        }
    }

    /// A number, or nil if the parameter is missing. The outer optional is nil if it is invalid and the request has been answered.
    private func number(_ name: String, _ range: ClosedRange<Int>, of request: HTTPRequest, _ responder: HTTPResponder) -> Int?? {
        guard let text = request.query(name) else { return .some(nil) }
        guard let number = ParameterText.integer(text, range) else {
            responder.respond(Problems.badParameter(name, "must be an integer from \(range.lowerBound) to \(range.upperBound).").response)
            return nil
        }
        return .some(number)
    }

    /// The id of the reader's last event. The header has priority over the query, because a browser updates only the header. Polyfills use several
    /// spellings of the query parameter. An id that no gateway ever issued is an error in a query. In a header it only means that the reader cannot
    /// resume, because a browser would never reconnect after an error. The outer optional is nil if the request has been answered.
    private func lastEventID(of request: HTTPRequest, _ responder: HTTPResponder) -> ConnectionOptions.LastEventID?? {
        if let header = request.header("Last-Event-ID"), !header.isEmpty { return .some(ResumePoint(header).map { .point($0) } ?? .unreadable) }
        for spelling in ["lastEventId", "last_event_id", "lastEvent", "Last-Event-ID"] {
            guard let text = request.query(spelling), !text.isEmpty else { continue }
            if let point = ResumePoint(text) { return .some(.point(point)) }
            // The id in an event's data does not identify the set of streams.
            guard EventID(text) == nil else { return .some(.unreadable) }
            responder.respond(Problems.badParameter(spelling, "must be an id from this gateway, such as k3f9a.1z4.2gosa7pa2gv.").response)
            return nil
        }
        return .some(nil)
    }

    /// The requested replay, or nil if there is none. A browser that reconnects sends the header, so the replay continues where it was. The outer
    /// optional is nil if the request has been answered.
    private func replay(of request: HTTPRequest, _ names: [FuturesServiceStreamName], _ responder: HTTPResponder) -> ReplayOptions?? {
        guard let from = request.query("from") else {
            for other in ["to", "speed"] where request.query(other) != nil {
                responder.respond(Problems.badParameter(other, "requires from, because it applies to recorded events.").response)
                return nil
            }
            return .some(nil)
        }
        for other in ["forceFetch", "maxRate", "count", "timings"] where request.query(other) != nil {
            responder.respond(Problems.badParameter(other, "cannot be combined with from.").response)
            return nil
        }
        let streams = StreamSet(names)
        let (start, isBackwards): (TapeReplay.Start, Bool)
        if let point = request.header("Last-Event-ID").flatMap({ ResumePoint($0) }), point.streams == streams {
            start = .after(point.id)
        } else if let point = ResumePoint(from) {
            guard point.streams == streams else {
                responder.respond(Problems.badParameter("from", "is an id for other streams; give a time, or name the streams of that id.").response)
                return nil
            }
            start = .after(point.id)
        } else if let id = EventID(from) {
            start = .after(id)
        } else if let at = UTCTime.read(from) {
            start = .at(at)
        } else {
            responder.respond(Problems.badParameter("from", "must be a time such as 2026-11-23T09:00:00Z, ms since 1970 UTC, or an id.").response)
            return nil
        }
        guard let end = end(of: request, streams, responder) else { return nil }
        switch (start, end) {
        case (.at(let from), .at(let to)) where from > to: isBackwards = true
        case (.after(let first), .after(let last)) where first.epoch == last.epoch && first.sequence > last.sequence: isBackwards = true
        default: isBackwards = false
        }
        guard !isBackwards else {
            responder.respond(TapeHandlers.backwards.response)
            return nil
        }
        let text = request.query("speed") ?? "0"
        guard let speed = ParameterText.decimal(text, 0...ReplayOptions.fastest), speed == 0 || speed >= 0.01 else {
            responder.respond(Problems.badParameter("speed", "must be 0.01 to 10000, or 0 for as fast as possible.").response)
            return nil
        }
        return .some(ReplayOptions(start: start, end: end, speed: speed))
    }

    /// The end of a replay, or nil if it continues with live events. The outer optional is nil if the request has been answered.
    private func end(of request: HTTPRequest, _ streams: StreamSet, _ responder: HTTPResponder) -> TapeReplay.End?? {
        guard let text = request.query("to") else { return .some(nil) }
        if let time = UTCTime.read(text) { return .at(time) }
        if let id = ResumePoint(text).flatMap({ $0.streams == streams ? $0.id : nil }) ?? EventID(text) { return .after(id) }
        responder.respond(
            Problems.badParameter("to", "must be a time such as 2026-11-23T09:05:00Z, ms since 1970 UTC, or the id of an event of these streams.")
                .response)
        return nil
    }

    /// Deliveries per second, or nil if the parameter is missing. The outer optional is nil if the request has been answered.
    private func maxRate(of request: HTTPRequest, _ responder: HTTPResponder) -> Double?? {
        guard let text = request.query("maxRate") else { return .some(nil) }
        guard let rate = ParameterText.decimal(text, 0.01...100) else {
            responder.respond(Problems.badParameter("maxRate", "must be 0.01 to 100 deliveries per second.").response)
            return nil
        }
        return .some(rate)
    }

    /// The format for a request's `Accept`; nil if it accepts neither. A named type has priority over a wildcard. Weights are ignored except zero
    /// (RFC 9110 §12.5.1).
    private static func format(_ accept: String?) -> EventFormat? {
        guard let accept else { return .events }
        let types = accept.split(separator: ",").map { $0.split(separator: ";").map { $0.trimmed.lowercased() } }
            .filter { !$0.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil } }.compactMap(\.first)
        if types.contains("text/event-stream") { return .events }
        if types.contains("application/x-ndjson") { return .lines }
        return types.contains { $0 == "text/*" || $0 == "*/*" } ? .events : types.contains("application/*") ? .lines : nil
    }
}
