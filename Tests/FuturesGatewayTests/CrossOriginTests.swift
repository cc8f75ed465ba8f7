import FuturesGateway
import GatewayTestSupport
import MicroHTTP
import Testing

/// Which pages may read.
struct CrossOriginTests {
    private static let friend = "https://friend.example"

    @Test func withoutAListAnyPageMayAndNoneWithCredentials() async throws {
        try await House.open { house in
            let answer = try await house.client.get("/streams", ["Origin": Self.friend])
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("Access-Control-Allow-Credentials") == nil)
        }
    }

    @Test func withAListOnlyThoseOnIt() async throws {
        try await House.open(configure: { $0.http.allowedOrigins = [Self.friend, "https://other.example"] }) { house in
            for target in ["/streams", "/streams/btcusdt@markPrice/status", "/nothing", "/events?streams=nothing"] {
                for method in ["GET", "OPTIONS"] {
                    let friend = try await house.client.request(method, target, ["Origin": Self.friend])
                    #expect(friend.header("Access-Control-Allow-Origin") == Self.friend, "\(target)")
                    #expect(friend.header("Access-Control-Allow-Credentials") == "true", "\(target)")
                    #expect(friend.header("Vary") == "Origin", "\(target)")
                    for origin in ["https://stranger.example", "null", "\(Self.friend).evil.example"] {
                        let stranger = try await house.client.request(method, target, ["Origin": origin])
                        #expect(stranger.header("Access-Control-Allow-Origin") == nil, "\(target)")
                        #expect(stranger.header("Access-Control-Allow-Credentials") == nil, "\(target)")
                        #expect(stranger.header("Vary") == "Origin", "\(target)")
                    }
                }
            }
            let reader = try await house.client.events("streams=btcusdt@bookTicker", ["Origin": Self.friend])
            #expect(reader.head.header("Access-Control-Allow-Origin") == Self.friend)
        }
    }
}
