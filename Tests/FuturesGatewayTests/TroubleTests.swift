import DemoExchange
import FuturesFeed
import GatewayTestSupport
import Logging
import Testing

@testable import FuturesGateway

/// What readers are told of what does not work.
@Suite struct TroubleTests {
    @Test func aQuietStreamIsNoOutage() async throws {
        try await House.open { house in
            // In the demo's first second nobody is liquidated in so small a market, or it is tried with the next one.
            for symbol in ["apt", "near", "trx"] {
                let answer = try await house.client.get("/streams/\(symbol)usdt@forceOrder?wait=1")
                guard answer.status != 200 else { continue }
                #expect(answer.status == 204)
                #expect(answer.body.isEmpty)
                #expect(answer.header("X-Feed-State") == "connecting")
                #expect(answer.header("Link") == "</events?streams=\(symbol)usdt@forceOrder>; rel=\"monitor\"")
                return
            }
        }
    }

    @Test func aValueThatDoesNotComeIsToldWhyInPlainWords() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            await house.exchange.stop()
            for target in ["ethusdt@markPrice?wait=3", "ethusdt@forceOrder?wait=3"] {
                let answer = try await house.client.get("/streams/\(target)")
                #expect(answer.status == 504)
                let problem = try answer.json
                #expect(problem["code"] == "timedOut")
                let detail = try #require(problem["detail"]?.text)
                #expect(detail.contains("Last known reason: ") && detail.contains("no process listens on this port"), "\(detail)")
                #expect(!detail.contains("errno") && !detail.contains("Error") && !detail.contains("("), "\(detail)")
            }
        }
    }

    @Test func whoeverJoinsDuringAnOutageIsToldOfItBeforeTheCachedValue() async throws {
        try await House.open(reconnectBase: .seconds(20)) { house in
            let first = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await first.next("update")
            await house.exchange.stop()
            let told = try await first.next("disconnect")
            let second = try await house.client.events("streams=btcusdt@bookTicker")
            let disconnect = try await second.next()
            #expect(disconnect.name == "disconnect")
            #expect(disconnect.stream == "btcusdt@bookTicker")
            #expect(disconnect.data["reason"]?.text?.isEmpty == false)
            #expect(try await second.next("update").data["state"] == "recovering")
            #expect(told.stream == disconnect.stream)
        }
    }

    @Test func anUnknownProductIsToldAsItsUpstreamToldIt() async throws {
        let products = BUXServer()
        let port = try await products.start()
        let url = "127.0.0.1:\(port)"
        let file = #"{"bux":{"kind":"bux","webSocket":"ws://\#(url)/subscriptions/me","http":"http://\#(url)/core/21","token":"demo"}}"#
        let result = await Result {
            try await House.open(configure: { configuration in try? configuration.feed.readUpstreams(file) { _ in nil } }) { house in
                let answer = try await house.client.get("/streams/bux:nosuch1?wait=2")
                #expect(answer.status == 502)
                #expect(try answer.json["code"] == "venueRejected")
                #expect(try answer.json["venueCode"] == 404)
            }
        }
        await products.stop()
        try result.get()
    }

    @Test func anUnreachableVenueIsLoggedOnceAndItsReturnToo() async throws {
        let port = try ReservedPort()
        let log = LogLines(.notice)
        try await House.open(
            reconnectBase: .milliseconds(50),
            configure: { configuration in
                configuration.feed.venue = configuration.feed.venue.at(
                    restURLs: ["http://127.0.0.1:\(port.number)"], webSocketURLs: ["ws://127.0.0.1:\(port.number)"])
            }, logger: Logger(label: "test") { _ in log }
        ) { house in
            #expect(try await house.client.get("/streams/btcusdt@markPrice?wait=4").status == 504)
            let troubles = log.lines.filter { $0.contains("cannot connect; trying again") }
            #expect(troubles.count == 2, "one for REST, one for the WebSocket: \(troubles)")
            #expect(troubles.allSatisfy { $0.contains("no process listens on this port") && !$0.contains("errno") })
            let exchange = DemoExchange(configuration: DemoExchangeConfiguration(port: port.number))
            _ = try await exchange.start()
            let reader = try await house.client.events("streams=btcusdt@markPrice")
            _ = try await reader.next("update")
            // The first value may come by REST.
            try await log.awaitLine("connected")
            await exchange.stop()
        }
    }

    @Test func aWrongNameIsToldWhichMistakeItIsEachForItself() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let one = try await house.client.get("/streams/btcusdt@markprice").json
            #expect(one["detail"]?.text?.contains("Did you mean btcusdt@markPrice?") == true, "\(one)")
            #expect(one["code"] == "unknownStream")
            let target = "/events?streams=BTCUSDT@depth,ethusdt@markPrice,btcusd@depth,btcusdt@kline,foo:A"
            let several = try await house.client.get(target).json
            #expect(several["streams"]?.texts == ["BTCUSDT@depth", "btcusd@depth", "btcusdt@kline", "foo:A"])
            let mistakes = several["mistakes"]?.array ?? []
            #expect(mistakes.map { $0["code"]?.text ?? "" } == ["upperCase", "unlisted", "incomplete", "unknownUpstream"])
            #expect(mistakes.map { $0["suggestions"]?.texts.first ?? "" } == ["btcusdt@depth", "btcusdt@depth", "btcusdt@kline_1m", ""])
        }
    }

    @Test func anUnknownParameterIsRefusedWithWhatIsNear() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=btcusdt@bookTicker")
            let client = reader.client
            for (method, target, hint) in [
                ("GET", "/events?streams=btcusdt@bookTicker&maxrate=1", " Did you mean maxRate?"),
                ("GET", "/events?stream=btcusdt@bookTicker", " Did you mean streams?"),
                ("GET", "/streams/btcusdt@bookTicker?maxage=1", " Did you mean maxAge?"), ("GET", "/streams/btcusdt@bookTicker?x=1", ""),
                ("GET", "/streams?readers=1", "no parameters."), ("GET", "/streams/btcusdt@bookTicker/status?wait=1", "no parameters."),
                ("POST", "/streams/btcusdt@bookTicker/refetch?wait=1", "no parameters."), ("POST", "/tickets?ttl=1", "no parameters."),
                ("GET", "/events/\(client)?x=1", "no parameters."), ("POST", "/events/\(client)/pause?stream=a", " Did you mean streams?"),
            ] {
                let answer = try await house.client.request(method, target)
                #expect(answer.status == 400, "\(method) \(target)")
                #expect(try answer.json["title"] == "Unknown parameter")
                #expect(try answer.json["detail"]?.text?.hasSuffix(hint) == true, "\(answer.text)")
            }
            // Files and probes are asked for by caches, balancers and browsers with whatever they add.
            try await house.awaitReadiness()
            for target in ["/?v=1", "/client.js?v=1", "/web/style.css?v=1", "/openapi.yaml?x", "/healthz?x", "/readyz?x", "/metrics?name=x"] {
                #expect(try await house.client.get(target).status == 200, "\(target)")
            }
        }
    }

    @Test func aParameterThatIsGivenTwiceIsRefused() async throws {
        try await House.open { house in
            for (target, name) in [
                ("/events?streams=btcusdt@bookTicker&maxRate=1&maxRate=2", "maxRate"), ("/streams/btcusdt@bookTicker?maxAge=1&maxAge=9", "maxAge"),
                ("/events?streams=btcusdt@bookTicker&from=0&to=1&from=2", "from"), ("/tape/btcusdt@bookTicker?to=1&to=1", "to"),
            ] {
                let answer = try await house.client.get(target)
                #expect(answer.status == 400, "\(target)")
                #expect(try answer.json["detail"]?.text == "\(name) must be given once.")
            }
        }
    }

    @Test func refusalsNameWhatWouldBeTaken() async throws {
        try await House.open { house in
            let depth = try await house.client.get("/streams/btcusdt@markPrice?depth=5").json["detail"]?.text
            #expect(depth?.hasPrefix("depth applies only to order books") == true)
            #expect(try await house.client.request("PUT", "/streams").json["detail"] == "This resource allows GET, HEAD, OPTIONS.")
            let foreign = try await house.client.raw("GET /streams HTTP/1.1\r\nHost: gateway.lan\r\n\r\n")
            #expect(foreign.status == 421)
            #expect(foreign.text.contains("allowed-hosts"))
        }
    }
}
