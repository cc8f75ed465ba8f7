import FeedCore
import Testing

@testable import FeedDialects

/// An answer of the venue's REST that its own messages have overtaken is not current.
@Suite struct VenueRecencyTests {
    private static func reading(_ path: String, _ query: (String, String)...) throws -> VenueReading {
        let query = [(name: "symbol", value: "BTCUSDT")] + query.map { (name: $0.0, value: $0.1) }
        let answer = VenueRESTTests.venue.answer(["fapi", "v1", path], query, now: 1_000_000) { _ in true }
        guard case .stream(let reading) = try #require(answer).answer else { throw FeedError(.malformed, "\(path) is not answered from a stream") }
        return reading
    }

    private static func content(_ rows: FeedRows, of name: FuturesServiceStreamName) -> FuturesServiceFeedContent {
        FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .websocket, eventTime: nil, receivedAt: 0,
            rows: rows)
    }

    private static func floor(_ reading: VenueReading, _ rows: FeedRows) -> VenueFloor {
        VenueRESTTests.venue.floor(of: reading, content(rows, of: reading.name))
    }

    private static func reaches(_ floor: VenueFloor, _ body: String, isExact: Bool = false) -> Bool {
        VenueRESTTests.venue.reaches(floor, Array(body.utf8), isExact: isExact)
    }

    @Test func aBookMayBeOlderThanTheMessagesByOneSecond() throws {
        let book = DepthLevels(symbol: "BTCUSDT", bids: [], asks: [], lastUpdateID: 100, time: 50_000)
        let floor = Self.floor(try Self.reading("depth", ("limit", "1000")), .depth([book]))
        #expect(floor == .update(100, time: 50_000))
        #expect(Self.reaches(floor, #"{"lastUpdateId":100,"E":1,"T":1,"bids":[],"asks":[]}"#, isExact: true))
        #expect(Self.reaches(floor, #"{"lastUpdateId":90,"T":49000,"bids":[["1","2"]],"asks":[]}"#))
        #expect(!Self.reaches(floor, #"{"lastUpdateId":90,"T":49000,"bids":[],"asks":[]}"#, isExact: true), "a socket has sent later changes")
        #expect(!Self.reaches(floor, #"{"lastUpdateId":90,"T":48999}"#))
        #expect(!Self.reaches(floor, #"{"lastUpdateId":90}"#), "its time is unknown")
        for body in ["", "[]", "{", #"{"lastUpdateId":"x"}"#, #"{"lastUpdateId":99999999999999999999,"T":1}"#] {
            #expect(!Self.reaches(floor, body), "\(body)")
        }
    }

    private static func trades(_ rows: (id: UInt64, time: Int64)...) -> FeedRows {
        let one = DecimalString(checked: "1")
        return .aggregateTrade(
            rows.map {
                AggregateTrade(id: $0.id, price: one, quantity: one, firstTradeID: $0.id, lastTradeID: $0.id, time: $0.time, isBuyerMaker: false)
            })
    }

    @Test func tradesReachTheOnesOfASecondAgo() throws {
        let known = Self.trades((10, 10_000), (11, 20_000), (12, 20_900))
        let newest = Self.floor(try Self.reading("aggTrades", ("limit", "1000")), known)
        #expect(newest == .trade(10, page: nil), "trade 11 is less than a second old")
        #expect(Self.reaches(newest, #"[{"a":9},{"a":10,"p":"1"}]"#) && !Self.reaches(newest, #"[{"a":8},{"a":9}]"#) && !Self.reaches(newest, "[]"))
        let page = Self.floor(try Self.reading("aggTrades", ("fromId", "1"), ("limit", "2")), known)
        #expect(Self.reaches(page, #"[{"a":1},{"a":2}]"#), "there are more on the next page")
        #expect(!Self.reaches(page, #"[{"a":9}]"#))
        let past = Self.floor(try Self.reading("aggTrades", ("startTime", "1"), ("endTime", "9000"), ("limit", "2")), known)
        #expect(past == .nothing && Self.reaches(past, "[]"), "the messages begin later than the requested period")
    }
}
