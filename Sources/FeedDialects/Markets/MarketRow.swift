package import FeedCore

/// The contract of an asset at one venue, in the shape that all venues share. Decimals have the digits of the venue.
///
/// Sizes and open interest are amounts of the asset. Prices and volume are in `quote`.
package struct MarketRow: Sendable, Equatable {
    /// The asset, such as `BTC`, as the venue spells it.
    package let asset: String
    /// The venue's symbol.
    package let symbol: String
    /// The currency of prices and volume, such as `USDT`.
    package let quote: String
    package var markPrice: DecimalString?
    package var indexPrice: DecimalString?
    package var midPrice: DecimalString?
    package var bidPrice: DecimalString?
    package var bidSize: DecimalString?
    package var askPrice: DecimalString?
    package var askSize: DecimalString?
    /// The rate for an interval of funding, and the hours of that interval.
    package var fundingRate: DecimalString?
    package var fundingIntervalHours: Int64?
    /// Milliseconds since 1970 UTC.
    package var nextFundingTime: Int64?
    package var openInterest: DecimalString?
    /// The volume of 24 hours.
    package var quoteVolume: DecimalString?

    package init(asset: String, symbol: String, quote: String) { (self.asset, self.symbol, self.quote) = (asset, symbol, quote) }

    /// The funding rate for an hour; exact for intervals of 1, 2, 4 and 8 hours, otherwise cut off after 18 decimals.
    package var fundingPerHour: DecimalString? {
        guard let hours = fundingIntervalHours, hours > 0, let scaled = fundingRate?.scaled else { return nil }
        let digits = "\((scaled / ScaledNumber(hours)).magnitude)"
        let padded = String(repeating: "0", count: max(0, 19 - digits.count)) + digits
        let fraction = padded.suffix(18).reversed().drop { $0 == "0" }.reversed()
        return DecimalString((scaled < 0 ? "-" : "") + padded.dropLast(18) + (fraction.isEmpty ? "" : "." + String(fraction)))
    }

    /// Writes the members of the contract.
    package func write(_ json: inout JSONWriter) {
        json.member("asset", asset)
        json.member("symbol", symbol)
        json.member("quote", quote)
        json.member("markPrice", optional: markPrice)
        json.member("indexPrice", optional: indexPrice)
        json.member("midPrice", optional: midPrice)
        json.member("bidPrice", optional: bidPrice)
        json.member("bidSize", optional: bidSize)
        json.member("askPrice", optional: askPrice)
        json.member("askSize", optional: askSize)
        json.member("fundingRate", optional: fundingRate)
        json.member("fundingIntervalHours", optional: fundingIntervalHours)
        json.member("fundingPerHour", optional: fundingPerHour)
        json.member("nextFundingTime", optional: nextFundingTime)
        json.member("openInterest", optional: openInterest)
        json.member("quoteVolume", optional: quoteVolume)
    }
}

/// A dialect whose venue has perpetual contracts.
package protocol MarketDialect: Dialect {
    /// The streams with the data of an asset's contract, or of all contracts if `asset` is nil; empty if the venue does not list the asset.
    func marketStreams(of asset: String?, _ listing: VenueListing?) -> [FuturesServiceStreamName]

    /// The contracts in the contents of these streams, one for each asset. A content that cannot be read leaves its members out.
    ///
    /// - Parameter asset: The asset; nil for all.
    func markets(of asset: String?, _ listing: VenueListing?, in contents: [FuturesServiceFeedContent]) -> [MarketRow]

    /// The stream with data of an asset's contract; nil if the venue does not list the asset or has no such data.
    func marketStream(of asset: String, _ data: MarketData, _ listing: VenueListing?) -> FuturesServiceStreamName?

    /// Writes the data of a content of this stream; nothing if it cannot be read.
    func write(_ data: MarketData, of content: FuturesServiceFeedContent, _ json: inout JSONWriter)
}
