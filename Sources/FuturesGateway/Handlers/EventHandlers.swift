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
    func open(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let names = try streams(request, caller)
        guard !names.isEmpty else {
            throw Problems.badParameter("streams", "is missing: name the streams, for example /events?streams=btcusdt@markPrice.")
        }
        guard names.count <= hub.limits.streamsPerClient else {
            throw Problems.badParameter("streams", "must have at most \(hub.limits.streamsPerClient) names.")
        }
        let options = try ConnectionOptions(request, names, heartbeat: hub.limits.heartbeat)
        guard !options.forceFetch || caller.principal.permission.allows(.refetch) else {
            hub.gatekeeper.count(.forbidden)
            throw Problems.forbiddenFetch
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
                    if let play { recorded.replays?.start(play, for: number) }
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
                    do throws(HTTPProblem) { begin(hub, try play.get(), nil) } catch { responder.respond(error.response) }
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
        _ done: @escaping @Sendable (EventHub, Result<Replays.Play, HTTPProblem>) -> Void
    ) {
        recorded.prepare(options, of: names, format, responder, caller) { result in
            hub.run { hub in
                guard case .success(let play) = result else { return done(hub, result) }
                guard recorded.replays?.hasRoom(for: play) == true else { return done(hub, .failure(TapeHandlers.busy)) }
                // The feed must know an event that is not on the tape yet.
                let isKnown = play.ahead.allSatisfy { hub.feed.canResume(behind: $0) && $0.sequence <= hub.feed.head.sequence }
                done(hub, isKnown ? result : .failure(TapeHandlers.notOnTape(nil)))
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
        request.prefers("handling=strict")
            ? problem(.limited(limit)).response : passing(.limited(limit), EventFormat(accepting: request.header("Accept")) ?? .events)
    }

    /// The response to a request that may succeed later: 200 with an event stream that ends immediately. On any other status, a browser's
    /// `EventSource` would never reconnect.
    static func passing(code: String, reason: String, _ format: EventFormat = .events) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: headers(format), body: EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, format))
    }

    /// The response on a connection beyond the server's limit of connections.
    static func overloaded(_ request: HTTPRequest) -> HTTPResponse {
        passing(
            code: "overloaded", reason: "The gateway has reached its connection limit.", EventFormat(accepting: request.header("Accept")) ?? .events)
    }

    /// `GET /events/{client}`, `DELETE /events/{client}`
    func ask(_ action: ConnectionRequest.Action) -> Access.Handler {
        { request, responder, caller in carryOut(action, request, responder, caller) }
    }

    /// `POST /events/{client}/pause`, `/resume`, `/subscribe`, `/unsubscribe`
    func control(_ change: ConnectionRequest.Change) -> Access.Handler {
        { (request, responder, caller) throws(HTTPProblem) in
            let names = try streams(request, caller)
            if change == .subscribe || change == .unsubscribe, names.isEmpty {
                throw Problems.badParameter("streams", "is missing: name the streams, separated by commas.")
            }
            carryOut(.change(change, names.isEmpty ? nil : names), request, responder, caller)
        }
    }

    /// Forwards the request to the node that has the connection.
    private func carryOut(
        _ action: ConnectionRequest.Action, _ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller
    ) {
        let request = ConnectionRequest(action: action, id: request.parameters["client"] ?? "", identity: caller.principal.identity)
        guard let peers = hub.feed.peers, let node = NodeName.of(connection: request.id), node != peers.name else {
            return hub.run { $0.carryOut(request) { responder.respond($0) } }
        }
        peers.ask(node, PeerQuestion.connection(request).bytes) { bytes in
            responder.respond(bytes.flatMap(HTTPResponse.init(portable:)) ?? Problems.unknownClient.response)
        }
    }
}
