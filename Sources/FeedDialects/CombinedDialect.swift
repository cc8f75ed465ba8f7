package import FeedCore

/// Combines the dialects of several upstreams. The streams of the first one have no prefix, those of the others are `name:stream`. Each upstream has
/// its own endpoints, hosts, listing, clock and request weight; see `Dialect.parts`.
package struct CombinedDialect: Dialect {
    let venue: any Dialect
    private let others: [(upstream: Upstream, dialect: any Dialect)]

    package init(venue: any Dialect, others: [(upstream: Upstream, dialect: any Dialect)]) {
        self.venue = venue
        self.others = others
    }

    fileprivate var all: [any Dialect] { [venue] + others.map(\.dialect) }

    /// The place of the upstream with a stream's prefix; nil if there is none.
    private func place(of name: FuturesServiceStreamName) -> Int? {
        guard let prefix = name.prefix else { return 0 }
        return others.firstIndex { $0.upstream.name == prefix }.map { $0 + 1 }
    }

    private func dialect(_ place: Int) -> any Dialect { others.indices.contains(place - 1) ? others[place - 1].dialect : venue }

    private func dialect(of name: FuturesServiceStreamName) -> any Dialect { dialect(place(of: name) ?? 0) }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        // An endpoint beyond its range would be one of another upstream.
        guard let place = place(of: name), let traits = dialect(place).traits(of: name),
            (0..<FeedCore.endpointsPerUpstream).contains(traits.endpoint)
        else { return nil }
        return traits.moved(by: place * FeedCore.endpointsPerUpstream)
    }

    package var catalogue: [CatalogueEntry] { all.flatMap(\.catalogue) }

    package var upstreams: [Upstream] { venue.upstreams + others.map(\.upstream) }

    package func upstream(of endpoint: Int) -> Int { min(max(0, endpoint / FeedCore.endpointsPerUpstream), others.count) }

    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        dialect(upstream(of: endpoint)).route(endpoint: endpoint % FeedCore.endpointsPerUpstream, host: host)
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession {
        dialect(upstream(of: endpoint)).session(endpoint: endpoint % FeedCore.endpointsPerUpstream, subprotocol: subprotocol)
    }

    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? {
        dialect(of: name).snapshotRequest(of: name, from: from, host: host, now: now)
    }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        dialect(of: name).decodeSnapshot(of: name, answer, now: now)
    }

    package func newestRequest(of name: FuturesServiceStreamName, host: Int, now: Int64) -> RESTRequest? {
        dialect(of: name).newestRequest(of: name, host: host, now: now)
    }
}

extension Dialect {
    /// The dialects of the upstreams, in the order of `upstreams`. Hosts, listing, clock and request weight are those of each part.
    package var parts: [any Dialect] { (self as? CombinedDialect)?.all ?? [self] }

    /// The upstream that a stream's name belongs to, in the order of `upstreams`; 0 if there is none with its prefix.
    package func upstream(of name: FuturesServiceStreamName) -> Int { traits(of: name).map { upstream(of: $0.endpoint) } ?? 0 }

    /// The name of an upstream in a cluster's log; empty for the first one. Other nodes may have the upstreams in another order.
    package func logName(of upstream: Int) -> String { upstream > 0 && upstreams.indices.contains(upstream) ? upstreams[upstream].name : "" }

    /// The upstream with this name in a cluster's log; nil if there is none.
    package func upstream(logName: String) -> Int? { logName.isEmpty ? 0 : upstreams.dropFirst().firstIndex { $0.name == logName } }

    /// The REST paths of an upstream; nil if it is not a futures venue.
    package func venueREST(of upstream: Int = 0) -> VenueREST? {
        let parts = parts
        return parts.indices.contains(upstream) ? (parts[upstream] as? FuturesDialect).map { VenueREST(dialect: $0, upstream: upstream) } : nil
    }
}

extension StreamTraits {
    fileprivate func moved(by endpoints: Int) -> StreamTraits {
        StreamTraits(
            endpoint: endpoint + endpoints, hasSnapshotSource: hasSnapshotSource, fetchWeight: fetchWeight, inquiryWeight: inquiryWeight,
            rhythm: rhythm, limit: limit, backfillLimit: backfillLimit, connectionLimit: connectionLimit,
            subscriptions: subscriptions, isPolled: isPolled, isAcknowledged: isAcknowledged, answersPings: answersPings, repeatsNewest: repeatsNewest
        )
    }
}
