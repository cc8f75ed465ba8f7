import FuturesGatewayClient
import GatewayTestSupport
import Testing

/// The Swift client, against the built executable.
@Suite(.timeLimit(.minutes(1))) struct SwiftClientTests {
    @Test func aServiceReadsPausesAndFetchesAtAGateway() async throws {
        let program = try await Program("serve", "--demo", "--port", "0")
        let gateway = Gateway("http://127.0.0.1:\(try await program.client().port)")
        let service = FuturesFeedService(gateway: gateway)
        let price = FuturesServiceStreamName.markPrice(symbol: "BTCUSDT", fast: true)

        let latest = try await service.latest(of: .markPrice(symbol: "BTCUSDT", fast: true))
        #expect(latest.row?.symbol == "BTCUSDT" && latest.state == .live)
        let book = try await service.latest(of: .depth(symbol: "BTCUSDT"))
        #expect(book.row.map { !$0.bids.isEmpty && !$0.asks.isEmpty } == true)
        #expect(try await gateway.snapshot(of: .depth(symbol: "BTCUSDT"), depth: 5).row?.bids.count == 5)

        let board = PriceBoard(service)
        for await (content, isFetch) in board.shown where isFetch && content.streamName == .assetIndex { break }
        service.pauseSubscriptions(streamNames: [price], with: board)
        service.resumeSubscriptions(streamNames: [price], with: board)
        for await (content, _) in board.shown where content.streamName == price { break }
        await #expect(throws: FeedError.self) { try await service.latest(of: .markPrice(symbol: "NOSUCH")) }
        await service.stop()
        withExtendedLifetime(program) {}
    }

    /// The manual's example, but that it says what it shows.
    private final class PriceBoard: FuturesFeedObserving {
        let shown: AsyncStream<(FuturesServiceFeedContent, isFetch: Bool)>
        private let show: AsyncStream<(FuturesServiceFeedContent, isFetch: Bool)>.Continuation

        init(_ service: FuturesFeedService) {
            (shown, show) = AsyncStream.makeStream()
            service.subscribe(streamNames: [.assetIndex, .markPrice(symbol: "BTCUSDT", fast: true)], with: self, forceFetch: true)
        }

        func didFetch(with content: FuturesServiceFeedContent) { show.yield((content, true)) }
        func didUpdate(with content: FuturesServiceFeedContent) { show.yield((content, false)) }
        func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
        func didFail(streamName: FuturesServiceStreamName, with error: any Error) {}
    }
}
