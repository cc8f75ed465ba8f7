import FuturesFeed
import MicroHTTP
import NIOCore
import Rings

/// `/replay`: the time of the past that a replay serves, and its steps.
struct ReplayHandlers: Sendable {
    let hub: EventHub
    let feed: ReplayFeed?

    /// `GET /replay`
    func overview(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        guard let feed else { throw Self.isLive }
        hub.run { responder.respond(Self.response(feed, $0)) }
    }

    /// `POST /replay/step`
    func step(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        guard let feed else { throw Self.isLive }
        let (ms, until) = (try request.integer("ms", 1...Self.longestStep), try request.time("until"))
        let (messages, events) = (try request.integer("messages", 1...Self.mostRecords), try request.integer("events", 1...Self.mostRecords))
        guard [ms != nil, until != nil, messages != nil, events != nil].count(where: { $0 }) == 1 else {
            throw Problems.badParameter("ms", "or until, messages or events must be given, and only one of them.")
        }
        guard feed.configuration.pace == .steps else { throw Self.isPaced }
        feed.loop.execute {
            let isBegun = feed.step { clock, now in
                if let until { return .elapsed(clock.elapsed(at: until)) }
                if let ms { return .elapsed(clock.passed(now).addingReportingOverflow(Int64(ms)).partialValue) }
                return messages.map { .messages($0) } ?? .events(events ?? 1)
            } _: {
                responder.respond(Self.response(feed, hub))
            }
            if !isBegun { responder.respond(Self.isStepping.response) }
        }
    }

    /// Call it on the feed's loop.
    private static func response(_ feed: ReplayFeed, _ hub: EventHub) -> HTTPResponse {
        let (phase, clock) = feed.position
        var writer = JSONWriter()
        writer.object { json in
            json.member("state", phase.rawValue)
            json.member("time", clock.time(Instant.current))
            json.member("from", orNull: feed.configuration.from)
            json.member("to", orNull: feed.configuration.to)
            switch feed.configuration.pace {
            case .speed(let speed): json.member("pace", "\(speed)")
            case .steps: json.member("pace", "steps")
            }
            json.member("events", Int64(clamping: clock.events))
            json.member("messages", Int64(clamping: clock.messages))
            json.member("subscriptions", Int64(hub.subscriptionsOfSockets))
        }
        return StreamHandlers.json(200, writer.bytes)
    }
}
