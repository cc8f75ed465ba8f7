import FeedCore

extension HyperliquidDialect: MarketDialect {
    /// The funding of Hyperliquid is paid every hour.
    private static let fundingHours: Int64 = 1

    package func marketStreams(of asset: String?, _ listing: VenueListing?) -> [FuturesServiceStreamName] {
        if let asset, let listing, !asset.contains(":"), !listing.symbols.contains(asset) { return [] }
        let streams = asset.map { ["\($0)@context", "\($0)@bbo"] } ?? ["!contexts"]
        let names = streams.compactMap { FuturesServiceStreamName(upstream: name, stream: $0) }.filter { traits(of: $0) != nil }
        return names.count == streams.count ? names : []
    }

    package func markets(of asset: String?, _ listing: VenueListing?, in contents: [FuturesServiceFeedContent]) -> [MarketRow] {
        guard let asset else { return contents.first.map { Self.contexts($0) } ?? [] }
        // The list lacks the contracts of other exchanges at the venue, such as `xyz:SPCX`. One without any content may not exist.
        guard !contents.isEmpty else { return [] }
        var row = MarketRow(asset: asset, symbol: asset, quote: "USD")
        for content in contents {
            guard case .json(let values) = content.rows, let text = values.first?.text, let stream = Self.stream(content.streamName, of: name) else {
                continue
            }
            let changed: MarketRow? = RowFields.read(Array(text.utf8)[...]) { (fields) throws(RowFields.Failure) in
                if stream.channel == .context {
                    return try fields.object("ctx").map { (context) throws(RowFields.Failure) in try Self.context(context, row) }
                }
                return try Self.bestPrices(fields, row)
            }
            row = changed ?? row
        }
        return [row]
    }

    private static func context(_ context: RowFields, _ row: MarketRow) throws(RowFields.Failure) -> MarketRow {
        var row = row
        row.markPrice = try context.optionalDecimal("markPx")
        row.indexPrice = try context.optionalDecimal("oraclePx")
        row.midPrice = try context.optionalDecimal("midPx")
        row.fundingRate = try context.optionalDecimal("funding")
        row.fundingIntervalHours = row.fundingRate == nil ? nil : fundingHours
        row.openInterest = try context.optionalDecimal("openInterest")
        row.quoteVolume = try context.optionalDecimal("dayNtlVlm")
        return row
    }

    /// `"bbo":[bid,ask]`; an empty side is null.
    private static func bestPrices(_ fields: RowFields, _ row: MarketRow) throws(RowFields.Failure) -> MarketRow {
        guard let text = fields["bbo"] else { return row }
        var row = row
        var sides: [(price: DecimalString, size: DecimalString)?] = []
        var reader = JSONReader(text)
        try reader.array { (reader) throws(JSONReader.Failure) in
            guard try reader.peek() == .object else {
                try reader.skip()
                return sides.append(nil)
            }
            let level = try RowFields(&reader)
            sides.append((try level.decimal("px"), try level.decimal("sz")))
        }
        guard sides.count == 2 else { return row }
        (row.bidPrice, row.bidSize) = (sides[0]?.price, sides[0]?.size)
        (row.askPrice, row.askSize) = (sides[1]?.price, sides[1]?.size)
        return row
    }

    /// The contexts of all contracts: `{"contexts":{"BTC":{…},…}}`. A context that cannot be read is left out.
    private static func contexts(_ content: FuturesServiceFeedContent) -> [MarketRow] {
        guard case .json(let values) = content.rows, let text = values.first?.text, let contexts = try? JSONMembers(text).object("contexts") else {
            return []
        }
        return contexts.values.compactMap { coin, text in
            RowFields.read(Array(text.utf8)[...]) { (fields) throws(RowFields.Failure) in
                try context(fields, MarketRow(asset: coin, symbol: coin, quote: "USD"))
            }
        }
    }
}
