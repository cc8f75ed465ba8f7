package import FeedCore
public import Logging
import NIOConcurrencyHelpers
import NIOCore
package import Replication

/// A futures venue's market data: one upstream connection, the latest snapshot of every stream, any number of observers.
///
/// The first observer of a stream makes the service subscribe at the venue. After the last one has left, the service unsubscribes with a delay. All
/// methods may be called from any thread and return at once.
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
    /// A service for Aster with the default configuration, made at first use and never stopped.
    public static let shared = FuturesFeedService(configuration: FuturesFeedConfiguration())

    package let engine: FeedEngine
    private let adapters = NIOLockedValueBox<[ObjectIdentifier: ObserverAdapter]>([:])

    /// Makes a service; it connects with the first subscription.
    ///
    /// - Parameter logger: logs connections that open and close; by default nothing is logged.
    public init(configuration: FuturesFeedConfiguration, logger: Logger = Logger(label: "futures-feed") { _ in SwiftLogNoOpLogHandler() }) {
        engine = configuration.engine(epoch: .random(in: .min ... .max), logger)
    }

    /// Makes a service that goes on behind the events of one that has ended. Call `takeOver` once its events have a listener.
    package init(configuration: FuturesFeedConfiguration, behind past: EpochTable, logger: Logger) {
        engine = configuration.engine(epoch: .random(in: 1 ... .max), past: past, logger)
    }

    /// Goes on with the streams of a feed that has ended: they are in an outage since then, and their numbers go on above all that were told.
    ///
    /// - Parameter linger: how long readers have to come back for what they want.
    package func takeOver(_ past: inout PastFeed, linger: Duration, now: Moment) {
        let claim = past.epochs.claim(0, highest: past.epochs.head, term: 0, sentAt: now.wallClock)
        let silence = min(max(now.wallClock &- past.lastAt, 0), Self.longestSilence)
        let heardAt = Instant(nanoseconds: now.instant.nanoseconds - silence * 1_000_000)
        let heir = engine.add(nil)
        let known = past.inherited().filter { engine.dialect.traits(of: $0.name) != nil }
        engine.inherit(known, because: "The gateway was started anew.", behind: claim.first - 1, for: heir, heardAt: heardAt)
        engine.loop.scheduleTask(in: TimeAmount(linger)) { [engine] in engine.remove(heir) }
    }

    /// A year, ms: nothing is older as far as outages are concerned.
    private static let longestSilence: Int64 = 31_536_000_000

    /// Subscribes an observer. It gets the cached snapshot of a stream at once as `didUpdate`; `forceFetch` also asks REST for a snapshot.
    public func subscribe(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving, forceFetch: Bool = false) {
        engine.step(.observe(adapter(for: observer).id, streamNames, forceFetch: forceFetch))
    }

    /// Ends some of an observer's subscriptions. After this has returned, one call about them may still come, if it was on its way.
    public func unsubscribe(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        engine.step(.unobserve(id, streamNames))
    }

    /// Ends all of an observer's subscriptions. Call it in the observer's `deinit`.
    public func unsubscribeAllFeeds(with observer: any FuturesFeedObserving) {
        guard let adapter = adapters.withLockedValue({ $0.removeValue(forKey: ObjectIdentifier(observer)) }) else { return }
        engine.remove(adapter.id)
    }

    /// Pauses all of an observer's subscriptions: the streams stay subscribed, and the observer hears nothing.
    public func pauseAllSubscriptions(with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        engine.step(.pause(id, nil))
    }

    /// Pauses some of an observer's subscriptions.
    public func pauseSubscriptions(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        engine.step(.pause(id, streamNames))
    }

    /// Resumes all of an observer's subscriptions. Each stream that changed meanwhile first gives one `didUpdate` with its snapshot. If its
    /// connection was lost or opened meanwhile, `didDisconnect`, `didConnect` and `didRecover` of the last loss come before that.
    public func resumeAllSubscriptions(with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        engine.step(.resume(id, nil))
    }

    /// Resumes some of an observer's subscriptions.
    public func resumeSubscriptions(streamNames: [FuturesServiceStreamName], with observer: any FuturesFeedObserving) {
        guard let id = id(of: observer) else { return }
        engine.step(.resume(id, streamNames))
    }

    /// Fetches a stream's snapshot over REST; its observers hear `didFetch` or `didFail`. Simultaneous requests for one stream share a fetch. If
    /// nobody observes the stream, nothing is fetched.
    public func refetch(streamName: FuturesServiceStreamName) {
        engine.step(.refetch(streamName))
    }

    /// The cached content; nil if nothing came yet or nobody observes the stream.
    public func content(of streamName: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        engine.read { core, _ in core.content(of: streamName) }
    }

    /// The stream's freshness; nil if nobody observes it.
    public func state(of streamName: FuturesServiceStreamName) -> FeedState? {
        engine.read { core, now in core.status(of: streamName, now: now)?.state }
    }

    /// Closes the connections and ends the service's thread. Not for `shared`.
    public func stop() async {
        await engine.stop()
    }

    private func id(of observer: any FuturesFeedObserving) -> ObserverID? {
        adapters.withLockedValue { $0[ObjectIdentifier(observer)]?.id }
    }

    /// Also ends the adapters of observers that died without unsubscribing, because an observer's address may be used again.
    private func adapter(for observer: any FuturesFeedObserving) -> ObserverAdapter {
        let (adapter, orphans) = adapters.withLockedValue { adapters -> (ObserverAdapter, [ObserverAdapter]) in
            if let known = adapters[ObjectIdentifier(observer)], known.belongs(to: observer) { return (known, []) }
            let orphans = adapters.filter { $0.value.isOrphan }
            for key in orphans.keys { adapters[key] = nil }
            let adapter = ObserverAdapter(observer)
            adapter.register(with: engine)
            adapters[ObjectIdentifier(observer)] = adapter
            return (adapter, Array(orphans.values))
        }
        for orphan in orphans { engine.remove(orphan.id) }
        return adapter
    }
}

/// Turns a feed's events into an observer's calls.
private final class ObserverAdapter: FeedReader {
    private let observer: NIOLockedValueBox<Weak>
    private let registration = NIOLockedValueBox<(id: ObserverID, engine: FeedEngine?)>((ObserverID(0), nil))

    private struct Weak {
        weak var observer: (any FuturesFeedObserving)?
    }

    init(_ observer: any FuturesFeedObserving) {
        self.observer = NIOLockedValueBox(Weak(observer: observer))
    }

    func register(with engine: FeedEngine) {
        let id = engine.add(self)
        registration.withLockedValue { $0 = (id, engine) }
    }

    var id: ObserverID { registration.withLockedValue { $0.id } }

    var isOrphan: Bool { observer.withLockedValue { $0.observer == nil } }

    func belongs(to other: any FuturesFeedObserving) -> Bool {
        observer.withLockedValue { $0.observer === other }
    }

    func receive(_ event: FeedEvent) {
        guard let observer = observer.withLockedValue({ $0.observer }) else {
            let (id, engine) = registration.withLockedValue { $0 }
            engine?.remove(id)
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
