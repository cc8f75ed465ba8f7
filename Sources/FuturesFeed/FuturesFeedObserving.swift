/// Hears what happens to the streams it subscribed to.
///
/// Calls come one after the other, in order, on the service's own thread and under no lock: an observer may call the service from within.
/// It is held weakly; `FuturesFeedService.unsubscribeAllFeeds(with:)` belongs into its `deinit`. It has to be `Sendable` because the thread
/// that calls is not the thread that subscribed.
public protocol FuturesFeedObserving: AnyObject, Sendable {
    /// Complete data came over REST.
    func didFetch(with content: FuturesServiceFeedContent)
    /// Data came over the WebSocket, or this is the cached content on subscribing or resuming.
    func didUpdate(with content: FuturesServiceFeedContent)
    /// A lost stream is back, or could not be brought back. Once per outage.
    func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>)
    /// A fetch or an update went wrong; the error is a `FeedError`.
    func didFail(streamName: FuturesServiceStreamName, with error: any Error)
    /// The stream's connection came.
    func didConnect(streamName: FuturesServiceStreamName)
    /// The stream's connection went; it is being brought back.
    func didDisconnect(streamName: FuturesServiceStreamName)
}

extension FuturesFeedObserving {
    /// Does nothing; connections may be left to the service.
    public func didConnect(streamName: FuturesServiceStreamName) {}
    /// Does nothing; connections may be left to the service.
    public func didDisconnect(streamName: FuturesServiceStreamName) {}
}
