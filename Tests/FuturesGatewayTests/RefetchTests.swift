import DemoExchange
import FuturesFeed
import GatewayTestSupport
import MicroHTTP
import Testing

@testable import FuturesGateway

@Suite struct RefetchTests {
    @Test func everyReaderSeesTheFetch() async throws {
        try await House.open { house in
            let readers = [
                try await house.client.events("streams=!assetIndex@arr"), try await house.client.events("streams=!assetIndex@arr"),
                try await house.client.events("streams=!assetIndex@arr,btcusdt@bookTicker"),
            ]
            for reader in readers { _ = try await reader.next("update", of: "!assetIndex@arr") { $0.kind == "delta" } }
            let answer = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(answer.status == 200)
            #expect(answer.header("ETag") != nil)
            #expect(try answer.json["content"]?.array?.count == 9)
            let atAnswer = try #require(try answer.json["id"]?.text.flatMap(ServerEvent.sequence))
            for reader in readers {
                let fetch = try await reader.next("fetch", of: "!assetIndex@arr")
                #expect(fetch.kind == "full")
                #expect(fetch.data["source"] == "rest")
                #expect(fetch.sequence <= atAnswer)
            }
        }
    }

    @Test func aHundredRefetchesAtOnceAreOneRequestToTheVenue() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            let before = house.requests("assetIndex")
            house.exchange.setRESTFault(.delay(.seconds(2)))
            try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<100 { group.addTask { try await house.client.post("/streams/!assetIndex@arr/refetch") } }
                for try await answer in group { #expect(answer.status == 200) }
            }
            #expect(house.requests("assetIndex") == before + 1)
            house.exchange.setRESTFault(nil)
            #expect(try await house.client.post("/streams/!assetIndex@arr/refetch").status == 200)
            #expect(house.requests("assetIndex") == before + 2)
        }
    }

    @Test func aClientThatPrefersNotToWaitIsAnsweredAtOnce() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            house.exchange.setRESTFault(.delay(.milliseconds(500)))
            let answer = try await house.client.post("/streams/!assetIndex@arr/refetch", ["Prefer": "handling=lenient, respond-async"])
            #expect(answer.status == 202)
            #expect(answer.header("Preference-Applied") == "respond-async")
            #expect(try answer.json == .object(["stream": "!assetIndex@arr", "accepted": true]))
            #expect(try await reader.next("fetch").kind == "full")
        }
    }

    @Test func aRefusedFetchTellsTheVenuesOwnCode() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            house.exchange.setRESTFault(.status(400, body: #"{"code":-1121,"msg":"Invalid symbol."}"#))
            let refused = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(refused.status == 502)
            #expect(refused.header("Content-Type") == "application/problem+json")
            #expect(try refused.json["code"] == "venueRejected")
            #expect(try refused.json["venueCode"] == -1121)
            #expect(try refused.json["detail"]?.text?.contains("Invalid symbol.") == true)
            let failure = try await reader.next("fail")
            #expect(failure.data["error"]?["code"] == "venueRejected")
            #expect(failure.data["error"]?["venueCode"] == -1121)

            house.exchange.setRESTFault(.html500)
            let broken = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(broken.status == 502)
            #expect(try broken.json["code"] == "unreachable")
            #expect(try await reader.next("fail").data["error"]?["code"] == "unreachable")
        }
    }

    @Test func aVenueThatAsksToWaitIsLeftAlone() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            house.exchange.setRESTFault(.status(429, body: #"{"code":-1003,"msg":"Too many requests."}"#, headers: ["Retry-After": "7"]))
            let first = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(first.status == 429)
            #expect(first.header("Retry-After") == "7")
            #expect(try first.json["code"] == "rateLimited")
            house.exchange.setRESTFault(nil)
            let requests = house.requests("assetIndex")
            let second = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(second.status == 429)
            #expect((1...7).contains(second.header("Retry-After").flatMap { Int($0) } ?? 0))
            #expect(house.requests("assetIndex") == requests)
        }
    }

    @Test func aFetchWithoutAnAnswerEndsInTime() async throws {
        try await House.open { house in
            let reader = try await house.client.events("streams=!assetIndex@arr")
            _ = try await reader.next("update") { $0.kind == "delta" }
            house.exchange.setRESTFault(.hang)
            let answer = try await house.client.post("/streams/!assetIndex@arr/refetch")
            #expect(answer.status == 504)
            #expect(try answer.json["code"] == "timedOut")
        }
    }

    @Test(arguments: [
        (FeedError.Code.unknownStream, 404), (.noSnapshotSource, 422), (.rateLimited, 429), (.timedOut, 504), (.venueRejected, 502),
        (.subscriptionRejected, 502), (.unreachable, 502), (.malformed, 502),
    ])
    func everyFailureHasItsStatus(code: FeedError.Code, status: Int) throws {
        let response = Problems.failure(FeedError(code, "what happened", venueCode: -1, retryAfterMs: 1001)).response
        #expect(response.status == status)
        #expect(response.headers.contains(HTTPHeader("Retry-After", "2")))
        let json = try JSON(String(decoding: response.body, as: UTF8.self))
        #expect(json["code"]?.text == code.rawValue)
        #expect(json["status"] == .integer(Int64(status)))
        #expect(json["detail"] == "what happened")
    }
}
