import GatewayTestSupport
import Testing

/// Which format a request gets.
struct AcceptTests {
    @Test func whoPrefersEventsGetsEvents() async throws {
        try await House.open { house in
            for (accept, type) in [
                ("*/*", "text/event-stream; charset=utf-8"), ("text/event-stream, application/x-ndjson", "text/event-stream; charset=utf-8"),
                ("application/x-ndjson, */*", "application/x-ndjson"), ("application/*", "application/x-ndjson"),
                ("text/event-stream;q=0, application/x-ndjson;q=0.5", "application/x-ndjson"),
            ] {
                let answer = try await house.client.get("/events?streams=btcusdt@bookTicker&count=1", ["Accept": accept])
                #expect(answer.header("Content-Type") == type, "\(accept)")
            }
            for accept in ["text/html", "text/event-stream;q=0", "*/*;q=0.0"] {
                #expect(try await house.client.get("/events?streams=btcusdt@bookTicker", ["Accept": accept]).status == 406, "\(accept)")
            }
        }
    }
}
