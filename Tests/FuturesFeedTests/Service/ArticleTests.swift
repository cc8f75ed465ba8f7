import DemoExchange
import FuturesFeed
import Testing

/// The code of the articles in `FuturesFeed.docc`, as it stands there; `Tests/Docs` compares the two.
@Suite(.timeLimit(.minutes(1))) struct ArticleTests {
    @Test func gettingStarted() async throws {
        try await withExchange { _, service in
            try await Self.first(of: service, .markPrice(symbol: "BTCUSDT", fast: true)) {
                for try await event in service.events(of: .markPrice(symbol: "BTCUSDT", fast: true)) {
                    if let price = event.row?.markPrice { print(price, event.state) }
                }
            }
            let ticker = try await service.latest(of: .bookTicker(symbol: "BTCUSDT"))
            if let row = ticker.row, ticker.state == .live { print(row.bidPrice, row.askPrice) }
            #expect(ticker.state == .live)
        }
    }

    @Test func orderBooks() async throws {
        try await withExchange { _, service in
            try await Self.first(of: service, .depth(symbol: "BTCUSDT")) {
                for try await event in service.events(of: .depth(symbol: "BTCUSDT"), merged: true) {
                    guard event.state == .live, let book = event.row, let bid = book.bids.first, let ask = book.asks.first else { continue }
                    print(bid.price, ask.price)
                }
            }
        }
    }

    @Test func recovery() async throws {
        try await withExchange { _, service in
            try await Self.first(of: service, .aggregateTrade(symbol: "BTCUSDT")) {
                for try await event in service.events(of: .aggregateTrade(symbol: "BTCUSDT")) {
                    switch event.kind {
                    case .update: print(event.rows.count, "trades")
                    case .disconnect(let reason): print("lost:", reason)
                    case .recover(let recovery): print("back by", recovery.method, "after", recovery.downMs, "ms")
                    case .gap(let dropped): print("this loop was too slow for", dropped, "trades")
                    case .fail(let error): print(error.message)
                    case .connect, .status: print(event.state)
                    }
                }
            }
        }
    }

    @Test func testingWithTheDemoExchange() async {
        var configuration = FuturesFeedConfiguration()
        configuration.venue = .aster.at(restURLs: ["http://127.0.0.1:9000"], webSocketURLs: ["ws://127.0.0.1:9000"])
        let service = FuturesFeedService(configuration: configuration)
        #expect(service.state(of: .assetIndex) == nil)
        await service.stop()
    }

    /// Runs a loop until its stream is live.
    private static func first<Row>(
        of service: FuturesFeedService, _ stream: FeedStream<Row>, _ loop: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task { try await loop() }
        #expect(try await service.latest(of: stream).state == .live)
        task.cancel()
        try await task.value
    }
}

/// From the manual.
private enum FromTheManual {
    final class PriceBoard: FuturesFeedObserving {
        init() {
            FuturesFeedService.shared.subscribe(streamNames: [.assetIndex, .markPrice(symbol: "BTCUSDT")], with: self, forceFetch: true)
        }
        deinit { FuturesFeedService.shared.unsubscribeAllFeeds(with: self) }

        func didFetch(with content: FuturesServiceFeedContent) { print(content.rows) }
        func didUpdate(with content: FuturesServiceFeedContent) { print(content.rows) }
        func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
        func didFail(streamName: FuturesServiceStreamName, with error: any Error) { print(streamName, error) }
    }
}
