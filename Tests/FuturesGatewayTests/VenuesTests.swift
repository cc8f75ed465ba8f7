import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

/// Two futures venues behind one gateway, with the same symbols.
@Suite struct VenuesTests {
    static func open(_ body: (House, DemoExchange) async throws -> Void) async throws {
        let second = DemoExchange(configuration: DemoExchangeConfiguration())
        _ = try await second.start()
        let file = #"{"binance":{"kind":"futures","restURLs":["\#(second.restURL)"],"webSocketURLs":["\#(second.webSocketURL)"]}}"#
        let result = await Result {
            try await House.open(
                linger: .zero, configure: { configuration in try? configuration.feed.readUpstreams(file) { _ in nil } },
                { house in
                    try await house.awaitReadiness()
                    try await house.client.awaitReadiness(of: "binance")
                    try await body(house, second)
                })
        }
        await second.stop()
        try result.get()
    }

    @Test func theSameStreamOfTwoVenuesIsTwoStreams() async throws {
        try await Self.open { house, second in
            let events = try await house.client.events("streams=btcusdt@markPrice@1s,binance:btcusdt@markPrice@1s")
            var streams: Set<String> = []
            while streams.count < 2 {
                streams.insert(try await events.next("update").stream)
            }
            #expect(streams == ["btcusdt@markPrice@1s", "binance:btcusdt@markPrice@1s"])
            #expect(second.statistics().activeSubscriptions["btcusdt@markPrice@1s"] != nil, "the venue's own name goes to the venue")
            let list = try await house.client.get("/streams").json
            let upstreams = list["upstreams"]
            #expect(
                upstreams
                    == .array([
                        .object(["name": "aster", "venue": "aster", "simulated": true]),
                        .object(["name": "binance", "venue": "binance", "simulated": true]),
                    ]))
            let metrics = try await house.client.get("/metrics").text
            for upstream in ["aster", "binance"] {
                #expect(metrics.contains("futures_gateway_upstream_request_weight_limit{upstream=\"\(upstream)\"}"))
                #expect(metrics.contains("upstream=\"\(upstream)\",kind=\"markPrice\""))
            }
        }
    }

    @Test func everyKindOfStreamOfTheSecondVenueHasContent() async throws {
        try await Self.open { house, _ in
            for name in ["btcusdt@depth@100ms", "btcusdt@aggTrade", "btcusdt@kline_1m", "!ticker@arr", "btcusdt@openInterest", "btcusdt@bar_1s"] {
                let answer = try await house.client.get("/streams/binance:\(name)?wait=10")
                #expect(answer.status == 200, "\(name): \(answer.text.prefix(300))")
                let json = try answer.json
                #expect(
                    json["stream"]?.text == "binance:" + name && ["live", "connecting"].contains(json["state"]?.text),
                    "\(name): \(answer.text.prefix(300))")
            }
        }
    }

    @Test func theRESTPathsOfTheSecondVenueAreBelowItsName() async throws {
        try await Self.open { house, second in
            let book = try await house.client.get("/binance/fapi/v1/depth?symbol=BTCUSDT&limit=5")
            #expect(try book.status == 200 && book.json["bids"] != nil, "\(book.text.prefix(300))")
            #expect(second.statistics().activeSubscriptions["btcusdt@depth@100ms"] != nil)
            #expect(house.exchange.statistics().activeSubscriptions["btcusdt@depth@100ms"] == nil, "the first venue was not asked")
            let before = house.requests("fundingInfo")
            #expect(try await house.client.get("/binance/fapi/v1/fundingInfo").status == 200)
            #expect(house.requests("fundingInfo") == before && (second.statistics().requests["/fapi/v1/fundingInfo"] ?? 0) > 0)
            #expect(try await house.client.get("/binance/fapi/v1/depth?symbol=NOPE").json["code"] == .integer(-1121))
            #expect(try await house.client.get("/apollox/fapi/v1/time").status == 404)
        }
    }

    @Test func theSocketsOfTheSecondVenueAreBelowItsName() async throws {
        try await Self.open { house, _ in
            let (client, connection) = try await SocketClient.open(house, "/binance/stream?streams=btcusdt@aggTrade")
            let first = try await client.text { $0.contains("\"data\"") }
            #expect(first.hasPrefix(#"{"stream":"btcusdt@aggTrade","data":"#), "\(first)")
            connection.send(text: #"{"method":"SUBSCRIBE","params":["ethusdt@bookTicker"],"id":1}"#)
            let second = try await client.text { $0.contains(#"ethusdt@bookTicker","data""#) }
            #expect(second.hasPrefix(#"{"stream":"ethusdt@bookTicker","data":"#), "\(second)")
            connection.send(text: #"{"method":"LIST_SUBSCRIPTIONS","id":2}"#)
            let list = try await client.text { $0.contains(#""id":2"#) }
            #expect(list == #"{"result":["btcusdt@aggTrade","ethusdt@bookTicker"],"id":2}"#)
            connection.send(text: #"{"method":"UNSUBSCRIBE","params":["btcusdt@aggTrade"],"id":3}"#)
            _ = try await client.text { $0.contains(#""id":3"#) }
            #expect(try await house.client.get("/streams/binance:ethusdt@bookTicker/status").json["state"]?.text == "live")
            connection.close(code: 1000, reason: "")
        }
    }

    @Test func aVenueThatDiesChangesNothingForTheOther() async throws {
        try await Self.open { house, second in
            let events = try await house.client.events("streams=btcusdt@markPrice@1s,binance:btcusdt@markPrice@1s")
            while try await events.next("update").stream != "binance:btcusdt@markPrice@1s" {}
            await second.stop()
            var lost = false
            var after = 0
            while after < 5 {
                let event = try await events.next()
                guard !event.stream.isEmpty else { continue }
                if event.stream.hasPrefix("binance:") {
                    lost = lost || event.name == "disconnect"
                } else {
                    #expect(event.name == "update" || event.name == "fetch", "\(event.name)")
                    if lost { after += 1 }
                }
            }
            #expect(try await house.client.get("/readyz?venue=aster").status == 200)
            let dead = try await house.client.get("/readyz?venue=binance")
            #expect(dead.status == 503 && dead.text.contains("binance"), "\(dead.text)")
            let unknown = try await house.client.get("/readyz?venue=nasdaq")
            #expect(unknown.status == 404 && unknown.text.contains("aster, binance"))
        }
    }

    @Test func aMisspelledNameOfTheSecondVenueIsCorrected() async throws {
        try await Self.open { house, _ in
            for (wrong, right) in [
                ("binance:BTCUSDT@markPrice", "binance:btcusdt@markPrice"), ("binance:btcusdt@markprice", "binance:btcusdt@markPrice"),
                ("aster:btcusdt@markPrice", "btcusdt@markPrice"), ("binanse:btcusdt@markPrice", "binance:btcusdt@markPrice"),
            ] {
                let answer = try await house.client.get("/streams/\(wrong)")
                #expect(answer.status == 404 && answer.text.contains(right), "\(wrong): \(answer.status) \(answer.text)")
            }
        }
    }

    @Test func agentsFindAndReadTheSymbolsOfBothVenues() async throws {
        try await Self.open { house, _ in
            func call(_ tool: String, _ arguments: String) async throws -> JSON? {
                let body = #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\#(tool)","arguments":\#(arguments)}}"#
                return try await house.client.request("POST", "/mcp", ["Content-Type": "application/json"], body: body).json["result"]
            }
            let found = try await call("search_streams", #"{"text":"btcusdt"}"#)?["structuredContent"]?["symbols"]?.array?.compactMap(\.text) ?? []
            #expect(found.prefix(2) == ["BTCUSDT", "binance:BTCUSDT"], "\(found)")
            let book = try await call("get_book", #"{"symbol":"binance:BTCUSDT","depth":1}"#)
            #expect(book?["isError"]?.flag == false, "\(String(describing: book))")
            #expect(book?["structuredContent"]?["stream"]?.text == "binance:btcusdt@depth")
        }
    }
}
