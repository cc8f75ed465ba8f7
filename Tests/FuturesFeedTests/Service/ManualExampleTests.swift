import DemoExchange
import FuturesFeed
import Testing

/// The manual's example, as its readers write it; that it compiles is half of the test.
private final class PriceBoard: FuturesFeedObserving {
    private let service: FuturesFeedService
    private let shown: AsyncStream<FuturesServiceFeedContent>.Continuation

    init(service: FuturesFeedService, shown: AsyncStream<FuturesServiceFeedContent>.Continuation) {
        self.service = service
        self.shown = shown
        service.subscribe(streamNames: [.assetIndex, .markPrice(symbol: "BTCUSDT")], with: self, forceFetch: true)
    }

    deinit {
        service.unsubscribeAllFeeds(with: self)
        shown.finish()
    }

    func didFetch(with content: FuturesServiceFeedContent) { shown.yield(content) }
    func didUpdate(with content: FuturesServiceFeedContent) { shown.yield(content) }
    func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
    func didFail(streamName: FuturesServiceStreamName, with error: any Error) {}
}

@Suite struct ManualExampleTests {
    @Test(.timeLimit(.minutes(1))) func theManualsExampleShowsBothStreamsAndLetsGoWhenItDies() async throws {
        try await withExchange { exchange, service in
            let (contents, continuation) = AsyncStream.makeStream(of: FuturesServiceFeedContent.self)
            var board: PriceBoard? = PriceBoard(service: service, shown: continuation)
            var seen: Set<FuturesServiceStreamName> = []
            var sources: Set<FeedSource> = []
            for await content in contents {
                seen.insert(content.streamName)
                sources.insert(content.source)
                if seen.count == 2, sources.count == 2 { break }
            }
            #expect(seen == [.assetIndex, .markPrice(symbol: "BTCUSDT")])
            #expect(board != nil)
            let changes = exchange.changes()
            board = nil
            for await change in changes {
                if case .disconnected = change { break }
            }
            #expect(service.state(of: .assetIndex) == nil, "nobody wants it after the linger")
        }
    }
}
