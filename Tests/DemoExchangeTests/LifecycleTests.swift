import DemoExchange
import NIOCore
import NIOWebSocket
import Testing

@Suite struct LifecycleTests {
    @Test func aStoppedExchangeResetsItsConnectionsAndStartsAgainOnTheSamePort() async throws {
        let exchange = DemoExchange(configuration: DemoExchangeConfiguration())
        let port = try await exchange.start()
        #expect(exchange.webSocketURL == "ws://127.0.0.1:\(port)")
        #expect(exchange.restURL == "http://127.0.0.1:\(port)")
        let client = try await VenueClient(port: port, path: "/ws/btcusdt@aggTrade")
        let before = try #require(try await client.data()["a"]?.integer)
        await exchange.stop()
        var last = try await client.next()
        while case .text = last { last = try await client.next() }
        #expect(last == .gone(reset: true))
        await #expect(throws: (any Error).self) { try await get(port, "/fapi/v1/ping") }
        #expect(exchange.statistics().connectionsNow == 0)
        #expect(exchange.statistics().activeSubscriptions.isEmpty)

        #expect(try await exchange.start() == port)
        await #expect(throws: DemoExchangeError.self) { try await exchange.start() }
        let again = try await VenueClient(port: port, path: "/ws/btcusdt@aggTrade")
        #expect(try #require(try await again.data()["a"]?.integer) > before)
        #expect(exchange.statistics().connectionsEver == 2)
        await exchange.stop()
        await exchange.stop()
    }

    @Test func aTakenPortIsRefused() async throws {
        try await withExchange { _, port async throws in
            let error = await #expect(throws: DemoExchangeError.self) {
                try await DemoExchange(configuration: DemoExchangeConfiguration(port: port)).start()
            }
            #expect(error?.code == .bind)
        }
    }

    @Test func connectionsCanBeDroppedWithAndWithoutACode() async throws {
        try await withExchange { exchange, port async throws in
            let first = try await VenueClient(port: port, path: "/ws")
            #expect(try await first.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#) == #"{"result":[],"id":1}"#)
            exchange.dropConnections(code: 1001)
            #expect(try await first.next() == .close(1001, ""))
            let second = try await VenueClient(port: port, path: "/ws")
            #expect(try await second.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#) == #"{"result":[],"id":1}"#)
            exchange.dropConnections()
            #expect(try await second.next() == .gone(reset: true))
        }
    }

    @Test func aStalledExchangeAnswersButSendsNoData() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!bookTicker")
            _ = try await client.data()
            exchange.setStalled(true)
            _ = try await client.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)
            let sent = exchange.statistics().framesSent
            let trade = try await get(port, "/fapi/v1/aggTrades?symbol=BTCUSDT&limit=1").json.rows.first?["a"]?.integer
            while try await get(port, "/fapi/v1/aggTrades?symbol=BTCUSDT&limit=1").json.rows.first?["a"]?.integer == trade {}
            #expect(try await client.ask(#"{"method":"LIST_SUBSCRIPTIONS","id":2}"#) == #"{"result":["!bookTicker"],"id":2}"#)
            exchange.inject("not JSON at all", to: "!bookTicker")
            #expect(try await client.text() == "not JSON at all")
            #expect(exchange.statistics().framesSent == sent)
            exchange.setStalled(false)
            #expect(try await client.data()["e"]?.string == "bookTicker")
        }
    }

    @Test func injectedTextReachesEverybodyOrTheSubscribersOfOneStream() async throws {
        try await withExchange { exchange, port async throws in
            let one = try await VenueClient(port: port, path: "/ws/a@b")
            let two = try await VenueClient(port: port, path: "/ws")
            for client in [one, two] { _ = try await client.ask(#"{"method":"GET_PROPERTY","params":["combined"],"id":1}"#) }
            exchange.inject("for one", to: "a@b")
            exchange.inject("for all")
            #expect(try await one.text() == "for one")
            #expect(try await one.text() == "for all")
            #expect(try await two.text() == "for all")
        }
    }

    @Test func aReaderThatStopsReadingIsCutOff() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!bookTicker")
            try await client.stopReading()
            let events = exchange.changes()
            for _ in 0..<64 { exchange.inject(String(repeating: "x", count: 1 << 20)) }
            let start = ContinuousClock.now
            for await event in events where event == .disconnected { break }
            #expect(ContinuousClock.now - start < .seconds(20), "the client gave up, not the exchange")
        }
    }

    @Test func anUnmaskedFrameIsAProtocolError() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/ws")
            client.send(.text, ByteBuffer(string: #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#), masked: false)
            #expect(try await client.next() == .close(1002, ""))
        }
    }

    @Test func whatHappensCanBeAwaited() async throws {
        try await withExchange { exchange, port async throws in
            var events = exchange.changes().makeAsyncIterator()
            let client = try await VenueClient(port: port, path: "/ws/a@b")
            #expect(await events.next() == .connected)
            #expect(await events.next() == .subscribed(["a@b"]))
            _ = try await client.ask(#"{"method":"UNSUBSCRIBE","params":["a@b"],"id":1}"#)
            #expect(await events.next() == .unsubscribed(["a@b"]))
            _ = try await get(port, "/fapi/v1/ping?x=1")
            #expect(await events.next() == .request("/fapi/v1/ping?x=1"))
            exchange.dropConnections()
            #expect(await events.next() == .disconnected)
        }
    }
}
