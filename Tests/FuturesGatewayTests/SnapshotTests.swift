import DemoExchange
import Foundation
import FuturesFeed
import GatewayTestSupport
import Testing

@testable import FuturesGateway

@Suite struct SnapshotTests {
    @Test func aSnapshotIsTheWholeValueWithItsFreshness() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@markPrice")
            _ = try await reader.next("update")
            let answer = try await house.client.get("/streams/btcusdt@markPrice")
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type") == "application/json")
            #expect(answer.header("Cache-Control") == "max-age=0, must-revalidate")
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
            let json = try answer.json
            #expect(json.names == ["stream", "id", "type", "state", "ageMs", "unverifiedMs", "source", "eventTime", "receivedAt", "content"])
            #expect(json["stream"] == "btcusdt@markPrice")
            #expect(json["state"] == "live")
            #expect(json["source"] == "websocket")
            let content = try #require(json["content"])
            #expect(
                content.names.subtracting(["interestRate"]) == [
                    "symbol", "markPrice", "indexPrice", "estimatedSettlePrice", "lastFundingRate", "nextFundingTime", "time",
                ])
            #expect(content["symbol"] == "BTCUSDT")
            #expect(content["markPrice"]?.text?.split(separator: ".").last?.count == 8)
            #expect(json["eventTime"] == content["time"])

            let id = try #require(json["id"]?.text)
            #expect(answer.header("ETag") == "W/\"\(id)-live\"")
            #expect(answer.header("X-Feed-State") == "live")
            for header in ["X-Feed-Age-Ms", "X-Feed-Unverified-Ms"] {
                #expect((0...10_000).contains(answer.header(header).flatMap { Int($0) } ?? -1))
                #expect(answer.header("Access-Control-Expose-Headers")?.contains(header) == true)
            }
            let link = answer.header("Link") ?? ""
            #expect(link.hasPrefix("</events?streams=btcusdt@markPrice&lastEventId=\(id).") && link.hasSuffix(">; rel=\"monitor\""))
            let received = Date(timeIntervalSince1970: Double(try #require(json["receivedAt"]?.integer) / 1000))
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            #expect(answer.header("Last-Modified") == format.string(from: received))
        }
    }

    @Test func aSnapshotThatIsAskedForAllTheTimeFollowsItsStream() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await reader.next("update")
            house.exchange.setStalled(true)
            try await house.awaitSubscription(to: "btcusdt@bookTicker")
            for round in 1...50 {
                house.exchange.inject(PaceTests.ticker(round))
                let update = try await reader.next("update") { $0.content["bidPrice"]?.text == "\(round).00" }
                for coding in ["identity", "identity", "gzip"] {
                    let snapshot = try await house.client.get("/streams/btcusdt@bookTicker", ["Accept-Encoding": coding])
                    #expect(try snapshot.json["id"] == update.data["id"])
                    #expect(snapshot.header("ETag") == "W/\"\(update.data["id"]?.text ?? "")-live\"")
                }
            }
        }
    }

    @Test func aLargeSnapshotIsCompressedForThoseWhoTakeIt() async throws {
        try await House.open { house in
            _ = try await house.client.events("streams=ethusdt@kline_1d").next("fetch")
            house.exchange.setStalled(true)
            let plain = try await house.client.get("/streams/ethusdt@kline_1d")
            for _ in 0..<3 {
                let answer = try await house.client.get("/streams/ethusdt@kline_1d", ["Accept-Encoding": "gzip"])
                #expect(answer.header("Content-Encoding") == "gzip" && answer.header("Vary")?.contains("Accept-Encoding") == true)
                var inflater = Inflater()
                let unpacked = try JSON(String(decoding: try inflater.read(answer.body), as: UTF8.self))
                #expect(try unpacked["content"] == plain.json["content"])
                #expect(inflater.isComplete && answer.body.count < plain.body.count / 3)
                let tag = try #require(answer.header("ETag"))
                #expect(tag != plain.header("ETag"), "each coding is a representation of its own")
                let known = try await house.client.get("/streams/ethusdt@kline_1d", ["Accept-Encoding": "gzip", "If-None-Match": tag])
                #expect(known.status == 304)
                #expect(try await house.client.get("/streams/ethusdt@kline_1d", ["If-None-Match": tag]).status == 200)
            }
        }
    }

    @Test func aKnownSnapshotIsNotSentAgainAndAHeadRequestSendsNone() async throws {
        try await House.open { house in
            _ = try await house.client.events("streams=ethusdt@kline_1d").next("fetch")
            house.exchange.setStalled(true)
            let first = try await house.client.get("/streams/ethusdt@kline_1d")
            let tag = try #require(first.header("ETag"))
            for known in [tag, String(tag.dropFirst(2)), "\"other\", \(tag)", "*"] {
                let answer = try await house.client.get("/streams/ethusdt@kline_1d", ["If-None-Match": known])
                #expect(answer.status == 304, "\(known)")
                #expect(answer.body.isEmpty)
                #expect(answer.header("ETag") == tag)
                #expect(answer.header("X-Feed-State") == first.header("X-Feed-State"))
                #expect(answer.header("X-Feed-Unverified-Ms").flatMap { Int($0) } != nil)
            }
            #expect(try await house.client.get("/streams/ethusdt@kline_1d", ["If-None-Match": "\"other\""]).status == 200)

            let head = try await house.client.request("HEAD", "/streams/ethusdt@kline_1d")
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.header("ETag") == tag)
            #expect(head.header("Content-Length").flatMap { Int($0) } ?? 0 >= first.body.count)
        }
    }

    @Test func aValueOlderThanAskedForIsRefused() async throws {
        try await House.open { house in
            _ = try await house.client.events("streams=btcusdt@bookTicker").next("update")
            house.exchange.setStalled(true)
            var age = 0
            while age < 1 { age = Int(try await house.client.get("/streams/btcusdt@bookTicker").header("X-Feed-Age-Ms") ?? "") ?? 0 }
            let old = try await house.client.get("/streams/btcusdt@bookTicker?maxAge=0")
            #expect(old.status == 503)
            #expect(old.header("Retry-After") == "1")
            #expect(old.header("Content-Type") == "application/problem+json")
            #expect(try await house.client.get("/streams/btcusdt@bookTicker?maxAge=600000").status == 200)
            for bad in ["maxAge=-1", "maxAge=soon", "maxUnverified=-1", "maxUnverified=soon", "maxAge=1&maxUnverified=", "wait=31", "wait=-1"] {
                #expect(try await house.client.get("/streams/btcusdt@bookTicker?\(bad)").status == 400, "\(bad)")
            }
        }
    }

    @Test(arguments: [
        ("/streams/btcusdt%40markPrice", "btcusdt@markPrice", "btcusdt@markPrice"),
        ("/streams/%21assetIndex%40arr", "!assetIndex@arr", "!assetIndex@arr"),
        ("/streams/btcusdt_261225@bookTicker", "btcusdt_261225@bookTicker", "btcusdt_261225@bookTicker"),
        ("/streams/币安人生usdt@markPrice", "币安人生usdt@markPrice", "%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9Fusdt@markPrice"),
        (
            "/streams/%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9Fusdt@markPrice", "币安人生usdt@markPrice",
            "%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9Fusdt@markPrice"
        ),
    ])
    func aNameIsDecodedBeforeItIsMatched(target: String, name: String, link: String) async throws {
        try await House.open { house in
            let answer = try await house.client.get(target)
            #expect(answer.status == 200)
            #expect(try answer.json["stream"]?.text == name)
            #expect(answer.header("Link")?.hasPrefix("</events?streams=\(link)&lastEventId=") == true)
        }
    }

    @Test func aStreamThatNeverComesIsGivenUpAfterTheWait() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            house.exchange.setStalled(true)
            house.exchange.setRESTFault(.hang)
            let answer = try await house.client.get("/streams/btcusdt@ticker?wait=1")
            #expect(answer.status == 504)
            #expect(try answer.json["code"] == "timedOut")
        }
    }

    @Test func whatShouldHaveComeAndDidNotIsCalledStale() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@markPrice@1s")
            _ = try await reader.next("update")
            house.exchange.setStalled(true)
            let status = try await reader.next("status")
            #expect(status.data["state"] == "stale")
            #expect(status.data["ageMs"]?.integer ?? 0 >= 3000)
            #expect(status.data["unverifiedMs"]?.integer ?? 0 > 0)
            #expect(status.data["unverifiedMs"]?.integer ?? .max <= status.data["ageMs"]?.integer ?? 0)
            let answer = try await house.client.get("/streams/btcusdt@markPrice@1s")
            #expect(answer.status == 200)
            #expect(answer.header("X-Feed-State") == "stale")
            #expect(try answer.json["state"] == "stale")
            house.exchange.setStalled(false)
            #expect(try await reader.next("status").data["state"] == "live")
        }
    }

    @Test func theCatalogueListsEveryKindAndWhatIsActive() async throws {
        try await House.open { house in
            #expect(try await house.client.get("/streams").json["active"] == .array([]))
            let idle = try await house.client.get("/streams/btcusdt@aggTrade/status").json
            #expect(idle == .object(["stream": "btcusdt@aggTrade", "state": "idle", "readers": 0]))

            let reader = try await house.client.events("streams=btcusdt@aggTrade")
            _ = try await reader.next("update")
            let list = try await house.client.get("/streams").json
            let patterns = (list["catalogue"]?.array ?? []).compactMap { $0["pattern"]?.text }
            #expect(patterns.count == 24 && patterns.contains("!markets"))
            #expect(patterns.contains("{symbol}@kline_{interval}"))
            let active = try #require(list["active"]?.array?.first)
            #expect(active.names == ["stream", "state", "id", "ageMs", "unverifiedMs", "source", "connected", "readers"])
            #expect(active["stream"] == "btcusdt@aggTrade")
            #expect(active["connected"] == true)
            #expect(active["readers"] == 1)
            let status = try await house.client.get("/streams/btcusdt@aggTrade/status").json
            #expect(status["readers"] == 1)
            #expect(status["stream"] == "btcusdt@aggTrade")
        }
    }

    /// Whatever a client makes up, few answers are kept for a stream.
    @Test(arguments: [
        ("/streams/btcusdt@depth", nil, true), ("/streams/btcusdt%40depth", nil, true), ("/streams/btcusdt@depth?depth=5", 5, true),
        ("/streams/btcusdt@depth?x=1", nil, false), ("/streams/btcusdt@depth?", nil, false), ("/streams/btcusdt@depth?depth=05", 5, false),
        ("/streams/btcusdt@depth?depth=5&depth=5", 5, false), ("/streams/%62tcusdt@depth", nil, false), ("/streams/btcusdt@depth?wait=3", nil, false),
    ])
    func anAnswerIsPreparedForUsualTargetsAlone(target: String, depth: Int?, isPrepared: Bool) throws {
        let name = try #require(FuturesServiceStreamName("btcusdt@depth"))
        #expect((StreamHandlers.preparable(target, name, depth: depth, isGzip: false) != nil) == isPrepared)
    }

    /// The names that differ by their bytes alone differ in the list, too.
    @Test func theListIsInOrderAndTellsAgesAsOfTheAnswer() async throws {
        try await House.open { house in
            let names = ["btcusdt@kline_1d", "ethusdt@kline_1d", "!ticker@arr"]
            for name in names { #expect(try await house.client.get("/streams/\(name)").status == 200) }
            house.exchange.setStalled(true)
            let first = try await house.client.get("/streams").json["active"]?.array ?? []
            #expect(first.compactMap { $0["stream"]?.text } == names.sorted())
            let began = ContinuousClock.now
            while ContinuousClock.now - began < .milliseconds(50) { _ = try await house.client.get("/healthz") }
            let second = try await house.client.get("/streams").json["active"]?.array ?? []
            for (one, other) in zip(first, second) where one["id"] == other["id"] {
                #expect((other["ageMs"]?.integer ?? 0) - (one["ageMs"]?.integer ?? 0) >= 49, "\(one) \(other)")
            }
        }
    }

    @Test func theBodyNeverSaysALowerAgeThanTheHeaders() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@markPrice")
            _ = try await reader.next("update")
            // The mark price changes every three seconds, so most of these answers are sent again from bytes made before.
            let deadline = ContinuousClock.now + .seconds(2)
            var answers = 0
            while .now < deadline || answers < 20 {
                let answer = try await house.client.get("/streams/btcusdt@markPrice")
                for (header, member) in [("X-Feed-Age-Ms", "ageMs"), ("X-Feed-Unverified-Ms", "unverifiedMs")] {
                    let exact = try #require(answer.header(header).flatMap { Int64($0) })
                    let told = try #require(answer.json[member]?.integer)
                    #expect(told >= exact && told <= exact + 101, "\(member): \(told) in the body, \(exact) in the header")
                }
                answers += 1
            }
        }
    }

    @Test func healthIsTheProcessAndReadinessTheData() async throws {
        try await House.open { house in
            let health = try await house.client.get("/healthz")
            #expect(health.status == 200)
            #expect(health.text == "ok\n")
            try await house.awaitReadiness()
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await reader.next("update")
            #expect(try await house.client.get("/readyz").text == "ready\n")
            await house.exchange.stop()
            _ = try await reader.next("disconnect")
            let unready = try await house.client.get("/readyz")
            #expect(unready.status == 503)
            #expect(unready.text.hasPrefix("no data flows from aster (streams read: 1); 0 s ago: "), "\(unready.text)")
            #expect(try await house.client.get("/healthz").status == 200)
            // A load balancer that asks this one keeps the gateway, and readers get the old price with its age.
            #expect(try await house.client.get("/servez").text == "serving\n")
            #expect(try await house.client.get("/streams/btcusdt@bookTicker").json["state"] != "live")
        }
    }

    @Test func aGatewayThatWillStopSaysSoAndServesAsBefore() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            #expect(try await house.client.get("/servez").text == "serving\n")
            await house.onHub { $0.leave() }
            for probe in ["/servez", "/readyz"] {
                let answer = try await house.client.get(probe)
                #expect(answer.status == 503)
                #expect(answer.text == "draining\n")
            }
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await reader.next("update")
            #expect(try await house.client.get("/streams/btcusdt@bookTicker").status == 200)
        }
    }
}
