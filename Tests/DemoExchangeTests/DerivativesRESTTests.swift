import Testing

@testable import DemoExchange

/// A market that opened at a known time and has moved for a minute and a second: what it says is known to the last digit.
private let opening: Int64 = 1_763_679_610_000
private let market: Market = {
    var market = Market(seed: 1, symbolCount: 24, now: opening)
    for step in 1...1_220 { market.step(now: opening + Int64(step) * Market.stepLength) }
    return market
}()

private func ask(_ uri: String, method: String = "GET", apiKey: String? = nil, market: Market = market) -> RESTReply {
    RESTService(source: market, now: market.now, weightLimit: 2_400).answer(method, RESTTarget(uri), apiKey: apiKey)
}

private struct Exchanged: CustomTestStringConvertible, Sendable {
    let uri: String
    let body: String
    var status = 200
    var weight: Int?
    var testDescription: String { uri }

    init(_ uri: String, _ body: String, status: Int = 200, weight: Int? = nil) {
        (self.uri, self.body, self.status, self.weight) = (uri, body, status, weight)
    }
}

@Suite struct DerivativesRESTTests {
    @Test(arguments: [
        Exchanged(
            "/fapi/v1/fundingRate?symbol=btcusdt&limit=2",
            #"[{"symbol":"BTCUSDT","fundingTime":1763625600000,"fundingRate":"0.00003153","markPrice":"107485.00000000"},"#
                + #"{"symbol":"BTCUSDT","fundingTime":1763654400000,"fundingRate":"-0.00001911","markPrice":"108630.40000000"}]"#),
        Exchanged(
            "/fapi/v1/fundingRate?limit=3&startTime=1763654400000",
            #"[{"symbol":"BTCUSDT","fundingTime":1763654400000,"fundingRate":"-0.00001911","markPrice":"108630.40000000"},"#
                + #"{"symbol":"ETHUSDT","fundingTime":1763654400000,"fundingRate":"-0.00003070","markPrice":"3875.06000000"},"#
                + #"{"symbol":"BNBUSDT","fundingTime":1763654400000,"fundingRate":"0.00012896","markPrice":"1109.71000000"}]"#),
        Exchanged(
            "/fapi/v1/openInterest?symbol=BTCUSDT",
            #"{"symbol":"BTCUSDT","openInterest":"1617.017","time":1763679671000}"#, weight: 1),
        Exchanged(
            "/fapi/v1/continuousKlines?pair=BTCUSDT&contractType=CURRENT_QUARTER&interval=1m&limit=1",
            #"[[1763679660000,"108946.2","108956.3","108946.1","108952.9","0.038",1763679719999,"4140.0855",14,"0.017","#
                + #""1852.1474","0"]]"#, weight: 1),
        Exchanged(
            "/fapi/v1/continuousKlines?pair=ETHUSDT&contractType=CURRENT_QUARTER&interval=1m",
            #"[]"#, weight: 5),
        Exchanged(
            "/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1h&limit=2",
            #"[[1763676000000,"108055.64771510","108470.39459800","107643.64340300","108401.70549130","0",1763679599999,"0","#
                + #"3600,"0","0","0"],[1763679600000,"108345.20000000","108390.93709342","108313.63864170","108334.07305047","0","#
                + #"1763683199999,"0",61,"0","0","0"]]"#, weight: 1),
        Exchanged(
            "/fapi/v1/indexPriceKlines?pair=BTCUSDT&interval=1m&limit=100&startTime=1763679600000",
            #"[[1763679600000,"108345.20000000","108365.70081805","108342.32754376","108342.32754376","0",1763679659999,"0","#
                + #"49,"0","0","0"],[1763679660000,"108342.32754376","108343.00783651","108326.27355903","108326.27355903","0","#
                + #"1763679719999,"0",12,"0","0","0"]]"#, weight: 2),
        Exchanged(
            "/fapi/v1/premiumIndexKlines?symbol=BTCUSDT&interval=1d&limit=1&endTime=1700000000000",
            #"[[1699920000000,"-0.00001600","0.00030000","-0.00030000","0.00009300","0",1700006399999,"0",86400,"0","0","0"]]"#, weight: 1),
        Exchanged(
            "/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=1",
            #"[{"symbol":"BTCUSDT","sumOpenInterest":"1619.91500000","sumOpenInterestValue":"175538525.16200000","#
                + #""timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/globalLongShortAccountRatio?symbol=BTCUSDT&period=1h&limit=1",
            #"[{"symbol":"BTCUSDT","longAccount":"0.5907","longShortRatio":"1.4431","shortAccount":"0.4093","#
                + #""timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/topLongShortAccountRatio?symbol=BTCUSDT&period=1h&limit=1",
            #"[{"symbol":"BTCUSDT","longAccount":"0.5363","longShortRatio":"1.1565","shortAccount":"0.4637","#
                + #""timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/topLongShortPositionRatio?symbol=BTCUSDT&period=1h&limit=1",
            #"[{"symbol":"BTCUSDT","longAccount":"0.5556","longShortRatio":"1.2502","shortAccount":"0.4444","#
                + #""timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/takerlongshortRatio?symbol=BTCUSDT&period=1h&limit=1",
            #"[{"buySellRatio":"0.8833","sellVol":"23.298","buyVol":"20.580","timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/basis?pair=BTCUSDT&contractType=PERPETUAL&period=1h&limit=1",
            #"[{"indexPrice":"108377.10388960","contractType":"PERPETUAL","basisRate":"-0.0001","futuresPrice":"108362.8","#
                + #""annualizedBasisRate":"","basis":"-14.30388960","pair":"BTCUSDT","timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/basis?pair=BTCUSDT&contractType=CURRENT_QUARTER&period=1h&limit=1",
            #"[{"indexPrice":"108377.10388960","contractType":"CURRENT_QUARTER","basisRate":"0.0050","#
                + #""futuresPrice":"108927.6","annualizedBasisRate":"0.0045","basis":"550.49611040","pair":"BTCUSDT","#
                + #""timestamp":1763679600000}]"#),
        Exchanged(
            "/futures/data/basis?pair=ETHUSDT&contractType=NEXT_QUARTER&period=1h",
            #"[]"#),
        Exchanged(
            "/futures/data/delivery-price?pair=ETHUSDT",
            #"[]"#),
        Exchanged(
            "/fapi/v1/constituents?symbol=BTCUSDT",
            #"{"symbol":"BTCUSDT","time":1763679671000,"constituents":[{"exchange":"binance","symbol":"BTCUSDT","#
                + #""price":"108329.41502086","weight":"0.50000000"},{"exchange":"okex","symbol":"BTC-USDT","#
                + #""price":"108323.13209720","weight":"0.30000000"},{"exchange":"coinbase","symbol":"BTC-USDT","#
                + #""price":"108323.13209720","weight":"0.20000000"}]}"#, weight: 2),
        Exchanged(
            "/fapi/v1/indexInfo?symbol=DEFIUSDT",
            #"{"symbol":"DEFIUSDT","time":1763679671000,"component":"baseAsset","baseAssetList":[{"baseAsset":"ETH","#
                + #""quoteAsset":"USDT","weightInQuantity":"0.07514150","weightInPercentage":"0.45000000"},{"baseAsset":"LINK","#
                + #""quoteAsset":"USDT","weightInQuantity":"11.90473275","weightInPercentage":"0.32500000"},{"baseAsset":"SOL","#
                + #""quoteAsset":"USDT","weightInQuantity":"0.78295044","weightInPercentage":"0.22500000"}]}"#, weight: 1),
        Exchanged(
            "/fapi/v2/ticker/price?symbol=BTCUSDT",
            #"{"symbol":"BTCUSDT","price":"108315.4","time":1763679670400}"#, weight: 1),
        Exchanged(
            "/api/v3/exchangeInfo",
            #"{"timezone":"UTC","serverTime":1763679671000,"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","#
                + #""interval":"MINUTE","intervalNum":1,"limit":6000}],"exchangeFilters":[],"symbols":[]}"#),
        Exchanged(
            "/sapi/api/v3/exchangeInfo",
            #"{"timezone":"UTC","serverTime":1763679671000,"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","#
                + #""interval":"MINUTE","intervalNum":1,"limit":6000}],"exchangeFilters":[],"symbols":[]}"#),
        Exchanged(
            "/dapi/v1/exchangeInfo",
            #"{"timezone":"UTC","serverTime":1763679671000,"futuresType":"COIN_MARGINED","#
                + #""rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":2400}],"#
                + #""exchangeFilters":[],"symbols":[]}"#),
        Exchanged(
            "/sapi/api/v3/ticker/24hr",
            #"[]"#),
        Exchanged(
            "/sapi/v1/system/status",
            #"{"status":0,"msg":"normal"}"#),
    ]) fileprivate func anAnswerIsAsTheVenueWritesIt(exchanged: Exchanged) {
        let reply = ask(exchanged.uri)
        #expect(reply.body == exchanged.body)
        #expect(reply.status == 200)
        #expect(reply.weight == exchanged.weight)
    }

    @Test(arguments: [
        Exchanged("/fapi/v1/fundingRate?symbol=NOPE", #"{"code":-1121,"msg":"Invalid symbol."}"#),
        Exchanged("/fapi/v1/fundingRate?limit=1001", #"{"code":-1130,"msg":"Data sent for parameter 'limit' is not valid."}"#),
        Exchanged("/fapi/v1/fundingRate?startTime=2&endTime=1", #"{"code":-1023,"msg":"Start time is greater than end time."}"#),
        Exchanged(
            "/fapi/v1/openInterest", #"{"code":-1102,"msg":"Mandatory parameter 'symbol' was not sent, was empty/null, or malformed."}"#, weight: 1),
        Exchanged(
            "/fapi/v1/openInterest?symbol=SANDUSDT",
            #"{"code":-4108,"msg":"This symbol is on delivering or delivered or settling or closed or pre-trading."}"#, weight: 1),
        Exchanged(
            "/fapi/v1/continuousKlines?pair=BTCUSDT&interval=1m",
            #"{"code":-1102,"msg":"Mandatory parameter 'contractType' was not sent, was empty/null, or malformed."}"#, weight: 5),
        Exchanged(
            "/fapi/v1/continuousKlines?pair=BTCUSDT&contractType=WEEKLY&interval=1m",
            #"{"code":-1130,"msg":"Data sent for parameter 'contractType' is not valid."}"#, weight: 5),
        Exchanged("/fapi/v1/indexPriceKlines?pair=BTCUSDT_261225&interval=1m", #"{"code":-1121,"msg":"Invalid symbol."}"#, weight: 5),
        Exchanged("/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1s", #"{"code":-1120,"msg":"Invalid interval."}"#, weight: 5),
        Exchanged(
            "/fapi/v1/premiumIndexKlines?symbol=BTCUSDT&interval=1m&limit=1501",
            #"{"code":-1130,"msg":"Data sent for parameter 'limit' is not valid."}"#, weight: 5),
        Exchanged("/fapi/v3/depth?symbol=BTCUSDT&limit=7", #"{"code":-4021,"msg":"'7' is not valid depth limit."}"#, weight: 10),
        Exchanged("/fapi/v1/constituents?symbol=NOPE", #"{"code":-1121,"msg":"Invalid symbol."}"#, weight: 2),
        Exchanged("/fapi/v1/indexInfo?symbol=BTCUSDT", #"{"code":-1121,"msg":"Invalid symbol."}"#, weight: 1),
        Exchanged("/futures/data/openInterestHist?symbol=NOPE&period=5m", #"{"msg":"Invalid symbol.","code":-1121}"#),
        Exchanged("/futures/data/openInterestHist?symbol=BTCUSDT&period=3m", #"{"msg":"parameter 'period' is invalid.","code":-1130}"#),
        Exchanged(
            "/futures/data/basis?pair=BTCUSDT&contractType=PERPETUAL&period=5m&limit=501", #"{"msg":"parameter 'limit' is invalid.","code":-1130}"#),
        Exchanged(
            "/futures/data/takerlongshortRatio?symbol=BTCUSDT&period=1h&startTime=1761000000000",
            #"{"msg":"parameter 'startTime' is invalid.","code":-1130}"#),
    ]) fileprivate func aMistakeIsAnsweredAsTheVenueDoes(exchanged: Exchanged) {
        let reply = ask(exchanged.uri)
        #expect(reply.body == exchanged.body)
        #expect(reply.status == 400)
        #expect(reply.weight == exchanged.weight)
    }

    @Test func everyVersionOfAPathGivesTheSame() {
        for query in ["fundingRate?limit=9", "fundingInfo", "openInterest?symbol=BTCUSDT", "markPriceKlines?symbol=ETHUSDT&interval=5m"] {
            #expect(ask("/fapi/v1/\(query)") == ask("/fapi/v3/\(query)"))
            #expect(ask("/fapi/v1/\(query)").status == 200)
            #expect(ask("/fapi/v2/\(query)").status == 404)
        }
    }

    @Test func whatNeedsAKeyIsRefusedWithoutOneAndWithOne() {
        for (method, path) in [("GET", "historicalTrades?symbol=BTCUSDT"), ("POST", "order"), ("GET", "account"), ("PUT", "listenKey")] {
            let without = ask("/fapi/v1/\(path)", method: method)
            #expect(without.status == 401)
            #expect(without.body == #"{"code":-2014,"msg":"API-key format invalid."}"#)
            let with = ask("/fapi/v1/\(path)", method: method, apiKey: "abc")
            #expect(with.status == 401)
            #expect(with.body == #"{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}"#)
        }
        #expect(ask("/fapi/v1/ping", method: "POST").status == 404)
    }

    @Test func fundingInfoTellsTheIntervalThatTheNextPaymentKeeps() throws {
        let rows = try VenueJSON(ask("/fapi/v1/fundingInfo").body).rows
        #expect(rows.count == 22)
        let premiums = try VenueJSON(ask("/fapi/v1/premiumIndex").body).rows
        for row in rows {
            let hours = try #require(row["fundingIntervalHours"]?.integer)
            let premium = try #require(premiums.first { $0["symbol"]?.string == row["symbol"]?.string })
            let next = try #require(premium["nextFundingTime"]?.integer)
            #expect(next % (hours * Interval.hour) == 0 && next - market.now <= hours * Interval.hour)
        }
        #expect(Set(rows.compactMap { $0["fundingIntervalHours"]?.integer }) == [4, 8])
        #expect(
            ask("/fapi/v1/fundingInfo").body.hasPrefix(
                #"[{"symbol":"BTCUSDT","adjustedFundingRateCap":"0.02000000","adjustedFundingRateFloor":"-0.02000000","#
                    + #""fundingIntervalHours":8,"disclaimer":false,"updateTime":"#))
    }

    @Test func theTradingScheduleIsAWeekWithoutHoles() throws {
        let schedule = try VenueJSON(ask("/fapi/v1/tradingSchedule").body)
        #expect(schedule["updateTime"]?.integer == market.now)
        for (name, count) in [("EQUITY", 22), ("COMMODITY", 12)] {
            let sessions = try #require(schedule["marketSchedules"]?[name]?["sessions"]?.rows)
            #expect(sessions.count == count)
            #expect(sessions.allSatisfy { $0.keys == ["startTime", "endTime", "type"] })
            for (before, after) in zip(sessions, sessions.dropFirst()) {
                #expect(before["endTime"]?.integer == after["startTime"]?.integer)
            }
        }
    }

    @Test func whatWasToldOfThePastStaysWhenTheMarketGoesOn() {
        let queries = [
            "/fapi/v1/fundingRate?symbol=BTCUSDT&limit=20&endTime=\(opening)",
            "/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1m&endTime=\(opening)",
            "/futures/data/openInterestHist?symbol=BTCUSDT&period=1h&endTime=\(opening)",
            "/futures/data/basis?pair=BTCUSDT&contractType=CURRENT_QUARTER&period=1h&endTime=\(opening)",
            "/futures/data/takerlongshortRatio?symbol=BTCUSDT&period=5m&endTime=\(opening)",
            "/futures/data/globalLongShortAccountRatio?symbol=BTCUSDT&period=1h&endTime=\(opening)",
        ]
        let told = queries.map { ask($0).body }
        var later = market
        // A step a minute, past the next payment of funding.
        for minute in 1...90 { later.step(now: opening + Int64(minute) * Interval.minute) }
        #expect(queries.map { ask($0, market: later).body } == told)
        let payment = #""fundingTime":1763683200000"#
        #expect(!ask("/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1").body.contains(payment))
        #expect(ask("/fapi/v1/fundingRate?symbol=BTCUSDT&limit=1", market: later).body.contains(payment))
    }

    @Test func barsOfPricesStayWhenTheirMinutesAreMadeIntoHours() throws {
        var symbol = market.symbols[0]
        var id: Int64 = 0
        let intervals: [Interval] = [.hour1, .hour4, .day1, .week1]
        func closed(_ interval: Interval) -> [PriceBar] { symbol.priceBars.bars(interval, symbol.bars).filter { $0.end <= market.now } }
        let minutes = symbol.priceBars.bars(.minute1, symbol.bars)
        let told = intervals.map(closed)
        // A step a minute for more than two days.
        for minute in 2...3_300 { symbol.step(now: opening + Int64(minute) * Interval.minute, lastUpdateID: &id) }
        #expect(symbol.priceBars.bars(.minute1, symbol.bars).first?.openTime != minutes.first?.openTime)
        #expect(intervals.map(closed) == told)
        let hours = symbol.priceBars.bars(.hour1, symbol.bars)
        for (before, after) in zip(hours, hours.dropFirst()) { #expect(before.end == after.openTime) }
    }

    @Test func theBarsOfMarkPricesAreMadeOfTheMarkPrices() throws {
        var market = market
        var (high, low) = (Int64.min, Int64.max)
        let minute = (market.now / Interval.minute + 1) * Interval.minute
        for step in 1...3_000 {
            market.step(now: opening + Int64(1_220 + step) * Market.stepLength)
            guard market.now >= minute, market.now < minute + Interval.minute, step % 20 == 0 else { continue }
            high = max(high, market.symbols[0].mark)
            low = min(low, market.symbols[0].mark)
        }
        let rows = try VenueJSON(ask("/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1m&startTime=\(minute)&limit=1", market: market).body).rows
        let row = try #require(rows.first?.rows)
        #expect(row[2].units8.map { $0 >= high } == true && row[3].units8.map { $0 <= low } == true)
        #expect(row[8].integer == 60)
        let last = try VenueJSON(ask("/fapi/v1/markPriceKlines?symbol=BTCUSDT&interval=1h&limit=1", market: market).body).rows
        #expect(last.first?.rows[4].units8 == market.symbols[0].mark)
    }

    @Test func theOpenInterestOfNowIsThatOfTheEndOfTheLastPeriod() throws {
        var market = market
        var told: String?
        let end = (market.now / 300_000 + 1) * 300_000
        while market.now < end {
            told = try VenueJSON(ask("/fapi/v1/openInterest?symbol=BTCUSDT", market: market).body)["openInterest"]?.string
            market.step(now: market.now + Market.stepLength)
        }
        let row = try #require(VenueJSON(ask("/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=1", market: market).body).rows.first)
        #expect(row["timestamp"]?.integer == end)
        #expect(row["sumOpenInterest"]?.string == told.map { $0 + "00000" })
    }
}
