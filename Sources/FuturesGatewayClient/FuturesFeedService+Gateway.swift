public import FeedObserving

extension FuturesFeedService {
    /// A service that reads `Gateway.ofEnvironment`, made at first use and never stopped.
    public static let shared = FuturesFeedService(gateway: .ofEnvironment)

    /// Makes a service that reads a gateway; it connects with the first subscription, and reads at most 200 streams.
    ///
    /// If the connection is lost, observers hear `didDisconnect`. Once it is back, `didRecover` tells whether everything that was missed has come or
    /// follows (`continuous`), or each stream begins with its snapshot (`snapshot`).
    ///
    /// - Parameters:
    ///   - gateway: where it is, and how to be let in.
    ///   - linger: how long a stream is read after its last observer has left.
    public convenience init(gateway: Gateway, linger: Duration = .seconds(10)) { self.init(GatewayFeed(gateway, linger: linger)) }
}
