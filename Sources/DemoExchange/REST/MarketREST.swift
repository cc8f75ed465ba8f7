/// The simulated market's REST replies.
extension Market: RESTSource {
    func hasSymbol(_ symbol: String) -> Bool { market(symbol) != nil }

    func market(_ symbol: String) -> SymbolMarket? {
        position(ofLowercased: asciiLowercased(symbol)).map { symbols[$0] }
    }

    func symbols(of row: RESTRow, dated: Bool) -> [String] {
        row == .assetIndex ? assets.map(\.symbol) : symbols.map(\.listing).filter { dated || !$0.isDated }.map(\.symbol)
    }

    func row(_ row: RESTRow, _ symbol: String, now: Int64) -> String? {
        if row == .assetIndex { return assets.first { $0.symbol == symbol }?.row(at: self.now) }
        guard let market = market(symbol), market.listing.isTrading || row == .premiumIndex else { return nil }
        switch row {
        case .premiumIndex: return market.premiumIndex(at: self.now)
        case .ticker24hr: return market.ticker24hr
        case .bookTicker: return market.bookTickerRow
        case .priceTicker, .assetIndex: return market.priceTicker
        }
    }

    func klines(_ symbol: String, _ interval: Interval) -> [(openTime: Int64, json: String)] {
        guard let market = market(symbol) else { return [] }
        return market.bars.bars(interval).map { ($0.openTime, market.klineRow($0)) }
    }

    func aggTrades(_ symbol: String) -> [(id: Int64, time: Int64, json: String)] {
        guard let market = market(symbol) else { return [] }
        return market.trades.map { ($0.id, $0.time, "{\(market.aggregateFields($0))}") }
    }

    func trades(_ symbol: String) -> [String] {
        guard let market = market(symbol) else { return [] }
        return market.trades.suffix(SymbolMarket.tradeLimit).flatMap(market.tradeRows)
    }

    /// As of the last time the book was brought up to date.
    func depth(_ symbol: String, limit: Int) -> String? {
        guard let market = market(symbol), let book = market.book else { return nil }
        var writer = DepthWriter(market.listing)
        return writer.depthReply(book, limit: limit, at: now)
    }

    func exchangeInfo(now: Int64, weightLimit: Int, dated: Bool) -> String {
        let assetRows = ["USDT", "USDC", "BTC", "ETH", "BNB", "SOL", "XRP", "ADA", "DOGE"].map { asset in
            #"{"asset":"\#(asset)","marginAvailable":true,"autoAssetExchange":"\#(asset == "USDT" ? "-10000" : "0")"}"#
        }
        let symbolRows = symbols.enumerated().filter { dated || !$1.listing.isDated }.map { $1.exchangeInfoRow(number: $0) }
        return exchangeInfoReply(now: now, weightLimit: weightLimit, assets: assetRows, symbols: symbolRows)
    }
}

func exchangeInfoReply(now: Int64, weightLimit: Int, assets: [String], symbols: [String]) -> String {
    #"{"simulated":true,"timezone":"UTC","serverTime":\#(now),"futuresType":"U_MARGINED","rateLimits":["#
        + #"{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":\#(weightLimit)},"#
        + #"{"rateLimitType":"ORDERS","interval":"MINUTE","intervalNum":1,"limit":1200},"#
        + #"{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"limit":300}],"exchangeFilters":[],"#
        + #""assets":[\#(assets.joined(separator: ","))],"symbols":[\#(symbols.joined(separator: ","))]}"#
}

extension SymbolMarket {
    func premiumIndex(at now: Int64) -> String {
        #"{"symbol":"\#(listing.symbol)","markPrice":"\#(decimal(mark, 8))","indexPrice":"\#(decimal(index, 8))","#
            + #""estimatedSettlePrice":"\#(decimal(settle, 8))","lastFundingRate":"\#(decimal(fundingRate, 8))","#
            + #""interestRate":"\#(listing.hasFunding ? "0.00010000" : "0.00000000")","nextFundingTime":\#(nextFundingTime(at: now)),"time":\#(now)}"#
    }

    var ticker24hr: String {
        let day = DayTicker(self)
        return #"{"symbol":"\#(listing.symbol)","priceChange":"\#(day.change)","priceChangePercent":"\#(day.changePercent)","#
            + #""weightedAvgPrice":"\#(day.weightedAverage)","lastPrice":"\#(price(day.bar.close))","lastQty":"\#(day.lastQuantity)","#
            + #""openPrice":"\#(price(day.bar.open))","highPrice":"\#(price(day.bar.high))","lowPrice":"\#(price(day.bar.low))","#
            + #""volume":"\#(quantity(day.bar.volume))","quoteVolume":"\#(quote(day.bar.quoteVolume))","openTime":\#(day.bar.openTime),"#
            + #""closeTime":\#(day.closeTime),"firstId":\#(day.bar.firstTradeID),"lastId":\#(day.bar.lastTradeID),"count":\#(day.bar.trades)}"#
    }

