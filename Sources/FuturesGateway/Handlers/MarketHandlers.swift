import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// `GET /markets` and the paths below it: contracts of all venues, and their books, trades and bars, in one shape.
struct MarketHandlers: Sendable {
    let hub: EventHub

    func list(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        try answer(.contracts(nil), request, responder, caller)
    }

    func one(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        try answer(.contracts(try Self.asset(request)), request, responder, caller)
    }

    func book(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let depth = try request.integer("depth", 1...20, "must be a number of levels from 1 to 20.") ?? 20
        try answer(.data(.book(depth: depth), of: try Self.asset(request)), request, responder, caller)
    }

    func trades(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        try answer(.data(.trades(limit: try Self.limit(request)), of: try Self.asset(request)), request, responder, caller)
    }

    func bars(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        guard let interval = KlineInterval(rawValue: request.query("interval") ?? "1m") else {
            throw Problems.badParameter("interval", "must be one of \(KlineInterval.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        try answer(.data(.bars(interval, limit: try Self.limit(request)), of: try Self.asset(request)), request, responder, caller)
    }

    private static func limit(_ request: HTTPRequest) throws(HTTPProblem) -> Int {
        try request.integer("limit", 1...500, "must be a number of rows from 1 to 500.") ?? 50
    }

    /// Assets are upper case. Only Hyperliquid has some that begin with a small letter, such as kPEPE.
    private static func asset(_ request: HTTPRequest) throws(HTTPProblem) -> String {
        let text = request.parameters["asset"] ?? ""
        guard (1...longestAsset).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Problems.unknownAsset(text)
        }
        return text == text.lowercased() ? text.uppercased() : text
    }

    private func answer(
        _ question: MarketQuestion, _ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller
    ) throws(HTTPProblem) {
        let wait = try request.integer("wait", 0...30, "must be whole seconds from 0 to 30.") ?? Self.patience
        let sources = sources(for: question)
        if let asset = question.asset, sources.isEmpty { throw Problems.unknownAsset(asset) }
        if let forbidden = sources.flatMap(\.streams).first(where: { !caller.principal.permission.allows(stream: $0.description) }) {
            hub.gatekeeper.count(.forbidden)
            throw Problems.forbidden(stream: forbidden.description)
        }
        hub.run { hub in
            let names = sources.flatMap(\.streams)
            do throws(EventHub.Refusal) { try hub.checkRoom(for: names, from: caller.address) } catch {
                return responder.respond(EventHandlers.problem(error).response)
            }
            Self.await(names, hub, .seconds(wait), caller, responder) { Self.respond(question, sources, hub, responder) }
        }
    }

    private func sources(for question: MarketQuestion) -> [MarketSource] {
        MarketSource.all(for: question, hub.feed.dialect) { hub.feed.listing(of: $0) }.compactMap { source in
            // The venue may just have listed it, or only the list says that a halt has ended.
            let isHalted = question.asset == nil && hub.feed.listing(of: source.upstream)?.halted.isEmpty == false
            if source.streams.isEmpty || isHalted { hub.feed.refreshListing(of: source.upstream) }
            return source.streams.isEmpty ? nil : source
        }
    }

    /// Calls `done` when each of the streams is verified or has failed, or the time is up.
    private static func await(
        _ names: [FuturesServiceStreamName], _ hub: EventHub, _ patience: Duration, _ caller: Access.Caller, _ responder: HTTPResponder,
        _ done: @escaping () -> Void
    ) {
        let missing = names.filter { hub.content(of: $0) == nil || hub.feed.status(of: $0)?.state == .connecting }
        // The request reads all of them until it is answered, also those whose wait has ended.
        hub.begin(names, from: caller.address)
        hub.retain(names)
        guard !missing.isEmpty else {
            done()
            return hub.release(names)
        }
        let lease: Gatekeeper.Lease
        do throws(LimitReached) { lease = try hub.gatekeeper.wait(from: caller.address, at: Access.now) } catch {
            hub.release(names)
            return responder.respond(Problems.limited(error).response)
        }
        var left = missing.count
        let waits = missing.map { name in
            let number = hub.wait(for: name, .current, timeout: patience, from: caller.address) { _ in
                left -= 1
                guard left == 0 else { return }
                hub.gatekeeper.close(lease, streams: 0)
                done()
                hub.release(names)
            }
            return (name, number)
        }
        responder.whenAbandoned { hub.run { hub in for (name, number) in waits { hub.abandon(name, number) } } }
    }

    private static func respond(_ question: MarketQuestion, _ sources: [MarketSource], _ hub: EventHub, _ responder: HTTPResponder) {
        // All values belong to the same moment. Lists of all contracts are long, so the feed's thread does not write them.
        let values = hub.feed.values(of: sources.flatMap(\.streams)).values
        let listings = sources.map { hub.feed.listing(of: $0.upstream) }
        let times = sources.map { hub.feed.venueTime(of: $0.upstream) }
        responder.respond(200) {
            var writer = JSONWriter()
            writer.object { json in
                json.member("rows")
                json.array { json in
                    var place = 0
                    for (index, source) in sources.enumerated() {
                        source.write(question, listings[index], at: times[index], values[place..<place + source.streams.count], &json)
                        place += source.streams.count
                    }
                }
                json.member("streams")
                json.array { json in for name in sources.flatMap(\.streams) { json.string(name.description) } }
            }
            return StreamHandlers.json(200, writer.bytes)
        }
    }
}
