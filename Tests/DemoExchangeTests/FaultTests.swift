import DemoExchange
import GatewayTestSupport
import NIOCore
import NIOWebSocket
import Testing

/// Asks for a fault over HTTP, as a test of a gateway in another process does.
private func fault(_ port: Int, _ body: String) async throws {
    let reply = try await get(port, "/control/fault", method: "POST", body: body)
    guard reply.status == 200 else { throw Unexpected("\(body): \(reply.body)") }
}

private let list = #"{"method":"LIST_SUBSCRIPTIONS","id":1}"#

@Suite struct FaultTests {
    /// The next frame of a stream; frames of others are passed over.
    private func next(_ client: VenueClient, of stream: String) async throws -> VenueJSON {
        while true {
            let frame = try await client.data()
            if frame["stream"]?.string == stream, let data = frame["data"] { return data }
        }
    }

    /// Reads on to the end of a connection.
    private func end(_ client: VenueClient) async throws -> Seen {
        while true {
            let event = try await client.next()
            switch event {
            case .close, .gone: return event
            default: continue
            }
        }
    }

    @Test func everyNameIsListedAndMistakesAreExplained() async throws {
        try await withExchange { exchange, port async throws in
            let names = try await get(port, "/control/faults").json["faults"]?.rows.map(\.string) ?? []
            #expect(names.count == 19 && names.contains("blackhole"))
            for name in names {
                let reply = try await get(port, "/control/fault", method: "POST", body: #"{"fault":"\#(name)","nonsense":1}"#)
                #expect(reply.status == 400, "\(name)")
                #expect(!reply.body.contains("there is no fault"), "\(reply.body)")
            }
            for (body, hint) in [
                ("", "JSON object"), ("[1]", "JSON object"), (#"{"fault":"dance"}"#, "names are drop"), (#"{"fault":"gap"}"#, "stream is missing"),
                (#"{"fault":"drop","code":-1}"#, "code must be"), (#"{"fault":"refuse","forMs":"long"}"#, "forMs must be"),
                (#"{"fault":"stall","streams":[1]}"#, "array of strings"), (#"{"fault":"rateLimit","status":404}"#, "429 or 418"),
                (#"{"fault":"forget"}"#, "streams is missing"), (#"{"fault":"slowAck"}"#, "delayMs is missing"),
                (#"{"fault":"drop","afterBytes":1e3}"#, "afterBytes must be"),
                (#"{"fault":"restStatus","status":500,"headers":{"a":1}}"#, "object of strings"),
                (#"{"fault":"refuse","forMs":99999999999999999999}"#, "forMs must be"),
            ] {
                let reply = try await get(port, "/control/fault", method: "POST", body: body)
                #expect(reply.status == 400 && reply.body.contains(hint), "\(body): \(reply.body)")
            }
            #expect(try await get(port, "/control/nothing").status == 404)
            #expect(exchange.statistics().requests.isEmpty && exchange.statistics().drops == 0)
        }
    }

    @Test func aDropEndsAllConnectionsWithAResetOrACloseFrame() async throws {
        try await withExchange { exchange, port async throws in
            for (body, last) in [(#"{"fault":"drop"}"#, Seen.gone(reset: true)), (#"{"fault":"drop","code":1012}"#, .close(1_012, ""))] {
                let clients = [try await VenueClient(port: port, path: "/ws/!bookTicker"), try await VenueClient(port: port, path: "/ws")]
                for client in clients { _ = try await client.ask(list) }
                try await fault(port, body)
                for client in clients { #expect(try await end(client) == last) }
            }
            #expect(exchange.statistics().drops == 2)
        }
    }

    /// Every frame of this stream is longer than 600 bytes, so the one after the request is cut.
    @Test(arguments: [0, 1, 2, 500]) func aDropAfterSomeBytesCutsAFrameInItsMiddle(bytes: Int) async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@depth20@100ms")
            _ = try await client.data()
            exchange.inflict(.drop(afterBytes: bytes))
            var texts = 1
            loop: while true {
                switch try await client.next() {
                case .text: texts += 1
                case .gone(let reset):
                    #expect(reset)
                    break loop
                default: break
                }
            }
            // A reset may take along what the client had not read yet.
            #expect(exchange.statistics().framesSent["btcusdt@depth20@100ms"] ?? 0 >= texts)
        }
    }

    @Test func aDropAfterSomeBytesCutsAReplyInItsMiddle() async throws {
        try await withExchange { exchange, port async throws in
            let path = "/fapi/v1/depth?symbol=BTCUSDT&limit=1000"
            let whole = try await get(port, path).body.utf8.count
            let kept = try await Kept(port)
            kept.get("/fapi/v1/ping")
            _ = try await kept.read(to: "\r\n\r\n{}")
            exchange.inflict(.drop(afterBytes: 10_000))
            kept.get(path)
            let (part, end) = await kept.rest()
            // A reset may take along what the client had not read yet.
            #expect(part.utf8.count <= 10_000 && whole > 20_000 && end == .reset)
        }
    }

    @Test func randomDropsStrikeAgainAndAgainUntilCleared() async throws {
        let seed: UInt64 = 77
        print("seed \(seed)")
        try await withExchange { exchange, port async throws in
            try await fault(port, #"{"fault":"dropRandomly","meanMs":60,"seed":\#(seed)}"#)
            for _ in 0..<15 {
                guard let client = try? await VenueClient(port: port, path: "/ws/!bookTicker") else { continue }
                _ = try await end(client)
            }
            #expect(exchange.statistics().drops >= 10)
            #expect(try await get(port, "/control/clear", method: "POST").status == 200)
            let drops = exchange.statistics().drops
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@markPrice@1s")
            for _ in 0..<2 { _ = try await client.data() }
            #expect(exchange.statistics().drops == drops)
        }
    }

    @Test func whileRefusingNobodyNewGetsInAndTheOthersStay() async throws {
        try await withExchange { _, port async throws in
            let old = try await VenueClient(port: port, path: "/ws/!bookTicker")
            _ = try await old.data()
            try await fault(port, #"{"fault":"refuse"}"#)
            await #expect(throws: (any Error).self) { try await VenueClient(port: port, path: "/ws") }
            await #expect(throws: (any Error).self) { try await get(port, "/fapi/v1/ping") }
            try await fault(port, #"{"fault":"refuse","forMs":300}"#)
            let start = ContinuousClock.now
            while (try? await get(port, "/fapi/v1/ping")) == nil, ContinuousClock.now - start < .seconds(10) {}
            #expect(try await get(port, "/fapi/v1/ping").status == 200)
            _ = try await old.data()
        }
    }

    @Test func oneStreamCanStallWhileOthersFlow() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt@depth@100ms/ethusdt@depth@100ms")
            _ = try await next(client, of: "btcusdt@depth@100ms")
            try await fault(port, #"{"fault":"stall","streams":["btcusdt@depth@100ms"]}"#)
            _ = try await client.ask(list)
            for _ in 0..<6 { #expect(try await client.data()["stream"]?.string == "ethusdt@depth@100ms") }
            client.send(.ping, ByteBuffer(string: "x"))
            var seen = try await client.next()
            while case .text = seen { seen = try await client.next() }
            #expect(seen == .pong("x"))
            exchange.clearFaults()
            let after = try await next(client, of: "btcusdt@depth@100ms")
            let chained = try await next(client, of: "btcusdt@depth@100ms")
            #expect(chained["pu"]?.integer == after["u"]?.integer)
        }
    }

    @Test func aStallLeavesAGapInTheChain() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@depth@100ms")
            let before = try await client.data()
            try await fault(port, #"{"fault":"stall","forMs":700}"#)
            var after = try await client.data()
            while after["E"]?.integer ?? 0 < (before["E"]?.integer ?? 0) + 500 { after = try await client.data() }
            let levels = exchange.trueLevels(symbol: "BTCUSDT", at: UInt64(after["pu"]?.integer ?? 0))
            #expect(levels != nil && after["pu"]?.integer ?? 0 > before["u"]?.integer ?? 0)
        }
    }

    @Test func aBlackHoleAnswersNothingAndKeepsItsSockets() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/!bookTicker")
            _ = try await client.data()
            try await fault(port, #"{"fault":"blackhole"}"#)
            while exchange.statistics().connectionsNow == 0 {}
            client.send(.ping, ByteBuffer(string: "x"))
            client.send(list)
            let request = Task { try await get(port, "/fapi/v1/ping") }
            let late = Task { try await VenueClient(port: port, path: "/ws/btcusdt@markPrice@1s") }
            let sent = exchange.statistics().framesSent
            for _ in 0..<20 { _ = try await get(port, "/control/faults") }
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(700) { _ = try await get(port, "/control/faults") }
            #expect(exchange.statistics().framesSent == sent)
            #expect(exchange.statistics().connectionsNow == 1 && exchange.statistics().requests.isEmpty)
            _ = try await get(port, "/control/clear", method: "POST")
            #expect(try await request.value.status == 200)
            _ = try await late.value.data()
            var seen: [Seen] = []
            while seen.count < 2 {
                let event = try await client.next()
                if event == .pong("x") || event == .text(#"{"result":["!bookTicker"],"id":1}"#) { seen.append(event) }
            }
        }
    }

    @Test func aGapLeavesOutOneEventOfAStream() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt@depth@100ms/btcusdt@aggTrade")
            for (stream, id, previous) in [("btcusdt@depth@100ms", "u", "pu"), ("btcusdt@aggTrade", "a", "a")] {
                func isChained(_ one: VenueJSON, _ other: VenueJSON) -> Bool {
                    other[previous]?.integer == (one[id]?.integer ?? 0) + (previous == "a" ? 1 : 0)
                }
                let first = try await next(client, of: stream)
                let second = try await next(client, of: stream)
                #expect(isChained(first, second), "\(stream)")
                try await fault(port, #"{"fault":"gap","stream":"\#(stream)"}"#)
                var (one, gaps, after) = (second, 0, 0)
                while after < 4 {
                    let other = try await next(client, of: stream)
                    if !isChained(one, other) { gaps += 1 }
                    if gaps > 0 { after += 1 }
                    one = other
                }
                #expect(gaps == 1, "\(stream)")
            }
        }
    }

    @Test func aDuplicateComesTwiceAndAtOnce() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/ws/btcusdt@depth@100ms")
            var last = try await client.text()
            try await fault(port, #"{"fault":"duplicate","stream":"btcusdt@depth@100ms","count":2}"#)
            var (twice, after) = (0, 0)
            while after < 4 {
                let text = try await client.text()
                if text == last { twice += 1 }
                if twice > 1 { after += 1 }
                last = text
            }
            #expect(twice == 2)
        }
    }

    @Test func garbageIsATextAsGivenOrHalfAFrame() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt@depth@100ms")
            try await fault(port, #"{"fault":"garbage","text":"\u0000{","stream":"btcusdt@depth@100ms"}"#)
            while try await client.text() != "\u{0}{" {}
            try await fault(port, #"{"fault":"garbage","stream":"btcusdt@depth@100ms"}"#)
            var text = try await client.text()
            while (try? VenueJSON(text)) != nil { text = try await client.text() }
            #expect(text.hasPrefix(#"{"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate""#))
            #expect((try? VenueJSON(await client.text())) != nil)
        }
    }

    @Test func restFaultsMayStrikeOnePathOnly() async throws {
        try await withExchange { _, port async throws in
            try await fault(port, #"{"fault":"restStatus","status":503,"body":"busy","headers":{"X-Why":"load"},"path":"/depth"}"#)
            let reply = try await get(port, "/fapi/v1/depth?symbol=BTCUSDT")
            #expect(reply.status == 503 && reply.body == "busy" && reply.headers["x-why"] == "load")
            #expect(try await get(port, "/fapi/v1/ping").status == 200)
            try await fault(port, #"{"fault":"restHtml"}"#)
            #expect(try await get(port, "/fapi/v1/ping").body.hasPrefix("<html>"))
            try await fault(port, #"{"fault":"restDelay","delayMs":300,"forMs":60000}"#)
            let start = ContinuousClock.now
            #expect(try await get(port, "/fapi/v1/ping").status == 200)
            #expect(ContinuousClock.now - start >= .milliseconds(290))
            try await fault(port, #"{"fault":"restHang"}"#)
            let hung = Task { try await get(port, "/fapi/v1/time") }
            while try await get(port, "/control/faults").status != 200 {}
            _ = try await get(port, "/control/clear", method: "POST")
            #expect(try await get(port, "/fapi/v1/ping").status == 200)
            hung.cancel()
        }
    }

    @Test(arguments: [(429, 7), (429, nil), (418, 120), (418, nil)] as [(Int, Int?)])
    func aClientOverItsLimitIsToldHowLongToWaitOrNot(status: Int, wait: Int?) async throws {
        try await withExchange { _, port async throws in
            try await fault(port, #"{"fault":"rateLimit","status":\#(status),"retryAfter":\#(wait.map(String.init) ?? "null")}"#)
            let reply = try await get(port, "/fapi/v1/depth?symbol=BTCUSDT")
            #expect(reply.status == status && reply.headers["retry-after"] == wait.map(String.init))
            #expect(try reply.json["code"]?.integer == -1003)
            #expect(Int(reply.headers["x-mbx-used-weight-1m"] ?? "") ?? 0 > 2_400)
            #expect(try reply.json["msg"]?.string.contains("banned until 1") == (status == 418))
        }
    }

    @Test func restartedIDsGoBackAndTheirBooksAreTrue() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=btcusdt@depth@100ms/btcusdt@aggTrade")
            let (depth, trade) = (try await next(client, of: "btcusdt@depth@100ms"), try await next(client, of: "btcusdt@aggTrade"))
            try await fault(port, #"{"fault":"restartIDs"}"#)
            var after = try await next(client, of: "btcusdt@depth@100ms")
            while after["u"]?.integer ?? 0 > depth["u"]?.integer ?? 0 { after = try await next(client, of: "btcusdt@depth@100ms") }
            var book = try RebuiltBook(reply: await get(port, "/fapi/v1/depth?symbol=BTCUSDT&limit=1000").json)
            var applied = 0
            while applied < 5 {
                guard try book.apply(try await next(client, of: "btcusdt@depth@100ms")) else { continue }
                applied += 1
                let truth = try #require(exchange.trueLevels(symbol: "BTCUSDT", at: UInt64(book.updateID)))
                #expect(book.bestBids == truth.bids.map { [$0.0, $0.1] } && book.bestAsks == truth.asks.map { [$0.0, $0.1] })
            }
            #expect(try await next(client, of: "btcusdt@aggTrade")["a"]?.integer ?? 0 < trade["a"]?.integer ?? 0)
        }
    }

    @Test func aSlowAckComesAfterTheFirstData() async throws {
        try await withExchange { _, port async throws in
            try await fault(port, #"{"fault":"slowAck","delayMs":700}"#)
            let client = try await VenueClient(port: port, path: "/stream")
            let start = ContinuousClock.now
            client.send(#"{"method":"SUBSCRIBE","params":["!bookTicker"],"id":1}"#)
            #expect(try VenueJSON(await client.text())["stream"]?.string == "!bookTicker")
            while try await client.text() != #"{"result":null,"id":1}"# {}
            #expect(ContinuousClock.now - start > .milliseconds(650))
        }
    }

    @Test func aForgottenSubscriptionIsServedAgainOnlyToWhoSubscribesAgain() async throws {
        try await withExchange { exchange, port async throws in
            let client = try await VenueClient(port: port, path: "/stream?streams=!bookTicker/btcusdt@depth@100ms")
            _ = try await next(client, of: "!bookTicker")
            try await fault(port, #"{"fault":"forget","streams":["!bookTicker"]}"#)
            #expect(exchange.statistics().activeSubscriptions["!bookTicker"] == nil)
            _ = try await client.ask(list)
            for _ in 0..<10 {
                #expect(try await client.data()["stream"]?.string == "btcusdt@depth@100ms")
            }
            client.send(#"{"method":"SUBSCRIBE","params":["!bookTicker"],"id":2}"#)
            _ = try await next(client, of: "!bookTicker")
        }
    }

    @Test func aShutdownIsAnnouncedBeforeItHappens() async throws {
        try await withExchange { _, port async throws in
            let client = try await VenueClient(port: port, path: "/stream")
            _ = try await client.ask(list)
            try await fault(port, #"{"fault":"serverShutdown","closeAfterMs":200}"#)
            let notice = try VenueJSON(await client.text())
            #expect(notice.keys == ["e", "E"] && notice["e"]?.string == "serverShutdown")
            #expect(try await client.next() == .close(1_001, ""))
        }
    }
}
