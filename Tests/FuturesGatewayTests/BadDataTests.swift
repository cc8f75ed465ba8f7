import DemoExchange
import GatewayTestSupport
import Testing

@Suite struct BadDataTests {
    private static let stream = "btcusdt@bookTicker"

    private static func bookTicker(_ fields: String) -> String {
        #"{"stream":"\#(stream)","data":{"e":"bookTicker","s":"BTCUSDT",\#(fields),"E":1763679600000}}"#
    }

    private static func frame(megabytes: Int) -> String {
        #"{"stream":"\#(stream)","data":""# + String(repeating: "x", count: megabytes << 20) + "\"}"
    }

    @Test(arguments: [
        #"{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","u":1,"s":"BTCUSDT","b":"1.0"#,
        #"{"stream":"btcusdt@bookTicker"}"#,
        #"{"stream":"btcusdt@bookTicker","data":null}"#,
        #"{"stream":"btcusdt@bookTicker","data":{"e":"depthUpdate","s":"BTCUSDT"}}"#,
        bookTicker(#""u":1,"b":"1.0","B":"1","a":{},"A":"1","T":1763679600000"#),
        bookTicker(#""u":1,"b":"1e9","B":"1","a":"1.1","A":"1","T":1763679600000"#),
        bookTicker(#""u":1,"b":"NaN","B":"1","a":"1.1","A":"1","T":1763679600000"#),
        bookTicker(#""u":"one","b":"1.0","B":"1","a":"1.1","A":"1","T":1763679600000"#),
        bookTicker(#""u":1,"b":"1.0","B":"1","a":"1.1","A":"1","T":99999999999999999999999"#),
        bookTicker(#""u":1,"b":"1.0","B":"1","a":"1.1","A":"1""#),
        #"{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","u":1,"s":"ETHUSDT","b":"1","B":"1","a":"1","A":"1","T":1,"E":1}}"#,
    ])
    func dataThatCannotBeReadFailTheStreamAndNoOther(frame: String) async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=\(Self.stream),ethusdt@bookTicker")
            _ = try await reader.next("update", of: Self.stream) { $0.data["source"] == "websocket" }
            house.exchange.inject(frame)
            let events = try await reader.all { $0.name == "fail" }
            #expect(events.last?.stream == Self.stream)
            #expect(events.last?.data["error"]?["code"] == "malformed")
            _ = try await reader.next("update", of: Self.stream)
            _ = try await reader.next("update", of: "ethusdt@bookTicker")
            #expect(house.exchange.statistics().connectionsEver == 1)
        }
    }

    @Test func whatNoStreamCanBeBlamedForIsPassedOver() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=\(Self.stream)")
            _ = try await reader.next("update") { $0.data["source"] == "websocket" }
            for frame in [
                #"{"stream":"btcusdt@liquidation","data":{"e":"x"}}"#, #"{"stream":"!news@arr","data":[1,2]}"#, "", "null", "[]", "no JSON at all",
                #"{"code":1,"msg":"Bad thing"}"#, #"{"error":{"code":2,"msg":"Unasked"},"id":99999}"#, #"{"result":null,"id":18446744073709551616}"#,
                #"{"stream":"ethusdt@bookTicker","data":{}}"#, String(repeating: "[", count: 100_000), #"{"stream":"\ud800@bookTicker","data":{}}"#,
            ] { house.exchange.inject(frame) }
            house.exchange.inject(#"{"stream":"\#(Self.stream)","data":{}}"#)
            let events = try await reader.all { $0.name == "fail" }
            #expect(events.allSatisfy { ["update", "fail"].contains($0.name) && $0.stream == Self.stream })
            _ = try await reader.next("update")
            #expect(house.exchange.statistics().connectionsEver == 1)
        }
    }

    @Test func aFrameOfFiveMegabytesFailsItsStream() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=\(Self.stream)")
            _ = try await reader.next("update") { $0.data["source"] == "websocket" }
            // The exchange cuts readers whose sockets are full when it sends them more.
            house.exchange.setStalled(true)
            house.exchange.inject(Self.frame(megabytes: 5))
            #expect(try await reader.next("fail").data["error"]?["code"] == "malformed")
            house.exchange.setStalled(false)
            _ = try await reader.next("update")
            #expect(house.exchange.statistics().connectionsEver == 1)
        }
    }

    @Test func aFrameBeyondAllBoundsEndsTheConnectionAndTheStreamsComeBack() async throws {
        try await House.open(reconnectBase: .milliseconds(100)) { house in
            let reader = try await house.client.events("streams=\(Self.stream),!assetIndex@arr")
            _ = try await reader.next("update", of: Self.stream) { $0.data["source"] == "websocket" }
            _ = try await reader.next("update", of: "!assetIndex@arr") { $0.data["source"] == "websocket" }
            house.exchange.setStalled(true)
            house.exchange.inject(Self.frame(megabytes: 20))
            var recovered: Set<String> = []
            var reasons: Set<String> = []
            while recovered.count < 2 {
                let event = try await reader.next("disconnect", "recover")
                house.exchange.setStalled(false)
                if event.name == "recover" { recovered.insert(event.stream) } else { reasons.insert(event.data["reason"]?.text ?? "") }
            }
            #expect(reasons.count == 1)
            #expect(reasons.first?.contains("1009") == true, "\(reasons)")
            _ = try await reader.next("update", of: Self.stream)
            #expect(house.exchange.statistics().connectionsEver == 2)
        }
    }

    @Test func aRESTAnswerThatCannotBeReadFailsTheFetchAlone() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            for body in ["", "[{", #"[{"symbol":"BTCUSD","index":{}}]"#, "<html>", #"{"symbol":"BTCUSD"}"#] {
                house.exchange.setRESTFault(.status(200, body: body))
                let answer = try await house.client.post("/streams/!assetIndex@arr/refetch")
                #expect(answer.status == 502, "\(body)")
                #expect(try answer.json["code"] == "malformed")
                #expect(try await reader.next("fail").data["error"]?["code"] == "malformed")
            }
            _ = try await reader.next("update")
        }
    }
}
