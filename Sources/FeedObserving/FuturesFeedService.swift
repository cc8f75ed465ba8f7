public import FeedCore

/// Market data of futures: one upstream connection, the latest snapshot of every stream, any number of observers.
///
/// `FuturesFeed` makes services that read a venue, `FuturesGatewayClient` makes services that read a gateway; both have these methods.
///
/// The first observer of a stream makes the service subscribe. After the last one has left, the service unsubscribes with a delay. All
/// methods may be called from any thread and return immediately.
///
/// ```swift
/// final class PriceBoard: FuturesFeedObserving {
///     init() {
///         FuturesFeedService.shared.subscribe(streamNames: [.assetIndex, .markPrice(symbol: "BTCUSDT")], with: self, forceFetch: true)
///     }
///     deinit {
///         FuturesFeedService.shared.unsubscribeAllFeeds(with: self)
///     }
///     func didFetch(with content: FuturesServiceFeedContent) { show(content) }
///     func didUpdate(with content: FuturesServiceFeedContent) { show(content) }
///     func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
///     func didFail(streamName: FuturesServiceStreamName, with error: any Error) { print(streamName, error) }
/// }
/// ```
public final class FuturesFeedService: Sendable {
    package let feed: any ObservedFeed
    private let adapters = Guarded<[ObjectIdentifier: ObserverAdapter]>([:])
    private let queues = Guarded<[ObserverID: EventQueue]>([:])

    /// Creates a service on top of a feed.
    package init(_ feed: any ObservedFeed) { self.feed = feed }

    /// Subscribes an observer. It immediately gets the cached snapshot of each stream as `didUpdate`; `forceFetch` also requests a snapshot from
    /// REST.
    public func subscribe(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving, forceFetch: Bool = false) {
        feed.step(.observe(adapter(for: observer).id, streamNames, forceFetch: forceFetch))
    }

    /// Ends some of an observer's subscriptions. After this has returned, one call about them may still arrive that was already under way.
    public func unsubscribe(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        feed.step(.unobserve(id, streamNames))
    }

    /// Ends all of an observer's subscriptions. Call it in the observer's `deinit`.
    public func unsubscribeAllFeeds(with observer: any FuturesFeedObserving) {
        guard let adapter = adapters.withLock({ $0.removeValue(forKey: ObjectIdentifier(observer)) }) else { return }
        feed.remove(adapter.id)
    }

    /// Pauses all of an observer's subscriptions: the streams stay subscribed, and the observer gets no calls.
    public func pauseAllSubscriptions(with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        feed.step(.pause(id, nil))
    }

    /// Pauses some of an observer's subscriptions.
    public func pauseSubscriptions(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        feed.step(.pause(id, streamNames))
    }

    /// Resumes all of an observer's subscriptions. Each stream that changed in the meantime first sends one `didUpdate` with its snapshot. If its
    /// connection was lost or opened in the meantime, `didDisconnect`, `didConnect` and `didRecover` of the last loss come before that.
    public func resumeAllSubscriptions(with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        feed.step(.resume(id, nil))
    }

    /// Resumes some of an observer's subscriptions.
    public func resumeSubscriptions(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        feed.step(.resume(id, streamNames))
    }

    /// Fetches a stream's snapshot over REST; its observers get `didFetch` or `didFail`. Simultaneous requests for one stream share a fetch. If the
    /// stream has no observers, nothing is fetched.
    public func refetch(streamName: FuturesServiceStreamName) {
        feed.step(.refetch(streamName))
    }

    /// The cached content; nil if none has arrived or the stream has no observers.
    public func content(of streamName: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        feed.content(of: streamName)
    }

    /// The stream's freshness; nil if it has no observers.
    public func state(of streamName: FuturesServiceStreamName) -> FeedState? {
        feed.state(of: streamName)
    }

    /// Closes the connections and ends the service's thread. Not for `shared`.
    public func stop() async {
        await feed.stop()
        for queue in queues.withLock({ Array($0.values) }) { queue.finish() }
    }

    /// Registers a loop's queue.
    func open(_ queue: EventQueue) -> ObserverID {
        let id = feed.add(queue)
        queues.withLock { $0[id] = queue }
        return id
    }

    /// Ends a loop and its observation; idempotent.
    func close(_ id: ObserverID) {
        guard let queue = queues.withLock({ $0.removeValue(forKey: id) }) else { return }
        feed.remove(id)
        queue.finish()
    }

    private func id(of observer: any FuturesFeedObserving) -> ObserverID? {
        adapters.withLock { $0[ObjectIdentifier(observer)]?.id }
    }

    /// Returns the observer's adapter. Also ends the adapters of observers that died without unsubscribing, because an observer's address may be
    /// reused.
    private func adapter(for observer: any FuturesFeedObserving) -> ObserverAdapter {
        let (adapter, orphans) = adapters.withLock { adapters -> (ObserverAdapter, [ObserverAdapter]) in
            if let known = adapters[ObjectIdentifier(observer)], known.belongs(to: observer) { return (known, []) }
            let orphans = adapters.filter { $0.value.isOrphan }
            for key in orphans.keys { adapters[key] = nil }
            let adapter = ObserverAdapter(observer)
            adapter.register(with: feed)
            adapters[ObjectIdentifier(observer)] = adapter
            return (adapter, Array(orphans.values))
        }
        for orphan in orphans { feed.remove(orphan.id) }
        return adapter
    }
}

/// Converts a feed's events to an observer's calls.
private final class ObserverAdapter: FeedReader {
    private let observer: Guarded<Weak>
    private let registration = Guarded<(id: ObserverID, feed: (any ObservedFeed)?)>((ObserverID(0), nil))

    private struct Weak {
        weak var observer: (any FuturesFeedObserving)?
    }

    init(_ observer: any FuturesFeedObserving) {
        self.observer = Guarded(Weak(observer: observer))
    }

    func register(with feed: any ObservedFeed) {
        let id = feed.add(self)
        registration.withLock { $0 = (id, feed) }
    }

    var id: ObserverID { registration.withLock { $0.id } }

    var isOrphan: Bool { observer.withLock { $0.observer == nil } }

    func belongs(to other: any FuturesFeedObserving) -> Bool {
        observer.withLock { $0.observer === other }
    }

    func receive(_ event: FeedEvent) {
        guard let observer = observer.withLock({ $0.observer }) else {
            let (id, feed) = registration.withLock { $0 }
            feed?.remove(id)
            return
        }
        switch event.kind {
        case .fetched(let content): observer.didFetch(with: content)
        case .updated(let content): observer.didUpdate(with: content)
        case .recovered(let recovery):
            observer.didRecover(streamName: event.stream, result: recovery.error.map { .failure($0) } ?? .success(()))
        case .failed(let error, _): observer.didFail(streamName: event.stream, with: error)
        case .connected: observer.didConnect(streamName: event.stream)
        case .disconnected: observer.didDisconnect(streamName: event.stream)
        case .status, .ended: break
        }
    }
}
