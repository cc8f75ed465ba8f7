import DemoExchange
import Testing

@testable import FeedDialects
@testable import FuturesFeed

/// The library against a simulated Hyperliquid, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct HyperliquidServerTests {
    static func with(
        _ streams: String..., body: (HyperliquidServer, FuturesFeedService, CallRecorder, [FuturesServiceStreamName]) async throws -> Void
    ) async throws {
        var settings = HyperliquidServer.Configuration()
        settings.interval = .milliseconds(50)
        let server = HyperliquidServer(configuration: settings)
        let port = try await server.start()
        let names = streams.compactMap { FuturesServiceStreamName(upstream: "hyperliquid", stream: $0) }
        let result = await Result {
            try await withUpstreams(#"{"hyperliquid":{"kind":"hyperliquid","url":"ws://127.0.0.1:\#(port)/ws"}}"#) { service, recorder in
                try await body(server, service, recorder, names)
            }
        }
        await server.stop()
        try result.get()
    }

    @Test func everyKindOfStreamIsLiveAndEnds() async throws {
        try await Self.with("BTC@book", "ETH@fastBook", "kPEPE@bbo", "xyz:SPCX@context", "HYPE@candle_1m", "BTC@trades", "!mids", "!contexts") {
            server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            var live: Set<FuturesServiceStreamName> = []
            _ = await recorder.next { call -> Bool? in
                if case .update(let content) = call, content.state == .live { live.insert(content.streamName) }
                return live.count == names.count ? true : nil
            }
            #expect(live == Set(names))
            #expect(server.statistics().connectionsNow == 1)
            var changes = server.changes().makeAsyncIterator()
            service.unsubscribeAllFeeds(with: recorder)
            while let change = await changes.next(), change != .disconnected {}
            #expect(server.statistics().activeSubscriptions.isEmpty)
        }
    }

    @Test func aLostSocketIsRecoveredAndSubscribedOnce() async throws {
        try await Self.with("BTC@book") { server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            for _ in 0..<3 {
                _ = await recorder.next { if case .update = $0 { true } else { nil } }
                server.dropConnections()
                _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
                let isBack = await recorder.next { if case .recover(_, let isBack) = $0, isBack { true } else { nil } }
                #expect(isBack == true)
            }
            _ = await recorder.next { if case .update = $0 { true } else { nil } }
            #expect(server.statistics().activeSubscriptions == ["l2Book:BTC": 1])
        }
    }

    /// Users report books that stall without notice. The socket stays open, and other streams go on.
    @Test func aSilentBookIsStaleAndSubscribedAgain() async throws {
        try await Self.with("BTC@book", "ETH@book") { server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            var heard: Set<FuturesServiceStreamName> = []
            _ = await recorder.next { call -> Bool? in
                if case .update(let content) = call { heard.insert(content.streamName) }
                return heard.count == 2 ? true : nil
            }
            server.silence(["l2Book:BTC"])
            let back = await recorder.next { if case .recover(let name, true) = $0 { name } else { nil } }
            #expect(back == names.first)
            #expect(server.statistics().subscribes == ["l2Book:BTC": 2, "l2Book:ETH": 1])
        }
    }

    /// The number of bars or trades of a content.
    private static func count(_ call: CallRecorder.Call, _ name: FuturesServiceStreamName?) -> Int? {
        switch call {
        case .fetch(let content), .update(let content): content.streamName == name && content.kind == .full ? content.rows.count : nil
        default: nil
        }
    }

    @Test func barsHaveTheirHistoryAndAreFetchedAgainAfterAnOutage() async throws {
        try await Self.with("BTC@candle_1m") { server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            let history = await recorder.next { call in Self.count(call, names.first).flatMap { $0 > 1 ? $0 : nil } }
            #expect(history == 500)
            server.dropConnections()
            _ = await recorder.next { if case .disconnect = $0 { true } else { nil } }
            let isBack = await recorder.next { if case .recover(_, let isBack) = $0 { isBack } else { nil } }
            #expect(isBack == true)
            #expect(server.statistics().requests["candleSnapshot"] == 2)
        }
    }

    @Test func tradesAreFetchedForAReaderAlone() async throws {
        try await Self.with("BTC@trades") { server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            let repeated = await recorder.next { Self.count($0, names.first) }
            let least = try #require(repeated)
            #expect(least > 10)
            #expect(server.statistics().requests["recentTrades"] == nil)
            service.subscribe(streamNames: names, with: recorder, forceFetch: true)
            let fetched = await recorder.next { call in if case .fetch = call { Self.count(call, names.first) } else { nil } }
            #expect(fetched.map { $0 >= least } == true, "the older ones stay")
            #expect(server.statistics().requests["recentTrades"] == 1)
        }
    }

    @Test func anUnknownCoinIsRefusedWithTheServersWords() async throws {
        try await Self.with("NOPE@bbo", "BTC@bbo") { server, service, recorder, names in
            service.subscribe(streamNames: names, with: recorder)
            let error = await recorder.next { call -> FeedError? in if case .fail(_, let error?) = call { error } else { nil } }
            #expect(error?.code == .subscriptionRejected && error?.message.contains("NOPE") == true)
            let live = await recorder.next { if case .update(let content) = $0 { content.streamName } else { nil } }
            #expect(live == names.last)
        }
    }
}
