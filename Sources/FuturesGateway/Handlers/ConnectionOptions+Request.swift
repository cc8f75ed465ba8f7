import FuturesFeed
import MicroHTTP
import Rings
import Tape

extension ConnectionOptions {
    /// Reads the parameters of `GET /events`.
    ///
    /// - Parameter heartbeat: The interval of heartbeats if the request names none, s.
    init(_ request: HTTPRequest, _ names: [FuturesServiceStreamName], heartbeat: Int) throws(HTTPProblem) {
        guard var format = EventFormat(accepting: request.header("Accept")) else {
            throw HTTPProblem(
                status: 406, title: "Not acceptable",
                detail: "Events are sent as text/event-stream or application/x-ndjson; accept one of them, or */*.")
        }
        switch request.query("event") {
        case nil: break
        case "stream": if format == .events { format = .byStream }
        default: throw Problems.badParameter("event", "must be stream, which names events after their stream.")
        }
        let forceFetch = try request.flag("forceFetch")
        let sendsHeartbeatEvents = try request.flag("heartbeatEvent")
        let isPadded = try request.flag("pad")
        let tellsTimings = try request.flag("timings")
        let wanted = try request.integer("heartbeat", GatewayConfiguration.Events.heartbeats)
        let count = try request.integer("count", 1...1_000_000)
        let timeout = try request.integer("timeout", 1...86_400)
        let lastEventID = try request.lastEventID
        let maxRate = try request.decimal("maxRate", 0.01...100, "must be 0.01 to 100 deliveries per second.")
        // Script libraries accept gzip by default, but it would delay their events.
        let mayCompress = try request.flag("gzip", default: request.header("User-Agent")?.hasPrefix("Mozilla/") ?? false)
        let replay = try ReplayOptions(request, names)
        self.init(
            heartbeat: wanted ?? heartbeat, sendsHeartbeatEvents: sendsHeartbeatEvents, lastEventID: lastEventID, forceFetch: forceFetch,
            interval: maxRate.map { Int64(1_000_000_000 / $0) } ?? 0, format: format, isPadded: isPadded && format != .lines,
            isCompressed: mayCompress && request.acceptsGzip && replay == nil && !tellsTimings, count: count, timeout: timeout,
            tellsTimings: tellsTimings, replay: replay)
    }
}

extension HTTPRequest {
    /// The id of the reader's last event. The header has priority over the query, because a browser updates only the header. Of repeated
    /// parameters the last is the newest. An id that no gateway ever issued is an error in a query. In a header it only means that the reader cannot
    /// resume, because a browser would never reconnect after an error.
    fileprivate var lastEventID: ConnectionOptions.LastEventID? {
        get throws(HTTPProblem) {
            if let header = header("Last-Event-ID"), !header.isEmpty { return ResumePoint(header).map { .point($0) } ?? .unreadable }
            for spelling in Self.lastEventIDSpellings {
                guard let text = queries(spelling).last, !text.isEmpty else { continue }
                if let point = ResumePoint(text) { return .point(point) }
                // The id in an event's data does not identify the set of streams.
                guard EventID(text) == nil else { return .unreadable }
                throw Problems.badParameter(spelling, "must be an id from this gateway, such as k3f9a.1z4.2gosa7pa2gv.")
            }
            return nil
        }
    }
}

extension ReplayOptions {
    /// Reads the replay that a request asks for; nil if it asks for none. A browser that reconnects sends the header, so the replay continues where
    /// it was.
    fileprivate init?(_ request: HTTPRequest, _ names: [FuturesServiceStreamName]) throws(HTTPProblem) {
        guard let from = request.query("from") else {
            for other in ["to", "speed"] where request.query(other) != nil {
                throw Problems.badParameter(other, "requires from, because it applies to recorded events.")
            }
            return nil
        }
        for other in ["forceFetch", "maxRate", "count", "timings"] where request.query(other) != nil {
            throw Problems.badParameter(other, "cannot be combined with from.")
        }
        let streams = StreamSet(names)
        let start = try Self.start(request, from, streams)
        let end = try Self.end(request, streams)
        let isBackwards =
            switch (start, end) {
            case (.at(let from), .at(let to)): from > to
            case (.after(let first), .after(let last)): first.epoch == last.epoch && first.sequence > last.sequence
            default: false
            }
        guard !isBackwards else { throw TapeHandlers.backwards }
        let text = request.query("speed") ?? "0"
        guard let speed = ParameterText.decimal(text, 0...Self.fastest), speed == 0 || speed >= 0.01 else {
            throw Problems.badParameter("speed", "must be 0.01 to 10000, or 0 for as fast as possible.")
        }
        self.init(start: start, end: end, speed: speed)
    }

    private static func start(_ request: HTTPRequest, _ from: String, _ streams: StreamSet) throws(HTTPProblem) -> TapeReplay.Start {
        if let point = request.header("Last-Event-ID").flatMap({ ResumePoint($0) }), point.streams == streams { return .after(point.id) }
        if let point = ResumePoint(from) {
            guard point.streams == streams else {
                throw Problems.badParameter("from", "is an id for other streams; give a time, or name the streams of that id.")
            }
            return .after(point.id)
        }
        if let id = EventID(from) { return .after(id) }
        if let at = UTCTime.read(from) { return .at(at) }
        throw Problems.badParameter("from", "must be a time such as 2026-11-23T09:00:00Z, ms since 1970 UTC, or an id.")
    }

    /// Nil if the replay continues with live events.
    private static func end(_ request: HTTPRequest, _ streams: StreamSet) throws(HTTPProblem) -> TapeReplay.End? {
        guard let text = request.query("to") else { return nil }
        if let time = UTCTime.read(text) { return .at(time) }
        if let id = ResumePoint(text).flatMap({ $0.streams == streams ? $0.id : nil }) ?? EventID(text) { return .after(id) }
        throw Problems.badParameter("to", "must be a time such as 2026-11-23T09:05:00Z, ms since 1970 UTC, or the id of an event of these streams.")
    }
}

extension EventFormat {
    /// The format for a request's `Accept`; nil if it accepts neither. A named type has priority over a wildcard. Weights are ignored except zero
    /// (RFC 9110 §12.5.1).
    init?(accepting accept: String?) {
        guard let accept else {
            self = .events
            return
        }
        let types = accept.split(separator: ",").map { $0.split(separator: ";").map { $0.trimmed.lowercased() } }
            .filter { !$0.dropFirst().contains { $0.wholeMatch(of: /q=0(\.0*)?/) != nil } }.compactMap(\.first)
        if types.contains("text/event-stream") {
            self = .events
        } else if types.contains("application/x-ndjson") {
            self = .lines
        } else if types.contains(where: { $0 == "text/*" || $0 == "*/*" }) {
            self = .events
        } else if types.contains("application/*") {
            self = .lines
        } else {
            return nil
        }
    }
}
