public import FeedObserving

extension FuturesFeedService {
    /// A service that reads `Gateway.ofEnvironment`, created at first use and never stopped.
    public static let shared = FuturesFeedService(gateway: .ofEnvironment)

    /// Creates a service that reads a gateway. It connects with the first subscription, and reads at most 200 streams.
    ///
    /// If the connection is lost, observers get `didDisconnect`. When it is open again, `didRecover` says whether all missed events have arrived
    /// (`continuous`), or each stream starts with its snapshot (`snapshot`).
    ///
    /// - Parameters:
    ///   - gateway: The gateway's address and credential.
    ///   - linger: How long a stream is read after its last observer has left.
    public convenience init(gateway: Gateway, linger: Duration = .seconds(10)) { self.init(GatewayFeed(gateway, linger: linger)) }

    /// Ends a gateway service's connection until `resume`, because the system is about to suspend the app. Call it when the scene goes to the
    /// background.
    ///
    /// Observers get `didDisconnect`, and no state is `live`. Without this call, a connection that died during the suspension goes unnoticed for up
    /// to 40 s.
    public func suspend() { (feed as? GatewayFeed)?.suspend() }

    /// Connects immediately after `suspend`; otherwise it does nothing. Call it when the scene becomes active. If the network changes, call both,
    /// because the connection may be dead.
    ///
    /// A state becomes `live` when all missed events have arrived. If that is impossible, each stream starts with its snapshot.
    public func resume() { (feed as? GatewayFeed)?.resume() }
}
