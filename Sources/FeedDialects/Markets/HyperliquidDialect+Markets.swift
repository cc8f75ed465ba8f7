import FeedCore

extension HyperliquidDialect: MarketDialect {
    /// The funding of Hyperliquid is paid every hour.
    private static let fundingHours: Int64 = 1

    package func marketStreams(of asset: String?, _ listing: VenueListing?) -> [FuturesServiceStreamName] {
        let streams = asset.map { ["\($0)@context", "\($0)@bbo"] } ?? ["!mids"]
        let names = streams.compactMap { FuturesServiceStreamName(upstream: name, stream: $0) }.filter { traits(of: $0) != nil }
        return names.count == streams.count ? names : []
    }

    package func markets(of asset: String?, _ listing: VenueListing?, in contents: [FuturesServiceFeedContent]) -> [MarketRow] {
        guard let asset else { return contents.first.map { Self.mids($0) } ?? [] }
        // The venue has no list of coins, so a coin without any content may not exist.
        guard !contents.isEmpty else { return [] }
        var row = MarketRow(asset: asset, symbol: asset, quote: "USD")
        for content in contents {
            guard case .json(let values) = content.rows, let text = values.first?.text, let stream = Self.stream(content.streamName, of: name) else {
                continue
            }
            let changed: MarketRow? = RowFields.read(Array(text.utf8)[...]) { (fields) throws(RowFields.Failure) in
                stream.channel == .context ? try Self.context(fields, row) : try Self.bestPrices(fields, row)
            }
            row = changed ?? row
        }
        return [row]
    }

    private static func context(_ fields: RowFields, _ row: MarketRow) throws(RowFields.Failure) -> MarketRow {
        guard let context = try fields.object("ctx") else { return row }
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

    /// The middle prices of all coins: `{"BTC":"60000.5",…}`. Names that begin with `@` are spot pairs.
    private static func mids(_ content: FuturesServiceFeedContent) -> [MarketRow] {
        guard case .json(let values) = content.rows, let text = values.first?.text, let members = try? JSONMembers(text) else { return [] }
        let prices = (try? members.object("mids")) ?? nil
        return (prices ?? members).values.compactMap { name, text in
            guard !name.hasPrefix("@"), !name.contains("/"), let price = DecimalString(String(text.dropFirst().dropLast())) else { return nil }
            var row = MarketRow(asset: name, symbol: name, quote: "USD")
            row.midPrice = price
            return row
        }
    }
}
