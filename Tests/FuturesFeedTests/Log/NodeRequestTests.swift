import FeedCore
import FeedDialects
import Testing

@testable import FuturesFeed

@Suite struct NodeRequestTests {
    private static let relay = VenueRelay(upstream: 0, target: "/fapi/v1/klines?symbol=BTCUSDT&limit=2", weight: 1, keep: .bar(60_000))

    @Test(arguments: [
        NodeRequest.demand(node: "0a1b2c3d", [.assetIndex, .markPrice(symbol: "BTCUSDT")]), .demand(node: "0a1b2c3d", []),
        .demand(node: "0a1b2c3d", [.assetIndex, .markPrice(symbol: "BTCUSDT")], messages: [.markPrice(symbol: "BTCUSDT")]),
        .refetch(node: "0a1b2c3d", .assetIndex), .relay(relay, of: "", newestOf: nil, maxAge: nil),
        .relay(relay, of: "", newestOf: .kline(symbol: "BTCUSDT", interval: .minute1), maxAge: 500), .rest(token: "x1", part: 3),
        .question([1, 10, 0, 255]),
        .relay(VenueRelay(upstream: 0, target: "/fapi/v1/time", weight: 1, keep: .milliseconds(0)), of: "binance", newestOf: nil, maxAge: nil),
        .relay(VenueRelay(upstream: 0, target: "/fapi/v1/klines", weight: 1, keep: .streamedBar(60_000)), of: "", newestOf: nil, maxAge: nil),
        .question([]),
    ])
    func whatIsAskedIsReadAsItWasWritten(_ request: NodeRequest) {
        #expect(NodeRequest(request.bytes) == request)
    }

    @Test(arguments: [
        "", "demand", "refetch\n1", "refetch\n1\n", "relay\nfapi\n1\nbar 60000\n\n", "relay\n/a b\n1\nbar 60000\n\n", "relay\n/a\n-1\nbar 60000\n\n",
        "relay\n/a\n1\nbar 0\n\n", "relay\n/a\n1\nperiod 1\n\n", "relay\n/a\n1\nperiod 9223372036854775807\n\n", "relay\n/a\n1\nday 5\n\n",
        "relay\n/a\n1\nbar 60000\n\n\nx\ny", "rest\nx\ny", "other",
    ])
    func whatIsNoQuestionIsRefused(_ text: String) {
        #expect(NodeRequest(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "a b 0 -1\n", "a b 0 0\n", "a b -1 2\n", "a b 2 2\n", "a b 0 257\n", "a b 0 9223372036854775807\n", "a b -9223372036854775808 1\n",
        "a b 0 1", "a 0 1\n",
    ])
    func whatIsNoPartOfAnAnswerIsRefused(_ text: String) {
        #expect(AnswerPart(Array(text.utf8)) == nil)
    }

    @Test func aPartIsReadAsItWasWritten() throws {
        let part = try #require(AnswerPart(AnswerPart(node: "0a", token: "x", number: 2, count: 3, body: [10, 32, 0][...]).bytes))
        #expect(part.node == "0a" && part.token == "x" && part.number == 2 && part.count == 3 && part.body.elementsEqual([10, 32, 0]))
    }

    @Test func aWaitThatAnotherNodeTellsIsBounded() throws {
        for (told, wait) in [("9223372036854775807", UTCTime.longestWait), ("-5", 0)] {
            let answer = try #require(IngestAnswer(Array("no 1 rateLimited - \(told)\n".utf8)))
            let error = #expect(throws: FeedError.self) { try answer.result.get() }
            #expect(error?.retryAfterMs == wait)
        }
    }

    @Test func anAnswerIsReadAsItWasWritten() throws {
        let good = try #require(IngestAnswer(IngestAnswer(.success(RelayedAnswer(status: 418, body: [10, 0, 1], ageMs: 7)), head: .max).bytes))
        let answer = try good.result.get()
        #expect(good.head == .max && answer.status == 418 && answer.body == [10, 0, 1] && answer.ageMs == 7)
        for error in [
            FeedError(.rateLimited, "Wait\nfor it.", venueCode: -1003, retryAfterMs: 900), FeedError(.unreachable, ""),
        ] {
            let bad = try #require(IngestAnswer(IngestAnswer(.failure(error), head: 3).bytes))
            #expect(throws: error) { try bad.result.get() }
        }
        for text in ["", "ok 1 200 0", "ok 1 99 0\n", "ok 1 200 -1\n", "ok x 200 0\n", "no 1 nothing - -\n", "no 1 timedOut -\n"] {
            #expect(IngestAnswer(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
