import DemoExchange
import FuturesGateway
import GatewayAccess
import GatewayTestSupport
import Testing

/// `/mcp`, from outside.
struct AgentTests {
    private static let type = ["Content-Type": "application/json"]
    private static let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#

    /// Sends a message of the newest version.
    private static func ask(
        _ house: House, _ method: String, _ params: String = "", name: String? = nil, _ headers: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        var fields = type.merging(["MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method]) { $1 }
        if let name { fields["Mcp-Name"] = name }
        let body = #"{"jsonrpc":"2.0","id":"q","method":"\#(method)","params":{\#(params.isEmpty ? "" : params + ",")\#(meta)}}"#
        return try await house.client.request("POST", "/mcp", fields.merging(headers) { $1 }, body: body)
    }

    private static func call(_ house: House, _ tool: String, _ arguments: String, _ headers: [String: String] = [:]) async throws -> HTTPAnswer {
        try await ask(house, "tools/call", #""name":"\#(tool)","arguments":\#(arguments)"#, name: tool, headers)
    }

    private static func legacy(_ house: House, _ method: String, _ params: String = "{}") async throws -> HTTPAnswer {
        try await house.client.request("POST", "/mcp", type, body: #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#)
    }

    @Test func aLivePriceComesWithItsStateAndAge() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let answer = try await Self.call(house, "get_book", #"{"symbol":"BTCUSDT","depth":3}"#)
            #expect(answer.status == 200 && answer.header("Content-Type") == "application/json")
            let result = try #require(try answer.json["result"])
            let book = try #require(result["structuredContent"])
            #expect(result["resultType"]?.text == "complete")
            #expect(book["state"]?.text == "live")
            #expect(book["ageMs"]?.integer != nil && book["unverifiedMs"]?.integer != nil)
            #expect(book["content"]?["bids"]?.array?.count == 3)
            #expect(result["content"]?.array?.first?["text"]?.text?.hasPrefix(#"{"stream":"btcusdt@depth""#) == true)
        }
    }

    @Test func aPriceThatIsNotCurrentIsAnErrorUnlessItIsAllowed() async throws {
        try await House.open(reconnectBase: .seconds(30)) { house in
            try await house.awaitReadiness()
            let stream = #"{"stream":"btcusdt@depth"}"#
            #expect(try await Self.call(house, "get_snapshot", stream).json["result"]?["isError"]?.flag == false)
            let reader = try await house.client.events("streams=btcusdt@depth")
            house.exchange.dropConnections()
            _ = try await reader.next("disconnect")
            let refused = try #require(try await Self.call(house, "get_snapshot", stream).json["result"])
            #expect(refused["isError"]?.flag == true)
            #expect(refused["structuredContent"]?["state"]?.text == "recovering")
            #expect(refused["structuredContent"]?["content"] == nil)
            let allowed = try await Self.call(house, "get_snapshot", #"{"stream":"btcusdt@depth","allowStale":true}"#)
            #expect(try allowed.json["result"]?["structuredContent"]?["state"]?.text == "recovering")
            #expect(try allowed.json["result"]?["structuredContent"]?["content"]?["bids"] != nil)
            let uri = "feed://stream/btcusdt@depth"
            let resource = try await Self.ask(house, "resources/read", #""uri":"\#(uri)""#, name: uri)
            #expect(try resource.json["error"]?["data"]?["state"]?.text == "recovering")
            let old = try await Self.ask(house, "resources/read", #""uri":"\#(uri)?allowStale=true""#, name: uri + "?allowStale=true")
            #expect(try old.json["result"]?["ttlMs"]?.integer == 0)
            let samples = try await Samples(house.client)
            #expect(samples[#"agent_calls_total{call="get_snapshot",outcome="stale"}"#] == 1)
            #expect(samples[#"agent_calls_total{call="read",outcome="stale"}"#] == 1)
        }
    }

    @Test func anAgentIsToldWhatHasChanged() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            let connection = try await RawConnection(port: house.client.port, tls: StreamRoute.current == .tls)
            let body =
                #"{"jsonrpc":"2.0","id":"q","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["feed://stream/btcusdt@bookTicker"]},\#(Self.meta)}}"#
            connection.send(
                "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:\(house.client.port)\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                    + "Mcp-Method: subscriptions/listen\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
            let reader = try await EventReader(connection, first: "message")
            #expect(reader.session.data["method"]?.text == "notifications/subscriptions/acknowledged")
            for _ in 0..<2 {
                let updated = try await reader.next("message")
                #expect(updated.data["method"]?.text == "notifications/resources/updated")
                #expect(updated.data["params"]?["uri"]?.text == "feed://stream/btcusdt@bookTicker")
                #expect(updated.data["params"]?["_meta"]?["io.modelcontextprotocol/subscriptionId"]?.text == "q")
            }
            #expect(try await Samples(house.client)["agent_listeners"] == 1)
        }
    }

    @Test func theLegacyIsAnsweredAsTheLegacyItIs() async throws {
        try await House.open { house in
            try await house.awaitReadiness()
            for (wanted, given) in [
                ("2025-11-25", "2025-11-25"), ("2025-03-26", "2025-03-26"), ("2024-11-05", "2025-11-25"), ("1900-01-01", "2025-11-25"),
            ] {
                let answer = try await Self.legacy(house, "initialize", #"{"protocolVersion":"\#(wanted)","capabilities":{}}"#)
                #expect(try answer.json["result"]?["protocolVersion"]?.text == given)
                #expect(try answer.json["result"]?["serverInfo"]?["name"]?.text == "futures-gateway")
            }
            let initialized = try await house.client.request(
                "POST", "/mcp", Self.type, body: #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            #expect(initialized.status == 202 && initialized.body.isEmpty)
            let price = try await Self.legacy(house, "tools/call", #"{"name":"get_funding","arguments":{"symbol":"BTCUSDT"}}"#)
            #expect(try price.json["result"]?["structuredContent"]?["content"]?["markPrice"]?.text != nil)
            #expect(try price.json["result"]?["resultType"] == nil)
            for method in ["subscriptions/listen", "server/discover", "nonsense"] {
                let answer = try await Self.legacy(house, method)
                #expect(try answer.status == 200 && answer.json["error"]?["code"]?.integer == -32601)
            }
            #expect(try await house.client.get("/mcp").status == 405)
        }
    }

    @Test func whatTheProtocolForbidsIsRefused() async throws {
        try await House.open { house in
            let answers = [
                try await house.client.request("POST", "/mcp", Self.type, body: "[]"),
                try await house.client.request("POST", "/mcp", Self.type, body: "{"),
                try await Self.ask(house, "tools/list", ["Mcp-Method": "tools/call"]),
                try await Self.ask(house, "tools/call", #""name":"nonsense""#, name: "nonsense"),
                try await Self.ask(house, "resources/read", #""uri":"feed://stream/no""#, name: "feed://stream/no"),
                try await Self.ask(house, "nonsense"),
                try await house.client.request("POST", "/mcp", ["Content-Type": "text/plain"], body: "{}"),
                try await house.client.request("POST", "/mcp", Self.type.merging(["Origin": "https://evil.example"]) { $1 }, body: "{}"),
            ]
            #expect(answers.map(\.status) == [400, 400, 400, 400, 400, 404, 415, 403])
            #expect(
                try answers.map { try $0.json["error"]?["code"]?.integer } == [-32600, -32700, -32020, -32602, -32602, -32601, -32000, -32000])
            let long = try await house.client.request("POST", "/mcp", Self.type, body: String(repeating: " ", count: 17 << 10))
            #expect(long.status == 413)
        }
    }

    @Test func keysAndLimitsHoldForAgents() async throws {
        let secret = "canary-key-of-more-than-128-bits"
        let keys = try APIKeys(json: #"{"agent":{"hash":"\#(APIKeys.hash(of: secret))","streams":["btcusdt@*"]}}"#)
        try await House.open(configure: {
            $0.access.keys = keys
            $0.access.keyLimits.requests = 2
        }) { house in
            try await house.awaitReadiness()
            let stranger = try await Self.ask(house, "tools/list")
            #expect(stranger.status == 401 && stranger.header("WWW-Authenticate") != nil)
            #expect(try stranger.json["error"]?["message"]?.text?.contains("Authorization: Bearer") == true)
            let bearer = ["Authorization": "Bearer \(secret)"]
            let other = try await Self.call(house, "get_book", #"{"symbol":"ETHUSDT"}"#, bearer)
            #expect(try other.json["result"]?["isError"]?.flag == true)
            var statuses: [Int] = []
            // However slow this machine is, one request comes before the next token.
            while !statuses.contains(429), statuses.count < 60 { statuses.append(try await Self.ask(house, "tools/list", bearer).status) }
            #expect(statuses.contains(200) && statuses.contains(429))
        }
    }
}

extension AgentTests {
    fileprivate static func ask(_ house: House, _ method: String, _ headers: [String: String]) async throws -> HTTPAnswer {
        try await ask(house, method, "", name: nil, headers)
    }
}
