import FeedCore
import Foundation
import GatewayTestSupport
import Testing

@testable import FeedDialects

@Suite struct HyperliquidDialectTests {
    static func dialect(_ members: String = "") throws -> any Dialect {
        try #require(try UpstreamsFile.read(#"{"hyperliquid":{"kind":"hyperliquid"\#(members)}}"#) { _ in nil }.first?.dialect)
    }

    static func name(_ stream: String) throws -> FuturesServiceStreamName {
        try #require(FuturesServiceStreamName(upstream: "hyperliquid", stream: stream))
    }

    static func session(_ streams: [String] = []) throws -> any DialectSession {
        let session = try dialect().session(endpoint: 0, subprotocol: nil)
        _ = session.subscribe(try streams.map(name), request: 1)
        return session
    }

    @Test(arguments: [
        ("BTC@book", #"{"type":"l2Book","coin":"BTC"}"#), ("kPEPE@fastBook", #"{"type":"l2Book","coin":"kPEPE","fast":true}"#),
        ("xyz:SPCX@bbo", #"{"type":"bbo","coin":"xyz:SPCX"}"#), ("@142@book", #"{"type":"l2Book","coin":"@142"}"#),
        ("PURR/USDC@context", #"{"type":"activeAssetCtx","coin":"PURR/USDC"}"#),
        ("BTC@trades", #"{"type":"trades","coin":"BTC"}"#),
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

    @Test(arguments: ["BTC", "BTC@trade", "!contexts@trades", "BTC@candle_6h", "BTC@candle_", "@book", "!mids@book", "B#TC@book", "BTC@Book", "mids"])
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

    @Test func onlyHyperliquidHasItsName() {
        for (name, kind) in [("hl", "hyperliquid"), ("hyperliquid", "bux"), ("hyperliquid-2", "bux")] {
            let error = #expect(throws: FeedError.self) {
                try UpstreamsFile.read(#"{"\#(name)":{"kind":"\#(kind)","webSocket":"ws://a.test","token":"x"}}"#) { _ in nil }
            }
            #expect(error?.message.contains("kind must") == true, "\(name)")
        }
        #expect(throws: Never.self) { try UpstreamsFile.read(#"{"hyperliquid-test":{"kind":"hyperliquid","network":"testnet"}}"#) { _ in nil } }
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
        #expect(events.first?.hasPrefix("ended(hyperliquid:NOPE@bbo") == true && events.first?.contains("subscriptionRejected") == true)
        #expect(events.last == "acknowledged(request: 1)")
    }

    /// Such an error is no unreadable message: it says nothing about the data of other streams.
    @Test func anErrorThatQuotesNothingConcernsTheWaitingSubscriptionsAlone() throws {
        let session = try Self.session(["BTC@bbo"])
        let full = #"{"channel":"error","data":"Cannot track more than 1000 total subscriptions."}"#
        let forgotten = #"{"channel":"error","data":"Already unsubscribed: {\"type\":\"bbo\",\"coin\":\"ETH\"}"}"#
        let events = BUXDialectTests.read(session, full, forgotten)
        #expect(events.count == 2 && events.first?.hasPrefix("reported(hyperliquid:BTC@bbo") == true && events.last?.hasPrefix("unknown(") == true)
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
        #expect(BUXDialectTests.read(try Self.session(["BTC@book"]), message) == ["malformed hyperliquid:BTC@book"])
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
        #expect(
            BUXDialectTests.read(try Self.session(["BTC@bbo"]), #"{"channel":"bbo","data":\#(data)}"#) == [
                "hyperliquid:BTC@bbo \(data) 1737918843000"
            ])
    }

    @Test func theContextOfASpotPairHasAChannelOfItsOwn() throws {
        let data = #"{"coin":"@142","ctx":{"markPx":"105055.0","circulatingSupply":"1"}}"#
        let session = try Self.session(["@142@context"])
        #expect(BUXDialectTests.read(session, #"{"channel":"activeSpotAssetCtx","data":\#(data)}"#) == ["hyperliquid:@142@context \(data) -"])
    }

    @Test func aFastBookIsAnotherStream() throws {
        let data = #"{"coin":"BTC","time":1737918843000,"levels":[[],[]],"fast":true}"#
        let session = try Self.session(["BTC@book", "BTC@fastBook"])
        #expect(BUXDialectTests.read(session, #"{"channel":"l2Book","data":\#(data)}"#) == ["hyperliquid:BTC@fastBook \(data) 1737918843000"])
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
                // The session has no subscription of trades.
                #expect(events.isEmpty)
                continue
            }
            books += 1
            let time = try #require((value["data"] as? [String: Any])?["time"] as? Int)
            let data = frame.dropFirst(#"{"channel":"l2Book","data":"#.utf8.count).dropLast()
            #expect(events == ["hyperliquid:BTC@book \(data) \(time)"])
        }
        #expect(books == 46)
    }

    /// 9 messages with 64 trades: each row is the venue's object, byte for byte.
    @Test func recordedTradesAreReadByteForByte() throws {
        let session = try Self.session(["BTC@trades"])
        var trades: [UpstreamTrade] = []
        var texts: [String] = []
        for line in try VenueFixtures.lines("../hyperliquid/hftbacktest/btcusd_20250126.gz") where line.contains(#""channel":"trades""#) {
            var frame = String(line.drop { $0 != "{" })
            texts.append(String(frame.dropFirst(#"{"channel":"trades","data":["#.utf8.count).dropLast(2)))
            frame.withUTF8 { bytes in
                session.receive(bytes.span) {
                    if case .event(.rows(_, .upstreamTrade(let rows), let time)) = $0, time == rows.last?.time { trades += rows }
                }
            }
        }
        #expect(trades.map(\.text).joined(separator: ",") == texts.joined(separator: ","))
        #expect(trades.count == 64 && Set(trades.map(\.id)).count == 64 && zip(trades, trades.dropFirst()).allSatisfy { $0.time <= $1.time })
    }

    @Test(arguments: [
        (#"[{"coin":"BTC","side":"B","px":"1","sz":"1","time":1}]"#, "malformed hyperliquid:BTC@trades"),
        (#"[{"coin":"BTC","side":"C","px":"1","sz":"1","time":1,"tid":1}]"#, "malformed hyperliquid:BTC@trades"),
        (#"[{"coin":"BTC","side":"B","px":1,"sz":"1","time":1,"tid":1}]"#, "malformed hyperliquid:BTC@trades"),
        (#"[{"coin":"BTC","side":"B","px":"1","sz":"1","time":1,"tid":-1}]"#, "malformed hyperliquid:BTC@trades"),
        (#"[{"coin":"BTC","side":"B","px":"1","sz":"1","time":1,"tid":1},7]"#, "malformed hyperliquid:BTC@trades"),
        (#"[{"coin":"BTC","side":"B"},{"coin":"ETH","side":"B"}]"#, "malformed -"), ("[7]", "malformed -"),
    ])
    func unreadableTradesAreReported(_ trades: String, _ event: String) throws {
        #expect(BUXDialectTests.read(try Self.session(["BTC@trades"]), #"{"channel":"trades","data":\#(trades)}"#) == [event])
    }

    @Test func aMessageWithoutTradesSaysNothing() throws {
        #expect(BUXDialectTests.read(try Self.session(["BTC@trades"]), #"{"channel":"trades","data":[]}"#).isEmpty)
    }

    private static func answer(_ body: String, _ status: Int = 200) -> RESTAnswer {
        RESTAnswer(status: status, retryAfter: nil, body: Array(body.utf8))
    }

    @Test func theListHasTheContractsThatTrade() throws {
        let dialect = try Self.dialect()
        let request = try #require(dialect.listingRequest(host: 0))
        #expect(request.url == "https://api.hyperliquid.xyz/info" && request.body == #"{"type":"meta"}"#)
        let body = #"{"universe":[{"name":"BTC","szDecimals":5},{"name":"MATIC","isDelisted":true},{"name":"kPEPE"}],"collateralToken":0}"#
        let listing = try dialect.decodeListing(Self.answer(body)).get()
        #expect(listing.symbols == ["BTC", "kPEPE"] && listing.settled == ["MATIC"] && listing.weightLimit == 1200)
        for (body, status) in [("[]", 200), (#"{"universe":[]}"#, 200), (#"{"universe":[{}]}"#, 200), ("busy", 429), ("", 500)] {
            #expect(throws: FeedError.self) { try dialect.decodeListing(Self.answer(body, status)).get() }
        }
        #expect(throws: FeedError(.rateLimited, "Hyperliquid limits the requests (429): busy", venueCode: 429, retryAfterMs: 10_000)) {
            try dialect.decodeListing(Self.answer("busy", 429)).get()
        }
    }

    @Test func aContextBelongsToTheContractAtItsPlace() throws {
        let rest = try #require(try Self.dialect().upstreamREST(of: 0))
        let name = try Self.name("!contexts")
        let mids = try Self.name("!mids")
        #expect(rest.poll(of: name)?.parts.map(\.body) == [#"{"type":"metaAndAssetCtxs"}"#] && rest.poll(of: mids) == nil)
        #expect(try Self.dialect().traits(of: name)?.isPolled == true)
        func content(_ body: String) -> String? {
            guard case .success(let content) = rest.content(of: name, [Array(body.utf8)], now: 0), case .json(let rows) = content.rows else {
                return nil
            }
            return rows.first?.text
        }
        let meta = #"{"universe":[{"name":"BTC"},{"name":"kPEPE"}]}"#
        #expect(content(#"[\#(meta),[{"markPx":"1.0"},{"markPx":"2"}]]"#) == #"{"contexts":{"BTC":{"markPx":"1.0"},"kPEPE":{"markPx":"2"}}}"#)
        for body in [#"[\#(meta),[{"markPx":"1.0"}]]"#, #"[\#(meta)]"#, #"[\#(meta),[1,2]]"#, "{}", "", #"[{"universe":[]},[]]"#] {
            #expect(content(body) == nil, "\(body)")
        }
    }

    @Test func aBookIsRequestedWithItsOwnTime() throws {
        let (dialect, name) = (try Self.dialect(), try Self.name("BTC@book"))
        #expect(dialect.snapshotRequest(of: name, from: nil, host: 0, now: 0)?.body == #"{"type":"l2Book","coin":"BTC"}"#)
        for stream in ["BTC@bbo", "BTC@fastBook", "BTC@context", "!mids", "!contexts"] {
            #expect(dialect.snapshotRequest(of: try Self.name(stream), from: nil, host: 0, now: 0) == nil)
            #expect(dialect.traits(of: try Self.name(stream))?.hasSnapshotSource == false)
        }
        let book = #"{"coin":"BTC","time":1737918843000,"levels":[[],[]]}"#
        let content = try dialect.decodeSnapshot(of: name, Self.answer(book), now: 0).get()
        #expect(content.rows == .json([JSONRow(checked: book, time: 1_737_918_843_000)]) && content.eventTime == 1_737_918_843_000)
        for (body, status) in [("null", 200), (#"{"coin":"ETH","time":1737918843000,"levels":[[],[]]}"#, 200), (book, 500)] {
            #expect(throws: FeedError.self) { try dialect.decodeSnapshot(of: name, Self.answer(body, status), now: 0).get() }
        }
    }

    @Test func recordedMessagesOfEachKindAreRead() throws {
        let session = try Self.session(["HYPE@book", "HYPE@bbo", "HYPE@candle_1d", "!mids"])
        let events = try VenueFixtures.lines("../hyperliquid/hyperliquid.net/frames.jsonl").flatMap { BUXDialectTests.read(session, $0) }
        #expect(
            events.map { $0.split(separator: " ").first ?? "" } == [
                "hyperliquid:HYPE@bbo", "hyperliquid:HYPE@book", "hyperliquid:HYPE@candle_1d", "acknowledged(request:", "hyperliquid:!mids",
            ])
    }
}
