/// The payloads of one symbol's streams, exactly as the venues write them. `now` is the event time.
extension SymbolMarket {
    func price(_ units: Int64) -> String { decimal(units, listing.pricePrecision) }
    func quantity(_ units: Int64) -> String { decimal(units, listing.quantityPrecision) }
    func quote(_ units: Int64) -> String { decimal(units, listing.quotePrecision) }

    /// Next multiple of the funding interval, or 0 if no funding is scheduled.
    func nextFundingTime(at now: Int64) -> Int64 {
        listing.hasFunding ? (now / fundings.interval + 1) * fundings.interval : 0
    }

    func markPriceUpdate(at now: Int64) -> String {
        #"{"e":"markPriceUpdate","E":\#(now),"s":"\#(listing.symbol)","p":"\#(decimal(mark, 8))","i":"\#(decimal(index, 8))","#
            + #""P":"\#(decimal(settle, 8))","r":"\#(decimal(fundingRate, 8))","T":\#(nextFundingTime(at: now))}"#
    }

    func bookTicker(at now: Int64) -> String {
        #"{"e":"bookTicker","u":\#(bookUpdateID),"s":"\#(listing.symbol)","b":"\#(price(bid))","B":"\#(quantity(bidQuantity))","#
            + #""a":"\#(price(ask))","A":"\#(quantity(askQuantity))","T":\#(bookTime),"E":\#(now)}"#
    }

    func aggTrade(_ trade: AggregateTrade, at now: Int64) -> String {
        #"{"e":"aggTrade","E":\#(now),"s":"\#(listing.symbol)",\#(aggregateFields(trade))}"#
    }

    /// The members common to the stream and the REST reply.
    func aggregateFields(_ trade: AggregateTrade) -> String {
        #""a":\#(trade.id),"p":"\#(price(trade.price))","q":"\#(quantity(trade.quantity))","f":\#(trade.firstTradeID),"#
            + #""l":\#(trade.lastTradeID),"T":\#(trade.time),"m":\#(trade.isBuyerMaker)"#
    }

    /// A payload for each trade of an aggregate.
    func tradeEvents(_ trade: AggregateTrade, at now: Int64) -> [String] {
        (0..<trade.tradeCount).map { offset in
            #"{"e":"trade","E":\#(now),"T":\#(trade.time),"s":"\#(listing.symbol)","t":\#(trade.firstTradeID + offset),"#
                + #""p":"\#(price(trade.price))","q":"\#(quantity(trade.part(offset)))","X":"MARKET","m":\#(trade.isBuyerMaker)}"#
        }
    }

    func kline(_ bar: Bar, _ interval: Interval, closed: Bool, at now: Int64) -> String {
        #"{"e":"kline","E":\#(now),"s":"\#(listing.symbol)","k":{"t":\#(bar.openTime),"T":\#(bar.closeTime),"s":"\#(listing.symbol)","#
            + klineFields(bar, interval, closed: closed) + "}}"
    }

    func continuousKline(_ bar: Bar, _ interval: Interval, closed: Bool, at now: Int64) -> String {
        #"{"e":"continuous_kline","E":\#(now),"ps":"\#(listing.pair)","ct":"\#(listing.contractType)","k":{"t":\#(bar.openTime),"#
            + #""T":\#(bar.closeTime),"# + klineFields(bar, interval, closed: closed) + "}}"
    }

    private func klineFields(_ bar: Bar, _ interval: Interval, closed: Bool) -> String {
        #""i":"\#(interval.rawValue)","f":\#(bar.firstTradeID),"L":\#(bar.lastTradeID),"o":"\#(price(bar.open))","#
            + #""c":"\#(price(bar.close))","h":"\#(price(bar.high))","l":"\#(price(bar.low))","v":"\#(quantity(bar.volume))","#
            + #""n":\#(bar.trades),"x":\#(closed),"q":"\#(quote(bar.quoteVolume))","V":"\#(quantity(bar.takerVolume))","#
            + #""Q":"\#(quote(bar.takerQuoteVolume))","B":"0""#
    }

    func miniTicker(at now: Int64) -> String {
        let day = bars.day
        return #"{"e":"24hrMiniTicker","E":\#(now),"s":"\#(listing.symbol)","c":"\#(price(day.close))","o":"\#(price(day.open))","#
            + #""h":"\#(price(day.high))","l":"\#(price(day.low))","v":"\#(quantity(day.volume))","q":"\#(quote(day.quoteVolume))"}"#
    }

    func ticker(at now: Int64) -> String {
        let day = DayTicker(self)
        return #"{"e":"24hrTicker","E":\#(now),"s":"\#(listing.symbol)","p":"\#(day.change)","P":"\#(day.changePercent)","#
            + #""w":"\#(day.weightedAverage)","c":"\#(price(day.bar.close))","Q":"\#(day.lastQuantity)","o":"\#(price(day.bar.open))","#
            + #""h":"\#(price(day.bar.high))","l":"\#(price(day.bar.low))","v":"\#(quantity(day.bar.volume))","#
            + #""q":"\#(quote(day.bar.quoteVolume))","O":\#(day.bar.openTime),"C":\#(day.closeTime),"F":\#(day.bar.firstTradeID),"#
            + #""L":\#(day.bar.lastTradeID),"n":\#(day.bar.trades)}"#
    }
}

/// The figures of a 24 h ticker that a bar does not have, as text.
struct DayTicker {
    let bar: Bar
    let change: String
    let changePercent: String
    let weightedAverage: String
    let lastQuantity: String
    let closeTime: Int64

    init(_ market: SymbolMarket) {
        bar = market.bars.day
        change = market.price(bar.close - bar.open)
        changePercent = decimal((bar.close - bar.open) * 100_000 / max(1, bar.open), 3)
        weightedAverage = market.price(bar.quoteVolume / max(1, bar.volume))
        lastQuantity = market.quantity(market.trades.last?.quantity ?? 0)
        closeTime = market.trades.last?.time ?? bar.closeTime
    }
}

extension AssetIndex {
    func assetIndexUpdate(at now: Int64) -> String {
        #"{"e":"assetIndexUpdate","E":\#(now),"s":"\#(symbol)","i":"\#(decimal(index, 8))","b":"\#(buffer(bidBuffer))","#
            + #""a":"\#(buffer(askBuffer))","B":"\#(decimal(bidRate, 8))","A":"\#(decimal(askRate, 8))","q":"\#(buffer(autoBidBuffer))","#
            + #""g":"\#(buffer(autoAskBuffer))","Q":"\#(decimal(autoBidRate, 8))","G":"\#(decimal(autoAskRate, 8))"}"#
    }

    /// A buffer with eight decimals.
    func buffer(_ tenThousandths: Int64) -> String { decimal(tenThousandths * 10_000, 8) }
}

extension Market {
    func compositeIndex(_ market: SymbolMarket) -> String {
        let list = components(of: market).map {
            #"{"b":"\#($0.base)","q":"USDT","w":"\#($0.quantity)","W":"\#($0.share)","i":"\#($0.index)"}"#
        }.joined(separator: ",")
        return #"{"e":"compositeIndex","E":\#(now),"s":"\#(market.listing.symbol)","p":"\#(decimal(market.index, 8))","#
            + #""C":"baseAsset","c":[\#(list)]}"#
    }
}

extension TradingSchedule {
    func event(_ market: Market) -> String {
        let session = current(market)
        return #"{"e":"\#(market.event)","E":\#(now),"t":\#(session.start),"T":\#(session.end),"S":"\#(session.type)"}"#
    }
}
