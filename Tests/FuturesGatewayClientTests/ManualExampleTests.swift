import FuturesGatewayClient
import Testing

/// The manual's example, as it stands there: it is compiled with this client in place of the library, and compared with the article.
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
