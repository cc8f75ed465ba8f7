package import FeedCore

/// The data that a request asks for.
package enum MarketQuestion: Sendable {
    /// The contracts of an asset, or of all assets if it is nil.
    case contracts(String?)
    /// Data of an asset's contract.
    case data(MarketData, of: String)

    /// The asset; nil for all.
    package var asset: String? {
        switch self {
        case .contracts(let asset): asset
        case .data(_, of: let asset): asset
        }
    }
}

/// A venue with contracts, and the streams that answer a question about them.
package struct MarketSource: Sendable {
    /// The name of the venue.
    package let venue: String
    /// The place of the venue in the dialect's order.
    package let upstream: Int
    package let dialect: any MarketDialect
    package let streams: [FuturesServiceStreamName]

    /// The venues that have contracts, each with its streams; without streams if it does not list the asset.
    ///
    /// - Parameter listing: The listing of an upstream, in the dialect's order; nil if unknown.
    package static func all(for question: MarketQuestion, _ dialect: any Dialect, listing: (Int) -> VenueListing?) -> [MarketSource] {
        let upstreams = dialect.upstreams
        return dialect.parts.enumerated().compactMap { place, part in
            guard let markets = part as? any MarketDialect else { return nil }
            let streams =
                switch question {
                case .contracts(let asset): markets.marketStreams(of: asset, listing(place))
                case .data(let data, of: let asset): [markets.marketStream(of: asset, data, listing(place))].compactMap(\.self)
                }
            return MarketSource(
                venue: upstreams[place].name, upstream: place, dialect: markets, streams: streams.filter { dialect.traits(of: $0) != nil })
        }
    }

    /// Writes the rows of the venue, in the shape that all venues share. Returns whether a row was written that is live.
    ///
    /// - Parameters:
    ///   - time: The venue's time, ms since 1970 UTC; nil if it is unknown.
    ///   - values: The contents and statuses of the streams, in their order; nil for one without content.
    @discardableResult
    package func write(
        _ question: MarketQuestion, _ listing: VenueListing?, at time: Int64?,
        _ values: some Collection<(content: FuturesServiceFeedContent, status: StreamStatus)?>, _ json: inout JSONWriter
    ) -> Bool {
        let statuses = values.map { $0?.status }
        let freshness = WorstFreshness(statuses)
        let isLive = freshness.state == .live
        switch question {
        case .contracts(let asset):
            let markets = dialect.markets(of: asset, listing, in: values.compactMap { $0?.content })
            for market in markets {
                json.object { json in
                    json.member("venue", venue)
                    market.write(&json)
                    let phase = listing?.phase(of: market.symbol, at: time ?? .min) ?? .open
                    // A stream of all contracts has no phase of its own.
                    (phase == .open ? freshness : WorstFreshness(statuses.map { $0?.traded(phase) })).write(&json)
                }
            }
            return isLive && !markets.isEmpty
        case .data(let data, of: let asset):
            json.object { json in
                json.member("venue", venue)
                json.member("asset", asset)
                if let stream = streams.first { json.member("stream", stream.description) }
                if let contract = dialect.markets(of: asset, listing, in: values.compactMap { $0?.content }).first {
                    json.member("symbol", contract.symbol)
                    json.member("quote", contract.quote)
                }
                if let content = values.first??.content { dialect.write(data, of: content, &json) }
                freshness.write(&json)
            }
            return isLive
        }
    }
}

extension StreamStatus {
    /// The same status in another phase of the market.
    fileprivate func traded(_ phase: MarketPhase) -> StreamStatus {
        var status = self
        status.market = phase
        return status
    }
}
