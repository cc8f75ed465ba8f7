import EventLogs
import Foundation
import FuturesFeed
import GatewayAccess
import MicroHTTP
import Replication
import Tape

/// `/tape`, and snapshots of the past: what was recorded.
struct TapeHandlers: Sendable {
    let hub: EventHub
    let tape: Tape?
    let desk: TapeDesk?
    let configuration: TapeConfiguration?

    /// The most bytes of lines in an answer, but for the last block's. The next ones have an address of their own.
    private static let page = 4 << 20

    /// `GET /tape`
    func overview(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        read(responder) { (reader) throws(TapeError) in
            let (extent, gaps) = (reader.extent(), try reader.gaps())
            let reading = tape?.reading
            var writer = JSONWriter()
            writer.object { json in
                json.member("from", optional: extent?.firstAt)
                json.member("to", optional: extent?.lastAt)
                json.member("bytes", Int64(reading?.bytes ?? 0))
                json.member("recording", reading.map { $0.trouble == nil } ?? false)
                json.member("gaps")
                json.array { json in
                    for gap in gaps.suffix(1000) {
                        json.object {
                            $0.member("from", gap.from)
                            $0.member("to", gap.to)
                            $0.member("reason", gap.reason.rawValue)
                            if let events = gap.events { $0.member("events", Int64(clamping: events)) }
                            $0.member("detail", gap.detail)
                        }
                    }
                }
            }
            return StreamHandlers.json(200, writer.bytes)
        }
    }

    /// `GET /tape/{name}`
    func lines(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let name = StreamHandlers(hub: hub).stream(request, responder, caller), isRecorded(name, responder),
            let from = time("from", of: request, responder), let to = time("to", of: request, responder)
        else { return }
        let text = request.query("after")
        let after = text.flatMap { EventID($0) }
        guard text == nil || after != nil else {
            return responder.respond(Problems.badParameter("after", "takes an event's id, as a Link of an earlier answer has it.").response)
        }
        let isGzip = request.acceptsGzip
        read(responder) { (reader) throws(TapeError) in
            if let from, let first = reader.extent()?.firstAt, from < first { return Self.agedOut(first).response }
            var lines = TapeLines(stream: name.description, from: from, to: to, after: after, gaps: try reader.gaps())
            var (body, next): ([UInt8], String?) = ([], nil)
            try reader.walk(from: from, to: to) { item in
                body += lines.lines(of: item)
                guard body.count >= Self.page, case .messages(let messages, _) = item, let last = messages.last else { return true }
                let id = EventID(epoch: last.epoch, sequence: last.first + last.eventCount - 1)
                next = "/tape/\(name.description.percentEncoded)?from=\(last.sentAt)&after=\(id)" + (to.map { "&to=\($0)" } ?? "")
                return false
            }
            if next == nil { body += lines.rest() }
            var headers = [
                HTTPHeader(name: "Content-Type", value: EventFormat.lines.contentType), HTTPHeader(name: "Cache-Control", value: "no-store"),
                HTTPHeader(name: "Vary", value: "Accept-Encoding"),
            ]
            if let next { headers.append(HTTPHeader(name: "Link", value: "<\(next)>; rel=\"next\"")) }
            if isGzip, body.count > 1024, let compressed = Deflater(level: 6).gzip(body) {
                headers.append(HTTPHeader(name: "Content-Encoding", value: "gzip"))
                body = compressed
            }
            return HTTPResponse(status: 200, headers: headers, body: body)
        }
    }

    /// `GET /streams/{name}?at=`
    func snapshot(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard let name = StreamHandlers(hub: hub).stream(request, responder, caller), isRecorded(name, responder),
            let given = time("at", of: request, responder), let at = given
        else { return }
        for other in ["wait", "maxAge", "maxUnverified", "depth"] where request.query(other) != nil {
            return responder.respond(Problems.badParameter(other, "does not go with at: what was is as old as it is.").response)
        }
        let dialect = hub.feed.dialect
        read(responder) { (reader) throws(TapeError) in
            guard let extent = reader.extent(), at <= extent.lastAt else { return Self.notYet.response }
            guard at >= extent.firstAt else { return Self.agedOut(extent.firstAt).response }
            var past = PastFeed(of: [name], until: at) { dialect.traits(of: $0)?.limit ?? 1000 }
            try reader.read(from: at - TapeFeeder.reach, to: at + PastFeed.longestDelay, into: &past)
            guard let content = past.content(of: name) else { return Self.nothingThen(name).response }
            return StreamHandlers.json(200, ContentEncoder.event(content))
        }
    }

