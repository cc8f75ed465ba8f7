import DemoExchange
import GatewayTestSupport
import Testing

/// What readers are told of how long a value is unverified, and that nobody is told better than it is.
@Suite struct FreshnessBoundsTests {
    private static let stream = "btcusdt@bookTicker"

    /// A gateway whose stream has a value, and no longer gets any.
    private static func silent(_ body: (House) async throws -> Void) async throws {
        try await House.open { house in
            _ = try await house.client.events("streams=\(stream)").next("update")
            house.exchange.setStalled(true)
            house.exchange.setRESTFault(.hang)
            try await body(house)
        }
    }

    /// The answer once the value has been unverified for so many ms.
    private static func unverified(_ house: House, for milliseconds: Int64, query: String = "") async throws -> HTTPAnswer {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let answer = try await house.client.get("/streams/\(stream)\(query)")
            if unverified(answer) >= milliseconds { return answer }
            guard ContinuousClock.now < deadline else { throw Unexpected("the value stays verified") }
        }
    }

    private static func unverified(_ answer: HTTPAnswer) -> Int64 { answer.header("X-Feed-Unverified-Ms").flatMap { Int64($0) } ?? -1 }

    @Test func theTimeUnverifiedCountsUpWhileNothingComes() async throws {
        try await Self.silent { house in
            let began = ContinuousClock.now
            let first = Self.unverified(try await Self.unverified(house, for: 1000))
            var last = first
            // The next pong, three seconds after the last one, is evidence.
            for _ in 0..<60 where last < 2_000 {
                let answer = try await house.client.get("/streams/\(Self.stream)")
                #expect(Self.unverified(answer) >= last, "it went back")
                last = Self.unverified(answer)
                #expect(Double(last - first) <= (ContinuousClock.now - began) / .milliseconds(1) + 2)
                let body = try #require(try answer.json["unverifiedMs"]?.integer)
                #expect((last...last + 110).contains(body), "the body says \(body) where the header says \(last)")
            }
        }
    }

    @Test func anAnswerWithoutABodyTellsItToo() async throws {
        try await Self.silent { house in
            let answer = try await Self.unverified(house, for: 1000)
            let known = try await house.client.get("/streams/\(Self.stream)", ["If-None-Match": answer.header("ETag") ?? ""])
            #expect(known.status == 304 || known.header("ETag") != answer.header("ETag"))
            #expect(Self.unverified(known) >= Self.unverified(answer))
        }
    }

    @Test func aValueUnverifiedForLongerThanAskedForIsRefused() async throws {
        try await Self.silent { house in
            let path = "/streams/\(Self.stream)"
            _ = try await Self.unverified(house, for: 2)
            let refused = try await house.client.get("\(path)?maxUnverified=1")
            #expect(refused.status == 503)
            #expect(refused.header("Retry-After") == "1")
            #expect(refused.header("Content-Type") == "application/problem+json")
            #expect(try refused.json["title"] == "Not verified")
            #expect(try await house.client.get("\(path)?maxUnverified=600000").status == 200)
            #expect(try await house.client.get("\(path)?maxAge=600000&maxUnverified=600000").status == 200)
            #expect(try await house.client.get("\(path)?maxAge=600000&maxUnverified=1").json["title"] == "Not verified")
            #expect(try await house.client.get("\(path)?maxAge=0&maxUnverified=600000").json["title"] == "Too old")
        }
    }

    @Test func aLongPollEndsWhenTheValueIsUnverifiedForTooLong() async throws {
        try await Self.silent { house in
            let known = try #require(try await Self.unverified(house, for: 1).header("ETag"))
            let began = ContinuousClock.now
            let answer = try await house.client.get(
                "/streams/\(Self.stream)?maxUnverified=700", ["If-None-Match": known, "Prefer": "wait=60"])
            #expect(answer.status == 503 || answer.header("ETag") != known)
            #expect(ContinuousClock.now - began < .seconds(20))
        }
    }

    @Test func aLateReaderIsToldTheStateAndHowLongTheValueIsUnverified() async throws {
        let stream = "btcusdt@markPrice@1s"
        try await House.open { house in
            let early = try await house.client.events("streams=\(stream)")
            let live = try await early.next("update") { $0.data["ageMs"] == nil }
            #expect(live.data["unverifiedMs"] == nil, "what has just come needs no word")
            house.exchange.setStalled(true)
            house.exchange.setRESTFault(.hang)
            let told = try await early.next("status") { $0.data["state"] == "stale" }
            var unverified = try #require(told.data["unverifiedMs"]?.integer)
            for query in ["", "&maxRate=10", "&gzip=false"] {
                let late = try await house.client.events("streams=\(stream)\(query)")
                let value = try await late.next().data
                #expect(value["state"]?.text != "live")
                let told = try #require(value["unverifiedMs"]?.integer)
                #expect(told >= unverified && value["ageMs"]?.integer ?? 0 >= told)
                // The next one comes when it has become longer.
                while unverified < told + 300 {
                    unverified = try await house.client.get("/streams/\(stream)/status").json["unverifiedMs"]?.integer ?? .max
                }
                unverified -= 100
            }
            let status = try await house.client.get("/streams/\(stream)/status").json
            #expect(status["state"]?.text != "live" && status["unverifiedMs"]?.integer ?? 0 >= unverified)
        }
    }

    /// The state changes without a new value: the bytes that hold for a second must not outlive it.
    @Test func anAnswerMadeBeforehandIsNotLiveLongerThanItsStream() async throws {
        let stream = "btcusdt@markPrice@1s"
        try await House.open { house in
            let reader = try await house.client.events("streams=\(stream)")
            _ = try await reader.next("update")
            house.exchange.setStalled(true)
            house.exchange.setRESTFault(.hang)
            let asking = Task {
                while !Task.isCancelled { _ = try await house.client.get("/streams/\(stream)") }
            }
            _ = try await reader.next("status") { $0.data["state"] == "stale" }
            let answer = try await house.client.get("/streams/\(stream)")
            asking.cancel()
            #expect(answer.header("X-Feed-State") != "live")
            #expect(try answer.json["state"]?.text == answer.header("X-Feed-State"))
            #expect(answer.header("ETag")?.contains("-live") == false)
        }
    }
}
