import DemoExchange
import NIOCore
import NIOWebSocket
import Testing

@Suite struct ControlSessionTests {
    @Test func subscribingListingAndUnsubscribing() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            #expect(
                try await client.ask(#"{"method":"SUBSCRIBE","params":["btcusdt@kline_1w","ethusdt@markPrice"],"id":1}"#)
                    == #"{"result":null,"id":1}"#)
            #expect(
                try await client.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#)
                    == #"{"result":["btcusdt@kline_1w","ethusdt@markPrice"],"id":3}"#)
            #expect(exchange.statistics().activeSubscriptions == ["btcusdt@kline_1w": 1, "ethusdt@markPrice": 1])
            #expect(
                try await client.ask(#"{"method":"UNSUBSCRIBE","params":["btcusdt@kline_1w","never@seen"],"id":18446744073709551615}"#)
                    == #"{"result":null,"id":18446744073709551615}"#)
            #expect(try await client.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":4}"#) == #"{"result":["ethusdt@markPrice"],"id":4}"#)
            let statistics = exchange.statistics()
            #expect(statistics.controlMessages == 4)
            #expect(statistics.subscribes == ["btcusdt@kline_1w": 1, "ethusdt@markPrice": 1])
            #expect(statistics.unsubscribes == ["btcusdt@kline_1w": 1, "never@seen": 1])
            #expect(statistics.activeSubscriptions == ["ethusdt@markPrice": 1])
        }
    }

    @Test func anIDMayBeATextAndComesBackUnchanged() async throws {
        try await withExchange { _, port async throws in
            for path in ["/ws", "/market/ws"] {
                let client = try await VenueClient(port: port, path: path)
                let id = #""c0ffee00-1234-4abc-9def-\"\\0123456789""#
                #expect(
                    try await client.ask(#"{"id":\#(id),"method":"SUBSCRIBE","params":["btcusdt@kline_1w"]}"#) == #"{"result":null,"id":\#(id)}"#)
                #expect(
                    try await client.ask(#"{"id":"7","method":"LIST_SUBSCRIPTIONS"}"#) == #"{"result":["btcusdt@kline_1w"],"id":"7"}"#)
                let long = String(repeating: "x", count: 65)
                #expect(try await client.ask(#"{"id":"\#(long)","method":"LIST_SUBSCRIPTIONS"}"#).contains(#""code":2"#))
            }
        }
    }

    @Test func anUnsubscribedStreamIsSilent() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=!bookTicker")
            _ = try await client.data()
            _ = try await client.ask(#"{"method":"UNSUBSCRIBE","params":["!bookTicker"],"id":1}"#)
            _ = try await client.ask(#"{"method":"SUBSCRIBE","params":["btcusdt@markPrice@1s"],"id":2}"#)
            #expect(try await client.data()["stream"]?.string == "btcusdt@markPrice@1s")
        }
    }

    @Test func theCombinedPropertyAddsTheEnvelope() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!bookTicker")
            #expect(try await client.data()["e"]?.string == "bookTicker")
            #expect(try await client.ask(#"{"method":"GET_PROPERTY","params":["combined"],"id":2}"#) == #"{"result":false,"id":2}"#)
            #expect(try await client.ask(#"{"method":"SET_PROPERTY","params":["combined",true],"id":5}"#) == #"{"result":null,"id":5}"#)
            #expect(try await client.data()["stream"]?.string == "!bookTicker")
            let combined = try await VenueClient(port: port, path: "/stream")
            #expect(try await combined.ask(#"{"method":"GET_PROPERTY","params":["combined"],"id":2}"#) == #"{"result":true,"id":2}"#)
        }
    }