    /// Prepares what a reader is to be played; calls back once with that, or with the answer that says why it cannot be.
    func prepare(
        _ options: ReplayOptions, of names: [FuturesServiceStreamName], _ format: EventFormat,
        _ done: @escaping @Sendable (Result<Replays.Play, Refused>) -> Void
    ) {
        if let refusal = names.lazy.compactMap(refusal).first { return done(.failure(refusal)) }
        let dialect = hub.feed.dialect
        read { (reader) throws(TapeError) in
            guard let extent = reader.extent() else { return done(.failure(Refused(Self.notYet))) }
            if case .at(let from) = options.start {
                guard from >= extent.firstAt else { return done(.failure(Refused(Self.agedOut(extent.firstAt)))) }
                guard from <= Moment.current.wallClock else { return done(.failure(Refused(Self.notYet))) }
            }
            let replay = try TapeReplay(
                reader, of: names, options.start, to: options.to, isWhole: options.isResume, format: format, reach: TapeFeeder.reach
            ) { dialect.traits(of: $0)?.limit ?? 1000 }
            done(replay.map { .success(Replays.Play(options, $0)) } ?? .failure(Refused(Self.notOnTape(extent.firstAt))))
        } refused: {
            done(.failure($0))
        }
    }

    /// Why something is not played.
    struct Refused: Error {
        let answer: HTTPResponse
        init(_ problem: HTTPProblem) { answer = problem.response }
    }

    static let crowded = Refused(busy)
    /// An event that the reader has and nobody else.
    static let lost = Refused(notOnTape(nil))

    /// Whether all of these are recorded.
    func areRecorded(_ names: [FuturesServiceStreamName]) -> Bool { names.allSatisfy { refusal(of: $0) == nil } }

    /// The answer to who asks for a stream's past; nil if it is recorded.
    private func refusal(of name: FuturesServiceStreamName) -> Refused? {
        guard let configuration else { return Refused(Self.noTape) }
        let text = name.description
        return configuration.streams.contains { $0.matches(text) } ? nil : Refused(Self.notRecorded(name))
    }

    private func isRecorded(_ name: FuturesServiceStreamName, _ responder: HTTPResponder) -> Bool {
        guard let refusal = refusal(of: name) else { return true }
        responder.respond(refusal.answer)
        return false
    }

    /// Answers with what `body` makes of the tape, on the thread that reads it.
    private func read(_ responder: HTTPResponder, _ body: @escaping @Sendable (TapeReader) throws(TapeError) -> HTTPResponse) {
        read { (reader) throws(TapeError) in
            responder.respond(try body(reader))
        } refused: {
            responder.respond($0.answer)
        }
    }

    /// Calls one of both once: `body` on the thread that reads the tape, or `refused` with the answer that says why not.
    private func read(_ body: @escaping @Sendable (TapeReader) throws(TapeError) -> Void, refused: @escaping @Sendable (Refused) -> Void) {
        guard let desk else { return refused(Refused(Self.noTape)) }
        let isTaken = desk.perform {
            do throws(TapeError) { try body(desk.reader) } catch { refused(Refused(Self.unreadable(error))) }
        }
        if !isTaken { refused(Self.crowded) }
    }

    /// A time in ms since 1970 UTC, or nil if the parameter is missing. The outer optional is nil if it is none, which the request has then been
    /// answered with.
    func time(_ name: String, of request: HTTPRequest, _ responder: HTTPResponder) -> Int64?? {
        guard let text = request.query(name) else { return .some(nil) }
        guard let milliseconds = Self.time(text) else {
            responder.respond(Problems.badParameter(name, "takes a time such as 2026-11-23T09:00:00Z, or milliseconds since 1970 UTC.").response)
            return nil
        }
        return .some(milliseconds)
    }

    /// A time as RFC 3339 writes it or in ms since 1970 UTC; nil for anything else.
    static func time(_ text: String) -> Int64? {
        if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
        let styles = [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()]
        guard text.utf8.count <= 40, let date = styles.lazy.compactMap({ try? $0.parse(text) }).first else { return nil }
        return Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded())
    }

    private static func agedOut(_ first: Int64) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Aged out", detail: "The tape begins at \(first); what was before is not kept. Ask for what came since.",
            extensions: [("code", .string("agedOut")), ("earliest", .number(Int(first)))])
    }

    private static func notOnTape(_ first: Int64?) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Not on the tape", detail: "No event with this id is on the tape: it is too old, or a kill lost it. Ask for a time.",
            extensions: [("code", .string("agedOut"))] + (first.map { [("earliest", .number(Int($0)))] } ?? []))
    }

    private static let noTape = HTTPProblem(
        status: 404, title: "No tape", detail: "Nothing is recorded here. Start the gateway with --tape-directory to record.",
        extensions: [("code", .string("noTape"))])

    private static let notYet = HTTPProblem(
        status: 404, title: "Not on the tape yet", detail: "The tape does not reach that far yet; what is received is on it within a second or two.",
        extensions: [("code", .string("notYet"))])

    private static let busy = HTTPProblem(
        status: 503, title: "Busy", detail: "Many requests wait for the tape already; try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "3")])

    private static func notRecorded(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Not recorded", detail: "\(name) is not recorded: no pattern of tape-streams names it.",
            extensions: [("code", .string("notRecorded"))])
    }

    private static func nothingThen(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Nothing then", detail: "Nobody read \(name) then, so nothing of it was recorded; GET /tape says what is missing.",
            extensions: [("code", .string("nothingThen"))])
    }

    private static func unreadable(_ error: TapeError) -> HTTPProblem {
        HTTPProblem(status: 503, title: "The tape cannot be read", detail: error.message, headers: [HTTPHeader(name: "Retry-After", value: "5")])
    }
}
