import DemoExchange
import GatewayTestSupport
import Testing

@Suite struct RefusalTests {
    @Test func whatIsWrongIsToldAndNothingIsSentToTheVenue() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let before = house.exchange.statistics()
            try await expectUnknownNamesAreRefused(house.client)
            try await expectWrongMethodsAreRefused(house.client)
            try await expectBadParametersAreRefused(house.client)
            try await expectOversizedRequestsAreRefused(house.client)
            try await expectMalformedRequestsAreRefused(house.client)
            #expect(house.exchange.statistics() == before)
            #expect(try await house.client.get("/streams").json["active"]?.array?.isEmpty == true)
        }
    }

    @Test(arguments: ["btcusd@markPrice", "btcusdt@assetIndex"])
    func aSymbolIsNoAssetAndAnAssetNoSymbol(name: String) async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            #expect(try await house.client.get("/streams/\(name)/status").status == 404)
        }
    }

    private func expectUnknownNamesAreRefused(_ client: GatewayClient) async throws {
        for name in [
            "nosuchusdt@markPrice", "BTCUSDT@markPrice", "btcusdt", "btcusdt@depth7", "btcusdt@kline_7m", "!nothing@arr", "btcusdt@markPrice@2s",
            "@markPrice",
        ] {
            for (method, target) in [
                ("GET", "/streams/\(name)"), ("GET", "/streams/\(name)/status"), ("POST", "/streams/\(name)/refetch"),
                ("GET", "/events?streams=btcusdt@bookTicker,\(name)"),
            ] {
                let answer = try await client.request(method, target)
                #expect(answer.status == 404, "\(method) \(target)")
                #expect(answer.header("Content-Type") == "application/problem+json")
                let problem = try answer.json
                #expect(problem["title"] == "Unknown stream")
                #expect(problem["status"] == 404)
                #expect(problem["type"] == "about:blank")
                #expect(problem["streams"]?.texts == [name])
            }
        }
        let notFound = try await client.get("/nothing/here")
        #expect(notFound.status == 404)
        #expect(notFound.header("Content-Type") == "application/problem+json")
    }

    private func expectWrongMethodsAreRefused(_ client: GatewayClient) async throws {
        for (method, target, allow) in [
            ("POST", "/streams", "GET, HEAD, OPTIONS"), ("DELETE", "/streams/btcusdt@markPrice", "GET, HEAD, OPTIONS"),
            ("GET", "/streams/btcusdt@markPrice/refetch", "OPTIONS, POST"), ("PUT", "/events/x", "DELETE, GET, HEAD, OPTIONS"),
            ("GET", "/events/x/pause", "OPTIONS, POST"), ("BREW", "/healthz", "GET, HEAD, OPTIONS"),
        ] {
            let answer = try await client.request(method, target)
            #expect(answer.status == 405, "\(method) \(target)")
            #expect(answer.header("Allow") == allow)
            let options = try await client.request("OPTIONS", target, ["Origin": "https://example.org", "Access-Control-Request-Method": "POST"])
            #expect(options.status == 204)
            #expect(options.header("Allow") == allow)
            #expect(options.header("Access-Control-Allow-Origin") == "*")
            #expect(options.header("Access-Control-Allow-Methods") == "GET, HEAD, POST, DELETE, OPTIONS")
            #expect(options.header("Access-Control-Allow-Headers")?.contains("Last-Event-ID") == true)
        }
    }

    private func expectBadParametersAreRefused(_ client: GatewayClient) async throws {
        let kinds = "markPrice markPrice@1s bookTicker aggTrade miniTicker ticker kline_1m kline_3m kline_5m kline_15m kline_30m kline_1h kline_2h"
        let symbols = "btc eth bnb sol xrp ada doge link ltc avax dot sui trx near apt aster"
        let many = symbols.split(separator: " ").flatMap { symbol in kinds.split(separator: " ").map { "\(symbol)usdt@\($0)" } }
        for (target, status) in [
            ("/events", 400), ("/events?streams=", 400), ("/events?streams=btcusdt@ticker&heartbeat=4", 400),
            ("/events?streams=btcusdt@ticker&heartbeat=61", 400), ("/events?streams=btcusdt@ticker&heartbeat=soon", 400),
            ("/events?streams=btcusdt@ticker&forceFetch=maybe", 400), ("/events?streams=btcusdt@ticker&maxRate=500", 400),
            ("/events?streams=btcusdt@ticker&lastEventId=" + String(repeating: "a", count: 300), 400),
            ("/events?streams=" + many.prefix(201).joined(separator: ","), 400),
        ] {
            let answer = try await client.get(target)
            #expect(answer.status == status, "\(target.prefix(80))")
            #expect(answer.header("Content-Type") == "application/problem+json")
            #expect(try answer.json["detail"]?.text?.isEmpty == false)
        }
        #expect(try await client.get("/events?streams=btcusdt@ticker", ["Accept": "application/json"]).status == 406)
    }

    private func expectOversizedRequestsAreRefused(_ client: GatewayClient) async throws {
        #expect(try await client.request("POST", "/streams/btcusdt@ticker/refetch", body: String(repeating: "x", count: 4_097)).status == 413)
        #expect(try await client.request("POST", "/mcp", body: String(repeating: "x", count: 16_384)).status != 413, "a route has a limit of its own")
        #expect(try await client.request("POST", "/mcp", body: String(repeating: "x", count: 16_385)).status == 413)
        let chunks = String(repeating: "400\r\n" + String(repeating: "x", count: 1024) + "\r\n", count: 17)
        let chunked = "POST /streams/btcusdt@ticker/refetch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
        #expect(try await client.raw(chunked).status == 413)
        let longTarget = try await client.get("/streams/" + String(repeating: "a", count: 9000))
        #expect(longTarget.status == 414, "\(longTarget.text.prefix(200))")
        let longField = try await client.get("/streams", ["X-Long": String(repeating: "a", count: 14_000)])
        #expect(longField.status == 431, "\(longField.text.prefix(200))")
    }

    private func expectMalformedRequestsAreRefused(_ client: GatewayClient) async throws {
        let host = "Host: 127.0.0.1:\(client.port)\r\n"
        for (request, status) in [
            ("GET /streams HTTP/1.1\r\n\r\n", 400), ("GET /streams HTTP/1.1\r\n\(host)\(host)\r\n", 400),
            ("GET /streams HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421), ("GET /streams/%zz HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET /streams/a%00b HTTP/1.1\r\n\(host)\r\n", 400), ("GET /streams/%ff HTTP/1.1\r\n\(host)\r\n", 400),
            ("GET streams HTTP/1.1\r\n\(host)\r\n", 400), ("GET /streams HTTP/1.1\r\n\(host)Bad Name: x\r\n\r\n", 400),
            ("GET /streams HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhello", 400),
            ("POST /streams/btcusdt@ticker/refetch HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ] {
            let answer = try await client.raw(request)
            #expect(answer.status == status, "\(request.prefix(120))")
            #expect(answer.header("Content-Type") == "application/problem+json", "\(request.prefix(120))")
        }
        for length in ["-1", "5 5", "+5", "0x5"] {
            let request = "POST /streams/btcusdt@ticker/refetch HTTP/1.1\r\n\(host)Content-Length: \(length)\r\n\r\n"
            #expect(try await client.firstAnswer(to: request).status == 400, "\(length)")
        }
    }
}
