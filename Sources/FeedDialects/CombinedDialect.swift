package import FeedCore

/// Combines the venue, whose streams have no prefix, and other upstreams, whose streams are `name:stream`, into one dialect. Each upstream has its
/// own endpoints; the hosts, the listing and the request weight are the venue's.
package struct CombinedDialect: Dialect {
    let venue: any Dialect
    private let others: [(upstream: Upstream, dialect: any Dialect)]

    package init(venue: any Dialect, others: [(upstream: Upstream, dialect: any Dialect)]) {
        self.venue = venue
        self.others = others
    }

    private func dialect(of name: FuturesServiceStreamName) -> any Dialect {
        guard let prefix = name.upstream?.name else { return venue }
        return others.first { $0.upstream.name == prefix }?.dialect ?? venue
    }

    private func dialect(at endpoint: Int) -> (any Dialect, Int) {
        let place = endpoint / FeedCore.endpointsPerUpstream - 1
        return others.indices.contains(place) ? (others[place].dialect, endpoint % FeedCore.endpointsPerUpstream) : (venue, endpoint)
    }

    package func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
        guard let prefix = name.upstream?.name else { return venue.traits(of: name) }
        guard let place = others.firstIndex(where: { $0.upstream.name == prefix }) else { return nil }
        return others[place].dialect.traits(of: name)?.moved(by: (place + 1) * FeedCore.endpointsPerUpstream)
    }

    package var catalogue: [CatalogueEntry] { venue.catalogue + others.flatMap(\.dialect.catalogue) }

    package var hosts: (webSocket: Int, rest: Int) { venue.hosts }

    package var upstreams: [Upstream] { venue.upstreams + others.map(\.upstream) }

    package func upstream(of endpoint: Int) -> Int { min(max(0, endpoint / FeedCore.endpointsPerUpstream), others.count) }

    package func route(endpoint: Int, host: Int) -> UpstreamRoute {
        let (dialect, endpoint) = dialect(at: endpoint)
        return dialect.route(endpoint: endpoint, host: host)
    }

    package func session(endpoint: Int, subprotocol: String?) -> any DialectSession {
        let (dialect, endpoint) = dialect(at: endpoint)
        return dialect.session(endpoint: endpoint, subprotocol: subprotocol)
    }

    package func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int) -> RESTRequest? {
        dialect(of: name).snapshotRequest(of: name, from: from, host: host)
    }

    package func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
        dialect(of: name).decodeSnapshot(of: name, answer, now: now)
    }

    package func newestRequest(of name: FuturesServiceStreamName, host: Int) -> RESTRequest? { dialect(of: name).newestRequest(of: name, host: host) }

    package func listingURL(host: Int) -> String? { venue.listingURL(host: host) }
    package func decodeListing(_ answer: RESTAnswer) -> Result<VenueListing, FeedError> { venue.decodeListing(answer) }
    package func clockURL(host: Int) -> String? { venue.clockURL(host: host) }
    package func decodeClock(_ answer: RESTAnswer) -> Result<Int64, FeedError> { venue.decodeClock(answer) }
    package var usedWeightHeader: String? { venue.usedWeightHeader }
}

extension StreamTraits {
    fileprivate func moved(by endpoints: Int) -> StreamTraits {
        StreamTraits(
            endpoint: endpoint + endpoints, hasSnapshotSource: hasSnapshotSource, fetchWeight: fetchWeight, inquiryWeight: inquiryWeight,
            rhythm: rhythm,
            limit: limit,
            backfillLimit: backfillLimit, connectionLimit: connectionLimit, isPolled: isPolled, isAcknowledged: isAcknowledged,
            answersPings: answersPings)
    }
}
