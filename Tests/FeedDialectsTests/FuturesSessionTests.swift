import FeedCore
import Testing

@testable import FeedDialects

/// Bars of seconds and aggregate trades share one subscription of the venue.
@Suite struct FuturesSessionTests {
    private let session = FuturesDialect(venue: .aster).session(endpoint: 0, subprotocol: nil)
    private static let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")
    private static let second = FuturesServiceStreamName.bar(symbol: "BTCUSDT", length: .second1)
    private static let five = FuturesServiceStreamName.bar(symbol: "BTCUSDT", length: .seconds5)
    private static let frame =
        #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":123456789,"s":"BTCUSDT","a":5933014,"p":"0.001","q":"100","f":100,"l":105,"#
        + #""T":123456785,"m":true}}"#

    private func received(_ text: String) -> [String] {
        var names: [String] = []
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            session.receive(bytes.span) { event in
                switch event {
                case .event(.rows(let name, _, _)): names.append("\(name)")
                case .event(.malformed(let name?, _)): names.append("malformed \(name)")
                default: break
                }
            }
        }
        return names
    }

    @Test func barsSubscribeToTheirTradesOnce() {
        #expect(session.subscribe([Self.second, Self.five], request: 1) == [#"{"method":"SUBSCRIBE","params":["btcusdt@aggTrade"],"id":1}"#])
        #expect(received(Self.frame) == ["btcusdt@bar_1s", "btcusdt@bar_5s"])
    }

    @Test func aFrameOfTradesIsForAllThatAreMadeOfThem() {
        _ = session.subscribe([Self.trades], request: 1)
        #expect(received(Self.frame) == ["btcusdt@aggTrade"])
        _ = session.subscribe([Self.second], request: 2)
        _ = session.subscribe([Self.second], request: 3)
        #expect(received(Self.frame) == ["btcusdt@aggTrade", "btcusdt@bar_1s"])
        #expect(received(#"{"stream":"btcusdt@aggTrade","data":{"a":"x"}}"#) == ["malformed btcusdt@aggTrade", "malformed btcusdt@bar_1s"])
    }

    @Test func theVenuesSubscriptionEndsWithTheLastStreamThatNeedsIt() {
        _ = session.subscribe([Self.trades, Self.second, Self.five], request: 1)
        #expect(session.unsubscribe([Self.trades, Self.second], request: 2).isEmpty)
        #expect(received(Self.frame) == ["btcusdt@bar_5s"])
        #expect(session.unsubscribe([Self.five], request: 3) == [#"{"method":"UNSUBSCRIBE","params":["btcusdt@aggTrade"],"id":3}"#])
        let other = FuturesServiceStreamName.aggregateTrade(symbol: "ETHUSDT")
        _ = session.subscribe([other, Self.five], request: 4)
        #expect(session.unsubscribe([other, Self.five], request: 5).count == 1)
        #expect(received(Self.frame) == ["btcusdt@aggTrade"], "nobody's: the core knows that")
    }

    private static let early = FuturesServiceStreamName.earlyKline(symbol: "BTCUSDT", interval: .minute1)
    private static let bar =
        #"{"stream":"btcusdt@kline_1m","data":{"e":"kline","E":60011,"s":"BTCUSDT","k":{"t":0,"T":59999,"s":"BTCUSDT","i":"1m","f":7,"L":9,"#
        + #""o":"1.0","c":"2.0","h":"3.0","l":"0.5","v":"4.00","n":3,"x":true,"q":"5.000","V":"1.00","Q":"1.000","B":"0"}}}"#

    @Test func earlyBarsReadTheVenuesBarsAndTheTradesOfTheirSymbol() {
        #expect(
            session.subscribe([Self.early], request: 1) == [#"{"method":"SUBSCRIBE","params":["btcusdt@kline_1m","btcusdt@aggTrade"],"id":1}"#])
        #expect(received(Self.frame) == ["btcusdt@kline_1m_early"])
        var rows: [EarlyBar] = []
        Array(Self.bar.utf8).withUnsafeBufferPointer { bytes in
            session.receive(bytes.span) { event in
                if case .event(.rows(Self.early, .earlyBar(let bars), _)) = event { rows += bars }
            }
        }
        #expect(rows.map(\.closing) == [.confirmed] && rows.first?.firstTradeID == 7 && rows.first?.lastTradeID == 9)
        #expect(rows.first.map { FuturesDialect.message(of: Self.early, $0, eventTime: 60_011) } == Array(Self.bar.utf8), "written as the venue does")
        _ = session.subscribe([.kline(symbol: "BTCUSDT", interval: .minute1)], request: 2)
        #expect(received(Self.bar) == ["btcusdt@kline_1m", "btcusdt@kline_1m_early"])
        #expect(received(#"{"stream":"btcusdt@aggTrade","data":{"a":"x"}}"#).isEmpty, "the ids show that a trade is missing")
        #expect(session.unsubscribe([Self.early], request: 3) == [#"{"method":"UNSUBSCRIBE","params":["btcusdt@aggTrade"],"id":3}"#])
        #expect(received(Self.bar) == ["btcusdt@kline_1m"])
    }

    @Test func barsAreAskedForAsTrades() {
        let dialect = FuturesDialect(venue: .aster)
        #expect(
            dialect.snapshotRequest(of: Self.five, from: 7, host: 0, now: 0)?.url
                == "https://fapi.asterdex.com/fapi/v1/aggTrades?symbol=BTCUSDT&fromId=7&limit=1000")
        let answer = #"[{"a":1,"p":"2","q":"3","f":1,"l":1,"T":5,"m":false}]"#
        let fetched = Array(answer.utf8).withUnsafeBufferPointer {
            dialect.decodeSnapshot(of: Self.five, RESTAnswer(status: 200, retryAfter: nil, body: Array($0)), now: 0)
        }
        guard case .success(let content) = fetched, case .aggregateTrade(let rows) = content.rows else {
            Issue.record("\(fetched)")
            return
        }
        #expect(rows.map(\.id) == [1])
    }
}
