import Foundation
import GatewayTestSupport
import Testing

/// `timings=true`: events that tell when the venue made them, when they were received and when they were sent.
struct TimingTests {
    private static let accepts = [(nil, ""), ("application/x-ndjson", ""), (nil, "&event=stream")] as [(String?, String)]

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    @Test func liveEventsTellTheirTimesInOrderAndSnapshotsTellNone() async throws {
        try await House.open { house in
            let keeper = try await house.client.events("streams=btcusdt@bookTicker")
            _ = try await keeper.next("update", "fetch")
            for (accept, query) in Self.accepts {
                let began = Self.now
                let path = "/events?streams=btcusdt@bookTicker,btcusdt@aggTrade&timings=true&count=12" + query
                let text = try await house.client.get(path, accept.map { ["Accept": $0] } ?? [:]).text
                let ended = Self.now
                let data = try text.split(separator: "\n").compactMap { line -> JSON? in
                    if line.hasPrefix("{") { return try JSON(String(line)) }
                    return line.hasPrefix("data: ") ? try JSON(String(line.dropFirst(6))) : nil
                }.filter { $0["content"] != nil }
                #expect(data.count == 12)
                let live = data.filter { $0["ageMs"] == nil }
                #expect(live.count >= 8)
                for event in live {
                    let times = try #require(event["t"], "\(event)")
                    let (received, sent) = (times["received"]?.integer ?? 0, times["sent"]?.integer ?? 0)
                    if StreamRoute.current != .edge {
                        #expect(times["venue"]?.integer == event["eventTime"]?.integer.map { $0 * 1000 })
                        #expect(abs(received / 1000 - (event["receivedAt"]?.integer ?? 0)) <= 100, "\(event)")
                    }
                    #expect(received <= sent && sent >= began - 1000 && sent <= ended + 1000)
                }
                for event in data where event["ageMs"] != nil { #expect(event["t"] == nil) }
            }
        }
    }

    @Test func theSessionTellsByHowMuchTheVenuesClockIsAhead() async throws {
        try await House.open { house in
            let session = try await house.client.events("streams=btcusdt@bookTicker&timings=true").session
            if StreamRoute.current == .edge {
                #expect(session.data["clock"] != nil)
            } else {
                let clock = try #require(session.data["clock"])
                let (offset, error) = (clock["offset"]?.integer ?? .max, clock["error"]?.integer ?? .min)
                // The exchange has this machine's clock.
                #expect(abs(offset) <= error && error >= 0 && error < 500_000)
            }
            let plain = try await house.client.events("streams=btcusdt@bookTicker").session
            #expect(plain.data["clock"] == nil)
        }
    }

    @Test func aReaderThatWasCutOffGoesOnExactlyWithTimes() async throws {
        try await House.open { house in
            let keeper = try await house.client.events("streams=btcusdt@aggTrade")
            _ = try await keeper.next("update", "fetch")
            let first = try await house.client.events("streams=btcusdt@aggTrade&timings=true")
            let last = try await first.next("update") { $0.data["t"] != nil }
            _ = try await keeper.next("update") { ($0.rows.last?["id"]?.integer ?? 0) > (last.rows.last?["id"]?.integer ?? .max) }
            let second = try await house.client.events("streams=btcusdt@aggTrade&timings=true&lastEventId=\(last.id ?? "")")
            #expect(second.session.data["resume"] == "exact")
            let next = try await second.next("update", "fetch")
            #expect(next.rows.first?["id"]?.integer == last.rows.last?["id"]?.integer.map { $0 + 1 })
            let times = try #require(next.data["t"])
            #expect((times["received"]?.integer ?? .max) < (times["sent"]?.integer ?? .min))
        }
    }

    @Test func timingsDoNotGoWithTheTapeAndAreNotCompressed() async throws {
        try await House.open { house in
            let refused = try await house.client.get("/events?streams=btcusdt@aggTrade&timings=true&from=0")
            #expect(refused.status == 400 && refused.text.contains("timings"))
            let answer = try await house.client.get(
                "/events?streams=btcusdt@bookTicker&timings=true&gzip=true&count=1", ["Accept-Encoding": "gzip"])
            #expect(answer.header("Content-Encoding") == nil)
        }
    }
}