    @Test func mistakesAreAnsweredInTheShapeOfTheVenue() async throws {
        let mistakes: [(String, Int64)] = [
            (#"{"method":"GET_PROPERTY","params":["nonsense"],"id":1}"#, 0), (#"{"method":"SET_PROPERTY","params":["combined","yes"],"id":1}"#, 1),
            (#"{"params":["a"],"id":1}"#, 2), (#"{"method":"DANCE","id":1}"#, 2), (#"{"method":"SUBSCRIBE","params":["a"],"id":-1}"#, 2),
            (#"{"method":"SUBSCRIBE","params":["a"],"id":[1]}"#, 2), (#"{"method":"SUBSCRIBE","params":[1],"id":1}"#, 2),
            (#"{"method":"SET_PROPERTY","params":["combined",true,1],"id":1}"#, 2), ("[1]", 2), (#"{"method":"#, 3), ("nonsense", 3), ("", 3),
        ]
        try await withExchange { _, port async throws in
            for (message, code) in mistakes {
                let aster = try await VenueClient(port: port, path: "/ws")
                let flat = try VenueJSON(await aster.ask(message))
                #expect(flat.keys == ["code", "msg"], "\(message)")
                #expect(flat["code"]?.integer == code, "\(message)")
                let binance = try await VenueClient(port: port, path: "/market/ws")
                let nested = try VenueJSON(await binance.ask(message))
                #expect(nested["error"]?.keys == ["code", "msg"], "\(message)")
                #expect(nested["error"]?["code"]?.integer == code, "\(message)")
            }
        }
    }

    @Test func moreThanTenMessagesInASecondEndTheConnection() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            for id in 1...11 { client.send(#"{"method":"LIST_SUBSCRIPTIONS","id":\#(id)}"#) }
            for id in 1...10 { #expect(try await client.text() == #"{"result":[],"id":\#(id)}"#) }
            #expect(try await client.next() == .close(1008, "Too many requests"))
        }
    }

    @Test func moreThanTwoHundredStreamsEndTheConnection() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            let names = (1...200).map { "\"x\($0)@trade\"" }.joined(separator: ",")
            #expect(try await client.ask(#"{"method":"SUBSCRIBE","params":[\#(names)],"id":1}"#) == #"{"result":null,"id":1}"#)
            let refusal = try VenueJSON(await client.ask(#"{"method":"SUBSCRIBE","params":["one@more"],"id":2}"#))
            #expect(refusal["code"]?.integer == 4)
            #expect(try await client.next() == .close(1008, "Too many subscriptions"))
            // The exchange waits for the client's own end.
            while !exchange.statistics().activeSubscriptions.isEmpty { await Task.yield() }
        }
    }

    @Test func whatIsNotServedHereIsAcknowledgedAndSilent() async throws {
        let cases = [
            ("/public/stream", "btcusdt@markPrice@1s", "!bookTicker"), ("/market/stream", "!bookTicker", "btcusdt@markPrice@1s"),
            ("/market/stream", "btcusdt@trade", "btcusdt@aggTrade"), ("/public/stream", "btcusdt@aggTrade", "btcusdt@trade"),
            ("/stream", "BTCUSDT@bookTicker", "btcusdt@bookTicker"), ("/stream", "btcusdt@kline_1S", "btcusdt@kline_1m"),
            ("/stream", "btc@assetIndex", "btcusd@assetIndex"),
        ]
        try await withExchange { _, port async throws in
            var clients: [VenueClient] = []
            for (path, silent, _) in cases {
                let client = try await VenueClient(port: port, path: path)
                #expect(try await client.ask(#"{"method":"SUBSCRIBE","params":["\#(silent)"],"id":1}"#) == #"{"result":null,"id":1}"#)
                clients.append(client)
            }
            let witness = try await VenueClient(port: port, path: "/ws/btcusdt@markPrice@1s")
            for _ in 0..<2 { _ = try await witness.data() }
            for (client, (_, silent, served)) in zip(clients, cases) {
                client.send(#"{"method":"SUBSCRIBE","params":["\#(served)"],"id":2}"#)
                #expect(try await client.text() == #"{"result":null,"id":2}"#, "\(silent) was not silent")
                #expect(try await client.data()["stream"]?.string == served)
                #expect(
                    try await client.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":3}"#)
                        == #"{"result":["\#(silent)","\#(served)"],"id":3}"#)
            }
        }
    }

    @Test func namesInTheAddressArePercentDecoded() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=%21bookTicker/%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9Fusdt%40ticker")
            _ = try await client.data()
            #expect(exchange.statistics().activeSubscriptions == ["!bookTicker": 1, "币安人生usdt@ticker": 1])
            let raw = try await VenueClient(port: port, path: "/public/ws/btcusdt%40bookTicker/ethusdt@bookTicker")
            #expect(try await raw.data()["e"]?.string == "bookTicker")
        }
    }

    @Test func aClientPingIsAnsweredWithItsPayload() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            client.send(.ping, ByteBuffer(string: "are you there"))
            #expect(try await client.next() == .pong("are you there"))
        }
    }

    @Test func theExchangePingsWithTheTime() async throws {
        try await withExchange(DemoExchangeConfiguration(pingInterval: .milliseconds(50))) { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            guard case .ping(let payload) = try await client.next() else { throw Unexpected("no ping") }
            #expect(Int64(payload) ?? 0 > 1_700_000_000_000)
        }
    }

    @Test func aFragmentedMessageIsPutTogetherAndAnEndlessOneRefused() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            client.send(.text, ByteBuffer(string: #"{"method":"LIST_SUB"#), fin: false)
            client.send(.continuation, ByteBuffer(string: #"SCRIPTIONS","id":9}"#))
            #expect(try await client.text() == #"{"result":[],"id":9}"#)
            client.send(.text, ByteBuffer(repeating: 0x20, count: 60_000), fin: false)
            client.send(.continuation, ByteBuffer(repeating: 0x20, count: 60_000), fin: false)
            #expect(try await client.next() == .close(1009, ""))
        }
    }
}
