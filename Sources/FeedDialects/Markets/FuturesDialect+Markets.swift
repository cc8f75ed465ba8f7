package import FeedCore

extension FuturesDialect: MarketDialect {
    /// The quote currencies, the preferred one first. An asset has one row, even if it has contracts in several currencies.
    private static let quotes = ["USDT", "USDC", "USD1", "FDUSD", "BUSD", "USD"]

    package func marketStreams(of asset: String?, _ listing: VenueListing?) -> [FuturesServiceStreamName] {
        guard let asset else {
            let lists: [FuturesServiceStreamName] = [.fastMarkPrices, .bookTickers, .tickers] + (venue.has(.funding) ? [.funding] : [])
            return lists.map { $0.at(venue: prefix) }
        }
        guard let symbol = Self.symbol(of: asset, listing) else { return [] }
        let names: [FuturesServiceStreamName] =
            [
                .markPrice(symbol: symbol, fast: true), .bookTicker(symbol: symbol), .ticker(symbol: symbol), .openInterest(symbol: symbol),
            ] + (venue.has(.funding) ? [.funding] : [])
        return names.map { $0.at(venue: prefix) }
    }

    static func symbol(of asset: String, _ listing: VenueListing?) -> String? {
        guard (1...32).contains(asset.utf8.count), asset.utf8.allSatisfy({ $0 > 0x2F }) else { return nil }
        let symbols = quotes.map { asset + $0 }
        guard let listing else { return symbols[0] }
        return symbols.first(where: listing.symbols.contains)
    }

    package func markets(of asset: String?, _ listing: VenueListing?, in contents: [FuturesServiceFeedContent]) -> [MarketRow] {
        var rows = MarketTable()
        if let asset {
            guard let symbol = Self.symbol(of: asset, listing) else { return [] }
            rows.add(asset, symbol: symbol, quote: String(symbol.dropFirst(asset.count)))
        } else {
            for symbol in listing?.symbols.sorted() ?? [] {
                guard let quote = Self.quotes.first(where: symbol.hasSuffix), symbol.count > quote.count else { continue }
                let asset = String(symbol.dropLast(quote.count))
                if Self.symbol(of: asset, listing) == symbol { rows.add(asset, symbol: symbol, quote: quote) }
            }
        }
        for content in contents { Self.read(content, into: &rows) }
        return rows.all
    }

    private static func read(_ content: FuturesServiceFeedContent, into rows: inout MarketTable) {
        switch content.rows {
        case .markPrice(let prices):
            for price in prices {
                rows.change(price.symbol) {
                    ($0.markPrice, $0.indexPrice, $0.nextFundingTime) = (price.markPrice, price.indexPrice, price.nextFundingTime)
                    $0.fundingRate = price.nextFundingTime == nil ? nil : price.lastFundingRate
                }
            }
        case .bookTicker(let tickers):
            for ticker in tickers {
                rows.change(ticker.symbol) {
                    ($0.bidPrice, $0.bidSize) = (ticker.bidPrice, ticker.bidQuantity)
                    ($0.askPrice, $0.askSize) = (ticker.askPrice, ticker.askQuantity)
                }
            }
        case .ticker(let tickers): for ticker in tickers { rows.change(ticker.mini.symbol) { $0.quoteVolume = ticker.mini.quoteVolume } }
        case .json(let values):
            guard let text = values.first?.text else { return }
            if content.streamName.channel == .openInterest { readOpenInterest(text, into: &rows) } else { readIntervals(text, into: &rows) }
        default: break
        }
    }

    private static func readOpenInterest(_ text: String, into rows: inout MarketTable) {
        let read: (String, DecimalString)? = RowFields.read(Array(text.utf8)[...]) { (fields) throws(RowFields.Failure) in
            (try fields.string("symbol"), try fields.decimal("openInterest"))
        }
        if let (symbol, openInterest) = read { rows.change(symbol) { $0.openInterest = openInterest } }
    }

    private static func readIntervals(_ text: String, into rows: inout MarketTable) {
        let read: [(String, Int64)]? = RowFields.read(Array(text.utf8)[...]) { (fields) throws(RowFields.Failure) in
            try fields.list("rows") { (row) throws(RowFields.Failure) in (try row.string("symbol"), try row.integer("intervalHours")) }
        }
        for (symbol, hours) in read ?? [] { rows.change(symbol) { $0.fundingIntervalHours = hours } }
    }
}

/// Rows by their symbols.
private struct MarketTable {
    private(set) var all: [MarketRow] = []
    private var places: [String: Int] = [:]

    mutating func add(_ asset: String, symbol: String, quote: String) {
        places[symbol] = all.count
        all.append(MarketRow(asset: asset, symbol: symbol, quote: quote))
    }

    mutating func change(_ symbol: String, _ change: (inout MarketRow) -> Void) {
        if let place = places[symbol] { change(&all[place]) }
    }
}