    var bookTickerRow: String {
        #"{"symbol":"\#(listing.symbol)","bidPrice":"\#(price(bid))","bidQty":"\#(quantity(bidQuantity))","#
            + #""askPrice":"\#(price(ask))","askQty":"\#(quantity(askQuantity))","time":\#(bookTime)}"#
    }

    var priceTicker: String {
        #"{"symbol":"\#(listing.symbol)","price":"\#(price(trades.last?.price ?? bid))","time":\#(trades.last?.time ?? bookTime)}"#
    }

    func klineRow(_ bar: Bar) -> String {
        #"[\#(bar.openTime),"\#(price(bar.open))","\#(price(bar.high))","\#(price(bar.low))","\#(price(bar.close))","#
            + #""\#(quantity(bar.volume))",\#(bar.closeTime),"\#(quote(bar.quoteVolume))",\#(bar.trades),"#
            + #""\#(quantity(bar.takerVolume))","\#(quote(bar.takerQuoteVolume))","0"]"#
    }

    func tradeRows(_ trade: AggregateTrade) -> [String] {
        (0..<trade.tradeCount).map { offset in
            let part = trade.part(offset)
            return #"{"id":\#(trade.firstTradeID + offset),"price":"\#(price(trade.price))","qty":"\#(quantity(part))","#
                + #""quoteQty":"\#(quote(part * trade.price))","time":\#(trade.time),"isBuyerMaker":\#(trade.isBuyerMaker)}"#
        }
    }

    func exchangeInfoRow(number: Int) -> String {
        let tick = decimal(1, listing.pricePrecision)
        let step = decimal(1, listing.quantityPrecision)
        let isTradFi = listing.kind == .tradFi
        let delivery = listing.isDated ? Listing.delivery : 4_133_404_800_000
        return #"{"symbol":"\#(listing.symbol)","pair":"\#(listing.pair)","contractType":"\#(listing.contractType)","deliveryDate":\#(delivery),"#
            + #""onboardDate":\#(bars.openTime),"status":"\#(!listing.isTrading ? "SETTLING" : isHalted ? "TRADING_HALT" : "TRADING")","maintMarginPercent":"2.5000","#
            + #""requiredMarginPercent":"5.0000","baseAsset":"\#(listing.base)","quoteAsset":"USDT","marginAsset":"USDT","#
            + #""pricePrecision":\#(listing.pricePrecision),"quantityPrecision":\#(listing.quantityPrecision),"baseAssetPrecision":8,"#
            + #""quotePrecision":8,"underlyingType":"\#(isTradFi ? "COMMODITY" : "COIN")","underlyingSubType":[],"symbolType":0,"#
            + #""tradingMode":0,"name":"\#(listing.base)","channel":"","sequenceNo":\#((number + 1) * 10),"triggerProtect":"0.0500","#
            + #""liquidationFee":"0.025000","marketTakeBound":"0.05","filters":["#
            + #"{"minPrice":"\#(tick)","maxPrice":"\#(price(listing.anchor * 10))","filterType":"PRICE_FILTER","tickSize":"\#(tick)"},"#
            + #"{"stepSize":"\#(step)","filterType":"LOT_SIZE","maxQty":"2000000","minQty":"\#(step)"},"#
            + #"{"stepSize":"\#(step)","filterType":"MARKET_LOT_SIZE","maxQty":"200000","minQty":"\#(step)"},"#
            + #"{"limit":200,"filterType":"MAX_NUM_ORDERS"},{"limit":10,"filterType":"MAX_NUM_ALGO_ORDERS"},"#
            + #"{"notional":"5","filterType":"MIN_NOTIONAL"},"#
            + #"{"multiplierDown":"0.9500","multiplierUp":"1.0500","multiplierDecimal":"4","filterType":"PERCENT_PRICE"}],"#
            + #""orderTypes":["LIMIT","MARKET","STOP","STOP_MARKET","TAKE_PROFIT","TAKE_PROFIT_MARKET","TRAILING_STOP_MARKET"],"#
            + #""timeInForce":["GTC","IOC","FOK","GTX","RPI","HIDDEN"]}"#
    }
}

extension AssetIndex {
    /// The REST row.
    func row(at now: Int64) -> String {
        #"{"symbol":"\#(symbol)","time":\#(now),"index":"\#(decimal(index, 8))","bidBuffer":"\#(buffer(bidBuffer))","#
            + #""askBuffer":"\#(buffer(askBuffer))","bidRate":"\#(decimal(bidRate, 8))","askRate":"\#(decimal(askRate, 8))","#
            + #""autoExchangeBidBuffer":"\#(buffer(autoBidBuffer))","autoExchangeAskBuffer":"\#(buffer(autoAskBuffer))","#
            + #""autoExchangeBidRate":"\#(decimal(autoBidRate, 8))","autoExchangeAskRate":"\#(decimal(autoAskRate, 8))"}"#
    }
}
