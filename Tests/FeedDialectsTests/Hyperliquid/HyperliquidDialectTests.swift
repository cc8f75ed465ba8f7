import FeedCore
import Foundation
import GatewayTestSupport
import Testing

@testable import FeedDialects

@Suite struct HyperliquidDialectTests {
    static func dialect(_ members: String = "") throws -> any Dialect {
        try #require(try UpstreamsFile.read(#"{"hl":{"kind":"hyperliquid"\#(members)}}"#) { _ in nil }.first?.dialect)
    }

    static func name(_ stream: String) throws -> FuturesServiceStreamName { try #require(FuturesServiceStreamName(upstream: "hl", stream: stream)) }

    static func session(_ streams: [String] = []) throws -> any DialectSession {
        let session = try dialect().session(endpoint: 0, subprotocol: nil)
        _ = session.subscribe(try streams.map(name), request: 1)
        return session
    }

    @Test(arguments: [
        ("BTC@book", #"{"type":"l2Book","coin":"BTC"}"#), ("kPEPE@fastBook", #"{"type":"l2Book","coin":"kPEPE","fast":true}"#),
        ("xyz:SPCX@bbo", #"{"type":"bbo","coin":"xyz:SPCX"}"#), ("@142@book", #"{"type":"l2Book","coin":"@142"}"#),
        ("PURR/USDC@context", #"{"type":"activeAssetCtx","coin":"PURR/USDC"}"#),
        ("BTC@candle_1M", #"{"type":"candle","coin":"BTC","interval":"1M"}"#), ("!mids", #"{"type":"allMids"}"#),
    ])
    func aStreamIsOneSubscription(_ stream: String, _ subscription: String) throws {
        let (session, name) = (try Self.session(), try Self.name(stream))
        #expect(try Self.dialect().traits(of: name) != nil)
        #expect(session.subscribe([name], request: 1) == [#"{"method":"subscribe","subscription":\#(subscription)}"#])
        #expect(session.unsubscribe([name], request: 2) == [#"{"method":"unsubscribe","subscription":\#(subscription)}"#])
        #expect(session.unsubscribe([name], request: 3).isEmpty)
        #expect(HyperliquidStream(stream[...])?.description == stream)
    }

    @Test(arguments: ["BTC", "BTC@trades", "BTC@candle_6h", "BTC@candle_", "@book", "!mids@book", "B#TC@book", "BTC@Book", "mids"])
    func anUnknownNameIsNoStream(_ stream: String) throws { #expect(try Self.dialect().traits(of: try Self.name(stream)) == nil) }

    @Test(arguments: [
        (#","url":"https://a.test""#, "url"), (#","network":"devnet""#, "network"), (#","token":"x""#, "token"), (#","url":1"#, "url"),
    ])
    func aWrongConfigurationIsRefusedByItsMember(_ members: String, _ member: String) {
        let error = #expect(throws: FeedError.self) { try Self.dialect(members) }
        #expect(error?.message.contains(member) == true)
    }

    @Test(arguments: [
        ("", "wss://api.hyperliquid.xyz/ws"), (#","network":"testnet""#, "wss://api.hyperliquid-testnet.xyz/ws"),
        (#","url":"ws://a.test/ws""#, "ws://a.test/ws"),
    ])
    func theNetworkDecidesTheAddress(_ members: String, _ address: String) throws {
        guard case .webSocket(let url, _, _) = try Self.dialect(members).route(endpoint: 0, host: 0).way else {
            Issue.record("no WebSocket")
            return
        }
        #expect(url == address)
    }

    /// The venue prints defaults into the subscription that it confirms.
    @Test func aRequestIsConfirmedWithTheLastOfItsSubscriptions() throws {
        let session = try Self.session(["HYPE@book", "HYPE@candle_1d"])
        func answer(_ subscription: String) -> String {
            #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":\#(subscription)}}"#
        }
        let candle = answer(#"{"type":"candle","interval":"1d","coin":"HYPE"}"#)
        #expect(BUXDialectTests.read(session, candle, candle, answer(#"{"type":"bbo","coin":"HYPE"}"#)).isEmpty)
        let book = answer(#"{"type":"l2Book","coin":"HYPE","nSigFigs":null,"mantissa":null}"#)
        #expect(BUXDialectTests.read(session, book, book) == ["acknowledged(request: 1)"])
    }

    @Test func anErrorEndsTheSubscriptionThatItQuotes() throws {
        let session = try Self.session(["NOPE@bbo", "BTC@bbo"])
        let events = BUXDialectTests.read(
            session, #"{"channel":"error","data":"Invalid subscription {\"coin\":\"NOPE\",\"type\":\"bbo\"}"}"#,
            #"{"channel":"error","data":"Already subscribed: {\"type\":\"bbo\",\"coin\":\"BTC\"}"}"#)
        #expect(events.count == 2)
        #expect(events.first?.hasPrefix("ended(hl:NOPE@bbo") == true && events.first?.contains("subscriptionRejected") == true)
        #expect(events.last == "acknowledged(request: 1)")
    }

    /// Such an error is no unreadable message: it says nothing about the data of other streams.
    @Test func anErrorThatQuotesNothingConcernsTheWaitingSubscriptionsAlone() throws {
        let session = try Self.session(["BTC@bbo"])
        let full = #"{"channel":"error","data":"Cannot track more than 1000 total subscriptions."}"#
        let forgotten = #"{"channel":"error","data":"Already unsubscribed: {\"type\":\"bbo\",\"coin\":\"ETH\"}"}"#
        let events = BUXDialectTests.read(session, full, forgotten)
        #expect(events.count == 2 && events.first?.hasPrefix("reported(hl:BTC@bbo") == true && events.last?.hasPrefix("unknown(") == true)
        let answer = #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":{"type":"bbo","coin":"BTC"}}}"#
        let later = BUXDialectTests.read(session, answer, full, #"{"channel":"error","data":7}"#)
        #expect(later.map { $0.prefix(8) } == ["acknowle", "unknown(", "unknown("])
    }

    @Test func aSubscriptionThatEndsBeforeItsAnswerHoldsNoOtherUp() throws {
        let session = try Self.session(["BTC@bbo", "ETH@bbo"])
        let answer = #"{"channel":"subscriptionResponse","data":{"method":"subscribe","subscription":{"type":"bbo","coin":"BTC"}}}"#
        #expect(BUXDialectTests.read(session, answer).isEmpty)
        _ = session.unsubscribe([try Self.name("ETH@bbo")], request: 2)
        #expect(BUXDialectTests.read(session, #"{"channel":"pong"}"#) == ["acknowledged(request: 1)"])
    }

    @Test func aSocketIsPingedBeforeTheServerClosesIt() throws {
        let session = try Self.session()
        #expect(session.heartbeat == .seconds(50) && session.ping() == #"{"method":"ping"}"#)
        #expect(BUXDialectTests.read(session, "Websocket connection established.", #"{"channel":"pong"}"#, #"{"channel":"l2Book"}"#).isEmpty)
    }

    @Test(arguments: [
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[]]}}"#, #"{"channel":"l2Book","data":{"coin":"BTC","levels":[[],[]]}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"a","sz":"1"}],[]]}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[[{"px":"1"}],[]]}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":99999999999999999999,"levels":[[],[]]}}"#,
        #"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":{}}}"#, #"{"channel":"l2Book","data":{"coin":"BTC","time":1,"levels":[1,[]]}}"#,
    ])
    func anUnreadableBookIsReportedForItsStream(_ message: String) throws {
        #expect(BUXDialectTests.read(try Self.session(["BTC@book"]), message) == ["malformed hl:BTC@book"])
    }

    @Test(arguments: [
        "", "[", "1", #"{"channel":"l2Book","data":{"time":1,"levels":[[],[]]}}"#, #"{"channel":"candle","data":{"s":"BTC"}}"#,
        #"{"channel":"activeAssetCtx","data":{"ctx":{}}}"#,
    ])
    func anUnreadableMessageWithoutACoinIsReported(_ message: String) throws {
        #expect(BUXDialectTests.read(try Self.session(["BTC@book"]), message) == ["malformed -"])
    }

    @Test func aSideWithoutOrdersIsNull() throws {
        let data = #"{"coin":"BTC","time":1737918843000,"bbo":[null,{"px":"105056.0","sz":"0.1","n":1}]}"#
        #expect(BUXDialectTests.read(try Self.session(["BTC@bbo"]), #"{"channel":"bbo","data":\#(data)}"#) == ["hl:BTC@bbo \(data) 1737918843000"])
    }

    @Test func theContextOfASpotPairHasAChannelOfItsOwn() throws {
        let data = #"{"coin":"@142","ctx":{"markPx":"105055.0","circulatingSupply":"1"}}"#
        let session = try Self.session(["@142@context"])
        #expect(BUXDialectTests.read(session, #"{"channel":"activeSpotAssetCtx","data":\#(data)}"#) == ["hl:@142@context \(data) -"])
    }

    @Test func aFastBookIsAnotherStream() throws {
        let data = #"{"coin":"BTC","time":1737918843000,"levels":[[],[]],"fast":true}"#
        let session = try Self.session(["BTC@book", "BTC@fastBook"])
        #expect(BUXDialectTests.read(session, #"{"channel":"l2Book","data":\#(data)}"#) == ["hl:BTC@fastBook \(data) 1737918843000"])
    }

    /// 46 books of 25 seconds: each row is the venue's object, byte for byte.
    @Test func recordedBooksAreReadByteForByte() throws {
        let session = try Self.session(["BTC@book"])
        var books = 0
        for line in try VenueFixtures.lines("../hyperliquid/hftbacktest/btcusd_20250126.gz") {
            let frame = String(line.drop { $0 != "{" })
            let value = try #require(try JSONSerialization.jsonObject(with: Data(frame.utf8)) as? [String: Any])
            let events = BUXDialectTests.read(session, frame)
            guard value["channel"] as? String == "l2Book" else {
                #expect(events.isEmpty)
                continue
            }
            books += 1
            let time = try #require((value["data"] as? [String: Any])?["time"] as? Int)
            let data = frame.dropFirst(#"{"channel":"l2Book","data":"#.utf8.count).dropLast()
            #expect(events == ["hl:BTC@book \(data) \(time)"])
        }
        #expect(books == 46)
    }

    @Test func recordedMessagesOfEachKindAreRead() throws {
        let session = try Self.session(["HYPE@book", "HYPE@bbo", "HYPE@candle_1d", "!mids"])
        let events = try VenueFixtures.lines("../hyperliquid/hyperliquid.net/frames.jsonl").flatMap { BUXDialectTests.read(session, $0) }
        #expect(
            events.map { $0.split(separator: " ").first ?? "" } == [
                "hl:HYPE@bbo", "hl:HYPE@book", "hl:HYPE@candle_1d", "acknowledged(request:", "hl:!mids",
            ])
    }
}
