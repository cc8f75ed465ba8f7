/// The simulated market's funding, indexes and positions over REST.
extension Market {
    func hasPair(_ pair: String) -> Bool { symbols.contains { $0.listing.pair == pair } }

    func contract(_ pair: String, _ type: String) -> String? {
        symbols.first { $0.listing.pair == pair && $0.listing.contractType == type }?.listing.symbol
    }

    func priceKlines(_ kind: PriceKind, _ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)] {
        guard let market = market(symbol) else { return [] }
        return market.priceBars.bars(interval, market.bars).map { ($0.openTime, $0.klineRow(kind)) }
    }

    func fundings(_ symbol: String?, from: Int64?, to: Int64?, limit: Int) -> [String] {
        let markets = symbol.map { [market($0)].compactMap(\.self) } ?? symbols
        let step = 4 * Interval.hour
        let first = max(from ?? 0, markets.map(\.bars.openTime).min() ?? 0)
        let last = min(to ?? now, now)
        guard first <= last else { return [] }
        let times = stride(from: (first + step - 1) / step * step, through: last / step * step, by: Int(step))
        var rows: [String] = []
        for time in from == nil ? Array(times.reversed()) : Array(times) where rows.count < limit {
            let due = markets.compactMap { market in market.funding(at: time).map { market.fundingRow($0) } }
            rows += from == nil ? due.reversed() : due
        }
        return from == nil ? rows.prefix(limit).reversed() : Array(rows.prefix(limit))
    }

    func fundingInfo() -> [String] {
        symbols.filter(\.listing.hasFunding).map { market in
            let cap = market.fundings.interval == 8 * Interval.hour ? "0.02000000" : "0.03000000"
            return #"{"symbol":"\#(market.listing.symbol)","adjustedFundingRateCap":"\#(cap)","adjustedFundingRateFloor":"-\#(cap)","#
                + #""fundingIntervalHours":\#(market.fundings.interval / Interval.hour),"disclaimer":false,"updateTime":\#(market.bars.openTime)}"#
        }
    }

    func openInterest(_ symbol: String) -> String? {
        guard let market = market(symbol), market.listing.isTrading else { return nil }
        let interest = market.quantity(market.positioning.openInterest(at: market.lastPrice))
        return #"{"symbol":"\#(market.listing.symbol)","openInterest":"\#(interest)","time":\#(now)}"#
    }

    func records(_ kind: RecordKind, _ symbol: String, _ period: Interval) -> [(time: Int64, json: String)] {
        guard let market = market(symbol) else { return [] }
        let bars = market.bars.bars(period).filter { $0.end <= now }
        switch kind {
        case .openInterestHist: return bars.map { ($0.end, market.openInterestRow($0)) }
        case .globalLongShortAccountRatio: return bars.map { ($0.end, market.ratioRow(.allAccounts, $0)) }
        case .topLongShortAccountRatio: return bars.map { ($0.end, market.ratioRow(.topAccounts, $0)) }
        case .topLongShortPositionRatio: return bars.map { ($0.end, market.ratioRow(.topPositions, $0)) }
        case .takerlongshortRatio: return bars.map { ($0.end, market.takerRow($0)) }
        case .basis:
            let indexed = contract(market.listing.pair, "PERPETUAL").flatMap { self.market($0) } ?? market
            let indexes = indexed.priceBars.bars(period, indexed.bars).map { ($0.end, $0.index.close) }
            let index = Dictionary(indexes, uniquingKeysWith: { first, _ in first })
            return bars.compactMap { bar in index[bar.end].map { (bar.end, market.basisRow(bar, index: $0)) } }
        }
    }

    /// Three exchanges whose prices together make up the index.
    func constituents(_ symbol: String) -> String? {
        guard let market = market(symbol) else { return nil }
        let (base, index) = (market.listing.base, market.index)
        let distance = index / 1_000_000 * (index % 41)
        let rows = [
            ("binance", "\(base)USDT", index + distance, "0.50000000"), ("okex", "\(base)-USDT", index - distance, "0.30000000"),
            ("coinbase", "\(base)-USDT", index - distance, "0.20000000"),
        ].map { #"{"exchange":"\#($0.0)","symbol":"\#($0.1)","price":"\#(decimal($0.2, 8))","weight":"\#($0.3)"}"# }
        return #"{"symbol":"\#(market.listing.symbol)","time":\#(now),"constituents":[\#(rows.joined(separator: ","))]}"#
    }

    func compositeIndexes() -> [(symbol: String, json: String)] {
        symbols.filter { !$0.listing.components.isEmpty }.map { market in
            let list = components(of: market).map { part in
                #"{"baseAsset":"\#(part.base)","quoteAsset":"USDT","weightInQuantity":"\#(part.quantity)","weightInPercentage":"\#(part.share)"}"#
            }.joined(separator: ",")
            let symbol = market.listing.symbol
            return (symbol, #"{"symbol":"\#(symbol)","time":\#(now),"component":"baseAsset","baseAssetList":[\#(list)]}"#)
        }
    }

    struct Component {
        let base: String
        /// The amount of the asset in one unit of the index, its share of the index, and its own index; all with eight decimals.
        let quantity: String
        let share: String
        let index: String
    }

    /// The components of a contract's index, at current prices.
    func components(of composite: SymbolMarket) -> [Component] {
        composite.listing.components.compactMap { base, part in
            guard let market = market(base + "USDT") else { return nil }
            let quantity = composite.index / 10_000 * part * 10_000 / max(1, market.index / 10_000)
            return Component(base: base, quantity: decimal(quantity, 8), share: decimal(part * 10_000, 8), index: decimal(market.index, 8))
        }
    }

    /// Dated contracts are delivered every thirteen weeks.
    func deliveries(_ pair: String) -> [String] {
        guard let symbol = contract(pair, "CURRENT_QUARTER"), let market = market(symbol) else { return [] }
        return stride(from: Listing.delivery, to: market.bars.openTime, by: -Int(91 * Interval.day)).filter { $0 <= now }.map { time in
            #"{"deliveryTime":\#(time),"deliveryPrice":\#(decimal(market.pastPrice(at: time), 8))}"#
        }
    }
}

extension SymbolMarket {
    /// The price at a past time, with eight decimals.
    func pastPrice(at time: Int64) -> Int64 {
        let bars = bars.closed
        var (low, high) = (0, bars.count)
        while low < high {
            let middle = (low + high) / 2
            if bars[middle].openTime <= time { low = middle + 1 } else { high = middle }
        }
        let price = low > 0 ? bars[low - 1].open : listing.anchor
        return price * powerOfTen(8 - listing.pricePrecision)
    }

    func funding(at time: Int64) -> Funding? {
        fundings.payment(at: time) { pastPrice(at: $0) }
    }

    fileprivate func fundingRow(_ funding: Funding) -> String {
        #"{"symbol":"\#(listing.symbol)","fundingTime":\#(funding.time),"fundingRate":"\#(decimal(funding.rate, 8))","#
            + #""markPrice":"\#(decimal(funding.markPrice, 8))"}"#
    }

    fileprivate func openInterestRow(_ bar: Bar) -> String {
        let interest = positioning.openInterest(at: bar.close)
        return #"{"symbol":"\#(listing.symbol)","sumOpenInterest":"\#(decimal(interest * powerOfTen(8 - listing.quantityPrecision), 8))","#
            + #""sumOpenInterestValue":"\#(decimal(interest * bar.close * powerOfTen(8 - listing.quotePrecision), 8))","timestamp":\#(bar.end)}"#
    }

    fileprivate func ratioRow(_ kind: RatioKind, _ bar: Bar) -> String {
        let long = positioning.longShare(kind, at: bar.close)
        return #"{"symbol":"\#(listing.symbol)","longAccount":"\#(decimal(long, 4))","#
            + #""longShortRatio":"\#(decimal(long * 10_000 / max(1, 10_000 - long), 4))","shortAccount":"\#(decimal(10_000 - long, 4))","#
            + #""timestamp":\#(bar.end)}"#
    }

    fileprivate func takerRow(_ bar: Bar) -> String {
        let sold = bar.volume - bar.takerVolume
        let ratio = Double(bar.takerVolume) / Double(max(1, sold)) * 10_000
        return #"{"buySellRatio":"\#(decimal(Int64(min(ratio, 1e12)), 4))","sellVol":"\#(quantity(sold))","buyVol":"\#(quantity(bar.takerVolume))","#
            + #""timestamp":\#(bar.end)}"#
    }

    fileprivate func basisRow(_ bar: Bar, index: Int64) -> String {
        let basis = bar.close * powerOfTen(8 - listing.pricePrecision) - index
        let rate = basis * 10_000 / max(1, index)
        let days = max(1, (Listing.delivery - bar.end) / Interval.day)
        return #"{"indexPrice":"\#(decimal(index, 8))","contractType":"\#(listing.contractType)","basisRate":"\#(decimal(rate, 4))","#
            + #""futuresPrice":"\#(price(bar.close))","annualizedBasisRate":"\#(listing.isDated ? decimal(rate * 365 / days, 4) : "")","#
            + #""basis":"\#(decimal(basis, 8))","pair":"\#(listing.pair)","timestamp":\#(bar.end)}"#
    }
}

extension PriceBar {
    fileprivate func klineRow(_ kind: PriceKind) -> String {
        let range = range(kind)
        return #"[\#(openTime),"\#(decimal(range.open, 8))","\#(decimal(range.high, 8))","\#(decimal(range.low, 8))","\#(decimal(range.close, 8))","#
            + #""0",\#(end - 1),"0",\#(samples),"0","0","0"]"#
    }
}
