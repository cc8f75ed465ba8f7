import DemoExchange
import FuturesFeed
import GatewayAccess
import GatewayTestSupport
import NIOCore
import Testing

@testable import FuturesGateway

/// The venue's own REST paths, answered by a gateway in front of the demo exchange.
@Suite struct VenueMirrorTests {
    private static func open(_ body: (House) async throws -> Void) async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            try await body(house)
        }
    }

    /// A client of the exchange itself.
    private static func venue(_ house: House) throws -> GatewayClient {
        GatewayClient(port: try #require(house.exchange.restURL.split(separator: ":").last.flatMap { Int($0) }), tls: false)
    }

    @Test func aHundredWhoAskForBarsCostOneRequest() async throws {
        try await Self.open { house in
            let begin = WallClock.nanoseconds / 60_000_000_000
            try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await house.client.get("/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=499") }
                }
                for try await answer in group { #expect(try answer.json.array?.count == 499, "\(answer.status) \(answer.text.prefix(200))") }
            }
            // One before the subscription was active, one after, one for each new bar whose predecessor's last message was late, and one more if this
            // machine is so busy that the stream is doubted.
            let most = 3 + Int(WallClock.nanoseconds / 60_000_000_000 - begin)
            #expect(house.requests("klines?symbol=BTCUSDT&interval=1m&limit=499") <= most)
            let others = house.exchange.statistics().requests.keys.filter { $0.contains("klines") && !$0.hasSuffix("limit=499") }
            #expect(others.allSatisfy { $0.hasSuffix("limit=2") }, "a doubt about the silence may ask for the newest bar: \(others)")
        }
    }

    @Test func whatOnlyTheVenueHasIsAskedOnceForAllAndKept() async throws {
        try await Self.open { house in
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for path in ["/fapi/v1/fundingInfo", "/fapi/v3/fundingInfo"] {
                        for _ in 0..<10 { group.addTask { try await house.client.get(path).body } }
                    }
                    let first = try await group.next()
                    for try await body in group { #expect(body == first) }
                }
            }
            #expect(house.requests("fundingInfo") == 1)
        }
    }

    /// A list of some hundred symbols would otherwise cost the feed's thread each time.
    @Test func aKeptAnswerIsSentAsOftenAsItIsRequestedWithoutTheHub() async throws {
        try await Self.open { house in
            let target = "/fapi/v1/exchangeInfo"
            let first = try await house.client.get(target)
            _ = try await house.client.get(target)
            for _ in 0..<40 {
                let again = try await house.client.get(target)
                #expect(again.body == first.body && again.header("X-Feed-Source") == "rest")
                #expect((again.header("X-Feed-Age-Ms").flatMap { Int($0) } ?? -1) >= 0)
            }
            let metrics = try await house.client.get("/metrics").text
            let kept = metrics.split(separator: "\n").first { $0.contains(#"path="fapi/exchangeInfo",outcome="kept"}"#) }
            let byTheHub = try #require(kept?.split(separator: " ").last.flatMap { Int($0) })
            // A prepared answer is sent for a second at most.
            #expect((1...20).contains(byTheHub), "\(byTheHub) of 41")
        }
    }

    @Test func closedBarsAreTheVenuesByteForByte() async throws {
        try await Self.open { house in
            let venue = try Self.venue(house)
            let bars = try await house.client.get("/fapi/v1/klines?symbol=ETHUSDT&interval=1m&limit=3").json
            let end = try #require(bars.array?.first?.array?[6].integer)
            for query in ["&limit=10", "&limit=700", "&startTime=\(end - 30 * 60_000)", "&startTime=\(end - 1_000 * 60_000)&limit=7"] {
                let target = "/fapi/v1/klines?symbol=ETHUSDT&interval=1m&endTime=\(end)" + query
                let (mirrored, own) = try await (house.client.get(target), venue.get(target))
                let (rows, expected) = try (mirrored.json.array ?? [], own.json.array ?? [])
                let differing = zip(rows, expected).first { $0 != $1 }
                #expect(mirrored.body == own.body, "\(query): \(rows.count) of \(expected.count), \(String(describing: differing))")
            }
        }
    }

    @Test func aMistakeIsAnsweredAsTheVenueDoes() async throws {
        try await Self.open { house in
            let venue = try Self.venue(house)
            for target in [
                "/fapi/v1/klines?symbol=NOPE&interval=1m", "/fapi/v1/klines?interval=1m", "/fapi/v1/klines?symbol=BTCUSDT&interval=2m",
                "/fapi/v1/depth?symbol=BTCUSDT&limit=7", "/fapi/v1/aggTrades?symbol=BTCUSDT&limit=1001", "/fapi/v1/ticker/price?symbol=nope",
                "/fapi/v1/aggTrades?symbol=BTCUSDT&startTime=1&endTime=9999999", "/fapi/v1/depth?symbol=BTCUSDT&limit=x",
                "/futures/data/basis?pair=BTCUSDT&contractType=PERPETUAL&period=2m", "/futures/data/openInterestHist?symbol=NOPE&period=5m",
                "/futures/data/openInterestHist?symbol=BTCUSDT&period=5m&limit=501", "/fapi/v1/fundingRate?symbol=NOPE",
                "/fapi/v1/ticker/price?symbol=%00",
            ] {
                let (mirrored, own) = try await (house.client.get(target), venue.get(target))
                #expect(mirrored.status == own.status && mirrored.body == own.body, "\(target): \(String(decoding: mirrored.body, as: UTF8.self))")
                #expect(mirrored.header("Content-Type") == "application/json")
            }
        }
    }

    private static let book = "/fapi/v1/depth?symbol=BTCUSDT&limit=5"

    /// The answer for a book whose connection was just lost.
    private static func answerInAnOutage(_ house: House, _ fault: Fault? = nil) async throws -> HTTPAnswer {
        #expect(try await house.client.get(book).status == 200)
        let reader = try await house.client.events("streams=btcusdt@depth@100ms")
        house.exchange.dropConnections()
        if let fault { house.exchange.inflict(fault) }
        _ = try await reader.next("status") { $0.data["state"] == "recovering" }
        return try await house.client.get(book)
    }

    @Test func whatIsStaleIsFetchedOrRefusedButNeverGivenOut() async throws {
        try await Self.open { house in
            let answer = try await Self.answerInAnOutage(house, .refuse())
            #expect(answer.status == 503)
            #expect(try answer.json["code"]?.integer == -1001)
            #expect(Int(answer.header("Retry-After") ?? "") ?? 0 >= 1)
        }
    }

    /// A client whose socket was closed asks for the book while it subscribes again. A kept book would lack the changes until then.
    @Test func aBookIsAwaitedWhileItsOutageIsShort() async throws {
        try await Self.open { house in
            let answer = try await Self.answerInAnOutage(house)
            #expect(answer.status == 200 && answer.header("X-Feed-State") == "live" && answer.header("X-Feed-Unverified-Ms") != nil)
            #expect(house.requests("depth?symbol=BTCUSDT&limit=5") == 0)
        }
    }

    @Test func whoHangsUpWaitsNoMore() async throws {
        try await Self.open { house in
            house.exchange.setStalled(true)
            house.exchange.inflict(.rest(.hang))
            var waiting: [RawConnection] = []
            for number in 1...20 {
                let connection = try await RawConnection(port: house.client.port)
                connection.send("GET /fapi/v1/depth?symbol=BTCUSDT&limit=\(number > 10 ? 5 : 20) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                waiting.append(connection)
            }
            try await LongPollTests.readers(house, "btcusdt@depth@100ms") { $0 == 20 }
            for connection in waiting { await connection.close() }
            try await LongPollTests.readers(house, "btcusdt@depth@100ms") { $0 == 0 }
        }
    }

    /// unicorn-binance-local-depth-cache looks at the spot market's weight before it starts a book.
    @Test(arguments: ["/api/v3/ping", "/fapi/v1/ping"]) func onlyTheSpotMarketsPingHasTheWeightUnderItsOldName(path: String) async throws {
        try await House.open { house in
            let answer = try await house.client.get(path)
            #expect(answer.status == 200 && answer.header("X-MBX-USED-WEIGHT-1M") != nil)
            #expect((answer.header("X-MBX-USED-WEIGHT") != nil) == path.hasPrefix("/api/"))
        }
    }

    @Test func spellingsBeyondWhatIsPreparedAreAnsweredAllTheSame() async throws {
        try await Self.open { house in
            let target = "/fapi/v1/klines?symbol=BTCUSDT&interval=1d&limit="
            _ = try await house.client.get(target + "600")
            house.exchange.setStalled(true)
            // REST would show that the stream is behind.
            house.exchange.setRESTFault(.hang)
            let stream = "btcusdt@kline_1d"
            let name = FuturesServiceStreamName(stream)
            _ = try await LongPollTests.settled(house, stream)
            var most = 0
            for limit in 1...560 {
                let answer = try await house.client.get(target + String(limit))
                #expect(answer.status == 200, "\(answer.text.prefix(200))")
                if limit % 110 == 0 { #expect(try answer.json.array?.count == limit) }
                let prepared = await house.onHub { hub in name.flatMap { hub.state.value.streams[$0] }?.cache.preparedCount ?? 0 }
                most = max(most, prepared)
            }
            #expect(most == 512)
        }
    }

    @Test func whatNeedsAnAccountIsRefused() async throws {
        try await Self.open { house in
            for (target, headers) in [
                ("/fapi/v1/order?symbol=BTCUSDT&signature=abc", [:]), ("/fapi/v1/account", ["X-MBX-APIKEY": "secret"]),
                ("/fapi/v1/historicalTrades?symbol=BTCUSDT", [:]),
            ] {
                let answer = try await house.client.get(target, headers)
                #expect(answer.status == 401)
                #expect(try answer.json["code"]?.integer == -2014)
                #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
            }
            // python-binance and others send their key with every request.
            #expect(try await house.client.get("/fapi/v1/time", ["X-MBX-APIKEY": "secret"]).status == 200)
            #expect(try await house.client.post("/fapi/v1/order?symbol=BTCUSDT").json["code"]?.integer == -2014)
            #expect(try await house.client.get("/fapi/v1/account").json["code"]?.integer == -2014)
            #expect(try await house.client.get("/fapi/v1/nonsense").json["code"]?.integer == -5000)
        }
    }

    @Test func aKeyMayStandInThePath() async throws {
        let secret = "canary-key-of-more-than-128-bits"
        let keys = try APIKeys(json: #"{"bot":{"hash":"\#(APIKeys.hash(of: secret))","streams":["*"],"operations":["read"]}}"#)
        try await House.open(configure: { $0.access.keys = keys }) { house in
            try await house.awaitReadiness()
            let target = "/fapi/v1/time"
            #expect(try await house.client.get(target).status == 401)
            #expect(try await house.client.get(target).json["code"]?.integer == -2015)
            #expect(try await house.client.get("/k/wrong" + target).status == 401)
            #expect(try await house.client.get("/k/\(secret)" + target).status == 200)
        }
    }

    @Test func requestsAreCountedByPathAndOutcome() async throws {
        try await Self.open { house in
            for _ in 0..<5 { _ = try await house.client.get("/fapi/v1/premiumIndex?symbol=BTCUSDT") }
            _ = try await house.client.get("/fapi/v1/premiumIndex?symbol=NOPE")
            let text = String(decoding: try await house.client.get("/metrics").body, as: UTF8.self)
            #expect(text.contains(#"futures_gateway_venue_requests_total{path="fapi/premiumIndex",outcome="waited"} 1"#))
            #expect(text.contains(#"futures_gateway_venue_requests_total{path="fapi/premiumIndex",outcome="hit"} 4"#))
            #expect(text.contains(#"futures_gateway_venue_requests_total{path="fapi/premiumIndex",outcome="refused"} 1"#))
        }
    }

    @Test func whatTheVenueHasOverRESTAloneIsAStreamLikeAnyOther() async throws {
        try await Self.open { house in
            for name in ["btcusdt@openInterest@10s", "btcusdt@longShortRatio_5m", "btcusdt@fundingRate", "!funding@arr"] {
                let reader = try await house.client.events("streams=\(name)")
                let update = try await reader.next("update") { $0.data["state"] == "live" }
                #expect(update.data["source"] == "rest")
                #expect(update.content["symbol"]?.text == "BTCUSDT" || update.content["from"]?.texts == ["premiumIndex", "fundingInfo"])
            }
            #expect(house.requests("openInterest?symbol=BTCUSDT") == 2, "one as it began, one poll")
        }
    }
}
