import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore

/// `GET /markets` and `GET /markets/{asset}`: the contracts of an asset at all venues, in one shape.
struct MarketHandlers: Sendable {
    let hub: EventHub

    /// How long a request waits for streams that have just been subscribed, unless `wait` says otherwise, seconds.
    private static let patience = 5
    private static let longestAsset = 32

    /// A venue with contracts, and the streams that describe them.
    private struct Venue {
        let name: String
        let upstream: Int
        let dialect: any MarketDialect
        let streams: [FuturesServiceStreamName]
    }

    func list(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        try answer(nil, request, responder, caller)
    }

    func one(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let text = request.parameters["asset"] ?? ""
        guard (1...Self.longestAsset).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Problems.unknownAsset(text)
        }
        // Assets are upper case. Only Hyperliquid has some that begin with a small letter, such as kPEPE.
        try answer(text == text.lowercased() ? text.uppercased() : text, request, responder, caller)
    }

    private func answer(_ asset: String?, _ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let wait = try request.integer("wait", 0...30, "must be whole seconds from 0 to 30.") ?? Self.patience
        let venues = venues(of: asset)
        if let asset, venues.isEmpty { throw Problems.unknownAsset(asset) }
        if let forbidden = venues.flatMap(\.streams).first(where: { !caller.principal.permission.allows(stream: $0.description) }) {
            hub.gatekeeper.count(.forbidden)
            throw Problems.forbidden(stream: forbidden.description)
        }
        hub.run { hub in
            let names = venues.flatMap(\.streams)
            do throws(EventHub.Refusal) { try hub.checkRoom(for: names, from: caller.address) } catch {
                return responder.respond(EventHandlers.problem(error).response)
            }
            Self.await(names, hub, .seconds(wait), caller, responder) { Self.respond(asset, venues, hub, responder) }
        }
    }

    private func venues(of asset: String?) -> [Venue] {
        let upstreams = hub.feed.dialect.upstreams
        return hub.feed.dialect.parts.enumerated().compactMap { place, part in
            guard let dialect = part as? any MarketDialect else { return nil }
            let streams = dialect.marketStreams(of: asset, hub.feed.listing(of: place)).filter(hub.knows)
            // The venue may just have listed it.
            if streams.isEmpty { hub.feed.refreshListing(of: place) }
            return streams.isEmpty ? nil : Venue(name: upstreams[place].name, upstream: place, dialect: dialect, streams: streams)
        }
    }

    /// Calls `done` when each of the streams has content or has failed, or the time is up.
    private static func await(
        _ names: [FuturesServiceStreamName], _ hub: EventHub, _ patience: Duration, _ caller: Access.Caller, _ responder: HTTPResponder,
        _ done: @escaping () -> Void
    ) {
        let missing = names.filter { hub.content(of: $0) == nil }
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
            let number = hub.wait(for: name, .value, timeout: patience, from: caller.address) { _ in
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

    private static func respond(_ asset: String?, _ venues: [Venue], _ hub: EventHub, _ responder: HTTPResponder) {
        // All values belong to the same moment. Lists of all contracts are long, so the feed's thread does not write them.
        let values = hub.feed.values(of: venues.flatMap(\.streams)).values
        let listings = venues.map { hub.feed.listing(of: $0.upstream) }
        responder.respond(200) {
            var writer = JSONWriter()
            writer.object { json in
                json.member("rows")
                json.array { json in
                    var place = 0
                    for (venue, listing) in zip(venues, listings) {
                        write(venue, asset, listing, values[place..<place + venue.streams.count], &json)
                        place += venue.streams.count
                    }
                }
                json.member("streams")
                json.array { json in for name in venues.flatMap(\.streams) { json.string(name.description) } }
            }
            return StreamHandlers.json(200, writer.bytes)
        }
    }

    private static func write(
        _ venue: Venue, _ asset: String?, _ listing: VenueListing?,
        _ values: ArraySlice<(content: FuturesServiceFeedContent, status: StreamStatus)?>, _ json: inout JSONWriter
    ) {
        let freshness = WorstFreshness(values.map { $0?.status })
        for market in venue.dialect.markets(of: asset, listing, in: values.compactMap { $0?.content }) {
            json.object { json in
                json.member("venue", venue.name)
                market.write(&json)
                freshness.write(&json)
            }
        }
    }
}

/// The freshness of a row that is made from several streams: that of its worst one.
struct WorstFreshness: Equatable {
    let state: FeedState
    /// Nil if a stream has no content.
    let ageMs: Int64?
    let unverifiedMs: Int64?
    /// The phase of the contract's market: that of the first stream whose contract is not traded.
    let market: MarketPhase

    /// - Parameter statuses: Of all streams; nil for one without content.
    init(_ statuses: [StreamStatus?]) {
        let known = statuses.compactMap(\.self)
        let isComplete = known.count == statuses.count && known.allSatisfy(\.isWhole)
        let worst = known.map(\.state).max { Self.rank($0) < Self.rank($1) } ?? .connecting
        state = isComplete || Self.rank(worst) > Self.rank(.connecting) ? worst : .connecting
        market = known.map(\.market).first { $0 != .open } ?? .open
        ageMs = known.count == statuses.count ? Self.highest(known.map(\.ageMs)) : nil
        unverifiedMs = known.count == statuses.count ? Self.highest(known.map(\.unverifiedMs)) : nil
    }

    private static func highest(_ ages: [Int64?]) -> Int64? { ages.contains(nil) ? nil : ages.compactMap(\.self).max() }

    private static func rank(_ state: FeedState) -> Int {
        switch state {
        case .live: 0
        case .connecting: 1
        case .recovering: 2
        case .stale: 3
        case .failed: 4
        case .ended: 5
        }
    }

    func write(_ json: inout JSONWriter) {
        json.member("state", state.rawValue)
        if market != .open { json.member("market", market.rawValue) }
        json.member("ageMs", optional: ageMs)
        json.member("unverifiedMs", optional: unverifiedMs)
    }
}
