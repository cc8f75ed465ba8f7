import DemoExchange
import GatewayTestSupport
import Testing

/// `Prefer: wait=N`: a snapshot that is known waits for the next one.
struct LongPollTests {
    @Test func aKnownSnapshotWaitsForTheNext() async throws {
        try await House.open { house in
            let stream = "btcusdt@bookTicker"
            _ = try await house.client.events("streams=\(stream)").next("update")
            house.exchange.setStalled(true)
            let known = try await Self.settled(house, stream)
            async let next = house.client.get("/streams/\(stream)", ["If-None-Match": known, "Prefer": "wait=30"])
            async let other = house.client.get("/streams/\(stream)", ["If-None-Match": known, "Prefer": "respond-async, wait=30"])
            try await Self.readers(house, stream) { $0 >= 2 }
            house.exchange.setStalled(false)
            for answer in [try await next, try await other] {
                #expect(answer.status == 200)
                #expect(answer.header("ETag") != known)
                #expect(answer.header("Preference-Applied") == "wait=30")
            }
            #expect(try await house.client.get("/streams/\(stream)", ["If-None-Match": "\"old\"", "Prefer": "wait=30"]).status == 200)
        }
    }

    @Test func aSnapshotThatStaysIsSaidToAfterTheWait() async throws {
        try await House.open { house in
            let stream = "btcusdt@kline_1d"
            _ = try await house.client.events("streams=\(stream)").next("fetch")
            house.exchange.setStalled(true)
            let known = try await Self.settled(house, stream)
            let began = ContinuousClock.now
            let answer = try await house.client.get("/streams/\(stream)", ["If-None-Match": known, "Prefer": "wait=1"])
            #expect(answer.status == 304)
            #expect(answer.header("Preference-Applied") == "wait=1")
            #expect(ContinuousClock.now - began >= .milliseconds(990))
            let atOnce = try await house.client.get("/streams/\(stream)", ["If-None-Match": known])
            #expect(atOnce.status == 304)
            #expect(atOnce.header("Preference-Applied") == nil)
        }
    }

    @Test func aChangeOfStateEndsTheWaitToo() async throws {
        try await House.open { house in
            let stream = "btcusdt@markPrice@1s"
            let reader = try await house.client.events("streams=\(stream)")
            _ = try await reader.next("update")
            house.exchange.setStalled(true)
            let known = try await Self.settled(house, stream)
            let answer = try await house.client.get("/streams/\(stream)", ["If-None-Match": known, "Prefer": "wait=60"])
            #expect(answer.status == 200)
            // A stale stream fails where no message comes of its new subscription either.
            #expect(["stale", "failed"].contains(answer.header("X-Feed-State")))
        }
    }

    @Test func whoWaitsIsAnsweredWhenTheGatewayStops() async throws {
        let stream = "btcusdt@kline_1d"
        let answer = Mailbox<HTTPAnswer>()
        try await House.open { house in
            _ = try await house.client.events("streams=\(stream)").next("fetch")
            house.exchange.setStalled(true)
            let known = try await Self.settled(house, stream)
            Task { answer.post(try await house.client.get("/streams/\(stream)", ["If-None-Match": known, "Prefer": "wait=60"])) }
            try await Self.readers(house, stream) { $0 >= 1 }
        }
        #expect(try await answer.next("the answer of a stopping gateway").status == 304)
    }

    @Test func whoHangsUpWaitsNoMore() async throws {
        try await House.open { house in
            let stream = "btcusdt@kline_1d"
            _ = try await house.client.events("streams=\(stream)").next("fetch")
            house.exchange.setStalled(true)
            let known = try await Self.settled(house, stream)
            try await Self.readers(house, stream) { $0 == 0 }
            var waiting: [RawConnection] = []
            for _ in 0..<20 {
                let connection = try await RawConnection(port: house.client.port)
                connection.send("GET /streams/\(stream) HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(known)\r\nPrefer: wait=60\r\n\r\n")
                waiting.append(connection)
            }
            try await Self.readers(house, stream) { $0 == 20 }
            let began = ContinuousClock.now
            for connection in waiting { await connection.close() }
            try await Self.readers(house, stream) { $0 == 0 }
            #expect(ContinuousClock.now - began < .seconds(20))
        }
    }

    @Test func aBooksTopIsKnownByItsOwnTag() async throws {
        try await House.open { house in
            let stream = "btcusdt@depth@100ms"
            _ = try await house.client.events("streams=\(stream)").next("update", "fetch")
            house.exchange.setStalled(true)
            _ = try await Self.settled(house, stream)
            let whole = try await house.client.get("/streams/\(stream)")
            let top = try await house.client.get("/streams/\(stream)?depth=5")
            #expect(try top.json["content"]?["bids"]?.array?.count == 5)
            let tag = try #require(top.header("ETag"))
            #expect(tag != whole.header("ETag"))
            #expect(try await house.client.get("/streams/\(stream)?depth=5", ["If-None-Match": tag]).status == 304)
            #expect(try await house.client.get("/streams/\(stream)", ["If-None-Match": tag]).status == 200)
        }
    }

    /// The tag of a stream once nothing more of it is under way.
    static func settled(_ house: House, _ stream: String) async throws -> String {
        var tag = ""
        var same = 0
        while same < 5 {
            let next = try #require(try await house.client.get("/streams/\(stream)").header("ETag"))
            same = next == tag ? same + 1 : 0
            tag = next
        }
        return tag
    }

    /// Waits until as many requests and readers want the stream.
    static func readers(_ house: House, _ stream: String, _ areEnough: (Int64) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try await !areEnough(house.client.get("/streams/\(stream)/status").json["readers"]?.integer ?? 0) {
            guard ContinuousClock.now < deadline else { throw Unexpected("the wrong number waits for \(stream)") }
        }
    }
}
