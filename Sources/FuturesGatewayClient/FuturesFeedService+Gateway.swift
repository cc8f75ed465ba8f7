public import FeedObserving

extension FuturesFeedService {
    /// A service that reads `Gateway.ofEnvironment`, created at first use and never stopped.
    public static let shared = FuturesFeedService(gateway: .ofEnvironment)

    /// Creates a service that reads a gateway. It connects with the first subscription, and reads at most 200 streams.
    ///
    /// If the connection is lost, observers get `didDisconnect`. When it is open again, `didRecover` says whether all missed events have arrived or
    /// will follow (`continuous`), or each stream starts with its snapshot (`snapshot`).
    ///
    /// - Parameters:
    ///   - gateway: The gateway's address and credential.
    ///   - linger: How long a stream is read after its last observer has left.
    public convenience init(gateway: Gateway, linger: Duration = .seconds(10)) { self.init(GatewayFeed(gateway, linger: linger)) }
}
