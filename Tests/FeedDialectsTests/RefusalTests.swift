import FeedCore
import Testing

@testable import FeedDialects

/// What a refusal means, and that one bad element does not spoil its container.
@Suite struct RefusalTests {
    private static let dialect = FuturesDialect(venue: .aster)
    private static let bodies = [
        #"{"code":-1007,"msg":"Timeout waiting for response from backend server."}"#, "<html>502</html>", "", "[]", "{", "null",
    ]

    @Test(arguments: 300...599, bodies)
    func noRefusalIsReadAsContent(status: Int, body: String) throws {
        let answer = RESTAnswer(status: status, retryAfter: .zero, body: Array(body.utf8))
        for name in [FuturesServiceStreamName.kline(symbol: "BTCUSDT", interval: .minute1), .tickers, .depth(symbol: "BTCUSDT")] {
            guard case .failure(let error) = Self.dialect.decodeSnapshot(of: name, answer, now: 0) else {
                Issue.record("\(status) \(body) is read as content")
                return
            }
            if [403, 408, 418, 429].contains(status) || status >= 500 || body.contains("-1007") { #expect(error.isTransient) }
        }
        guard case .failure = Self.dialect.decodeListing(answer) else {
            Issue.record("\(status) \(body) is read as a listing")
            return
        }
    }

    private func events(_ frame: String) -> [UpstreamEvent] {
        var events: [UpstreamEvent] = []
        Array(frame.utf8).withUnsafeBufferPointer { Self.dialect.decode($0, names: StreamNames()) { events.append($0) } }
        return events
    }

    private static func price(_ symbol: String, _ price: String) -> String {
        #"{"e":"markPriceUpdate","E":1,"s":"\#(symbol)","p":\#(price),"i":"1","P":"1","r":"0","T":2}"#
    }

    @Test(arguments: [#"{"stream":"!markPrice@arr@1s","data":[%]}"#, #"{ "data": [%], "stream": "!markPrice@arr@1s" }"#])
    func oneBadRowIsLeftOutOfAList(frame: String) throws {
        let rows = [Self.price("BTCUSDT", #""1""#), Self.price("ETHUSDT", #""1e5x""#), Self.price("XRPUSDT", "null"), Self.price("SOLUSDT", #""3""#)]
        let events = events(frame.replacing("%", with: rows.joined(separator: ",")))
        guard case .leftOut(_, let leftOut)? = events.first, case .rows(_, .markPrice(let kept), _)? = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(leftOut.symbols == ["ETHUSDT", "XRPUSDT"] && leftOut.count == 2)
        #expect(kept.map(\.symbol) == ["BTCUSDT", "SOLUSDT"])
    }

    @Test func aListOfBadRowsAloneAndOneOfBrokenJSONAreNoLists() {
        for rows in [Self.price("BTCUSDT", "null"), Self.price("BTCUSDT", #""1""#) + "," + #"{"s":"ETHUSDT""#] {
            guard case .malformed(let name?, _)? = events(#"{"stream":"!markPrice@arr@1s","data":[\#(rows)]}"#).first else {
                Issue.record("it is read")
                continue
            }
            #expect(name == .fastMarkPrices)
        }
    }

    @Test func oneBadRowIsLeftOutOfAnAnswer() throws {
        let good =
            #"{"symbol":"BTCUSDT","openPrice":"1","highPrice":"1","lowPrice":"1","lastPrice":"1","volume":"1","quoteVolume":"1","closeTime":1}"#
        let body = "[" + good + "," + good.replacing("BTCUSDT", with: "ETHUSDT").replacing(#""lowPrice":"1""#, with: #""lowPrice":{}"#) + "]"
        let content = try Self.dialect.decodeSnapshot(of: .miniTickers, RESTAnswer(status: 200, retryAfter: nil, body: Array(body.utf8)), now: 0)
            .get()
        #expect(content.rows.count == 1 && content.leftOut.symbols == ["ETHUSDT"])
    }

    @Test func oneBadSymbolIsLeftOutOfTheListing() throws {
        let body = #"{"symbols":[{"symbol":null,"status":"TRADING"},7,{"symbol":"BTCUSDT","status":"TRADING"}],"assets":[null],"rateLimits":[1,{}]}"#
        let listing = try Self.dialect.decodeListing(RESTAnswer(status: 200, retryAfter: nil, body: Array(body.utf8))).get()
        #expect(listing.symbols == ["BTCUSDT"] && listing.leftOut.count == 2)
    }

    @Test(arguments: [
        #"{"e":"serverShutdown","E":1}"#, #"{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1}}"#,
        #"{"event":{"e":"serverShutdown","E":1}}"#,
    ])
    func aShutdownIsToldInThreeForms(frame: String) {
        guard case .goingAway? = events(frame).first else {
            Issue.record("\(events(frame))")
            return
        }
    }
}
