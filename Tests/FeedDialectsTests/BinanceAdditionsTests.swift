import FeedCore
import Testing

@testable import FeedDialects

/// What Binance has and its relatives lack, read from the venue's documented examples.
struct BinanceAdditionsTests {
    private static let binance = FuturesDialect(venue: .binance)

    private func events(_ frame: String) -> [UpstreamEvent] {
        var events: [UpstreamEvent] = []
        Array(frame.utf8).withUnsafeBufferPointer { bytes in Self.binance.decode(bytes, names: StreamNames()) { events.append($0) } }
        return events
    }

    private func rows(_ frame: String) -> FeedRows? {
        if case .rows(_, let rows, _)? = events(frame).first { return rows }
        Issue.record("unread: \(events(frame))")
        return nil
    }

    private func snapshot(_ name: FuturesServiceStreamName, _ body: String) throws -> FeedRows {
        try Array(body.utf8).withUnsafeBufferPointer {
            try Self.binance.decodeSnapshot(of: name, RESTAnswer(status: 200, retryAfter: nil, body: Array($0)), now: 0).get().rows
        }
    }

    private static let names: [FuturesServiceStreamName] = [
        .rpiDepth(symbol: "BTCUSDT"), .continuousKline(pair: "BTCUSDT", contract: .perpetual, interval: .minute1),
        .compositeIndex(symbol: "DEFIUSDT"), .contractInfo, .tradingSession,
    ]

    @Test(arguments: [FuturesVenue.aster, .apollox])
    func aStreamAVenueLacksIsUnknownThere(_ venue: FuturesVenue) {
        let dialect = FuturesDialect(venue: venue)
        for name in Self.names { #expect(dialect.traits(of: name) == nil && Self.binance.traits(of: name) != nil, "\(name)") }
        // ApolloX does not tell funding intervals either.
        #expect(Self.binance.catalogue.count == dialect.catalogue.count + Self.names.count + (venue == .apollox ? 1 : 0))
    }

    @Test func aBookWithImprovementOrdersIsABook() {
        let frame =
            #"{"stream":"btcusdt@rpiDepth@500ms","data":{"e":"depthUpdate","E":123456789,"T":123456788,"s":"BTCUSDT","U":157,"u":160,"pu":149,"#
            + #""b":[["0.0024","10"]],"a":[["0.0026","100"]],"ps":"BTCUSDT","st":1}}"#
        guard case .depth(let levels)? = rows(frame) else { return }
        #expect(levels.first?.previousUpdateID == 149 && levels.first?.lastUpdateID == 160)
        #expect(
            Self.binance.snapshotRequest(of: .rpiDepth(symbol: "BTCUSDT"), from: nil, host: 0, now: 0)?.url
                == "https://fapi.binance.com/fapi/v1/rpiDepth?symbol=BTCUSDT&limit=1000")
    }

    @Test func continuousBarsAreOfThePairAndTheContractAskedFor() {
        let bar = { (type: String) in
            #"{"stream":"btcusdt_next_quarter@continuousKline_1m","data":{"e":"continuous_kline","E":1607443058651,"ps":"BTCUSDT","ct":"\#(type)","#
                + #""k":{"t":1607443020000,"T":1607443079999,"i":"1m","f":116467658886,"L":116468012423,"o":"18787.00","c":"18804.04","h":"18804.04","#
                + #""l":"18786.54","v":"197.664","n":543,"x":false,"q":"3715253.19494","V":"184.769","Q":"3472925.84746","B":"0"}}}"#
        }
        guard case .kline(let bars)? = rows(bar("NEXT_QUARTER")) else { return }
        #expect(bars.first?.close.text == "18804.04" && bars.first?.tradeCount == 543)
        guard case .malformed? = events(bar("PERPETUAL")).first else {
            Issue.record("another contract's bar was taken")
            return
        }
        #expect(
            Self.binance.snapshotRequest(
                of: .continuousKline(pair: "BTCUSDT", contract: .nextQuarter, interval: .minute1), from: nil, host: 0, now: 0)?.url
                == "https://fapi.binance.com/fapi/v1/continuousKlines?pair=BTCUSDT&contractType=NEXT_QUARTER&interval=1m&limit=499")
    }

    @Test func aCompositeIndexKeepsItsPriceOverREST() throws {
        let frame =
            #"{"stream":"defiusdt@compositeIndex","data":{"e":"compositeIndex","E":1602310596000,"s":"DEFIUSDT","p":"554.41604065","C":"baseAsset","#
            + #""c":[{"b":"BAL","q":"USDT","w":"1.04884844","W":"0.01457800","i":"24.33521021"}]}}"#
        guard case .compositeIndex(let indices)? = rows(frame), let index = indices.first else { return }
        #expect(index.price?.text == "554.41604065" && index.composition.first?.weightPercentage.text == "0.01457800")
        let rest = try snapshot(
            .compositeIndex(symbol: "DEFIUSDT"),
            #"{"symbol":"DEFIUSDT","time":1589437530011,"component":"baseAsset","baseAssetList":[{"baseAsset":"BAL","quoteAsset":"USDT","#
                + #""weightInQuantity":"1.04406228","weightInPercentage":"0.02783900"}]}"#)
        guard case .compositeIndex(let fetched) = rest, let row = fetched.first else { return }
        #expect(row.completed(by: index).price?.text == "554.41604065")
    }

    @Test func contractInfosAreReadWithAndWithoutBrackets() throws {
        let info = { (brackets: String) in
            #"{"stream":"!contractInfo","data":{"e":"contractInfo","E":1669647330375,"s":"IOTAUSDT","ps":"IOTAUSDT","ct":"PERPETUAL","#
                + #""dt":4133404800000,"ot":1569398400000,"cs":"TRADING"\#(brackets)}}"#
        }
        let bracket = #","bks":[{"bs":1,"bnf":0,"bnc":5000,"mmr":0.01,"cf":0,"mi":21,"ma":50}]"#
        guard case .contractInfo(let with)? = rows(info(bracket)), case .contractInfo(let without)? = rows(info("")) else { return }
        #expect(with.first?.brackets?.first?.maintenanceRatio.text == "0.01")
        #expect(without.first?.brackets == nil && without.first?.status == "TRADING")
        let rest = try snapshot(
            .contractInfo,
            #"{"timezone":"UTC","symbols":[{"symbol":"BTCUSDT","pair":"BTCUSDT","contractType":"PERPETUAL","deliveryDate":4133404800000,"#
                + #""onboardDate":1569398400000,"status":"TRADING","filters":[{"a":"b"}]},{"symbol":"X","contractType":"","status":"PENDING_TRADING"}]}"#
        )
        #expect(rest.count == 1)
    }

    @Test func tradingSessionsAreKeptByMarket() {
        let session = { (event: String) in
            #"{"stream":"tradingSession","data":{"e":"\#(event)","E":1765244143062,"t":1765242000000,"T":1765270800000,"S":"OVERNIGHT"}}"#
        }
        guard case .tradingSession(let shares)? = rows(session("EquityUpdate")), case .tradingSession(let goods)? = rows(session("CommodityUpdate"))
        else { return }
        #expect(shares.first?.market == "EquityUpdate" && goods.first?.market == "CommodityUpdate" && goods.first?.session == "OVERNIGHT")
        #expect(FuturesServiceStreamName.tradingSession.mergeRule == .byKey)
        #expect(Self.binance.snapshotRequest(of: .tradingSession, from: nil, host: 0, now: 0)?.url == nil)
    }
}
