package import FeedCore

/// The REST of an upstream: requests that are passed on for readers, and requests that poll streams. The core decides when each is sent.
package protocol UpstreamREST: Sendable {
    /// The upstream, in the dialect's order.
    var upstream: Int { get }

    /// A cheap request, which shows whether REST answers.
    var probe: VenueRelay { get }

    /// How a stream is polled; nil if it is not.
    func poll(of name: FuturesServiceStreamName) -> Poll?

    /// Builds a stream's content from the answers to the parts of its poll; `now` is the upstream's time, ms since 1970 UTC.
    func content(of name: FuturesServiceStreamName, _ parts: [[UInt8]], now: Int64) -> Result<FetchedContent, FeedError>

    /// The request that is sent to one of the hosts.
    func request(_ relay: VenueRelay, host: Int) -> RESTRequest

    /// Why an answer is not usable; nil if it is.
    func failure(_ answer: RESTAnswer, to relay: VenueRelay) -> FeedError?

    /// The upstream's listing, if the answer contains it.
    func listing(_ relay: VenueRelay, _ body: [UInt8]) -> VenueListing?
}

/// A dialect whose upstream has REST for readers or for polled streams.
package protocol RESTDialect: Dialect {
    /// The upstream's REST.
    ///
    /// - Parameter upstream: The place of the upstream in the order of the combined dialect.
    func rest(of upstream: Int) -> any UpstreamREST
}

extension Dialect {
    /// The REST of an upstream; nil if it has none.
    package func upstreamREST(of upstream: Int) -> (any UpstreamREST)? {
        let parts = parts
        return parts.indices.contains(upstream) ? (parts[upstream] as? any RESTDialect)?.rest(of: upstream) : nil
    }
}

extension FuturesDialect: RESTDialect {
    package func rest(of upstream: Int) -> any UpstreamREST { VenueREST(dialect: self, upstream: upstream) }
}

extension VenueREST: UpstreamREST {
    package var probe: VenueRelay { VenueRelay(upstream: upstream, target: "/fapi/v1/ping", weight: 1, keep: .milliseconds(0)) }

    package func request(_ relay: VenueRelay, host: Int) -> RESTRequest { RESTRequest(url: url(relay, host: host)) }
}
