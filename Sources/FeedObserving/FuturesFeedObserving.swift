/// Receives the events of the streams it subscribed to.
///
/// Calls are made one at a time, in order, on the service's own thread and under no lock: an observer may call the service from within. The service
/// holds an observer weakly; call `FuturesFeedService.unsubscribeAllFeeds(with:)` in its `deinit`. It must be `Sendable` because the calling thread
/// is not the thread that subscribed.
public protocol FuturesFeedObserving: AnyObject, Sendable {
    /// A snapshot arrived over REST.
    func didFetch(with content: FuturesServiceFeedContent)
    /// Data arrived over the WebSocket, or this is the cached snapshot after subscribing or resuming.
    func didUpdate(with content: FuturesServiceFeedContent)
    /// An outage ended, or could not be ended. Once per outage.
    func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>)
    /// A fetch or an update failed; the error is a `FeedError`.
    func didFail(streamName: FuturesServiceStreamName, with error: any Error)
    /// The stream's connection was opened.
    func didConnect(streamName: FuturesServiceStreamName)
    /// The stream's connection was lost; the service reconnects.
    func didDisconnect(streamName: FuturesServiceStreamName)
}

extension FuturesFeedObserving {
    /// Does nothing.
    public func didConnect(streamName: FuturesServiceStreamName) {}
    /// Does nothing.
    public func didDisconnect(streamName: FuturesServiceStreamName) {}
}
