import NIOCore
import Testing

@testable import FuturesFeed

/// A server that refuses an upgrade and says for how long, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct RetryAfterTests {
    @Test(arguments: ["429 Too Many Requests", "503 Service Unavailable"])
    func anUpgradesRetryAfterIsHonouredAlsoForTheNextReader(_ status: String) async throws {
        try await RawServer.with { server in
            var configuration = FuturesFeedConfiguration(linger: .zero, reconnectBase: .milliseconds(50), seed: 1)
            configuration.venue = configuration.venue.at(restURLs: ["http://127.0.0.1:1"], webSocketURLs: ["ws://127.0.0.1:1"])
            try configuration.readUpstreams(
                #"{"cfd":{"kind":"bux","webSocket":"ws://127.0.0.1:\#(server.port)/subscriptions/me","token":"t"}}"#
            ) { _ in nil }
            let name = try #require(FuturesServiceStreamName(upstream: "cfd", stream: "sb26493"))
            let service = FuturesFeedService(configuration: configuration)
            let result = await Result {
                let recorder = CallRecorder()
                service.subscribe(streamNames: [name], with: recorder)
                let peer = try await server.accept()
                _ = try await peer.readHead()
                let refused = NIODeadline.now()
                peer.write("HTTP/1.1 \(status)\r\nRetry-After: 3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
                service.unsubscribeAllFeeds(with: recorder)
                let next = CallRecorder()
                service.subscribe(streamNames: [name], with: next)
                _ = try await server.accept()
                #expect(NIODeadline.now() - refused >= .milliseconds(2_900))
            }
            await service.stop()
            try result.get()
        }
    }
}
