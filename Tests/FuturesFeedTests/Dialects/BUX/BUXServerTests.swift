import DemoExchange
import Testing

@testable import FeedDialects
@testable import FuturesFeed

/// The library against a simulated BUX server, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct BUXServerTests {
    static let name = FuturesServiceStreamName(upstream: "cfd", stream: "sb26493")

    static func with(
        token: String = "right", _ body: (BUXServer, FuturesFeedService, CallRecorder, FuturesServiceStreamName) async throws -> Void
    ) async throws {
        var settings = BUXServer.Configuration()
        settings.interval = .milliseconds(20)
        settings.token = "right"
        let server = BUXServer(configuration: settings)
        let port = try await server.start()
        let file = """
            {"cfd":{"kind":"bux","webSocket":"ws://127.0.0.1:\(port)/subscriptions/me","http":"http://127.0.0.1:\(port)/core/21","token":"${T}"}}
            """
        let name = try #require(name)
        let result = await Result {
            try await withUpstreams(file, secret: token) { service, recorder in try await body(server, service, recorder, name) }
        }
        await server.stop()
        try result.get()
    }

    static func text(_ content: FuturesServiceFeedContent) -> String {
        if case .json(let rows) = content.rows { rows.map(\.text).joined() } else { "" }
    }

    @Test func quotesAndTheProductArriveAndTheSubscriptionEnds() async throws {
        try await Self.with { server, service, recorder, name in
            service.subscribe(streamNames: [name], with: recorder)
            var (product, quote): (String?, String?)
            _ = await recorder.next { call -> Bool? in
                switch call {
                case .fetch(let content) where content.source == .rest: product = Self.text(content)
                case .update(let content) where content.source == .websocket: quote = Self.text(content)
                default: break
                }
                return product != nil && quote != nil ? true : nil
            }
            #expect(product?.contains(#""closingPrice":"14610.0","productMarketStatus":"OPEN"}"#) == true)
            #expect(quote?.hasPrefix(#"{"securityId":"sb26493","currentPrice":"14"#) == true)
            var changes = server.changes().makeAsyncIterator()
            service.unsubscribeAllFeeds(with: recorder)
            while let change = await changes.next(), change != .unsubscribed(["sb26493"]) {}
            #expect(server.statistics().activeSubscriptions.isEmpty)
        }
    }

    @Test func aLostSocketIsRecoveredAndSubscribedOnce() async throws {
        try await Self.with { server, service, recorder, name in
            service.subscribe(streamNames: [name], with: recorder)
            for _ in 0..<3 {
                _ = await recorder.next { if case .update(let content) = $0, content.source == .websocket { true } else { nil } }
                server.dropConnections()
                _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
                let isBack = await recorder.next { if case .recover(_, let isBack) = $0, isBack { true } else { nil } }
                #expect(isBack == true)
            }
            _ = await recorder.next { if case .update(let content) = $0, content.source == .websocket { true } else { nil } }
            #expect(server.statistics().activeSubscriptions == ["sb26493": 1])
            #expect(server.statistics().connectionsNow == 1)
        }
    }

    @Test func aBadTokenIsAPermanentFailureWithItsCodeAndNotTriedAgainSoon() async throws {
        try await Self.with(token: "wrong") { server, service, recorder, name in
            service.subscribe(streamNames: [name], with: recorder)
            var codes: Set<String> = []
            _ = await recorder.next { call -> Bool? in
                guard case .fail(_, let error?) = call else { return nil }
                #expect(error.code == .venueRejected && !error.isTransient)
                for code in ["RTF_002", "AUTH_007"] where error.message.contains(code) { codes.insert(code) }
                return codes.contains("RTF_002") ? true : nil
            }
            #expect(codes.contains("RTF_002"))
            // Five times the delay after which an ordinary loss is mended at the latest.
            try await Task.sleep(for: .milliseconds(500))
            #expect(server.statistics().connectionsEver == 1)
            #expect(server.statistics().controlMessages == 0)
        }
    }
}
